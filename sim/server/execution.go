package server

import (
	"apfsim/core/filter"
	"apfsim/sim/clock"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// An execution has four steps. A request without Details has only the third, at a fixed speed: its
// end is known when it is dispatched.
//
//	handover  the seats are taken, but the handler does not run yet
//	calls     the server waits for what it has called, see Calls
//	demand    ExecutionNs, at the speed that the Capacity leaves to it
//	delay     Details.DelayNs, which takes time and shares nothing
type step uint8

const (
	inHandover step = iota
	inCalls
	inDemand
	inDelay

	// Of a health check: it waits for the answer of etcd.
	inEtcd

	// Of a request that Handlers execute:
	inHandler // it waits, for the store or for a version
	inService // the machine works for it
	inSending // its answer, or the initial events of a watch, are sent
	inWatch   // it is an open watch
)

// Calls are the calls of servers to other servers during executions, such as webhooks.
type Calls interface {
	// Begin is called when the handler of r begins. It is called by the event loop, so that it may do
	// anything, but not call Continue or Fail. If it waits, one of these is owed.
	Begin(nowNs int64, s *Server, r *Request) (waits bool)
	// Abandon is called instead of them when r no longer waits: its execution has ended, or its server has
	// crashed, in the middle of which no server may be called.
	Abandon(nowNs int64, s *Server, r *Request, crashed bool)
	// Progress carries out an event of the kind Progress whose Index is not 0.
	Progress(nowNs int64, s *Server, e Event)
	// LatencyNs returns the longest latency of those that r waits for now, as they have been drawn.
	LatencyNs(r *Request) int64
}

// CallLateNs returns for how long a request has waited for a call in excess of the call's drawn latency, because the
// callback of the call has to wait. It is 0 for a request that does not wait for a call.
func (s *Server) CallLateNs(nowNs int64, r *Request) int64 {
	if r.Details == nil || r.Details.step != inCalls {
		return 0
	}
	return max(0, nowNs-r.Details.Spent.sinceNs-s.runState.calls.LatencyNs(r))
}

// handover is how long requests have their seats before their handlers run.
type handover struct {
	quantity.Distribution
	stream random.Stream
}

// setHandover makes executions begin later than the requests are dispatched.
func (s *Server) setHandover(d quantity.Distribution, seed uint64) {
	s.handover = &handover{Distribution: d}
	s.handover.stream.Open(seed, "servers", s.Index(), "handover")
}

// beginHandover begins the execution of a request with Details. Dispatched may be called in the middle
// of the arrival of another request, so that the calls begin by an event of their own.
func (s *Server) beginHandover(nowNs int64, r *Request) {
	if s.runState.handlers == nil && s.cacheDown(nowNs) && r.IsWatch() {
		s.watchWithoutCache(nowNs, r)
		return
	}
	if s.memory.counted {
		s.takeMemory(nowNs, r)
	}
	handoverNs := int64(0)
	if s.handover != nil {
		handoverNs = s.handover.Sample(&s.handover.stream.Rand)
	}
	r.Details.step = inHandover
	if deadlineNs := r.Kind().DeadlineNs(r.ArrivalNs, nowNs+handoverNs); deadlineNs < filter.NoLimitNs {
		r.Details.deadline = s.events.Schedule(deadlineNs, uint8(Deadline), Event{Kind: Deadline, Owner: s.index, Request: r})
	}
	if handoverNs == 0 && s.runState.calls == nil && s.runState.handlers == nil {
		s.beginDemand(nowNs, r)
		return
	}
	r.next = s.events.Schedule(nowNs+handoverNs, uint8(Progress), Event{Kind: Progress, Owner: s.index, Request: r})
}

// progress carries out an event of that kind: the handover is over, or something happens to a call.
func (s *Server) progress(nowNs int64, e Event) {
	if e.Index != 0 {
		s.runState.calls.Progress(nowNs, s, e)
		return
	}
	r := e.Request
	r.next = 0
	if s.runState.calls != nil {
		r.Details.step = inCalls
		r.Details.Spent.begin(nowNs, 0)
		if s.runState.calls.Begin(nowNs, s, r) {
			return
		}
	}
	s.beginDemand(nowNs, r)
}

// Continue is called when all that the server has called for r has been answered.
func (s *Server) Continue(nowNs int64, r *Request) { s.beginDemand(nowNs, r) }

// Fail is called when the execution of r ends because what the server has called has failed: its
// client receives a response that says so.
func (s *Server) Fail(nowNs int64, r *Request, response Response) {
	r.Details.Spent.end(nowNs, r.Details.step)
	r.Details.step = inDelay
	s.finish(nowNs, r, response)
}

// beginDemand begins what the machine must do itself. At a fixed speed it is known when the whole
// execution ends.
func (s *Server) beginDemand(nowNs int64, r *Request) {
	r.Details.Spent.end(nowNs, r.Details.step)
	if s.handle(nowNs, r) {
		return
	}
	if s.capacity == nil {
		r.Details.step = inDelay
		r.next = s.events.Schedule(nowNs+r.ExecutionNs+r.Details.DelayNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Request: r})
		return
	}
	r.Details.step = inDemand
	r.Details.Spent.begin(nowNs, r.ExecutionNs)
	s.capacity.Begin(nowNs, r)
	s.moveEnd(nowNs)
}

// endStep carries out an event of the kind Finish of a request with Details: its demand has been served,
// or its delay is over.
func (s *Server) endStep(nowNs int64, r *Request) {
	d := r.Details
	switch {
	case s.capacity != nil && (d.step == inDemand || d.step == inService):
		s.nextEnd = 0
		s.capacity.End(nowNs, r)
		s.moveEnd(nowNs)
	case d.step == inService:
		s.work.serve(nowNs, -1)
	case d.step == inSending:
		s.sent(nowNs, r)
	}
	d.Spent.end(nowNs, d.step)
	switch d.step {
	case inService, inSending:
		r.next = 0
		s.served(nowNs, r)
		return
	case inDemand:
		if d.DelayNs > 0 {
			d.step = inDelay
			r.next = s.events.Schedule(nowNs+d.DelayNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Request: r})
			return
		}
	}
	r.next = 0
	if s.pace.eventNs > 0 {
		s.sendEvents(nowNs, r)
	}
	response := Response{Status: int(r.success)}
	switch {
	case d.step == inEtcd:
		response.Status = StatusInternalServerError // etcd has not answered in time
	case s.asksEtcd(r):
		s.askEtcd(nowNs, r)
		return
	}
	s.finish(nowNs, r, response)
}

// finish ends a request's execution. Observers are notified of it, and of the seats it frees,
// before they are notified of the requests that get them.
func (s *Server) finish(nowNs int64, r *Request, response Response) {
	r.FinishNs = nowNs
	if r.Details != nil {
		s.unschedule(&r.Details.deadline)
	}
	opens := r.IsWatch() && !r.Answered() && response.Status == StatusOK // it has no additional latency
	r.Opened = opens && r.RetryAfterSeconds == 0                         // else the watch cache refuses it
	for _, executed := range s.runState.observers.executed {
		executed(nowNs, r)
	}
	keepsSeats := r.KeepsSeats()
	if !keepsSeats {
		s.released(nowNs, r)
	}
	if additionalNs := s.filter.Finish(nowNs, &r.Request); additionalNs > 0 {
		r.next = s.events.Schedule(nowNs+additionalNs, uint8(Release), Event{Kind: Release, Owner: s.index, Request: r})
	}
	if opens {
		if r.Details != nil {
			s.unschedule(&r.Details.hangUp)
		}
		s.watch(nowNs, r)
		return
	}
	if r.IsWatch() { // it has failed
		s.filter.EndWatch(&r.Request)
	}
	if s.stage != Ready && response.Status == StatusOK {
		response.Status = s.statusOf(r)
	}
	s.answer(nowNs, r, response)
	if !keepsSeats { // else its seats still refer to it
		s.runState.recycle(r)
	}
}

func (s *Server) released(nowNs int64, r *Request) {
	for _, released := range s.runState.observers.released {
		released(nowNs, r)
	}
}

// answer gives a request's client its response, or says that there is none. The first response is the only one.
func (s *Server) answer(nowNs int64, r *Request, response Response) {
	if r.Answered() {
		return
	}
	r.Status = int16(response.Status)
	if r.Details != nil {
		s.unschedule(&r.Details.hangUp)
		s.unschedule(&r.Details.deadline) // which would end the execution of one whose client has gone
		r.Details.answered = true
	}
	if s.process.inFlight.tracked {
		s.leaveGroup(nowNs, r)
	}
	for _, answered := range s.runState.observers.answered {
		answered(nowNs, r)
	}
	s.clients.Responded(nowNs, r, response)
}

// unschedule cancels an event if there is one.
func (s *Server) unschedule(h *clock.Handle) {
	if *h != 0 {
		s.events.Cancel(*h)
		*h = 0
	}
}
