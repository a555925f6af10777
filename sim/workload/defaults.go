package workload

import (
	"time"

	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/random"
	"apfsim/sim/scenario/cluster"
)

// The defaults of fields for which zero is another value than none: they are there before a file
// is decoded. The JSON Schema says them as well; a test compares the two.
const (
	defaultClients     = 1
	defaultConcurrency = 1
	defaultWeight      = 1
	defaultProcess     = ProcessPoisson
	defaultFactor      = 2
	// defaultRetries is how often client-go sends a request again (rest.Request).
	defaultRetries = 10
)

// UnmarshalDocument implements document.Unmarshaler.
func (w *Workload) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Workload
	w.Clients, w.Connection, w.Through = defaultClients, cluster.HTTP2, cluster.ThroughLoadBalancer
	d.Decode(n, path, (*plain)(w))
	w.retryGiven = n.Get("retry") != nil
}

// UnmarshalDocument implements document.Unmarshaler.
func (a *RampingArrivals) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain RampingArrivals
	a.Process = defaultProcess
	d.Decode(n, path, (*plain)(a))
}

// UnmarshalDocument implements document.Unmarshaler.
func (a *ClosedArrivals) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain ClosedArrivals
	a.Concurrency = defaultConcurrency
	d.Decode(n, path, (*plain)(a))
}

// UnmarshalDocument implements document.Unmarshaler.
func (r *WeightedRequest) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain WeightedRequest
	r.Weight = defaultWeight
	d.Decode(n, path, (*plain)(r))
}

// UnmarshalDocument implements document.Unmarshaler.
func (b *Backoff) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Backoff
	b.Factor = defaultFactor
	d.Decode(n, path, (*plain)(b))
}

// UnmarshalDocument implements document.Unmarshaler.
func (c *Call) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Call
	c.FailurePolicy = Fail
	d.Decode(n, path, (*plain)(c))
}

// UnmarshalDocument implements document.Unmarshaler.
func (c *Callback) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Callback
	c.WhenGivenUp = Cancel
	d.Decode(n, path, (*plain)(c))
}

// SetDefaults fills in what a decoded workload leaves out and what follows from other fields.
// A single request becomes a list of one.
func (w *Workload) SetDefaults() {
	if w.Behaviour != nil && !w.retryGiven {
		w.Retry = Retry{MaxRetries: defaultRetries} // the clients are client-go's
	}
	if w.Arrivals.Trace != nil {
		return
	}
	if closed := w.Arrivals.Closed; closed != nil && !closed.Think.Given() {
		closed.Think = quantity.Constant(0)
	}
	if w.Request != nil && w.Requests == nil {
		w.single = true
		w.Requests = []WeightedRequest{{Request: *w.Request, Weight: defaultWeight}}
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
	if !c.Latency.Given() {
		c.Latency = quantity.Constant(0)
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
