package server

import (
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
)

// Probe asks what a request of the template would meet that arrived now. It sends none, and
// nothing is decided differently because of it: the probe is rejected, or dispatched at once
// (waits is false), or it waits until its methods say that it would be dispatched, and at most
// the template's WaitLimitNs. A request of the template must have been sent before.
func (s *Server) Probe(nowNs int64, t *Template) (p queueset.Probe, rejection queueset.Rejection, waits bool) {
	switch {
	case s.flowControl != nil && !t.passesBy:
		route := t.route
		if t.generation != s.flowControl.Generation() {
			route = s.flowControl.Route(&t.Attributes) // the template's own is left to its next request
		}
		return route.Level.Queues().Probe(nowNs, t.work.Estimate(route.Level.SeatCap()), &route.Hand)
	case s.maxInFlight != nil && t.counted() && s.maxInFlight.Full(t.readOnly):
		return p, queueset.ConcurrencyLimit, false
	}
	return p, queueset.NotRejected, false
}

// WaitLimitNs is how long a request of the template may wait in a queue. The template must have
// been sent.
func (t *Template) WaitLimitNs() int64 { return t.waitNs }

// RoutedTo returns the priority level that the latest request of the template was sent to, nil
// where flow control does not see it.
func (t *Template) RoutedTo() *flowcontrol.Level { return t.route.Level }
