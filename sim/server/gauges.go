package server

// Gauges are readings of a server's load at one moment, besides its queues and seats. A reading that
// the server does not have is 0.
type Gauges struct {
	InService   int     // requests whose demand shares the capacity: n
	Speed       float64 // at which each of them progresses: v(n); 1 alone on an idle server
	MemoryBytes int64
	Connections int // of clients
}

// AddGauges makes read fill in some of the server's Gauges whenever they are read. It must be done
// before the first event.
func (s *Server) AddGauges(read func(nowNs int64, g *Gauges)) { s.gauges = append(s.gauges, read) }

// Gauges reads the server's gauges.
func (s *Server) Gauges(nowNs int64) (g Gauges) {
	if s.capacity != nil && s.stage != Off {
		g.InService, g.Speed = s.capacity.N(), s.capacity.Speed()
	}
	g.MemoryBytes, _ = s.Memory()
	for _, read := range s.gauges {
		read(nowNs, &g)
	}
	return g
}
