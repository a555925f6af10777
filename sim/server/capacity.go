package server

// Capacity decides when executions end on a machine whose requests share it, or that changes
// its speed. A server without one ends an execution after the request's ExecutionNs, which is
// otherwise how long the request would execute on an idle machine.
//
// Begin is called when r begins to execute, and End when it has ended. Both call move for the
// requests whose ends have changed. An implementation need not have ends for all requests that
// execute: it is enough that the one that ends first has one, and that Begin and End move the
// others in time.
type Capacity interface {
	Begin(nowNs int64, r *Request, move Move)
	End(nowNs int64, r *Request, move Move)
}

// Move makes the execution of r end at finishNs, now or later, or leaves its end open if finishNs
// is NoFinish.
type Move func(r *Request, finishNs int64)

// NoFinish is the end of an execution that is not yet known.
const NoFinish = -1

// SetCapacity makes the server's requests share a capacity. It must be done before the first
// event.
func (s *Server) SetCapacity(c Capacity) { s.capacity, s.move = c, s.moveFinish }

// moveFinish is the server's Move.
func (s *Server) moveFinish(r *Request, finishNs int64) {
	if r.next != 0 {
		s.events.Cancel(r.next)
		r.next = 0
	}
	if finishNs != NoFinish {
		r.next = s.events.Schedule(finishNs, uint8(Finish), Event{Kind: Finish, Of: s.index, Request: r})
	}
}
