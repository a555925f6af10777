// Package workload implements the scripted workloads of a scenario: who sends which requests, when, and what a
// client does with the answer. For each kind of client it has one file, with the type that a scenario file is decoded
// into, its defaults and checks, and what such a client does.
//
//   - Open loops send at the times of an arrival process, closed loops after each answer, and replays what a trace
//     says. Callbacks are sent in the course of other requests.
//   - Clients that behave have a [Machine]: a state machine that is told the time, what its requests were answered and
//     what its watches have received, and says what to send and when to be woken. It knows neither a simulated nor a
//     real server. The fields of [Behaviour] are the kinds that there are.
//
// All send in exchange.go, and send again in retry.go. [NewClients] makes the clients of a run, which send to a network, to a
// simulated server or to a real one.
//
// Every client draws from random streams of its own, one for each purpose, so that what becomes of its requests at the
// server does not change which it sends (open loop).
package workload

import (
	"apfsim/core/request"
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Workload is a number of clients that are all the same.
type Workload struct {
	Name      string                `json:"name" document:"required" jsonschema:"minLength=1"`
	Clients   int                   `json:"clients,omitempty" also:"count,replicas,users,vus" jsonschema:"default=1,minimum=0,maximum=10000000" jsonschema_description:"Number of clients; each has its own identity, random streams and arrivals. 0 switches the workload off."`
	As        Identity              `json:"as,omitempty" also:"identity,user,sender" jsonschema_description:"Who sends the requests; {i} is replaced by the client's index, from 0."`
	Request   *Request              `json:"request,omitempty" jsonschema_description:"What is asked; {i} is replaced by the client's index, from 0."`
	Requests  []WeightedRequest     `json:"requests,omitempty" jsonschema_description:"Several requests instead of one; each is drawn with a probability in proportion to its weight."`
	Order     string                `json:"order,omitempty" jsonschema:"enum=Weighted,enum=Sequence,enum=Once,default=Weighted" jsonschema_description:"How a client chooses among requests. Weighted: each is drawn; Sequence: in the order of the list, again and again; Once: in that order, and then it sends nothing more."`
	Execution quantity.Distribution `json:"execution,omitempty" also:"latency,duration,serviceTime,executionTime" jsonschema_description:"How long the server takes to handle a request; for a watch, to initialise it."`
	Arrivals  Arrivals              `json:"arrivals,omitempty" also:"arrival"`
	Load      float64               `json:"load,omitempty" document:"maximum=1e6" jsonschema:"default=1,exclusiveMinimum=0" jsonschema_description:"Everything arrives so many times as often: rates and bursts are multiplied, of closed loops and behaviours the clients. Not for a trace."`
	Start     quantity.Duration     `json:"start,omitempty" also:"begin,from" jsonschema_description:"When the clients begin."`
	Stop      quantity.Duration     `json:"stop,omitempty" also:"end,until" jsonschema_description:"When the clients send their last request; without it, at the end of the run."`
	Retry     Retry                 `json:"retry,omitempty" also:"retries"`
	RateLimit *RateLimit            `json:"rateLimit,omitempty" also:"rateLimiter"`

	Delay      quantity.Distribution `json:"delay,omitempty" jsonschema_description:"Time that an execution takes besides, and that does not depend on how busy the server is, such as that of etcd and of the network."`
	Connection string                `json:"connection,omitempty" jsonschema:"enum=HTTP2,enum=PerRequest,default=HTTP2" jsonschema_description:"HTTP2: a client keeps one connection, and with it its server; PerRequest: it connects for each request."`
	Through    string                `json:"through,omitempty" jsonschema:"enum=LoadBalancer,enum=Service,default=LoadBalancer" jsonschema_description:"LoadBalancer: servers.loadBalancer chooses the server of a connection; Service: the Service kubernetes does, which lists a server that has crashed until its lease has ended."`
	Encoding   string                `json:"encoding,omitempty" also:"contentType,accept" jsonschema:"enum=JSON,enum=Protobuf,default=JSON" jsonschema_description:"In which encoding the clients want answers. Custom resources are always answered as JSON."`

	Compression string     `json:"compression,omitempty" jsonschema:"enum=GZIP,enum=None,default=GZIP" jsonschema_description:"Whether the clients accept compressed answers; lists and objects of more than 128 KiB are then compressed."`
	Behaviour   *Behaviour `json:"behaviour,omitempty" also:"behavior"`

	ClientTimeout quantity.Distribution `json:"clientTimeout,omitempty" jsonschema_description:"How long a client waits for the response to a request before it gives up and hangs up; without it, it does not."`

	retryGiven   bool
	givenClients int     // Clients before a load has multiplied them
	single       bool    // Requests was filled in from Request
	Added        bool    `json:"-"` // the scenario file does not have it: AddCallbacks or AddProbes has added it
	Probes       *Probes `json:"-"` // the clients are the kubelets of the servers, see AddProbes
}

// UnmarshalDocument implements document.Unmarshaler.
func (w *Workload) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Workload
	d.Decode(n, path, (*plain)(w))
	w.retryGiven = n.Get("retry") != nil
}

// SetDefaults fills in what a decoded workload leaves out and what follows from other fields.
// A single request becomes a list of one, and the load is applied.
func (w *Workload) SetDefaults() {
	if w.Behaviour != nil && !w.retryGiven {
		w.Retry = clientGo() // the clients are client-go's
	}
	if w.Arrivals.Trace != nil {
		return
	}
	w.Arrivals.Constant.divide(w.Clients)
	w.Arrivals.Poisson.divide(w.Clients)
	w.applyLoad()
	if w.Request != nil && w.Requests == nil {
		w.single = true
		w.Requests = []WeightedRequest{{Request: *w.Request, Weight: evenWeight}}
	}
	for i := range w.Requests {
		r := &w.Requests[i]
		r.Request.SetDefaults()
		if !r.Execution.IsSet() {
			r.Execution = w.Execution
		}
	}
}

// Protobuf is the Encoding of clients that want protobuf, and Uncompressed the Compression of those that do not accept any.
const (
	Protobuf     = "Protobuf"
	Uncompressed = "None"
)

// The orders in which a client sends the requests of a list, besides the default: drawn by weight.
const (
	Sequence = "Sequence" // as they stand in the list, and again from the first one on
	Once     = "Once"     // as they stand in the list, and then nothing more
)

// inOrder says whether a client sends the requests in the order of the list.
func (w *Workload) inOrder() bool { return w.Order == Sequence || w.Order == Once }

// evenWeight is the weight of the only request of a workload, whatever the weights of others are.
const evenWeight = 1

// EndNs returns when the workload sends its last request, in nanoseconds from the start of the run:
// at stop, or at the end of a run of the given duration.
func (w *Workload) EndNs(duration quantity.Duration) int64 {
	if w.Stop > 0 {
		return int64(min(w.Stop, duration))
	}
	return int64(duration)
}

// HasCalls says whether requests of the workload have calls.
func (w *Workload) HasCalls() bool {
	for i := range w.Requests {
		if len(w.Requests[i].Calls) > 0 {
			return true
		}
	}
	return false
}

// meanExecutionNs returns the expectation over the workload's requests, by their weights.
func (w *Workload) meanExecutionNs() float64 {
	sum, weights := 0.0, 0.0
	for i := range w.Requests {
		if r := &w.Requests[i]; r.Execution.IsSet() && r.Weight > 0 {
			sum += r.Weight * r.Execution.MeanNs()
			weights += r.Weight
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// Resources returns the resources that workloads ask for, written like deployments.apps. All says that there
// are no others: what a trace asks for is not known before it is read.
func Resources(workloads []Workload) (names []string, all bool) {
	all = true
	for i := range workloads {
		w := &workloads[i]
		all = all && w.Arrivals.Trace == nil
		if w.Behaviour != nil {
			if _, k := w.Behaviour.kind(); k != nil {
				names = append(names, k.resources()...)
			}
		}
		for k := range w.Requests {
			if r := &w.Requests[k]; r.Resource != "" {
				names = append(names, request.JoinResource(r.Group, r.Resource))
			}
		}
	}
	return names, all
}
