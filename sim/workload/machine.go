package workload

import (
	"reflect"

	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/random"
)

// Machine is what one client does that behaves, as a state machine. Its methods are called in order of time, and never in the middle of a
// call of Client's.
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

// A kind is one of the kinds of clients that behave. The fields of [Behaviour] are the kinds that there are: their
// names in a scenario file, and what such a client is made of.
type kind interface {
	// Machine returns what a client of this kind does.
	Machine(c Client) Machine
	// check checks what the scenario says at path.
	check(c *checker, path string)
	// resources returns the resources that it reads and writes, written like deployments.apps.
	resources() []string
}

// A limited kind has a rate limiter also where the workload gives none; rateLimit returns nil for none.
type limited interface{ rateLimit() *RateLimit }

// kind returns the kind of the clients and its name, nil if none is given.
func (b *Behaviour) kind() (name string, k kind) {
	v := reflect.ValueOf(b).Elem()
	for i, name := range kindNames {
		if f := v.Field(i); !f.IsNil() {
			return name, f.Interface().(kind)
		}
	}
	return "", nil
}

// Machine returns what a client does.
func (b *Behaviour) Machine(c Client) Machine {
	_, k := b.kind()
	return k.Machine(c)
}

// RateLimit returns the rate limiter that such clients have if their workload gives none; nil for none.
func (b *Behaviour) RateLimit() *RateLimit {
	_, k := b.kind()
	if l, ok := k.(limited); ok {
		return l.rateLimit()
	}
	return nil
}

// clientGoLimit returns a limit as client-go has it (k8s.io/client-go, rest/config.go): its defaults where qps is 0,
// none where it is negative.
func clientGoLimit(qps float64, burst int) *RateLimit {
	switch {
	case qps < 0:
		return nil
	case qps == 0:
		return &RateLimit{QPS: 5, Burst: 10}
	}
	return &RateLimit{QPS: qps, Burst: burst}
}

// APIRequest is a request that a machine sends to the API servers.
type APIRequest struct {
	Verb, Group, Resource, Subresource, Namespace, Name string
	Call                                                api.Call

	// Token comes back with the answer and the events. A behaviour has at most one request of a token at a
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

// Client is in whose name a behaviour acts.
type Client interface {
	// Send sends a request, now or when the rate limiter allows. The request and its body are copied, and the
	// caller may use them again. What they refer to besides, such as fields, must not be changed.
	Send(nowNs int64, r *APIRequest)
	// Scratch returns an empty request and an empty body for the next Send. Thousands of clients share them, and what
	// is shared is in the processor's cache.
	Scratch() (*APIRequest, *api.Body)
	// HangUp ends a request or a watch: there will be neither an answer nor an event.
	HangUp(nowNs int64, token int32)
	// Alarms wake the behaviour.
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
