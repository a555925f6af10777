// Package workload implements the scripted workloads of a scenario: who sends which requests, when, and what a
// client does with the answer. For each kind of client it has the type that the scenario file is decoded into, with
// its defaults and checks, and what a client of this kind does.
//
// A [Machine] is a client that behaves, as a state machine: it is told the time, what its requests were answered and
// what its watches have received, and says what to send and when to be woken. It knows neither a simulated nor a
// real server.
package workload

import (
	"apfsim/sim/quantity"
)

// Workload is a number of clients that are all the same.
type Workload struct {
	Name      string                `json:"name" document:"required" jsonschema:"minLength=1"`
	Clients   int                   `json:"clients,omitempty" also:"count,replicas,users,vus" jsonschema:"default=1,minimum=1,maximum=10000000" jsonschema_description:"Number of clients; each has its own identity, random streams and arrivals."`
	As        Identity              `json:"as,omitempty" also:"identity,user,sender" jsonschema_description:"Who sends the requests; {i} is replaced by the client's index, from 0."`
	Request   *Request              `json:"request,omitempty" jsonschema_description:"What is asked; {i} is replaced by the client's index, from 0."`
	Requests  []WeightedRequest     `json:"requests,omitempty" jsonschema_description:"Several requests instead of one; each is drawn with a probability in proportion to its weight."`
	Execution quantity.Distribution `json:"execution,omitempty" also:"latency,duration,serviceTime,executionTime" jsonschema_description:"How long the server takes to handle a request; for a watch, to initialise it."`
	Arrivals  Arrivals              `json:"arrivals,omitempty" also:"arrival,load"`
	Start     quantity.Duration     `json:"start,omitempty" also:"begin,from" jsonschema_description:"When the clients begin."`
	Stop      quantity.Duration     `json:"stop,omitempty" also:"end,until" jsonschema_description:"When the clients send their last request; without it, at the end of the run."`
	Retry     Retry                 `json:"retry,omitempty" also:"retries"`
	RateLimit *RateLimit            `json:"rateLimit,omitempty" also:"rateLimiter"`

	Delay      quantity.Distribution `json:"delay,omitempty" jsonschema_description:"Time that an execution takes besides, and that does not depend on how busy the server is, such as that of etcd and of the network."`
	Connection string                `json:"connection,omitempty" jsonschema:"enum=HTTP2,enum=PerRequest,default=HTTP2" jsonschema_description:"HTTP2: a client keeps one connection, and with it its server; PerRequest: it connects for each request."`
	Through    string                `json:"through,omitempty" jsonschema:"enum=LoadBalancer,enum=Service,default=LoadBalancer" jsonschema_description:"LoadBalancer: servers.loadBalancer chooses the server of a connection; Service: the Service kubernetes does, which lists a server that has crashed until its lease has ended."`
	Behaviour  *Behaviour            `json:"behaviour,omitempty" also:"behavior"`

	ClientTimeout quantity.Distribution `json:"clientTimeout,omitempty" jsonschema_description:"How long a client waits for the response to a request before it gives up and hangs up; without it, it does not."`

	retryGiven bool
	single     bool // Requests was filled in from Request
	Callback   bool `json:"-"` // the requests are callbacks of calls, which AddCallbacks has added
}

// RateLimit is the token bucket that a client's requests pass before they are sent.
type RateLimit struct {
	QPS   float64 `json:"qps" document:"required,maximum=1e9" jsonschema:"exclusiveMinimum=0" jsonschema_description:"Tokens that arrive per second."`
	Burst int     `json:"burst" document:"required,maximum=2147483647" jsonschema:"minimum=1" jsonschema_description:"Tokens that the bucket holds."`
}

// EndNs returns when the workload sends its last request, in nanoseconds from the start of the run:
// at stop, or at the end of a run of the given duration.
func (w *Workload) EndNs(duration quantity.Duration) int64 {
	if w.Stop > 0 {
		return int64(min(w.Stop, duration))
	}
	return int64(duration)
}
