// Package filter implements one request's way through a server's flow control, from its receipt
// until its seats are free again (k8s.io/apiserver, server/filters/priority-and-fairness.go and
// maxinflight.go): which requests are limited at all, where they are routed, how many seats they
// take, how long they wait, when a watch counts as a watcher, what becomes of a request whose
// client has gone, and when a rejected client may come back.
//
// A simulated server, a comparison with kube-apiserver and a live server share it. It knows none
// of them and no clock: the time comes in as an argument and never goes back, and what must
// happen later goes out as a value. The life of a request:
//
//	Receive   routes the request and estimates its work
//	Arrive    rejects it, lets it wait, or dispatches it
//	          ... a request that waits ends its wait by a call of Host.Dispatched; if there is
//	          none within WaitLimitNs, the host owes a TimeOut; if its client goes away, a Cancel;
//	          under rules with LazyWaitLimit, a call of Host.TimedOut can end it, too
//	Finish    ends its execution; for a watch, its initialisation
//	Release   ends its additional latency, if Finish returned one
//	EndWatch  ends a watch
package filter

import (
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
)

// Mode is how a server limits its requests.
type Mode uint8

// The modes.
const (
	PriorityAndFairness Mode = iota
	MaxInFlight              // two counters, for read-only and for mutating requests
	NoLimits                 // every request is dispatched at once
)

// Settings are the settings of the flow control of one server.
type Settings struct {
	Rules *rules.Rules
	Mode  Mode

	// MaxRequestsInFlight and MaxMutatingRequestsInFlight are the flags of these names. With
	// PriorityAndFairness, their sum is the server's seats; with MaxInFlight, each is the limit of
	// its counter, and 0 is no limit.
	MaxRequestsInFlight, MaxMutatingRequestsInFlight int

	RequestTimeoutNs int64          // deadline of a request that asks for none, after its receipt
	Objects          config.Objects // as flowcontrol.Controller.Configure wants them; PriorityAndFairness only
	Store            estimate.Store // what the server knows at first of its stored objects

	// Adjusted is called when the levels or their current limits may have changed, see
	// flowcontrol.New; nil if nobody needs to know.
	Adjusted func(nowNs int64)
}

// Host is the server around a Filter. Its methods are those of queueset.Host, for all levels and for the requests
// that no level limits, and must not call back either.
type Host interface {
	Dispatched(r *Request)
	HeldBack(r *Request)
	TimedOut(nowNs int64, r *Request)
}

// Filter is the flow control of one server.
type Filter struct {
	settings    Settings
	host        Host
	estimator   *estimate.Estimator
	control     *flowcontrol.Controller  // nil unless PriorityAndFairness
	maxInFlight *flowcontrol.MaxInFlight // nil unless MaxInFlight
}

// New returns the filter of a server that has no requests. The host is told of the requests that are
// dispatched, whatever limits them.
func New(nowNs int64, s Settings, host Host) *Filter {
	f := &Filter{settings: s, host: host, estimator: estimate.NewEstimator(s.Rules, s.Store)}
	switch s.Mode {
	case PriorityAndFairness:
		f.control = flowcontrol.New(nowNs, s.Rules, s.MaxRequestsInFlight+s.MaxMutatingRequestsInFlight, s.Objects, (*queueHost)(f), s.Adjusted)
	case MaxInFlight:
		f.maxInFlight = &flowcontrol.MaxInFlight{ReadOnlyLimit: s.MaxRequestsInFlight, MutatingLimit: s.MaxMutatingRequestsInFlight}
	}
	return f
}

// Configure puts another configuration into force. The server must have PriorityAndFairness.
func (f *Filter) Configure(nowNs int64, objects config.Objects) { f.control.Configure(nowNs, objects) }

// Adjust adjusts the levels' current limits, which is due every flowcontrol.AdjustmentPeriodNs.
// The server must have PriorityAndFairness.
func (f *Filter) Adjust(nowNs int64) { f.control.Adjust(nowNs) }

// Update makes the server know other statistics of a resource, for the estimates from now on.
func (f *Filter) Update(r estimate.Resource, stats estimate.Stats) { f.estimator.Update(r, stats) }

// Levels returns the priority levels by name, nil without PriorityAndFairness. The slice is valid
// until the next call of Configure.
func (f *Filter) Levels() []*flowcontrol.Level {
	if f.control == nil {
		return nil
	}
	return f.control.Levels()
}

// Receive readies a request of a kind for Arrive: it finds out how the request is limited, and
// under PriorityAndFairness its route and its work. rerouted says that the kind has another
// route than before: the request is the first of its kind, or the first since a change of the
// configuration.
func (f *Filter) Receive(r *Request, k *Kind) (rerouted bool) {
	r.kind, r.isWatch, r.readOnly = k, k.isWatch, k.readOnly
	switch {
	case f.control != nil && !k.bypasses:
		if k.generation != int32(f.control.Generation()) {
			k.route(f)
			rerouted = true
		}
		r.limit = byPriority
		r.Level = k.routed.Level
		if k.uncounted {
			r.Work = estimate.Work{}
			return rerouted
		}
		r.Work = k.work.Estimate(r.Level.SeatCap())
		return rerouted
	case f.maxInFlight != nil && k.counts:
		r.limit = byCount
	default:
		r.limit = notLimited
	}
	r.Level, r.Work = nil, estimate.Work{}
	return false
}

// Arrive takes a request that has been received. It is rejected, with the number of seconds after
// which its client may come back; or it waits, for WaitLimitNs at most; or it is dispatched before
// the method returns. Others may be dispatched too.
func (f *Filter) Arrive(nowNs int64, r *Request) (rejection queueset.Rejection, retryAfterSeconds int) {
	switch r.limit {
	case byPriority:
		if f.settings.Rules.LazyWaitLimit {
			r.OverdueNs = nowNs + f.settings.RequestTimeoutNs/4
		}
		return f.control.Arrive(nowNs, &r.Request, &r.kind.routed)
	case byCount:
		if !f.maxInFlight.Arrive(r.readOnly) {
			return queueset.ConcurrencyLimit, flowcontrol.MaxInFlightRetryAfterSeconds
		}
	}
	f.dispatched(r)
	return queueset.NotRejected, 0
}

// dispatched registers a watch, which counts as a watcher from its dispatch on, and notifies the
// host.
func (f *Filter) dispatched(r *Request) {
	if r.isWatch {
		r.kind.work.WatchStarts()
	}
	f.host.Dispatched(r)
}

// TimeOut rejects a request that is still waiting WaitLimitNs after its arrival, and returns after
// how many seconds its client may come back. Under rules with LazyWaitLimit that is the deadline of
// the request, so that it is Cancelled: it counts as a drop, but its client gets another response,
// 504 of the filter for timeouts.
func (f *Filter) TimeOut(nowNs int64, r *Request) (rejection queueset.Rejection, retryAfterSeconds int) {
	return f.endOfContext(), f.control.TimeOut(nowNs, &r.Request)
}

// Dropped counts a request that has left its queue because it was overdue, of which Host.TimedOut
// has told, and returns after how many seconds its client may come back. The host owes the call, and no longer
// owes the request's TimeOut.
func (f *Filter) Dropped(nowNs int64, r *Request) (retryAfterSeconds int) {
	return f.control.Dropped(nowNs, &r.Request)
}

// endOfContext is the reason for which a request is rejected that waits until its context ends.
func (f *Filter) endOfContext() queueset.Rejection {
	if f.settings.Rules.LazyWaitLimit {
		return queueset.Cancelled
	}
	return queueset.TimedOut
}

// Cancel is called when the client of a request has gone. A request that waits is rejected, and
// counts as a drop. Any other is not affected, and not rejected: one that executes keeps its seats
// until its Finish, since its handler runs to its end.
func (f *Filter) Cancel(nowNs int64, r *Request) (rejection queueset.Rejection, retryAfterSeconds int) {
	if !r.Waiting() {
		return queueset.NotRejected, 0
	}
	return f.endOfContext(), f.control.Cancel(nowNs, &r.Request)
}

// Finish ends a request's execution; for a watch, its initialisation. It returns for how long the
// request keeps its seats: if positive, the host owes a Release that much later.
func (f *Filter) Finish(nowNs int64, r *Request) (additionalNs int64) {
	switch r.limit {
	case byPriority:
		return f.control.Finish(nowNs, &r.Request)
	case byCount:
		f.maxInFlight.Finish(r.readOnly)
	}
	return 0
}

// Release ends a request's additional latency.
func (f *Filter) Release(nowNs int64, r *Request) { f.control.Release(nowNs, &r.Request) }

// EndWatch ends a watch that has been dispatched: it no longer counts as a watcher.
func (f *Filter) EndWatch(r *Request) { r.kind.work.WatchEnds() }

// Probe returns what a request of a kind would meet that arrived now. It changes no decision: the
// probe is rejected, or dispatched at once (waits is false), or it waits until its methods say
// that it would be dispatched, and at most the kind's WaitLimitNs.
func (f *Filter) Probe(nowNs int64, k *Kind) (p queueset.Probe, rejection queueset.Rejection, waits bool) {
	switch {
	case f.control != nil && !k.bypasses:
		route := k.routed
		if k.generation != int32(f.control.Generation()) {
			route = f.control.RouteBy(k.FlowSchema, k.attributes) // the kind's own is left to its next request
		}
		if f.uncounted(&route) {
			return p, queueset.NotRejected, false
		}
		return route.Level.Queues().Probe(nowNs, k.work.Estimate(route.Level.SeatCap()), &route.Hand)
	case f.maxInFlight != nil && k.counts && f.maxInFlight.Full(k.readOnly):
		return p, queueset.ConcurrencyLimit, false
	}
	return p, queueset.NotRejected, false
}

// queueHost is the Filter as the host of the queues. It passes on to the server's what it is told.
type queueHost Filter

// Dispatched implements queueset.Host.
func (h *queueHost) Dispatched(q *queueset.Request) {
	(*Filter)(h).dispatched(q.Owner.(*Request))
}

// HeldBack implements queueset.Host.
func (h *queueHost) HeldBack(q *queueset.Request) { h.host.HeldBack(q.Owner.(*Request)) }

// TimedOut implements queueset.Host.
func (h *queueHost) TimedOut(nowNs int64, q *queueset.Request) {
	h.host.TimedOut(nowNs, q.Owner.(*Request))
}
