package server

import "apfsim/core/queueset"

// Probe returns what a request of the template would meet that arrived now. It sends none and
// changes no decision: the probe is rejected, or dispatched at once (waits is false), or it waits
// until its methods say that it would be dispatched, and at most WaitLimitNs.
func (s *Server) Probe(nowNs int64, t *Template) (p queueset.Probe, rejection queueset.Rejection, waits bool) {
	return s.filter.Probe(nowNs, &s.state(t, t.TemplateID).Kind)
}

// WaitLimitNs returns how long a request of the template may wait in a queue.
func (s *Server) WaitLimitNs(t *Template) int64 { return s.state(t, t.TemplateID).WaitLimitNs() }
