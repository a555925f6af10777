package workload

import (
	"reflect"
	"slices"

	"apfsim/sim/quantity"
	"apfsim/sim/scenario/cluster"
)

// The kinds of calls that a server makes while it executes a request, in the order in which they are
// made: a request is authorized before it is handled, admission sees what a server of its own does not
// handle, and an object is converted when it is read or written.
const (
	Authorization     = "Authorization"     // a webhook that authorizes the request
	AggregatedServer  = "AggregatedServer"  // the server of the request's API, to which the request is passed on
	MutatingWebhook   = "MutatingWebhook"   // one after another
	ValidatingWebhook = "ValidatingWebhook" // in parallel
	Conversion        = "Conversion"        // a webhook that converts objects of a custom resource
)

// CallKinds are the kinds of calls, in their order.
var CallKinds = []string{Authorization, AggregatedServer, MutatingWebhook, ValidatingWebhook, Conversion}

// The values of Call.FailurePolicy.
const (
	Fail   = "Fail"
	Ignore = "Ignore"
)

// The values of Callback.WhenGivenUp.
const (
	Cancel   = "Cancel"
	Continue = "Continue"
)

// Call is a request that a server sends while it executes another.
type Call struct {
	Name          string                `json:"name" document:"required" jsonschema:"minLength=1" jsonschema_description:"Name of the webhook or of the server that is called. Callbacks have the workload WORKLOAD/NAME in the results."`
	Kind          string                `json:"kind" document:"required" jsonschema:"enum=Authorization,enum=AggregatedServer,enum=MutatingWebhook,enum=ValidatingWebhook,enum=Conversion"`
	Latency       quantity.Distribution `json:"latency,omitempty" jsonschema:"default=0s" jsonschema_description:"How long the answer takes, besides the callback; without it 0s."`
	Timeout       quantity.Duration     `json:"timeout,omitempty" jsonschema_description:"When the server gives the call up; without it 10s, and 30s for Conversion. Not for AggregatedServer, for which the server waits until the deadline of the request."`
	FailurePolicy string                `json:"failurePolicy,omitempty" jsonschema:"enum=Fail,enum=Ignore,default=Fail" jsonschema_description:"What a call that failed does to the request: Fail answers 500; Ignore goes on."`
	Callback      *Callback             `json:"callback,omitempty" jsonschema_description:"A request that who is called sends to the API servers, and whose response it waits for."`
}

// Callback is a request that a webhook or an aggregated server sends to the API servers.
type Callback struct {
	As          Identity              `json:"as" document:"required" jsonschema_description:"Who sends it; {i} is replaced by the index of the client whose request is executed."`
	Request     Request               `json:"request" document:"required"`
	Execution   quantity.Distribution `json:"execution" document:"required" jsonschema_description:"How long the server takes to handle it."`
	Retry       Retry                 `json:"retry,omitempty"`
	WhenGivenUp string                `json:"whenGivenUp,omitempty" jsonschema:"enum=Cancel,enum=Continue,default=Cancel" jsonschema_description:"What the sender does when the server no longer waits for the call: Cancel hangs up; Continue goes on."`

	// Workload is the index of the workload whose requests are these callbacks, see AddCallbacks.
	Workload int `json:"-"`
}

// AddCallbacks appends a workload for the callbacks of each call, so that they are counted, timed and
// named apart from the requests for which they are sent. Its clients are as many as those of the
// workload that causes them, because a callback may be sent in the name of that client. Calls of the
// same name and with the same callback, in different requests of one workload, are calls of the same
// webhook. Callbacks whose requests have calls add further workloads. It must be called after
// [Workload.SetDefaults].
func AddCallbacks(all []Workload) []Workload {
	for i := 0; i < len(all); i++ { // the list grows
		first := map[string]*Callback{}
		for j := range all[i].Requests {
			calls := all[i].Requests[j].Calls
			for k := range calls {
				call, back := &calls[k], calls[k].Callback
				if back == nil {
					continue
				}
				if same := first[call.Name]; same.equals(back) {
					back.Workload = same.Workload
					continue
				}
				first[call.Name], back.Workload = back, len(all)
				all = append(all, Workload{
					Name:       all[i].Name + "/" + call.Name,
					Clients:    all[i].Clients,
					As:         back.As,
					Requests:   []WeightedRequest{{Request: back.Request, Weight: evenWeight, Execution: back.Execution}},
					Retry:      back.Retry,
					Connection: cluster.PerRequest, // webhooks are several processes, with connections to any server
					Callback:   true,
				})
			}
		}
	}
	return all
}

// equals says whether two callbacks are described alike.
func (c *Callback) equals(other *Callback) bool {
	if c == nil {
		return false
	}
	return reflect.DeepEqual(c.described(), other.described())
}

// described returns the callback as it is described: without the workloads that AddCallbacks has made of it and of
// the callbacks of its own request.
func (c *Callback) described() Callback {
	d := *c
	d.Workload = 0
	d.Request.Calls = slices.Clone(d.Request.Calls)
	for i := range d.Request.Calls {
		if call := &d.Request.Calls[i]; call.Callback != nil {
			nested := call.Callback.described()
			call.Callback = &nested
		}
	}
	return d
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
