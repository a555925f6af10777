package server

// handle lets the handlers execute a request, and returns whether they do.
func (s *Server) handle(nowNs int64, r *Request) bool {
	if s.runState.handlers == nil {
		return false
	}
	r.Details.step = inHandler
	return s.runState.handlers.begin(nowNs, s, r)
}

// serve makes the machine work for a request that is handled: for demandNs, if it is alone on an idle server.
func (s *Server) serve(nowNs int64, r *Request, demandNs int64) {
	r.Details.step = inService
	r.Details.Spent.begin(nowNs, demandNs)
	if s.capacity == nil {
		s.work.serve(nowNs, +1)
		r.next = s.events.Schedule(nowNs+demandNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Request: r})
		return
	}
	r.ExecutionNs = demandNs
	s.capacity.begin(nowNs, r, demandNs)
	s.moveEnd(nowNs)
}

// serveBehind makes the machine work for demandNs that no request waits for.
func (s *Server) serveBehind(nowNs, demandNs int64) {
	if s.capacity == nil {
		s.work.serve(nowNs, +1)
		s.schedule(nowNs+demandNs, Event{Kind: Finish})
		return
	}
	s.capacity.beginBehind(nowNs, demandNs)
	s.moveEnd(nowNs)
}

// served is called when the machine has worked for a request that is handled, or when its answer has been sent.
func (s *Server) served(nowNs int64, r *Request) {
	r.Details.step = inHandler
	s.runState.handlers.served(nowNs, r)
}

// complete ends the execution of a request that is handled, whose Details.Answer its client receives; for a
// watch, its initialisation. It returns whether a watch is open now: it then ends by closeWatch.
func (s *Server) complete(nowNs int64, r *Request) (open bool) {
	r.Details.Spent.end(nowNs, r.Details.step)
	switch r.Details.step { // of a watch that has been closed before its initial events were encoded, or sent
	case inService:
		s.unschedule(&r.next)
		s.leaveCapacity(nowNs, r)
	case inSending:
		s.stopSending(nowNs, r)
	}
	a := &r.Details.Answer
	r.ExecutionNs = nowNs - r.DispatchNs
	open = r.IsWatch() && !r.Answered() && a.Status == StatusOK
	if open {
		r.Details.step = inWatch
	}
	s.finish(nowNs, r, Response{Status: a.Status, RetryAfterSeconds: int32(a.RetryAfterSeconds)})
	return open
}

// closeWatch ends an open watch in order.
func (s *Server) closeWatch(nowNs int64, r *Request) {
	s.unschedule(&r.next) // the end by a stop of the server
	s.filter.EndWatch(&r.Request)
	s.answer(nowNs, r, Response{Status: StatusOK})
	s.runState.recycle(r)
}

// leave ends an open watch whose client has gone.
func (s *Server) leave(nowNs int64, r *Request, why Failure) {
	s.unschedule(&r.next)
	if r.Details.step == inWatch {
		s.runState.handlers.abandon(nowNs, r)
	}
	s.filter.EndWatch(&r.Request)
	s.answer(nowNs, r, Response{Failure: why})
	s.runState.recycle(r)
}
