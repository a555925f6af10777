package server

import "apfsim/sim/clock"

// Events is the queue of everything that is still to come in a run.
type Events = clock.Queue[Event]

// Event is something that is to happen: to a request, or to a client.
type Event struct {
	Kind    Kind
	Index   int32 // for ClientActs: the client's index among all of the run; for Reconfigure: the scenario's event; for Sample: the observer
	Request *Request
}

// Kind says what an event is.
type Kind uint8

// The kinds, in their order at one instant. What frees seats comes before what asks for
// them, and arrivals come last, so that a run and the replay of its request log, where
// every arrival is known beforehand, meet the same order.
const (
	End         Kind = iota // the run is over
	Sample                  // an observer takes a sample
	Finish                  // a request's execution ends
	Release                 // its additional latency ends
	WatchEnd                // a watch ends
	TimeOut                 // a request has waited as long as it may
	Reconfigure             // the flow-control configuration changes
	Adjust                  // the levels' current limits are adjusted
	Arrive                  // a request that its client's rate limiter held back reaches the server
	Resend                  // a client sends a rejected request again
	ClientActs              // a client sends its next request
)
