package server

import (
	"apfsim/core/filter"
	"apfsim/core/queueset"
)

// Crash ends the process of the server at once, as SIGKILL or a lack of memory does: the kernel resets
// its connections. It takes effect by an event at nowNs, so that it may be called at any time.
func (s *Server) Crash(nowNs int64) {
	if s.stage != Off {
		s.transit(nowNs, kill)
	}
}

// Lose takes the node of the server away: its connections are silent. It takes effect as Crash does.
func (s *Server) Lose(nowNs int64) {
	if s.stage != Off {
		s.transit(nowNs, lose)
	}
}

// end ends the process. Requests in flight end with it: their events are cancelled, and clients that wait get no
// response.
func (s *Server) end(nowNs int64, how Disconnection) {
	stopped := s.stage > Ready // in order, or not: it has been told to stop
	s.freeze()
	for t := range transitions {
		s.drop(t)
	}
	s.process.stop = stop{}
	f := &s.process.inFlight
	var ended []*Request
	for d := f.first.following; d != &f.first; d = d.following {
		ended = append(ended, d.request)
		s.cancel(nowNs, d.request)
	}
	if s.capacity != nil {
		s.capacity.cancelBehind(nowNs)
		s.moveEnd(nowNs)
	}
	f.first.previous, f.first.following = &f.first, &f.first
	f.groups = [groups]int{}
	for _, r := range ended {
		r.Details.previous, r.Details.following = nil, nil
	}
	if h := s.runState.handlers; h != nil {
		h.ended(nowNs, s)
	}
	s.stage = Off // before observers look at its levels
	s.newFilter(nowNs)
	s.enter(nowNs, Off)
	s.network.Disconnect(nowNs, s, how)
	if after := s.process.startup.RestartAfter; after > 0 && !stopped && how != Silence {
		s.transit(nowNs+int64(after), restart)
	}
	for _, r := range ended {
		s.giveUp(nowNs, r, how)
	}
}

// cancel releases everything that a request holds when its server ends: its pending events, its memory and its share of
// the capacity.
func (s *Server) cancel(nowNs int64, r *Request) {
	r.phase = abandoned
	s.unschedule(&r.next)
	s.unschedule(&r.Details.deadline)
	s.unschedule(&r.Details.hangUp)
	s.memory.change(nowNs, s.deps.WindowNs, -r.Details.bytes) // also of those whose clients do not notice the end yet
	r.Details.bytes = 0
	if r.DispatchNs >= 0 && r.FinishNs < 0 {
		s.stopExecution(nowNs, r, true)
	} else if r.Details.step == inWatch {
		s.runState.handlers.abandon(nowNs, r)
	}
}

// giveUp ends a request whose server has ended. It counts as lost unless it was executed or rejected before.
func (s *Server) giveUp(nowNs int64, r *Request, how Disconnection) {
	r.Lost = r.FinishNs < 0 && r.Rejection == queueset.NotRejected
	for _, givenUp := range s.runState.observers.givenUp {
		givenUp(nowNs, r)
	}
	switch {
	case r.Details.answered:
		s.discard(r)
	case how == Silence:
		s.network.Silenced(nowNs, r)
	default:
		s.Break(nowNs, r)
	}
}

// Break tells the client of a request that its connection is broken, after a call of Network.Silenced,
// unless it has waited as long as it does. The request is then over. It does nothing unless the server has ended
// before the request, and the client does not know.
func (s *Server) Break(nowNs int64, r *Request) {
	if r.phase != abandoned {
		return
	}
	response := Response{Failure: BrokenConnection}
	if atNs, ok := r.GivesUpNs(); ok && nowNs >= atNs {
		response.Failure, r.Details.HungUp = ClientTimedOut, true
	}
	s.answer(nowNs, r, response)
	s.discard(r)
}

// GivesUpNs returns when the client of a request without a response reaches its own timeout; ok is false if it has
// none.
func (r *Request) GivesUpNs() (atNs int64, ok bool) {
	d := r.Details
	return r.ArrivalNs + d.ClientTimeoutNs, d.ClientTimeoutNs > 0 && !(r.IsWatch() && r.FinishNs >= 0)
}

// discard returns to the pool a request that has ended while flow control still referred to it.
func (s *Server) discard(r *Request) {
	r.Request = filter.Request{}
	r.Bind(r)
	s.runState.recycle(r)
}
