package filter

import (
	"slices"
	"time"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/request"
	"apfsim/core/rules"
)

// Kind holds what similar requests of one client have in common at one server. It is computed once,
// and its route again after every change of the configuration. Filters do not share Kinds.
//
// Every request reads its Kind, which is seldom in the processor's cache: the fields that it reads
// are neighbours, and those that it does not are at the end.
type Kind struct {
	work       estimate.Request
	isWatch    bool
	bypasses   bool // PriorityAndFairness does not apply: long-running, and no watch that is queued
	counts     bool // MaxInFlight applies: neither long-running nor of system:masters
	readOnly   bool
	uncounted  bool  // routed is to an exempt level that does not count its requests
	generation int32 // of the configuration that routed is from; 0 before the first request

	waitLimitNs int64
	routed      flowcontrol.Route
	attributes  *classify.Attributes

	// FlowSchema is the name of the one that the requests have if it exists, whatever the configuration would say. It
	// must be set before the first request; "" for what the configuration says.
	FlowSchema string

	timeoutNs int64 // from the receipt to the deadline; NoLimitNs if there is none
	writes    bool  // the handler changes one object, see writeLimitNs
	deletes   bool  // the handler deletes a collection
}

// NewKind returns the kind of the requests with the given attributes, which are kept, and URL
// query. The error is that the query is not URL encoding.
func (f *Filter) NewKind(a *classify.Attributes, query string) (Kind, error) {
	options, err := request.ParseOptions(a.Verb, query)
	if err != nil {
		return Kind{}, err
	}
	timeoutNs := f.timeoutNs(a, options.Timeout)
	return Kind{
		attributes:  a,
		isWatch:     a.Verb == "watch",
		bypasses:    a.Bypasses(f.settings.Rules),
		counts:      !a.LongRunning() && !slices.Contains(a.Groups, "system:masters"),
		readOnly:    a.ReadOnly(),
		waitLimitNs: f.waitLimitNs(a.Verb == "watch", timeoutNs),
		work:        *f.estimator.NewParsedRequest(a, options),
		timeoutNs:   timeoutNs,
		writes:      a.IsResource() && request.ChangesObject(a.Verb) && !a.LongRunning(),
		deletes:     a.IsResource() && a.Verb == "deletecollection" && !a.LongRunning(),
	}, nil
}

// Named returns the kind of the requests that are like those of k but name another object. It has the attributes a,
// which may differ from those of k in the name and the path only, of a request for a resource that is neither a list
// nor a watch. The name is only read for the estimate.
func (k *Kind) Named(a *classify.Attributes) Kind {
	named := *k
	named.attributes = a
	named.work = k.work.Named(a.Namespace, a.Name)
	return named
}

// NoLimitNs is the limit of a request that has none: longer than any run.
const NoLimitNs = int64(1) << 62

// writeLimitNs is how long the handler of a request that changes one object may take, whatever the deadline of
// the request (k8s.io/apiserver, endpoints/handlers/rest.go, requestTimeoutUpperBound). These handlers wait for
// the storage with their context (endpoints/handlers/finisher), so that they end with it. A deletecollection does
// the same, without that limit (endpoints/handlers/delete.go): the rest of its objects stays. A list or a get may
// go on after its deadline, when its client has been answered.
const writeLimitNs = 34_000_000_000

// timeoutNs returns the time from a request's receipt to its deadline: the server's timeout, or the
// shorter one that the request asks for. A long-running request has none.
func (f *Filter) timeoutNs(a *classify.Attributes, asked string) int64 {
	if a.LongRunning() {
		return NoLimitNs
	}
	if d, err := time.ParseDuration(asked); err == nil && d > 0 && f.settings.Rules.TimeoutParameter {
		return min(f.settings.RequestTimeoutNs, int64(d))
	}
	return f.settings.RequestTimeoutNs
}

// waitLimitNs returns how long a request waits in a queue at most: a quarter of the time from its
// receipt to its deadline, or another share (rules.WhatIf), up to what the rules allow. A watch has no deadline, and the
// server's timeout is used. If the rules have LazyWaitLimit, only the deadline itself ends the wait for certain.
func (f *Filter) waitLimitNs(isWatch bool, timeoutNs int64) int64 {
	switch {
	case f.settings.Rules.LazyWaitLimit:
		return timeoutNs
	case isWatch:
		timeoutNs = f.settings.RequestTimeoutNs
	}
	limitNs := timeoutNs / 4
	if share := f.settings.Rules.WhatIf.QueueWaitShare; share > 0 {
		limitNs = int64(share * float64(timeoutNs))
	}
	return min(f.settings.Rules.MaxWaitNs, limitNs)
}

// route finds the route of the kind by the current configuration.
func (k *Kind) route(f *Filter) {
	k.generation, k.routed = int32(f.control.Generation()), f.control.RouteBy(k.FlowSchema, k.attributes)
	k.uncounted = f.uncounted(&k.routed)
}

// uncounted says whether the requests of a route are dispatched without being counted: they take no
// seats, and their work is not estimated. So are those of the exempt level where it does not take
// part in the division of the seats.
func (f *Filter) uncounted(route *flowcontrol.Route) bool {
	return f.settings.Rules.Exempt == rules.ExemptAbsent && route.Level.Spec().Type == config.TypeExempt
}

// Route returns where the latest request of the kind was routed. Its Level is nil before the first
// one, and where PriorityAndFairness does not apply.
func (k *Kind) Route() *flowcontrol.Route { return &k.routed }

// WaitLimitNs returns how long a request of the kind may wait in a queue before the host owes its
// TimeOut. Under rules with LazyWaitLimit that is until its deadline, and NoLimitNs for a watch.
func (k *Kind) WaitLimitNs() int64 { return k.waitLimitNs }

// DeadlineNs returns when a request of the kind must have been answered that was received at receivedNs
// and whose handler begins at handlerNs. It is NoLimitNs after the receipt if that is never.
//
// Before 1.21, the timeout of a request shortened that of a write's handler instead, which could also
// exceed writeLimitNs, and up to 1.23 a deletecollection had the limit of a write. Both are as in
// later releases here.
func (k *Kind) DeadlineNs(receivedNs, handlerNs int64) int64 {
	deadlineNs := receivedNs + k.timeoutNs
	if k.writes {
		deadlineNs = min(deadlineNs, handlerNs+writeLimitNs)
	}
	return deadlineNs
}

// ListBytes is estimate.Request's.
func (k *Kind) ListBytes(stored estimate.Stats) int64 { return k.work.ListBytes(stored) }

// TimeLimitNs returns the least time, from its receipt on, after which a request of the kind may be at
// its DeadlineNs.
func (k *Kind) TimeLimitNs() int64 { return k.DeadlineNs(0, 0) }

// EndsAtDeadline says whether the handler of a request of the kind ends at its DeadlineNs, or when its
// client goes. Another goes on, and keeps the seats, although nobody waits for it.
func (k *Kind) EndsAtDeadline() bool { return k.writes || k.deletes }

// WaitLimitNs is that of the request's kind.
func (f *Filter) WaitLimitNs(r *Request) int64 { return r.kind.waitLimitNs }

// Watchers returns how many open watches are interested in what requests of the kind change; ok is
// false for those that are not estimated by them.
func (k *Kind) Watchers() (n int, ok bool) { return k.work.Watchers() }

// Request is one request at a server. The host allocates it, binds it, and may use it again when
// it has been rejected, or released and, for a watch, ended. Receive sets its Level, nil where
// PriorityAndFairness does not apply, and its Work.
type Request struct {
	flowcontrol.Request
	owner    any // the host's: it finds it again
	kind     *Kind
	limit    limit
	isWatch  bool // the kind's, as readOnly: a request need not look at its kind again
	readOnly bool
}

// limit is how a request is limited.
type limit uint8

const (
	notLimited limit = iota
	byPriority
	byCount
)

// Bind makes owner what Owner returns, such as the host's request in which r is embedded. It must be
// called before the first Receive, and for each copy of a Request.
func (r *Request) Bind(owner any) { r.Request.Owner, r.owner = r, owner }

// Owner returns what Bind was given.
func (r *Request) Owner() any { return r.owner }

// Kind returns the request's kind.
func (r *Request) Kind() *Kind { return r.kind }

// IsWatch says whether the request is a watch, which goes on after Finish until EndWatch.
func (r *Request) IsWatch() bool { return r.isWatch }

// KeepsSeats says whether the request keeps its seats for some time after Finish.
func (r *Request) KeepsSeats() bool { return r.limit == byPriority && r.Work.AdditionalLatencyNs > 0 }
