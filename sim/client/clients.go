// Package client is the clients: who sends what and when, what they do while they wait
// and when they are rejected.
//
// Every client draws from random streams of its own, one for each purpose, so that what
// becomes of its requests at the server does not change which it sends (open loop).
package client

import (
	"context"
	"errors"
	"iter"
	"slices"

	"apfsim/document"
	"apfsim/sim/network"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

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

// Clients are all clients of a run.
type Clients struct {
	workload.Settings
	shared    *server.Shared
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

	noted []func(nowNs int64, workload, client int, n workload.Note) // in the order in which they listen
}

// New returns the clients of a run. Close must be called after Begin.
func New(s workload.Settings, shared *server.Shared) *Clients {
	c := &Clients{Settings: s, shared: shared}
	for i := range s.Workloads {
		w := newGroup(i, c)
		c.workloads = append(c.workloads, w)
		c.anyAwaits = c.anyAwaits || w.awaitsResponses
	}
	return c
}

// Begin starts the clients, which send to the network from now on, or directly to the server if it is
// nil. If the context is cancelled, the rest does not start, which Err tells, and those that replay a trace send
// nothing more.
func (c *Clients) Begin(ctx context.Context, only Server, n *network.Network) {
	c.ctx, c.server, c.network = ctx, only, n
	for _, w := range c.workloads {
		for i := range w.Clients {
			if i%startedTogether == startedTogether-1 && c.isCut() {
				return
			}
			w.clients.at(i).Start(0)
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
var errTrace = errors.New("client: a trace has an error")

// Err returns an error if a trace has one, or if not all clients have started; the results of the run are then not valid. Close returns
// which errors there are.
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
			if w.Arrivals.Trace != nil && !yield(w.clients.at(0).(*replay)) { // it has one client
				return
			}
		}
	}
}

// Wake carries out the event server.ClientActs.
func (c *Clients) Wake(nowNs int64, e server.Event) {
	c.workloads[e.Owner].clients.at(int(e.Index)).Wake(nowNs)
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
	w.clients.at(r.Client).Responded(nowNs, r, response)
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
	c.workloads[r.Workload].clients.at(r.Client).send(nowNs, r)
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
