package server

import (
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/seats"
)

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

// PerServer returns an observer of all servers that passes what happens at each server to the observer with its
// index. All of them must have the same functions: one that is nil in the first is not called in the others.
func PerServer(each []Observer) Observer {
	if len(each) == 1 {
		return each[0]
	}
	ofRequest := func(get func(*Observer) func(int64, *Request)) func(int64, *Request) {
		if get(&each[0]) == nil {
			return nil
		}
		return func(nowNs int64, r *Request) { get(&each[r.Server])(nowNs, r) }
	}
	ofServer := func(get func(*Observer) func(int64, *Server)) func(int64, *Server) {
		if get(&each[0]) == nil {
			return nil
		}
		return func(nowNs int64, s *Server) { get(&each[s.Index()])(nowNs, s) }
	}
	all := Observer{
		Arrived:    ofRequest(func(o *Observer) func(int64, *Request) { return o.Arrived }),
		Queued:     ofRequest(func(o *Observer) func(int64, *Request) { return o.Queued }),
		Dispatched: ofRequest(func(o *Observer) func(int64, *Request) { return o.Dispatched }),
		Rejected:   ofRequest(func(o *Observer) func(int64, *Request) { return o.Rejected }),
		Executed:   ofRequest(func(o *Observer) func(int64, *Request) { return o.Executed }),
		Released:   ofRequest(func(o *Observer) func(int64, *Request) { return o.Released }),
		Refused:    ofRequest(func(o *Observer) func(int64, *Request) { return o.Refused }),
		GivenUp:    ofRequest(func(o *Observer) func(int64, *Request) { return o.GivenUp }),
		Answered:   ofRequest(func(o *Observer) func(int64, *Request) { return o.Answered }),
		HeldBack:   ofRequest(func(o *Observer) func(int64, *Request) { return o.HeldBack }),
		Adjusted:   ofServer(func(o *Observer) func(int64, *Server) { return o.Adjusted }),
		Changed:    ofServer(func(o *Observer) func(int64, *Server) { return o.Changed }),
	}
	if each[0].Tick != nil {
		all.Tick = func(nowNs int64, servers []*Server) (nextNs int64) {
			for i := range each {
				if next := each[i].Tick(nowNs, servers); next > nowNs && (nextNs == 0 || next < nextNs) {
					nextNs = next
				}
			}
			return nextNs
		}
	}
	return all
}

// Levels returns the priority levels of a server; none if it has no flow control.
type Levels interface {
	Levels() []*flowcontrol.Level
}

// LevelState is the part of a priority level that observers read.
type LevelState interface {
	Name() string
	Spec() *config.PriorityLevelSpec
	Limits() seats.Limits
	CurrentLimit() int
	Queues() *queueset.QueueSet
}

// SeatsHeld returns the seats that a request occupies or would have occupied; 1 if flow control did not
// estimate any.
func (r *Request) SeatsHeld() int { return max(1, r.Seats()) }

// SeatsWanted returns the seats that a request waits for; 1 if flow control did not estimate any.
func (r *Request) SeatsWanted() int { return max(1, int(r.SeatsAsked)) }

// QueueIndex returns the index of a request's queue; -1 if it has none. A request that flow control does
// not handle may still have the queue of an earlier request that used the same memory.
func (r *Request) QueueIndex() int {
	if r.Flow == nil {
		return -1
	}
	return r.Queue()
}

// NoWorkload is the index of no workload, in Request.Workload.
const NoWorkload = -1

// InFlight says whether a request whose server ended was queued or held seats. A rejected request was not in flight,
// and neither was an initialised watch.
func (r *Request) InFlight() bool {
	return r.Rejection == queueset.NotRejected && (r.FinishNs < 0 || r.KeepsSeats() && !r.IsWatch())
}
