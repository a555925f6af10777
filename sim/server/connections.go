package server

// The limits of streams of an HTTP/2 connection (server/secure_serving.go). Open watches are streams.
const (
	maxStreams       = 100
	maxStreamsBefore = 250
)

// beforeMaxStreams are the releases with the higher limit, the latter ends exclusive.
var beforeMaxStreams = [][2]string{{"", "1.25.15"}, {"1.26", "1.26.10"}, {"1.27", "1.27.7"}, {"1.28", "1.28.3"}}

// MaxStreams returns how many requests the server lets a client have in progress on one HTTP/2 connection.
func (s *Server) MaxStreams() int {
	for _, releases := range beforeMaxStreams {
		if s.rules.Within(releases[0], releases[1]) {
			return maxStreamsBefore
		}
	}
	return maxStreams
}
