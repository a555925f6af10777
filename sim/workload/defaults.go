package workload

import (
	"time"

	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
)

// UnmarshalDocument implements document.Unmarshaler.
func (w *Workload) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Workload
	d.Decode(n, path, (*plain)(w))
	w.retryGiven = n.Get("retry") != nil
}

// evenWeight is the weight of the only request of a workload, whatever the weights of others are.
const evenWeight = 1

// SetDefaults fills in what a decoded workload leaves out and what follows from other fields.
// A single request becomes a list of one.
func (w *Workload) SetDefaults() {
	if w.Behaviour != nil && !w.retryGiven {
		w.Retry = clientGo() // the clients are client-go's
	}
	if w.Arrivals.Trace != nil {
		return
	}
	if w.Request != nil && w.Requests == nil {
		w.single = true
		w.Requests = []WeightedRequest{{Request: *w.Request, Weight: evenWeight}}
	}
	for i := range w.Requests {
		r := &w.Requests[i]
		r.Request.SetDefaults()
		if !r.Execution.Given() {
			r.Execution = w.Execution
		}
	}
}

// SetDefaults fills in how long a watch lasts.
func (r *Request) SetDefaults() {
	for i := range r.Calls {
		r.Calls[i].setDefaults()
	}
	if !r.isWatch() {
		return
	}
	if r.Watch == nil {
		r.Watch = &Watch{}
	}
	if !r.Watch.Duration.Given() {
		r.Watch.Duration = serverWatch
	}
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

// serverWatch is how long a server lets a watch last that names no time-out.
var serverWatch = func() quantity.Distribution {
	u, err := random.NewUniform(int64(30*time.Minute), int64(60*time.Minute))
	if err != nil {
		panic(err)
	}
	return quantity.Distribution{Distribution: u}
}()
