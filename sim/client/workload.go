// Package client is the clients: who sends what and when, what they do while they wait
// and when they are rejected.
//
// Every client draws from random streams of its own, one for each purpose, so that what
// becomes of its requests at the server does not change which it sends (open loop).
package client

import (
	"fmt"
	"math"
	"slices"

	"apfsim/sim/random"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/traffic"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// Clients are all clients of a scenario.
type Clients struct {
	events    *server.Events
	server    *server.Server
	workloads []*workload
	anyClosed bool // one of them is a closed loop
	all       []client
	err       error
}

// workload is what its clients have in common.
type workload struct {
	*traffic.Workload
	index   int
	first   int // of its clients, among all
	seed    uint64
	startNs int64
	endNs   int64
	weights []float64 // of the requests, cumulative

	needsRest bool               // its clients have something in rest
	templates []*server.Template // by client and request, each made when first sent
}

// client is one client, in as few bytes as can be: there may be hundreds of thousands, and
// hardly one is in the processor's cache when its turn comes.
type client struct {
	*workload
	process   process // open loop
	*rest             // nil where it is not needed
	index     int     // within the workload
	execution random.Stream
}

// rest is what only some clients need.
type rest struct {
	trace   *replay
	limiter *limiter

	choice, watch, think, backoff random.Stream
}

// New returns the clients of a scenario. Close must be called in the end.
func New(sc *scenario.Scenario, events *server.Events) *Clients {
	c := &Clients{events: events}
	total := 0
	for i := range sc.Spec.Workload {
		total += sc.Spec.Workload[i].Clients
	}
	c.all = make([]client, 0, total)
	for i := range sc.Spec.Workload {
		w := newWorkload(sc, i)
		w.first = len(c.all)
		c.workloads = append(c.workloads, w)
		c.anyClosed = c.anyClosed || w.Arrivals.Closed != nil
		for j := range w.Clients {
			c.all = append(c.all, client{workload: w, index: j})
		}
	}
	return c
}

func newWorkload(sc *scenario.Scenario, index int) *workload {
	w := &workload{
		Workload: &sc.Spec.Workload[index],
		index:    index,
		seed:     sc.Spec.Seed,
	}
	watches := slices.ContainsFunc(w.Requests, func(r traffic.WeightedRequest) bool { return r.Watch != nil })
	w.needsRest = w.Arrivals.Trace != nil || w.Arrivals.Closed != nil || w.RateLimit != nil || len(w.Requests) > 1 || watches ||
		w.Retry.Backoff != nil
	w.templates = make([]*server.Template, w.Clients*len(w.Requests))
	w.startNs, w.endNs = int64(w.Start), sc.Spec.EndNs(w.Workload)
	sum := 0.0
	for _, r := range w.Requests {
		sum += r.Weight
		w.weights = append(w.weights, sum)
	}
	return w
}

// Begin lets the clients send to a server.
func (c *Clients) Begin(sc *scenario.Scenario, s *server.Server) error {
	c.server = s
	for i := range c.all {
		cl := &c.all[i]
		cl.open(&cl.execution, "execution")
		if cl.needsRest {
			cl.rest = &rest{}
			cl.open(&cl.choice, "request")
			cl.open(&cl.watch, "watch")
			cl.open(&cl.think, "think")
			cl.open(&cl.backoff, "backoff")
		}
		if cl.RateLimit != nil {
			cl.limiter = newLimiter(cl.RateLimit)
		}
		a := &cl.Arrivals
		switch {
		case a.Trace != nil:
			reader, err := a.Trace.Open()
			if err != nil {
				return fmt.Errorf("workload %s: %w", cl.Name, err)
			}
			cl.trace = &replay{reader: reader}
			c.scheduleTrace(cl)
		case a.Closed != nil:
			for range a.Closed.Concurrency {
				c.scheduleClosed(cl, cl.startNs, 0)
			}
		default:
			cl.process = newProcess(a, func(s *random.Stream) { cl.open(s, "arrivals") }, cl.endNs-cl.startNs)
			c.scheduleOpen(cl)
		}
	}
	return c.err
}

// Close closes the traces, and returns what went wrong in reading them.
func (c *Clients) Close() error {
	for i := range c.all {
		if cl := &c.all[i]; cl.rest != nil && cl.trace != nil {
			cl.trace.reader.Close()
		}
	}
	return c.err
}

// Err returns what went wrong in reading a trace; the run is then of no use.
func (c *Clients) Err() error { return c.err }

// open opens one of the client's streams.
func (cl *client) open(s *random.Stream, purpose string) {
	s.Open(cl.seed, cl.Name, cl.index, purpose)
}

// scheduleOpen lets an open-loop client act at its process's next arrival.
func (c *Clients) scheduleOpen(cl *client) {
	if at := float64(cl.startNs) + cl.process.next(); at < float64(cl.endNs) {
		c.act(cl, int64(at))
	}
}

// turnaroundNs is the least time from a rejection to the next request of a closed loop: a
// client that does not think would else be rejected again and again in the same instant.
const turnaroundNs = 1_000_000

// scheduleClosed lets one of a closed-loop client's concurrent users think, for a given
// time at least, and then act.
func (c *Clients) scheduleClosed(cl *client, nowNs, leastNs int64) {
	thinkNs := int64(0)
	if think := cl.Arrivals.Closed.Think.Distribution; think != nil {
		thinkNs = think.Sample(&cl.think.Rand)
	}
	if at := nowNs + max(thinkNs, leastNs); at < cl.endNs {
		c.act(cl, at)
	}
}

func (c *Clients) act(cl *client, atNs int64) {
	c.events.Schedule(atNs, uint8(server.ClientActs), server.Event{Kind: server.ClientActs, Index: int32(cl.first + cl.index)})
}

// Act lets a client send its next request.
func (c *Clients) Act(nowNs int64, number int32) {
	cl := &c.all[number]
	if cl.rest != nil && cl.trace != nil {
		r := cl.trace.pending
		c.scheduleTrace(cl)
		c.server.Arrive(nowNs, r)
		return
	}
	if cl.process != nil {
		c.scheduleOpen(cl)
	}
	c.send(nowNs, cl, cl.request(c.server))
}

// request draws the client's next request.
func (cl *client) request(s *server.Server) *server.Request {
	kind := 0
	if len(cl.Requests) > 1 {
		x := cl.choice.Float64() * cl.weights[len(cl.weights)-1]
		for kind < len(cl.weights)-1 && x >= cl.weights[kind] {
			kind++
		}
	}
	t := &cl.templates[cl.index*len(cl.Requests)+kind]
	if *t == nil {
		*t = cl.template(&cl.Requests[kind].Request)
	}
	r := s.NewRequest()
	r.Template = *t
	r.ID, r.Attempt = server.Unnumbered, 1
	r.ExecutionNs = cl.Requests[kind].Execution.Sample(&cl.execution.Rand)
	r.WatchNs = 0
	if watch := cl.Requests[kind].Watch; watch != nil {
		r.WatchNs = watch.Duration.Sample(&cl.watch.Rand)
	}
	return r
}

// template returns what all of the client's requests of one kind have in common.
func (cl *client) template(q *traffic.Request) *server.Template {
	t := &server.Template{Workload: cl.workload.index, Client: cl.index}
	t.Attributes, t.Query = q.Attributes(&cl.As, cl.index)
	return t
}

// send passes a request through the client's rate limiter to the server.
func (c *Clients) send(nowNs int64, cl *client, r *server.Request) {
	if cl.rest != nil && cl.limiter != nil {
		if at := cl.limiter.take(nowNs); at > nowNs {
			c.events.Schedule(at, uint8(server.Arrive), server.Event{Kind: server.Arrive, Request: r})
			return
		}
	}
	c.server.Arrive(nowNs, r)
}

// Done implements server.Clients.
func (c *Clients) Done(nowNs int64, r *server.Request) (keep bool) {
	rejected := r.Outcome() == server.Rejected
	if !rejected && !c.anyClosed {
		return false
	}
	w := c.workloads[r.Workload]
	leastNs := int64(0)
	if rejected {
		if int(r.Attempt) <= w.Retry.MaxRetries {
			r.Attempt++
			c.retry(nowNs, c.of(r), r)
			return true
		}
		leastNs = turnaroundNs
	}
	if w.Arrivals.Closed != nil {
		c.scheduleClosed(c.of(r), nowNs, leastNs)
	}
	return false
}

// retry sends a rejected request again, after as long as its Retry-After says or the
// client's own back-off.
func (c *Clients) retry(nowNs int64, cl *client, r *server.Request) {
	waitNs := int64(r.RetryAfterSeconds) * second
	if b := cl.Retry.Backoff; b != nil {
		wait := float64(b.Initial) * math.Pow(b.Factor, float64(r.Attempt-2))
		if b.Max > 0 {
			wait = min(wait, float64(b.Max))
		}
		if b.Jitter > 0 {
			wait *= 1 + b.Jitter*cl.backoff.Float64()
		}
		waitNs = int64(min(wait, random.LongestNs))
	}
	c.events.Schedule(nowNs+waitNs, uint8(server.Resend), server.Event{Kind: server.Resend, Request: r})
}

// Resend sends a rejected request again, by way of the client's rate limiter.
func (c *Clients) Resend(nowNs int64, r *server.Request) { c.send(nowNs, c.of(r), r) }

// of returns the client that a request is from.
func (c *Clients) of(r *server.Request) *client {
	return &c.all[c.workloads[r.Workload].first+r.Client]
}

// replay is the records of a file that are still to be sent.
type replay struct {
	reader  *trace.Reader
	pending *server.Request
}

// scheduleTrace reads the next record and lets the client act at its arrival.
func (c *Clients) scheduleTrace(cl *client) {
	record, ok, err := cl.trace.reader.Next()
	for err == nil && ok && record.ArrivalNs < cl.startNs {
		record, ok, err = cl.trace.reader.Next()
	}
	if err != nil {
		c.err = fmt.Errorf("workload %s: %w", cl.Name, err)
		return
	}
	if !ok || record.ArrivalNs >= cl.endNs {
		return
	}
	r := c.server.NewRequest()
	r.Template = &server.Template{
		Workload:   cl.workload.index,
		Client:     cl.index,
		Attributes: record.Attributes(),
		Query:      record.Query,
	}
	r.ID, r.Attempt = record.ID, 1
	r.ExecutionNs, r.WatchNs = record.ExecutionNs, record.WatchNs
	cl.trace.pending = r
	c.act(cl, record.ArrivalNs)
}
