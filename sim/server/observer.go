package server

// Observer says what is to be called when something happens at the servers of a run. A function
// that is nil is not called and costs nothing. An observer is attached to the whole run: a request
// says at which server it is, and Adjusted and Tick get the servers.
//
// The functions are called as things happen, and must not call back. A request may be kept until
// it is Rejected or Released, and no longer: its memory is then used for another. Until then its
// Work and its queue may change. Its Template and its Flow may be kept for the rest of the run.
//
// The life of a request: Arrived, then either Rejected at once, or Dispatched at once, or
// Queued for a wait that ends with Dispatched or Rejected (a time-out; under rules with LazyWaitLimit
// also in the middle of the arrival of another request, before that is Queued or Dispatched). After Dispatched come
// Executed, at the end of execution, and Released, when its seats are free again: at the
// same instant, or the additional latency later. A watch is Executed when it is
// initialised. There are no calls for what would happen after the end of the run.
//
// Where servers are not always there, a request may be Refused, which is then its only call, and one
// that has Arrived may be GivenUp instead of all that would still have come.
type Observer struct {
	Arrived    func(nowNs int64, r *Request)
	Queued     func(nowNs int64, r *Request)
	Dispatched func(nowNs int64, r *Request)
	Rejected   func(nowNs int64, r *Request)
	Executed   func(nowNs int64, r *Request)
	Released   func(nowNs int64, r *Request)
	Refused    func(nowNs int64, r *Request) // it has not reached flow control, see Request.Refusal
	GivenUp    func(nowNs int64, r *Request) // its server ended before it did: it is Lost, or was already Executed

	// Answered is called when the client of r has received a response, which Request.Status says, or
	// knows that there will be none. It comes after Executed, Rejected, Refused or GivenUp, or before them
	// if the deadline of r or its client did not wait for the end of its execution.
	Answered func(nowNs int64, r *Request)

	// Changed is called when a server has another Stage.
	Changed func(nowNs int64, s *Server)

	// HeldBack is called whenever r is the next to be Dispatched but needs more seats than are
	// free, though some are: no other request of its level is dispatched before it. The call comes
	// before Queued, if r has just Arrived, and before the Adjusted of the change that caused it.
	HeldBack func(nowNs int64, r *Request)

	// Adjusted is called when the levels of a server or their current limits may have changed: at
	// the start, at every periodic adjustment, when the configuration changes, and when a level
	// that is no longer configured has drained.
	Adjusted func(nowNs int64, s *Server)

	// Tick is called at 0, at the end of the run, and in between at the times that it returns,
	// before anything else happens at that instant. It gets all servers of the run, which it must
	// not change. If it returns a time that is not later than nowNs, the next Tick is that at the
	// end.
	Tick func(nowNs int64, servers []*Server) (nextNs int64)
}

// observers are the functions of all observers of a run, by what calls them, each in the order in
// which the observers were attached.
type observers struct {
	arrived, queued, dispatched, rejected, executed, released, heldBack []func(nowNs int64, r *Request)
	refused, givenUp, answered                                          []func(nowNs int64, r *Request)

	adjusted, changed []func(nowNs int64, s *Server)
	ticks             []func(nowNs int64, servers []*Server) (nextNs int64)
}

// attach adds the functions of an observer that are not nil.
func (all *observers) attach(o Observer) {
	for _, f := range []struct {
		list *[]func(int64, *Request)
		add  func(int64, *Request)
	}{
		{&all.arrived, o.Arrived}, {&all.queued, o.Queued}, {&all.dispatched, o.Dispatched}, {&all.rejected, o.Rejected},
		{&all.executed, o.Executed}, {&all.released, o.Released}, {&all.heldBack, o.HeldBack},
		{&all.refused, o.Refused}, {&all.givenUp, o.GivenUp}, {&all.answered, o.Answered},
	} {
		if f.add != nil {
			*f.list = append(*f.list, f.add)
		}
	}
	if o.Adjusted != nil {
		all.adjusted = append(all.adjusted, o.Adjusted)
	}
	if o.Changed != nil {
		all.changed = append(all.changed, o.Changed)
	}
	if o.Tick != nil {
		all.ticks = append(all.ticks, o.Tick)
	}
}
