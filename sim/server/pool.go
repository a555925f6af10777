package server

// phase is how far a request is. A request goes through the phases in their order, and enters each at most once:
//
//	unserved   it has not reached a server: it is on its way, waits to be sent, or is lost on its way
//	atServer   from its arrival until the server is done with it
//	abandoned  its server has ended before: its client has not noticed yet
//	over       its memory waits to be another request's
//
// A server acts on a request only in the phase that belongs to the action. Whatever comes later, such as a client that
// hangs up when the server has ended at the same instant, finds the request in another phase and does nothing, so that a
// request cannot end twice.
type phase uint8

const (
	unserved phase = iota
	atServer
	abandoned
	over
)

// Ref refers to a request that may be over when it is looked up. Its memory may have been reused by then, which the
// reference detects. The zero value refers to none.
type Ref struct {
	request *Request
	use     uint32
}

// Ref returns a reference to a request.
func (r *Request) Ref() Ref { return Ref{r, r.use} }

// Request returns the request, nil if it is over or there is none.
func (f Ref) Request() *Request {
	if f.request == nil || f.request.use != f.use || f.request.phase == over {
		return nil
	}
	return f.request
}

// Unserved says whether the request has reached no server: it waits to be sent, or was lost on the way.
func (r *Request) Unserved() bool { return r.phase == unserved }

// NewRequest returns a request to fill in: its Template and TemplateID, Server, times, ID and attempt.
func (s *RunState) NewRequest() *Request {
	if n := len(s.free); n > 0 {
		r := s.free[n-1]
		s.free = s.free[:n-1]
		r.phase = unserved
		r.use++
		if r.Details != nil {
			*r.Details = Details{}
		}
		return r
	}
	r := &Request{}
	r.Bind(r)
	if s.options.NeedsDetails {
		r.Details = &Details{}
	}
	s.all = append(s.all, r)
	return r
}

// Discard returns to the pool a request that was not sent.
func (s *RunState) Discard(r *Request) { s.recycle(r) }

// recycle returns a finished request to the pool.
func (s *RunState) recycle(r *Request) {
	if r.phase == over {
		panic("server: a request is over twice")
	}
	r.phase = over
	if d := r.Details; d != nil {
		d.leaveServer()
		if d.bytes > 0 {
			server := s.servers[r.Server]
			server.memory.change(s.Events.NowNs(), server.deps.WindowNs, -d.bytes)
			d.bytes = 0
		}
	}
	s.free = append(s.free, r)
}

// InFlight calls f with each request that has arrived at the server and is not over: also with those that hold
// seats for additional latency, with open watches, and with those whose clients have been answered before the end
// of the execution.
func (s *Server) InFlight(f func(r *Request)) {
	for _, r := range s.runState.all {
		if (r.phase == atServer || r.phase == abandoned) && r.Server == s.index {
			f(r)
		}
	}
}
