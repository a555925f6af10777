package server

// inFlight keeps the requests that a server has received and not finished. It is maintained only in runs in which
// servers can end, because a server that ends must end its requests.
type inFlight struct {
	tracked bool
	first   Details     // the head of a ring of the Details of the requests, in the order of their arrival; no request itself
	groups  [groups]int // requests in each; not kept for untracked
}

// group says which drain of a stopping server waits for a request (k8s.io/apiserver, server/filters/waitgroup.go and
// watch_termination.go).
type group uint8

const (
	untracked   group = iota // what runs long and is no watch, and what a server serves although it stops
	requests                 // until they are answered
	openWatches              // if there is a grace period for them

	groups
)

// track makes the server keep its requests in flight.
func (s *Server) track() {
	f := &s.process.inFlight
	f.tracked = true
	f.first.previous, f.first.following = &f.first, &f.first
}

// add adds a request that has been received.
func (f *inFlight) add(r *Request, g group) {
	d, last := r.Details, f.first.previous
	d.request, d.group, d.previous, d.following = r, g, last, &f.first
	last.following, f.first.previous = d, d
	f.groups[g]++
}

// leaveServer removes a request from those in flight; it does nothing if the request is not among them.
func (d *Details) leaveServer() {
	if d.following != nil {
		d.previous.following, d.following.previous = d.following, d.previous
		d.previous, d.following = nil, nil
	}
}

// groupOf returns the group of a request that reaches the server now.
func (s *Server) groupOf(r *Request) group {
	switch {
	case s.stage >= NotAccepting: // of the kinds that are served nevertheless
		return untracked
	case r.Attributes.Verb == "watch":
		return openWatches
	case r.Attributes.LongRunning():
		return untracked
	}
	return requests
}

// leaveGroup is called when a request is answered: a drain no longer waits for it. If the group becomes empty, the
// server goes on by an event of its own, because the present event is not over.
func (s *Server) leaveGroup(nowNs int64, r *Request) {
	f, g := &s.process.inFlight, r.Details.group
	if g == untracked || r.Details.following == nil { // the latter if the server has ended
		return
	}
	r.Details.group = untracked
	f.groups[g]--
	if f.groups[g] == 0 && s.stage == NotAccepting {
		s.transit(nowNs, settled)
	}
}
