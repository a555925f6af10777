package server

import "apfsim/core/queueset"

// executeLong begins an execution without Details that may pass the deadline of its request. Its end is
// known, so that there are events for the deadline of those only that do pass it.
func (s *Server) executeLong(nowNs int64, r *Request) {
	finishNs, deadlineNs := nowNs+r.ExecutionNs, r.Kind().DeadlineNs(r.ArrivalNs, nowNs)
	if deadlineNs < finishNs {
		deadline := s.events.Schedule(deadlineNs, uint8(Deadline), Event{Kind: Deadline, Owner: s.index, Request: r})
		if r.Kind().EndsAtDeadline() {
			r.next = deadline
			return
		}
	}
	r.next = s.events.Schedule(finishNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Request: r})
}

// deadline carries out the event of that kind. The filter for timeouts answers the client of a request that
// executes (k8s.io/apiserver, server/filters/timeout.go), without a Retry-After.
func (s *Server) deadline(nowNs int64, r *Request) {
	switch {
	case r.Details != nil:
		r.Details.deadline = 0
	case r.Kind().EndsAtDeadline():
		r.next = 0
	}
	s.endContext(nowNs, r, Response{Status: StatusGatewayTimeout})
}

// expectHangUp schedules the timeout of the client of a request that has just arrived.
func (s *Server) expectHangUp(nowNs int64, r *Request) {
	if timeoutNs := r.Details.ClientTimeoutNs; timeoutNs > 0 {
		r.Details.hangUp = s.events.Schedule(nowNs+timeoutNs, uint8(HangUp), Event{Kind: HangUp, Owner: s.index, Request: r})
	}
}

// HangUp is called when the client of r has gone. A request that waits leaves its queue, and counts as a
// time-out and as a drop (k8s.io/apiserver, util/flowcontrol/fairqueuing/queueset); nobody reads its
// response. The client is told that it has timed out, before HangUp returns.
//
// Nothing happens if the server does not have the request: it has not reached it, the server has ended before, or the
// client has its response. A client whose connection is lost finds out later, by way of the network.
func (s *Server) HangUp(nowNs int64, r *Request) { s.leftBy(nowNs, r, ClientTimedOut) }

// HangUpAll is HangUp for a client that has closed the connection of r: it is told that the connection is broken. If the
// server has ended, the client need not notice that any more, and no call of Break is owed.
func (s *Server) HangUpAll(nowNs int64, r *Request) {
	if r.phase == abandoned {
		s.Break(nowNs, r)
		return
	}
	s.leftBy(nowNs, r, BrokenConnection)
}

// leftBy ends a request whose client has hung up; why is the failure that the client sees instead of a response.
func (s *Server) leftBy(nowNs int64, r *Request, why Failure) {
	if r.phase != atServer || r.Server != s.index || r.Answered() {
		return
	}
	r.Details.HungUp = true
	if r.IsWatch() && r.FinishNs >= 0 {
		s.leave(nowNs, r, why)
		return
	}
	response := Response{Failure: why}
	if !r.Waiting() {
		s.endContext(nowNs, r, response)
		return
	}
	s.unschedule(&r.next)
	_, retryAfterSeconds := s.filter.Cancel(nowNs, &r.Request)
	s.noteRejection(nowNs, r, queueset.TimedOut, retryAfterSeconds)
	s.answer(nowNs, r, response)
	s.runState.recycle(r)
}

// endContext responds to a request that executes, and ends its execution if its handler ends with the
// request's context. Any handler does so while it waits for a call, which has the same context, and while it sends its answer:
// nobody reads the rest, so that it cannot be written.
func (s *Server) endContext(nowNs int64, r *Request, response Response) {
	ends := r.Details != nil && (r.Details.step == inCalls || r.Details.step == inSending)
	s.answer(nowNs, r, response)
	if !ends && !r.Kind().EndsAtDeadline() {
		return
	}
	if r.Details != nil {
		s.stopExecution(nowNs, r, false)
	}
	s.finish(nowNs, r, response)
}

// stopExecution cancels whatever a request with Details waits for in its execution: at its deadline, when its client
// hangs up, or when its server crashes.
func (s *Server) stopExecution(nowNs int64, r *Request, crashed bool) {
	s.unschedule(&r.next)
	r.Details.Spent.end(nowNs, r.Details.step)
	switch r.Details.step {
	case inCalls:
		s.runState.calls.Abandon(nowNs, s, r, crashed)
	case inDemand:
		s.leaveCapacity(nowNs, r)
	case inService:
		s.leaveCapacity(nowNs, r)
		s.runState.handlers.abandon(nowNs, r)
	case inSending:
		s.stopSending(nowNs, r)
		s.runState.handlers.abandon(nowNs, r)
	case inHandler:
		s.runState.handlers.abandon(nowNs, r)
	}
}

// leaveCapacity removes a request from the machine that serves it, if the server has a capacity.
func (s *Server) leaveCapacity(nowNs int64, r *Request) {
	if s.capacity == nil {
		s.work.serve(nowNs, -1)
		return
	}
	s.capacity.Cancel(nowNs, r)
	s.moveEnd(nowNs)
}
