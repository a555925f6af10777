package calls

import (
	"apfsim/core/filter"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/sim/server"
)

// The flags --max-requests-inflight and --max-mutating-requests-inflight of an aggregated server, which
// has the defaults of k8s.io/apiserver (server/options).
const (
	aggregatedRequestsInFlight         = 400
	aggregatedMutatingRequestsInFlight = 200
)

// aggregatedServers are the aggregated servers of a run.
type aggregatedServers struct {
	calls    *Calls
	all      []*aggregated
	settings filter.Settings
	changes  []server.Change
}

func (a *aggregatedServers) init(d *server.Deps, c *Calls) {
	release, err := d.Settings.Rules()
	if err != nil {
		panic("calls: a scenario that is not valid: " + err.Error())
	}
	a.calls, a.changes = c, d.Changes
	a.settings = d.Settings.FilterSettings(release, d.Objects, server.Stored(d.Resources))
	a.settings.MaxRequestsInFlight, a.settings.MaxMutatingRequestsInFlight = aggregatedRequestsInFlight, aggregatedMutatingRequestsInFlight
}

// get returns the aggregated server of a name.
func (a *aggregatedServers) get(name string) *aggregated {
	for _, known := range a.all {
		if known.name == name {
			return known
		}
	}
	s := &aggregated{name: name, index: len(a.all), calls: a.calls, kinds: map[*server.Template]*filter.Kind{}}
	s.filter = filter.New(0, a.settings, s)
	if len(a.all) == 0 && a.settings.Mode == filter.PriorityAndFairness {
		a.calls.schedule(flowcontrol.AdjustmentPeriodNs, server.Adjust, 0, adjust)
		for i := range a.changes {
			a.calls.schedule(a.changes[i].AtNs, server.Reconfigure, int32(i)+1, configure)
		}
	}
	a.all = append(a.all, s)
	return s
}

// adjust makes a periodic adjustment of all servers.
func (a *aggregatedServers) adjust(nowNs int64) {
	for _, s := range a.all {
		s.filter.Adjust(nowNs)
	}
	a.calls.schedule(nowNs+flowcontrol.AdjustmentPeriodNs, server.Adjust, 0, adjust)
}

// configure puts the configuration of a change, counted from 1, into force at all servers, which read the
// objects of the API servers.
func (a *aggregatedServers) configure(nowNs int64, change int) {
	for _, s := range a.all {
		s.filter.Configure(nowNs, a.changes[change-1].Objects)
	}
}

// aggregated is an aggregated server, which has flow control of its own, and to which all API servers pass
// requests on. What it is besides, such as its speed, is the latency of its calls. It implements
// filter.Host.
type aggregated struct {
	name   string
	index  int
	calls  *Calls
	filter *filter.Filter
	kinds  map[*server.Template]*filter.Kind
}

// proxied is the state of a request at an aggregated server, where it has the identity of the original client.
type proxied struct {
	filter.Request
	call                  *call
	executing             bool
	arrivalNs, dispatchNs int64
	again                 bool // it is not the client's first attempt
}

// AggregatedEvent is what happens to a request that was proxied to an aggregated server.
type AggregatedEvent struct {
	Server     int // index of the aggregated server, see AggregatedServers
	What       Passage
	Rejection  queueset.Rejection // of PassedRejected: the reason
	ArrivalNs  int64
	DispatchNs int64 // not before PassedDispatched
	Again      bool  // it is not the client's first attempt
}

// Passage is the progress of a request at an aggregated server.
type Passage uint8

// The steps: a request arrives, and is then rejected, or dispatched and executed.
const (
	PassedArrived Passage = iota
	PassedDispatched
	PassedRejected
	PassedExecuted
)

// AggregatedServers returns the names of the aggregated servers of the run.
func (c *Calls) AggregatedServers() (names []string) {
	for _, a := range c.aggregated.all {
		names = append(names, a.name)
	}
	return names
}

// OnAggregatedEvent makes f be called with whatever happens to a request at an aggregated server from now on. The run
// calls it only before it executes, because f would not know what has happened earlier. f must not call back.
func (c *Calls) OnAggregatedEvent(f func(nowNs int64, p AggregatedEvent)) {
	c.aggregatedObservers = append(c.aggregatedObservers, f)
}

// notify tells the observers that something has happened to a request.
func (a *aggregated) notify(nowNs int64, p *proxied, what Passage, rejection queueset.Rejection) {
	if rejection == queueset.Cancelled { // at its deadline, which counts as a time-out
		rejection = queueset.TimedOut
	}
	for _, f := range a.calls.aggregatedObservers {
		f(nowNs, AggregatedEvent{a.index, what, rejection, p.arrivalNs, p.dispatchNs, p.again})
	}
}

func (p *proxied) bind(call *call) {
	p.call = call
	p.Bind(p)
}

// arrive passes the request of a call through the flow control of the aggregated server.
func (a *aggregated) arrive(nowNs int64, call *call) {
	p := &call.proxied
	p.arrivalNs, p.dispatchNs, p.again = nowNs, -1, call.execution.outer.Attempt > 1
	a.notify(nowNs, p, PassedArrived, queueset.NotRejected)
	kind := a.kind(call.execution.outer.Template)
	a.filter.Receive(&p.Request, kind)
	rejection, retryAfterSeconds := a.filter.Arrive(nowNs, &p.Request)
	switch {
	case rejection != queueset.NotRejected:
		a.notify(nowNs, p, PassedRejected, rejection)
		a.calls.fail(nowNs, call, tooManyRequests(retryAfterSeconds))
	case p.Waiting():
		call.next = a.calls.schedule(nowNs+kind.WaitLimitNs(), server.TimeOut, call.index, timedOut)
	}
}

func (a *aggregated) kind(t *server.Template) *filter.Kind {
	known := a.kinds[t]
	if known == nil {
		kind, err := a.filter.NewKind(&t.Attributes, t.Query)
		if err != nil {
			panic("calls: a query that validation accepted: " + err.Error())
		}
		known = &kind
		a.kinds[t] = known
	}
	return known
}

// HeldBack implements filter.Host. Nobody observes it.
func (a *aggregated) HeldBack(*filter.Request) {}

// Dispatched implements filter.Host.
func (a *aggregated) Dispatched(q *filter.Request) {
	p := q.Owner().(*proxied)
	nowNs := a.calls.runState.Events.NowNs()
	p.executing, p.dispatchNs = true, nowNs
	a.notify(nowNs, p, PassedDispatched, queueset.NotRejected)
	if p.call.next != 0 {
		a.calls.runState.Events.Cancel(p.call.next) // the time-out
	}
	p.call.next = a.calls.schedule(nowNs, server.Progress, p.call.index, passedOn)
}

// timeOut rejects a request that has waited too long.
func (a *aggregated) timeOut(nowNs int64, p *proxied) server.Response {
	rejection, retryAfterSeconds := a.filter.TimeOut(nowNs, &p.Request)
	a.notify(nowNs, p, PassedRejected, rejection)
	if rejection == queueset.Cancelled { // at its deadline
		return server.Response{Status: server.StatusGatewayTimeout}
	}
	return tooManyRequests(retryAfterSeconds)
}

// TimedOut implements filter.Host.
func (a *aggregated) TimedOut(nowNs int64, q *filter.Request) {
	p := q.Owner().(*proxied)
	call, retryAfterSeconds := p.call, a.filter.Dropped(nowNs, &p.Request)
	a.notify(nowNs, p, PassedRejected, queueset.TimedOut)
	a.calls.runState.Events.Cancel(call.next) // the deadline
	a.calls.fail(nowNs, call, tooManyRequests(retryAfterSeconds))
}

// end ends a request that executes or waits, and returns for how long it keeps its seats. A watch counts
// as a watcher until it is initialised only, because it is its API server that has it afterwards.
func (a *aggregated) end(nowNs int64, p *proxied) (additionalNs int64) {
	if !p.executing {
		// Without effect if it was rejected.
		if rejection, _ := a.filter.Cancel(nowNs, &p.Request); rejection != queueset.NotRejected {
			a.notify(nowNs, p, PassedRejected, rejection)
		}
		return 0
	}
	p.executing = false
	a.notify(nowNs, p, PassedExecuted, queueset.NotRejected)
	additionalNs = a.filter.Finish(nowNs, &p.Request)
	if p.IsWatch() {
		a.filter.EndWatch(&p.Request)
	}
	return additionalNs
}

func tooManyRequests(retryAfterSeconds int) server.Response {
	return server.Response{Status: server.StatusTooManyRequests, RetryAfterSeconds: int32(retryAfterSeconds)}
}
