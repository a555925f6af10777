package workload

import (
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/random"
)

// Machine is the state machine of one scripted client. Its methods are called in order of time, and never in the
// middle of a call of Client's.
type Machine interface {
	// Start is called once, when the workload begins.
	Start(nowNs int64)
	// Answered is called when a request is over: with the token that it was sent with, and its answer. A
	// watch that has begun is over when it ends. Retries of the REST client are not seen here: the answer is
	// that of the last attempt. The answer must not be kept, but the objects in it may be.
	Answered(nowNs int64, token int32, a *api.Answer)
	// Received is called with each event of a watch.
	Received(nowNs int64, token int32, e *api.Event)
}

// Client is the interface of a machine to the run: it sends the requests of the machine, wakes it and
// draws its random numbers.
type Client interface {
	// Send sends a request, now or when the rate limiter allows. The request and its body are copied, and the
	// caller may use them again. What they refer to besides, such as fields, must not be changed.
	Send(nowNs int64, r *APIRequest)
	// Scratch returns an empty request and an empty body for the next Send. Thousands of clients share them, and what
	// is shared is in the processor's cache.
	Scratch() (*APIRequest, *api.Body)
	// HangUp ends a request or a watch: there will be neither an answer nor an event.
	HangUp(nowNs int64, token int32)
	// CloseConnections closes the connections of the client that have no request in progress, or all. Then the requests
	// in progress on them end as those of a connection that breaks.
	CloseConnections(nowNs int64, idle bool)
	// Alarms wake the machine.
	Alarms() *clock.Alarms
	// Stream opens a random stream of the client for a purpose.
	Stream(s *random.Stream, purpose string)
	// Workload is the name of the client's workload, Index its number there, from 0, and EndNs when the workload ends.
	Workload() string
	Index() int
	EndNs() int64
	// Node is the name of the node as which the client acts; "" if it is none.
	Node() string
	// Note tells what happens to the client, for the statistics.
	Note(nowNs int64, n Note)
}

// APIRequest is a request that a machine sends to the API servers.
type APIRequest struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
	Call                                                api.Call

	// Token comes back with the answer and the events. A machine has at most one request of a token at a
	// time; tokens are small numbers from 0.
	Token int32

	// Unlimited requests do not pass the client's rate limiter, such as the first attempt of a watch.
	Unlimited bool

	// TimeoutNs is how long the client waits for the answer (also sent as ?timeout=); 0 for as long as it
	// takes.
	TimeoutNs int64
	// ReadNs is how long the client takes to read each event of a watch.
	ReadNs int64
}

// Note is something that happens to a client.
type Note struct {
	Event metric.Event
	// Object is what it happens to, such as a resource, a lease or a node.
	Object string
	// Ns is how long it has lasted, or how late it is; 0 where that has no meaning.
	Ns int64
	// N is how many, such as the objects of a list or the tries of a write; 0 where that has no meaning.
	N int64
	// Reason is why it happens: one of the reasons of a metric that counts the event, or "".
	Reason string
}

// timer does the same each time that it rings, unless the workload has ended. One that is set often is made once.
type timer struct {
	client Client
	do     func(nowNs int64)
}

func newTimer(c Client, do func(nowNs int64)) *timer { return &timer{c, do} }

// Ring implements clock.Alarm.
func (t *timer) Ring(nowNs int64) {
	if nowNs < t.client.EndNs() {
		t.do(nowNs)
	}
}

// setAfter makes the timer ring after a wait.
func (t *timer) setAfter(nowNs, waitNs int64) { t.client.Alarms().Set(nowNs+waitNs, t) }

// alarm is an alarm that calls a function.
type alarm func(nowNs int64)

// Ring implements clock.Alarm.
func (a alarm) Ring(nowNs int64) { a(nowNs) }

// Units of time, in nanoseconds.
const (
	millisecond = int64(1e6)
	second      = 1e9
)
