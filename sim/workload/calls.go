package workload

import (
	"reflect"
	"slices"
	"time"

	"apfsim/document"
	"apfsim/sim/network"
	"apfsim/sim/quantity"
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

// setDefaults fills in the time-outs of Kubernetes (admissionregistration/v1, defaultTimeoutSeconds;
// util/webhook/webhook.go).
func (c *Call) setDefaults() {
	switch {
	case c.Timeout != 0 || c.Kind == AggregatedServer:
	case c.Kind == Conversion:
		c.Timeout = quantity.Duration(30 * time.Second)
	default:
		c.Timeout = quantity.Duration(10 * time.Second)
	}
	if c.Callback != nil {
		c.Callback.Request.SetDefaults()
	}
}

// calls checks the calls that servers make while they execute a request.
func (c *checker) calls(path string, r *Request) {
	if len(r.Calls) > mostCalls {
		c.Fail(path, "%d calls: want at most %d", len(r.Calls), mostCalls)
		return
	}
	first := map[string]int{}
	aggregated := -1
	for i := range r.Calls {
		call, at := &r.Calls[i], document.Index(path, i)
		c.call(at, r, call)
		if j, found := first[call.Name]; found && call.Name != "" {
			c.Fail(at+".name", "duplicate name %q (first used by %s)", document.Abridge(call.Name), document.Index(path, j))
		} else {
			first[call.Name] = i
		}
		if call.Kind == AggregatedServer {
			if aggregated >= 0 {
				c.Fail(at+".kind", "%s is already that of %s; want one, because a request is passed on to one server",
					AggregatedServer, document.Index(path, aggregated))
			}
			aggregated = i
		}
	}
}

// call checks a call that is made during the execution of r.
func (c *checker) call(path string, r *Request, call *Call) {
	c.workloadName(path+".name", call.Name)
	switch call.Kind {
	case AggregatedServer:
		if call.Timeout != 0 {
			c.Fail(path+".timeout", "cannot be set with kind %s; the server waits for it until the deadline of the request", call.Kind)
		}
		if call.FailurePolicy == Ignore {
			c.Fail(path+".failurePolicy", "%s: cannot be set with kind %s, whose answer is that of the request", Ignore, call.Kind)
		}
	case MutatingWebhook, ValidatingWebhook:
		if !r.isAdmitted() {
			c.Warn(path+".kind", "%s: a server calls no admission webhook for verb %s", call.Kind, document.Abridge(r.Verb))
		}
		// k8s.io/kubernetes/pkg/apis/admissionregistration/validation
		if t := call.Timeout; t < quantity.Duration(time.Second) || t > quantity.Duration(30*time.Second) || t%quantity.Duration(time.Second) != 0 {
			c.Warn(path+".timeout", "%v: Kubernetes accepts whole seconds from 1s to 30s", t)
		}
	}
	back := call.Callback
	if back == nil {
		return
	}
	path += ".callback"
	c.senders(path, &Workload{As: back.As})
	c.request(path+".request", &back.Request)
	c.retry(path+".retry", &back.Retry)
	if back.Request.isWatch() {
		c.Fail(path+".request.verb", "watch: who is called would wait until the watch ends; want another verb")
	}
}

// isAdmitted says whether admission sees the request: it changes objects, or connects to one.
func (r *Request) isAdmitted() bool {
	return r.Resource != "" &&
		(!slices.Contains([]string{"get", "list", "watch"}, r.Verb) ||
			slices.Contains([]string{"attach", "exec", "portforward", "proxy"}, r.Subresource))
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
					Connection: network.PerRequest, // webhooks are several processes, with connections to any server
					Added:      true,
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

// callbacks checks the names of the workloads that AddCallbacks has added: two calls of the same name
// are calls of the same webhook, and their callbacks are counted together.
func (c *checker) callbacks(path string, all []Workload) {
	for i := range all {
		if all[i].Added {
			continue // its calls are within those of the workload that causes it
		}
		first := map[string]*Callback{}
		for j := range all[i].Requests {
			at := document.Index(path, i) + ".request"
			if !all[i].single {
				at = document.Index(document.Index(path, i)+".requests", j)
			}
			for k, call := range all[i].Requests[j].Calls {
				same := first[call.Name]
				switch {
				case call.Callback == nil:
				case same == nil:
					first[call.Name] = call.Callback
				case !same.equals(call.Callback):
					c.Fail(document.Index(at+".calls", k)+".callback", "is another than that of the call %q of another request of this workload; want the same, or another name",
						document.Abridge(call.Name))
				}
			}
		}
	}
}
