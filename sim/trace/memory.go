package trace

// ReadAll returns the requests of a trace that arrive before a time, and closes it. An error is a document.Error. The
// result is large if there are more than maxRequests of them; it is then nil.
func ReadAll(t *Reader, toNs int64, maxRequests int) (all []Arrival, err error) {
	defer t.Close()
	for {
		var a Arrival
		ok, err := t.next(&a)
		if err != nil {
			return nil, err
		}
		if !ok {
			return all, nil
		}
		if a.ArrivalNs >= toNs {
			continue // the rest is read for its errors
		}
		if len(all) == maxRequests {
			return nil, nil
		}
		all = append(all, a)
	}
}

// Replay returns a stream of requests that are in memory, in the order of their arrival: those between two times, the
// latter exclusive. Several streams can be of the same requests.
func Replay(all []Arrival, fromNs, toNs int64) *Stream {
	for len(all) > 0 && all[0].ArrivalNs < fromNs {
		all = all[1:]
	}
	for len(all) > 0 && all[len(all)-1].ArrivalNs >= toNs {
		all = all[:len(all)-1]
	}
	s := &Stream{batch: all, cancel: func() {}, filled: make(chan []Arrival), read: make(chan struct{})}
	close(s.filled)
	close(s.read)
	if s.summary.Requests = int64(len(all)); len(all) > 0 {
		s.summary.LastNs = all[len(all)-1].ArrivalNs
	}
	return s
}
