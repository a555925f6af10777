package workload

import (
	"context"
	"errors"
	"iter"
	"slices"

	"apfsim/document"
	"apfsim/sim/network"
	"apfsim/sim/quantity"
	"apfsim/sim/registry"
	"apfsim/sim/server"
)

// Clients are all clients of a run.
type Clients struct {
	Settings
	runState  *server.RunState
	server    Server           // the only one, if there is no network
	network   *network.Network // nil if there is none
	workloads []*group
	callbacks Callbacks       // nil where there are no calls
	anyAwaits bool            // one of them awaitsResponses
	ctx       context.Context // of the run, while it lasts
	failed    bool            // a trace has an error
	cut       error           // why not all clients have started: the context is cancelled
	exchanges exchanges
	queries   queries
	buckets   map[sharedBucket]*bucket

	noted []func(nowNs int64, workload, client int, n Note) // in the order in which they listen
}

// Settings are the settings of the clients of a run.
type Settings struct {
	Seed      uint64
	Duration  quantity.Duration // of the run
	Workloads []Workload
	Decided   []Decided // by workload
	Stored    bool      // the servers have a store
}

// NewClients returns the clients of a run. Close must be called after Begin.
func NewClients(s Settings, runState *server.RunState) *Clients {
	c := &Clients{Settings: s, runState: runState, buckets: map[sharedBucket]*bucket{}}
	for i := range s.Workloads {
		w := newGroup(i, c)
		c.workloads = append(c.workloads, w)
		c.anyAwaits = c.anyAwaits || w.awaitsResponses
	}
	return c
}

// source is one client: what it does of itself, and upon the responses to its requests.
type source interface {
	// Start is called once, at the beginning of the run. It schedules the first Wake, if there is
	// to be one.
	Start(nowNs int64)
	// Wake is called at each time that the client has scheduled.
	Wake(nowNs int64)
	// Responded is called with the response to a request of the client: upon success only if the
	// workload is awaitsResponses. The client must not keep r.
	Responded(nowNs int64, r *server.Request, response server.Response)

	// join and send are those of sender, which all clients have.
	join(w *group, index int)
	send(nowNs int64, r *server.Request)
}

// Server is where clients send their requests: a simulated server, or a real one behind an adapter.
type Server interface {
	// Arrive takes a request that is sent now. What becomes of it is passed to [Clients.Responded].
	Arrive(nowNs int64, r *server.Request)
}

// Begin starts the clients, which send to the network from now on, or directly to the server if it is
// nil. The responses to callbacks are passed to callbacks, nil if no request has calls. If the context is cancelled, the rest does not start, which Err tells, and those that replay a trace send
// nothing more.
func (c *Clients) Begin(ctx context.Context, only Server, n *network.Network, callbacks Callbacks) {
	c.ctx, c.server, c.network, c.callbacks = ctx, only, n, callbacks
	for _, w := range c.workloads {
		for i := range w.Clients {
			if i%startedTogether == startedTogether-1 && c.isCut() {
				return
			}
			w.clients.clientAt(i).Start(0)
		}
	}
}

// startedTogether is how many clients, or users of a client, start between two looks at the context.
const startedTogether = 1024

// isCut reports whether the context is cancelled, and keeps that for Err.
func (c *Clients) isCut() bool {
	c.cut = c.ctx.Err()
	return c.cut != nil
}

// errTrace is returned where the errors of a trace are not all known yet.
var errTrace = errors.New("workload: a trace has an error")

// Err returns an error if a trace has one, or if not all clients have started; the results of the run are then not
// valid. Close returns which errors there are.
func (c *Clients) Err() error {
	if c.cut != nil {
		return c.cut
	}
	if c.failed {
		return errTrace
	}
	return nil
}

// Close reads the traces to their ends unless the context is cancelled, and closes them. It returns
// their errors, as document.Errors.
func (c *Clients) Close() error {
	var all document.Errors
	for p := range c.replays() {
		p.close()
		all = append(all, p.errors...)
	}
	return slices.Compact(all.Sorted()).Err() // two workloads may replay the same trace
}

// Warnings returns what is probably not intended about the traces of the run, after Close.
func (c *Clients) Warnings() (all document.Errors) {
	for p := range c.replays() {
		all = append(all, p.Arrivals.Trace.Warnings(p.summary, c.Duration)...)
	}
	return all.Sorted()
}

// replays iterates over the clients that replay a trace.
func (c *Clients) replays() iter.Seq[*replay] {
	return func(yield func(*replay) bool) {
		for _, w := range c.workloads {
			if w.Arrivals.Trace != nil && w.Clients > 0 && !yield(w.clients.clientAt(0).(*replay)) { // it has one client at most
				return
			}
		}
	}
}

// Wake carries out the event server.ClientActs.
func (c *Clients) Wake(nowNs int64, e server.Event) {
	c.workloads[e.Owner].clients.clientAt(int(e.Index)).Wake(nowNs)
}

// Responded implements server.Clients.
func (c *Clients) Responded(nowNs int64, r *server.Request, response server.Response) {
	if response.Succeeded() && !c.anyAwaits {
		return // without a look at the request's template, which is not in the processor's cache
	}
	w := c.workloads[r.Workload]
	if response.Succeeded() && !w.awaitsResponses {
		return
	}
	w.clients.clientAt(r.Client).Responded(nowNs, r, response)
}

// Send sends a request that has passed its client's rate limiter.
func (c *Clients) Send(nowNs int64, r *server.Request) {
	if c.network == nil {
		c.server.Arrive(nowNs, r)
		return
	}
	c.network.Send(nowNs, r, r.Workload, r.Client)
}

// Resend sends a request again that did not succeed, or a callback, by way of the client's rate limiter.
func (c *Clients) Resend(nowNs int64, r *server.Request) {
	c.workloads[r.Workload].clients.clientAt(r.Client).send(nowNs, r)
}

// Queue returns how many items wait in the queues of a workload's controllers together, and how long the one that has waited
// longest.
func (c *Clients) Queue(nowNs int64, workload int) (depth int, oldestNs int64) {
	w := c.workloads[workload]
	if w.Workload.Behaviour == nil || w.Workload.Behaviour.Controller == nil {
		return 0, 0
	}
	for i := range w.Clients {
		n, ns := w.clients.clientAt(i).(*scriptedClient).machine.(*controller).queue.backlog(nowNs)
		depth, oldestNs = depth+n, max(oldestNs, ns)
	}
	return depth, oldestNs
}

// hangUp ends a request that a server has or that is lost on its way, if that makes a difference.
func (c *Clients) hangUp(nowNs int64, r *server.Request) {
	if c.network != nil {
		c.network.HangUp(nowNs, r)
		return
	}
	if s, ok := c.server.(interface {
		HangUp(nowNs int64, r *server.Request)
	}); ok {
		s.HangUp(nowNs, r)
	}
}

// group is what its clients have in common.
type group struct {
	*Workload
	all     *Clients
	clients clients
	index   int
	startNs int64
	endNs   int64
	weights []float64 // of the requests, cumulative

	awaitsResponses bool // the clients do something upon success
	accept          registry.Accept
	timed           bool       // it is noted how long their requests take, with the rate limiter and all attempts
	inOrder         bool       // the requests are sent in the order of the list
	once            bool       // and each only once
	watches         bool       // some of the requests are watches
	needsOptional   bool       // the clients have something in optional
	templates       []template // by client and request, each made when first sent
}

// template is a template with its ID.
type template struct {
	*server.Template
	id server.TemplateID
}

func newGroup(index int, all *Clients) *group {
	w := &group{
		Workload: &all.Workloads[index],
		all:      all,
		index:    index,
	}
	w.watches = slices.ContainsFunc(w.Requests, func(r WeightedRequest) bool { return r.Watch != nil })
	w.timed = w.RateLimit != nil && !w.Added && w.Workload.Behaviour == nil
	w.awaitsResponses = w.timed || w.Arrivals.Closed != nil || w.Added || w.Arrivals.Trace != nil && all.Stored || w.Workload.Behaviour != nil
	w.accept = registry.Accept{Protobuf: w.Encoding == Protobuf, Uncompressed: w.Compression == Uncompressed}
	w.inOrder, w.once = w.Workload.inOrder(), w.Order == Once
	w.needsOptional = w.inOrder || w.Arrivals.Closed != nil || w.RateLimit != nil || len(w.Requests) > 1 || w.watches || w.Retry.Backoff != nil ||
		w.Delay.IsSet() || w.ClientTimeout.IsSet() || w.Workload.Behaviour != nil
	w.templates = make([]template, w.Clients*len(w.Requests))
	w.startNs, w.endNs = int64(w.Start), w.EndNs(all.Duration)
	sum := 0.0
	for _, r := range w.Requests {
		sum += r.Weight
		w.weights = append(w.weights, sum)
	}
	w.clients = w.newClients()
	return w
}

// clients are those of a workload, by index.
type clients interface{ clientAt(i int) source }

// block is clients of one behaviour, side by side in memory: a list of pointers to them would be one
// more read from memory for each request.
type block[T any, B interface {
	*T
	source
}] []T

func (b block[T, B]) clientAt(i int) source { return B(&b[i]) }

// newClients makes the workload's clients.
func (w *group) newClients() (all clients) {
	switch a := &w.Arrivals; {
	case a.Trace != nil:
		all = make(block[replay, *replay], w.Clients)
	case w.Workload.Behaviour != nil:
		all = make(block[scriptedClient, *scriptedClient], w.Clients)
	case w.Probes != nil:
		all = make(block[prober, *prober], w.Clients)
	case w.Added:
		all = make(block[callback, *callback], w.Clients)
	case a.Closed != nil:
		all = make(block[closedLoop, *closedLoop], w.Clients)
	default:
		all = make(block[openLoop, *openLoop], w.Clients)
	}
	for i := range w.Clients {
		all.clientAt(i).join(w, i)
	}
	return all
}
