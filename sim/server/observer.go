package server

// Observer is notified of what happens at the servers of a run, as it happens. Its methods must
// not call back. A request may be kept until it is Rejected or Released, and no longer: its memory
// is then used for another. Until then its Work and its queue may change. Its Template and its
// Flow may be kept for the rest of the run.
//
// The life of a request: Arrived, then either Rejected at once, or Dispatched at once, or
// Queued for a wait that ends with Dispatched or Rejected (a time-out). After Dispatched come
// Executed, at the end of execution, and Released, when its seats are free again: at the
// same instant, or the additional latency later. A watch is Executed when it is
// initialised. There are no calls for what would happen after the end of the run.
type Observer interface {
	Arrived(nowNs int64, r *Request)
	Queued(nowNs int64, r *Request)
	Dispatched(nowNs int64, r *Request)
	Rejected(nowNs int64, r *Request)
	Executed(nowNs int64, r *Request)
	Released(nowNs int64, r *Request)

	// Adjusted is called when the levels of a server or their current limits may have changed: at
	// the start, at every periodic adjustment, when the configuration changes, and when a level
	// that is no longer configured has drained.
	Adjusted(nowNs int64)

	// Tick is called at 0, at the end of the run, and in between at the times that it returns,
	// before anything else happens at that instant. If it returns a time that is not later than
	// nowNs, the next Tick is that at the end.
	Tick(nowNs int64) (nextNs int64)
}

// HeldBackObserver is an Observer that is also notified when a request does not fit.
type HeldBackObserver interface {
	Observer

	// HeldBack is called whenever r is the next to be Dispatched but needs more seats than are
	// free, though some are: no other request of its level is dispatched before it. The call comes
	// before Queued, if r has just Arrived, and before the Adjusted of the change that caused it.
	HeldBack(nowNs int64, r *Request)
}
