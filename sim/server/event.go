package server

import "apfsim/sim/clock"

// Events is the queue of everything that is still to happen in a run.
type Events = clock.Queue[Event]

// Event is an entry of the event queue. Kind says which of a server, a request, a client or an observer it concerns.
type Event struct {
	Kind    Kind
	Owner   int16 // whose event it is, by index: the server's, or for ClientActs the workload's; for Connect what happens
	Index   int32 // for ClientActs: the client's index within the workload; for Reconfigure: the scenario's event; for Sample: the observer's Tick; for Connect: the connection; else the event's own
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
	Finish                  // a request's execution ends; without a request, the turn of one
	Release                 // its additional latency ends
	WatchEnd                // a watch ends
	TimeOut                 // a request has waited until its wait limit or, if that is lazy, until its deadline
	Deadline                // the deadline of a request that executes
	HangUp                  // the client of a request has waited long enough
	Progress                // an execution goes on: what it waited for has happened
	StoreAlarm              // an alarm of what stores and serves objects rings
	Lifecycle               // a server starts, stops or ends, see lifecycle.go
	Reconfigure             // the flow-control configuration of a server changes
	Pace                    // the speed of a server changes, see sharing.go
	Maintain                // a server maintains the flow-control objects, or an operator writes them, see package sim
	Adjust                  // the current limits of a server's levels are adjusted
	Connect                 // something happens between the clients and the servers, see package network
	Arrive                  // a request is sent that its client's rate limiter held back
	Resend                  // a client sends a rejected request again
	ClientActs              // a client's Behaviour wakes
	ClientAlarm             // an alarm of a client rings
	CallBack                // who was called during an execution sends a request; its event is of the kind Progress
)
