package server

// Gauges are readings of a server's load at one moment, besides its queues and seats. A reading that
// the server does not have is 0.
type Gauges struct {
	InService   int     // requests whose demand shares the capacity: n
	Speed       float64 // at which each of them progresses: v(n); 1 alone on an idle server
	Factor      float64 // of the machine itself, s, by which v(n) is multiplied
	MemoryBytes int64
	Connections int // of clients
}

// Gauges reads the server's gauges.
func (s *Server) Gauges(nowNs int64) (g Gauges) {
	if s.capacity != nil && s.stage != Off {
		g.InService, g.Speed, g.Factor = s.capacity.N()-len(s.capacity.behind), s.capacity.Speed(), s.capacity.Factor()
	}
	g.MemoryBytes, _, _ = s.Memory(nowNs)
	if s.network != nil {
		g.Connections = s.network.Open(nowNs, s)
	}
	return g
}
