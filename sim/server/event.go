package server

import "apfsim/sim/clock"

// Events is the queue of everything that is still to happen in a run.
type Events = clock.Queue[Event]

// Event is something that is to happen: to a server, a request, a client or an observer.
type Event struct {
	Kind    Kind
	Of      int16 // whose event it is, by index: the server's, or for ClientActs the workload's
	Index   int32 // for ClientActs: the client's index within the workload; for Reconfigure: the scenario's event; for Sample: the observer's Tick
	Request *Request
}

// Kind says what an event is.
type Kind uint8

// The kinds, in their order at one instant. What frees seats comes before what asks for
// them, and arrivals come last, so that a run and the replay of its request log, where
// every arrival is known beforehand, have the same order.
const (
	End         Kind = iota // the run is over
	Sample                  // an observer takes a sample
	Finish                  // a request's execution ends
	Release                 // its additional latency ends
	WatchEnd                // a watch ends
	TimeOut                 // a request has waited until its wait limit or, if that is lazy, until its deadline
	Reconfigure             // the flow-control configuration of a server changes
	Adjust                  // the current limits of a server's levels are adjusted
	Arrive                  // a request that its client's rate limiter held back reaches the server
	Resend                  // a client sends a rejected request again
	ClientActs              // a client's Behaviour wakes
)
