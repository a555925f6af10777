// Package calls simulates what API servers call while they execute requests: webhooks, which may send requests
// of their own to the API servers, and aggregated servers, to which requests are passed on. A run makes Calls
// and gives them to its servers; a request keeps its seats until its calls are over.
//
// The calls of a request are made in stages: one after another, but validating webhooks in parallel. A
// call sends its callback first, if it has one, and is answered its latency after the response to that.
// Everything that happens to a call is an event of its own, because a server must not be called while it
// dispatches or answers a request.
package calls

import (
	"apfsim/sim/clock"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// Calls are the calls of a run. It implements server.Calls and workload.Callbacks.
type Calls struct {
	seed                uint64
	runState            *server.RunState
	clients             *workload.Clients
	servers             []*server.Server
	plans               []*plan // by workload; nil for one whose requests call nobody
	aggregated          aggregatedServers
	aggregatedObservers []func(nowNs int64, p AggregatedEvent)

	executions     []*execution // by Details.PendingCalls, from 1
	calls          []*call      // by index, from 1
	freeExecutions []*execution
	freeCalls      []*call
	leaving        []server.Ref // the callbacks that are left by the events hangUp, in their order
}

// execution is the state of a request that waits for its calls.
type execution struct {
	index  int32
	server *server.Server
	outer  *server.Request
	plan   *plan
	stages []stage // those that are still to come
	open   []*call // those of the present stage that are not over

	failure server.Response // what the client receives if a call has failed; zero if none has
}

// call is the state of a pending call. Its memory is reused.
type call struct {
	index     int32
	id        int64      // Details.CallbackOf of its callback: other calls of the same index have another
	execution *execution // nil when nobody waits for it any more
	to        *callTarget

	latencyNs int64
	callback  server.Ref   // that is sent or is to be sent again; none without one
	resend    clock.Handle // of the callback, before it is sent again
	giveUp    clock.Handle // at the timeout
	next      clock.Handle // the answer, or what comes next at the aggregated server
	failed    bool
	failure   server.Response // of one that has failed
	proxied   proxied         // at the aggregated server
}

// step is the action of an event. The event's Index combines the index of a call with a step.
type step int32

const (
	answered  step = iota // the call has been answered, or has failed
	givenUp               // the call has not been answered in time
	passedOn              // the aggregated server begins to execute the request
	timedOut              // the request has waited too long at the aggregated server
	released              // the additional latency of the request ends there
	adjust                // the aggregated servers adjust their limits; without a call
	configure             // their configuration changes; the index is that of the change, counted from 1
	hangUp                // who was called leaves its callback after a crash; without a call
	callBack              // who was called sends its callback

	stepBits = 4
)

// indexBits are the lowest bits of a call's id, in which its index is.
const indexBits = 31 - stepBits

// Deps are the arguments of New: what the calls of a run need.
type Deps struct {
	Servers   []*server.Server
	Made      *server.Deps // what the servers are made with
	Clients   *workload.Clients
	Workloads []workload.Workload
}

// Any says whether requests of some workloads have calls.
func Any(workloads []workload.Workload) bool {
	for i := range workloads {
		if workloads[i].HasCalls() {
			return true
		}
	}
	return false
}

// New returns the calls of the servers of a run. The clients get them when they begin.
func New(d Deps) *Calls {
	c := &Calls{
		seed: d.Made.Seed, runState: d.Made.RunState, clients: d.Clients, servers: d.Servers,
		plans:      make([]*plan, len(d.Workloads)),
		executions: []*execution{nil}, calls: []*call{nil},
	}
	c.aggregated.init(d.Made, c)
	for i := range d.Workloads {
		if w := &d.Workloads[i]; w.HasCalls() {
			c.plans[i] = newPlan(w, c.aggregated.get)
		}
	}
	return c
}

// schedule schedules a step of a call, in the class of another kind of event. Servers pass the events
// on to Progress.
func (c *Calls) schedule(atNs int64, class server.Kind, index int32, what step) clock.Handle {
	return c.runState.Events.Schedule(atNs, uint8(class), server.Event{Kind: server.Progress, Index: index<<stepBits | int32(what)})
}

// Begin implements server.Calls.
func (c *Calls) Begin(nowNs int64, s *server.Server, r *server.Request) (waits bool) {
	p := c.plans[r.Workload]
	if p == nil {
		return false
	}
	stages := p.requests[r.Template.Request]
	if len(stages) == 0 {
		return false
	}
	x := c.newExecution()
	x.server, x.outer, x.plan, x.stages, x.failure = s, r, p, stages, server.Response{}
	r.Details.PendingCalls = x.index
	c.beginStage(nowNs, x)
	return true
}

// Abandon implements server.Calls: the calls of a request are given up, because it has ended.
func (c *Calls) Abandon(nowNs int64, _ *server.Server, r *server.Request, crashed bool) {
	if r.Details.PendingCalls == 0 {
		return
	}
	x := c.executions[r.Details.PendingCalls]
	for _, call := range x.open {
		switch left := c.stop(call); {
		case left.Request() == nil:
		case crashed:
			c.leaving = append(c.leaving, left)
			c.schedule(nowNs, server.HangUp, 0, hangUp)
		default:
			c.leave(nowNs, left)
		}
		c.end(nowNs, call)
	}
	x.open = x.open[:0]
	c.freeExecution(x)
}

// LatencyNs implements server.Calls.
func (c *Calls) LatencyNs(r *server.Request) (ns int64) {
	if r.Details.PendingCalls != 0 {
		for _, call := range c.executions[r.Details.PendingCalls].open {
			ns = max(ns, call.latencyNs)
		}
	}
	return ns
}

// Progress implements server.Calls.
func (c *Calls) Progress(nowNs int64, _ *server.Server, e server.Event) {
	index, what := e.Index>>stepBits, step(e.Index&(1<<stepBits-1))
	switch what {
	case adjust:
		c.aggregated.adjust(nowNs)
		return
	case configure:
		c.aggregated.configure(nowNs, int(index))
		return
	case hangUp:
		left := c.leaving[0]
		c.leaving = c.leaving[1:]
		c.leave(nowNs, left)
		return
	}
	call := c.calls[index]
	switch what {
	case answered:
		call.next = 0
		c.callEnded(nowNs, call)
	case givenUp:
		call.giveUp = 0
		c.leave(nowNs, c.stop(call))
		c.fail(nowNs, call, server.Response{Status: server.StatusInternalServerError})
	case passedOn:
		call.next = 0
		c.handle(nowNs, call)
	case callBack:
		call.next = 0
		c.send(nowNs, call)
	case timedOut:
		call.next = 0
		c.fail(nowNs, call, call.to.aggregated.timeOut(nowNs, &call.proxied))
	case released:
		call.to.aggregated.filter.Release(nowNs, &call.proxied.Request)
		c.freeCall(call)
	}
}

// beginStage makes the calls of the next stage.
func (c *Calls) beginStage(nowNs int64, x *execution) {
	now := x.stages[0]
	x.stages = x.stages[1:]
	for _, to := range now {
		call := c.newCall()
		call.execution, call.to, call.failed = x, to, false
		call.latencyNs = x.plan.latencyNs(c.seed, x.outer.Client, to)
		x.open = append(x.open, call)
		if to.Timeout > 0 {
			call.giveUp = c.schedule(nowNs+int64(to.Timeout), server.HangUp, call.index, givenUp)
		}
		if to.aggregated != nil {
			to.aggregated.arrive(nowNs, call)
		} else {
			c.handle(nowNs, call)
		}
	}
}

// handle lets the called server act: it sends its callback or, without one, answers. The callback is sent after all
// other events of this instant, because a call takes some time.
func (c *Calls) handle(nowNs int64, call *call) {
	if call.to.Callback == nil {
		c.answer(nowNs, call)
		return
	}
	call.next = c.schedule(nowNs, server.CallBack, call.index, callBack)
}

// send sends the callback of a call.
func (c *Calls) send(nowNs int64, call *call) {
	outer := call.execution.outer
	r := c.clients.Callback(call.to.Callback.Workload, outer.Client)
	r.Details.CallbackOf, r.Details.Parent = call.id, outer.ID
	call.callback = r.Ref()
	c.clients.Resend(nowNs, r)
}

// waiting returns the call that waits for a callback, nil if none does.
func (c *Calls) waiting(r *server.Request) *call {
	id := r.Details.CallbackOf
	if id <= 0 {
		return nil
	}
	if call := c.calls[id&(1<<indexBits-1)]; call.id == id {
		return call
	}
	return nil
}

// Sending implements workload.Callbacks.
func (c *Calls) Sending(r *server.Request) {
	if call := c.waiting(r); call != nil {
		call.resend = 0
	}
}

// Responded implements workload.Callbacks.
func (c *Calls) Responded(nowNs int64, r *server.Request, response server.Response) {
	// Who was called can make something of any other response, such as that there is no such object.
	failed := response.Status == 0 || response.Status == server.StatusTooManyRequests || response.Status >= server.StatusInternalServerError
	call := c.waiting(r)
	if call == nil {
		if failed && r.Details.CallbackOf != left { // who was called goes on
			c.nextAttempt(nowNs, r, response)
		}
		return
	}
	call.callback = server.Ref{}
	if failed {
		if again, resend := c.nextAttempt(nowNs, r, response); again != nil {
			call.callback, call.resend = again.Ref(), resend
			return
		}
		call.failed, call.failure = true, server.Response{Status: server.StatusInternalServerError}
	}
	c.answer(nowNs, call)
}

// nextAttempt returns the next attempt of a failed callback of the same call, and the event that will send it; nil if the
// client gives up.
func (c *Calls) nextAttempt(nowNs int64, r *server.Request, response server.Response) (*server.Request, clock.Handle) {
	again, event := c.clients.RetryCallback(nowNs, r, response)
	if again != nil {
		again.Details.CallbackOf, again.Details.Parent = r.Details.CallbackOf, r.Details.Parent
	}
	return again, event
}

// answer answers a call after its latency.
func (c *Calls) answer(nowNs int64, call *call) {
	call.next = c.schedule(nowNs+call.latencyNs, server.Progress, call.index, answered)
}

// fail ends a call that has failed, by an event of its own: of calls that are given up at one instant, all
// callbacks leave before the first seat is free.
func (c *Calls) fail(nowNs int64, call *call, failure server.Response) {
	call.failed, call.failure = true, failure
	call.next = c.schedule(nowNs, server.Progress, call.index, answered)
}

// stop cancels the pending events of a call. It returns the callback that its sender has to leave, or none.
func (c *Calls) stop(call *call) server.Ref {
	for _, event := range []*clock.Handle{&call.giveUp, &call.next} {
		if *event != 0 {
			c.runState.Events.Cancel(*event)
			*event = 0
		}
	}
	callback, resend := call.callback, call.resend
	call.callback, call.resend = server.Ref{}, 0
	r := callback.Request()
	switch {
	case r == nil:
	case call.to.Callback.WhenGivenUp == workload.Continue:
		r.Details.CallbackOf = 0
	case resend != 0:
		c.runState.Events.Cancel(resend)
		c.runState.Discard(r)
	default:
		r.Details.CallbackOf = left
		return callback
	}
	return server.Ref{}
}

// left is the Details.CallbackOf of a callback whose sender has hung up.
const left = -1

// leave makes the called server hang up its callback. If the callback is over by then, or its server has ended, the
// client finds out later.
func (c *Calls) leave(nowNs int64, callback server.Ref) {
	if r := callback.Request(); r != nil {
		c.servers[r.Server].HangUp(nowNs, r)
	}
}

// callEnded goes on with a request when one of its calls is over.
func (c *Calls) callEnded(nowNs int64, call *call) {
	x := call.execution
	if call.failed && call.to.FailurePolicy == workload.Fail && x.failure.Status == 0 {
		x.failure = call.failure
	}
	if call.giveUp != 0 {
		c.runState.Events.Cancel(call.giveUp)
		call.giveUp = 0
	}
	x.remove(call)
	c.end(nowNs, call)
	switch {
	case len(x.open) > 0:
	case x.failure.Status != 0:
		s, r, failure := x.server, x.outer, x.failure
		c.freeExecution(x)
		s.Fail(nowNs, r, failure)
	case len(x.stages) > 0:
		c.beginStage(nowNs, x)
	default:
		s, r := x.server, x.outer
		c.freeExecution(x)
		s.Continue(nowNs, r)
	}
}

// end ends a call, and what it holds at an aggregated server.
func (c *Calls) end(nowNs int64, call *call) {
	call.execution = nil
	if call.to.aggregated != nil {
		if additionalNs := call.to.aggregated.end(nowNs, &call.proxied); additionalNs > 0 {
			c.schedule(nowNs+additionalNs, server.Release, call.index, released)
			return
		}
	}
	c.freeCall(call)
}

func (x *execution) remove(call *call) {
	for i := range x.open {
		if x.open[i] == call {
			last := len(x.open) - 1
			x.open[i] = x.open[last]
			x.open = x.open[:last]
			return
		}
	}
}

func (c *Calls) newExecution() *execution {
	if n := len(c.freeExecutions); n > 0 {
		x := c.freeExecutions[n-1]
		c.freeExecutions = c.freeExecutions[:n-1]
		return x
	}
	x := &execution{index: int32(len(c.executions))}
	c.executions = append(c.executions, x)
	return x
}

func (c *Calls) freeExecution(x *execution) {
	x.outer.Details.PendingCalls = 0
	c.freeExecutions = append(c.freeExecutions, x)
}

func (c *Calls) newCall() *call {
	if n := len(c.freeCalls); n > 0 {
		call := c.freeCalls[n-1]
		c.freeCalls = c.freeCalls[:n-1]
		return call
	}
	call := &call{index: int32(len(c.calls)), id: int64(len(c.calls))}
	call.proxied.bind(call)
	c.calls = append(c.calls, call)
	return call
}

func (c *Calls) freeCall(call *call) {
	call.id += 1 << indexBits // whose callback may still be answered
	c.freeCalls = append(c.freeCalls, call)
}
