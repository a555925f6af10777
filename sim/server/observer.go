package server

// Observer is told what happens at the server, as it happens. Its methods must not call
// back. A request may be kept until it is Rejected or Released, and no longer: it is then
// used again, for its next attempt or for another. Until then its Work and its queue may
// change. Its Template and its Flow may be kept for good.
//
// The life of a request: Arrived, then either Rejected at once, or Dispatched at once, or
// Queued for a wait that ends with Dispatched or Rejected (a time-out). After Dispatched come
// Executed, at the end of execution, and Released, when its seats are free again: at the
// same instant, or the additional latency later. A watch is Executed when it is
// initialised. Nothing is told of what would happen after the end of the run.
type Observer interface {
	Arrived(nowNs int64, r *Request)
	Queued(nowNs int64, r *Request)
	Dispatched(nowNs int64, r *Request)
	Rejected(nowNs int64, r *Request)
	Executed(nowNs int64, r *Request)
	Released(nowNs int64, r *Request)

	// Adjusted is called when the levels or their current limits may have changed: at the
	// start, at every periodic adjustment, when the configuration changes, and when a level
	// that it has taken away is finally empty and goes.
	Adjusted(nowNs int64)

	// Tick is called at 0, at the end of the run, and in between whenever the Tick before
	// wanted it to be, before anything else happens at that instant. It returns when it wants
	// the next; a time that is not to come says not before the end.
	Tick(nowNs int64) (nextNs int64)
}

// HeldBackObserver is an Observer that is told, too, when a request does not fit.
type HeldBackObserver interface {
	Observer

	// HeldBack is called whenever r would be Dispatched next but asks for more seats than are
	// free, though some are: everything that waits at its level waits on. It comes before r is
	// Queued, if r has just Arrived, and before the Adjusted of a change that leads to it.
	HeldBack(nowNs int64, r *Request)
}
