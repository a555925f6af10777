package server

import (
	"apfsim/core/estimate"
	"apfsim/sim/api"
)

// Handlers execute requests by what they ask for, where servers have a store. Without them, an execution
// takes as long as the request says.
type Handlers interface {
	// Begin is called when the handler of r begins, and returns whether r is one that they execute. If so, a
	// call of Server.Complete is owed, unless Abandon comes before. Begin is called by the event loop, so that
	// it may do anything.
	Begin(nowNs int64, s *Server, r *Request) (handled bool)
	// Served is called when what Server.Serve has begun is done.
	Served(nowNs int64, s *Server, r *Request)
	// Abandon is called when the execution of r ends before a call of Complete, or an open watch before a call
	// of Server.EndWatch. If its server has crashed, it must not be called.
	Abandon(nowNs int64, s *Server, r *Request, crashed bool)
	// Started is called when a process of a server starts during the run. It returns how long its watch
	// caches need until they are complete.
	Started(nowNs int64, s *Server) (cachesNs int64)
	// Stored returns how many objects of a resource are stored, and how large they are.
	Stored(r api.Resource) estimate.Stats
	// Ended is called when a process of a server has ended, after Abandon for all of its requests.
	Ended(nowNs int64, s *Server)
}

// Receiver receives the events of watches in the name of clients.
type Receiver interface {
	// Received is called with an event of an open watch, or of one that is about to be open. It must keep
	// neither, but may keep the objects.
	Received(nowNs int64, r *Request, e *api.Event)
}

// SetHandlers makes servers execute requests by what they ask for. It must be done before the first event.
func (s *Shared) SetHandlers(h Handlers) { s.handlers, s.Detailed = h, true }

// handle lets the handlers execute a request, and returns whether they do.
func (s *Server) handle(nowNs int64, r *Request) bool {
	if s.shared.handlers == nil {
		return false
	}
	r.Details.step = inHandler
	return s.shared.handlers.Begin(nowNs, s, r)
}

// Serve makes the machine work for a request that is handled: for demandNs, if it is alone on an idle server.
func (s *Server) Serve(nowNs int64, r *Request, demandNs int64) {
	r.Details.step = inService
	if s.capacity == nil {
		r.next = s.events.Schedule(nowNs+demandNs, uint8(Finish), Event{Kind: Finish, Of: s.index, Request: r})
		return
	}
	r.ExecutionNs = demandNs
	s.capacity.Begin(nowNs, r)
	s.moveEnd(nowNs)
}

// served is called when the machine has worked for a request that is handled.
func (s *Server) served(nowNs int64, r *Request) {
	r.Details.step = inHandler
	s.shared.handlers.Served(nowNs, s, r)
}

// Complete ends the execution of a request that is handled, whose Details.Answer its client receives; for a
// watch, its initialisation. It returns whether a watch is open now: it then ends by EndWatch.
func (s *Server) Complete(nowNs int64, r *Request) (open bool) {
	if r.Details.step == inService { // a watch that has been closed before its initial events were encoded
		s.unschedule(&r.next)
		s.leaveCapacity(nowNs, r)
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

// EndWatch ends an open watch in order.
func (s *Server) EndWatch(nowNs int64, r *Request) {
	s.unschedule(&r.next) // the end by a stop of the server
	s.filter.EndWatch(&r.Request)
	s.answer(nowNs, r, Response{Status: StatusOK})
	s.shared.recycle(r)
}

// CountEvents says that the server has sent so many events to watches.
func (s *Server) CountEvents(n int64) { s.pace.events += n }

// leave ends an open watch whose client has gone.
func (s *Server) leave(nowNs int64, r *Request) {
	s.unschedule(&r.next)
	if r.Details.step == inWatch {
		s.shared.handlers.Abandon(nowNs, s, r, false)
	}
	s.filter.EndWatch(&r.Request)
	s.answer(nowNs, r, Response{Failure: ClientTimedOut})
	s.shared.recycle(r)
}
