// Package estimate says how many seats a request takes and for how long, as kube-apiserver
// does (k8s.io/apiserver/pkg/util/flowcontrol/request).
package estimate

import (
	"math"
	"slices"

	"apfsim/core/classify"
	"apfsim/core/rules"
)

// Work is the estimate of a request: it occupies InitialSeats while it executes, and
// FinalSeats for AdditionalLatencyNs after its answer has gone out, while its watchers
// are told. How long it executes is no part of the estimate.
type Work struct {
	InitialSeats, FinalSeats int
	AdditionalLatencyNs      int64
}

// MaxSeats returns the seats that are held during both phases.
func (w Work) MaxSeats() int { return max(w.InitialSeats, w.FinalSeats) }

// What the estimator itself sets.
const (
	maxMutatingSeats = 10 // of a mutation

	bytesPerSeat       = 100_000
	maxBytesFromCache  = 1_000_000 // at once: the cache answers piecemeal
	unknownObjectBytes = 1_500_000 // the largest object that etcd takes
	staleObjects       = 1_000_000_000

	watchersPerSeat = 10
	eventNs         = 5_000_000 // for which a seat is busy telling its watchers
)

// mutating are the verbs that cause events for watchers.
var mutating = []string{"create", "update", "patch", "delete"}

// Request is all that the estimate of a request depends on, made once for all requests
// that are alike at one server. Estimate does not allocate; it remembers the count of
// watchers, so that one Request is not for use by several goroutines at once.
type Request struct {
	kind  kind
	seats int // of a list: the estimate before the level's cap, from 1 to rules.Rules.MaxListSeats
	scope scope

	watches *resourceWatches // those of the resource; nil when they do not matter
	counted bool             // of a watch: that mutations are to reckon with it

	watchers     int    // of a mutation: how many are interested,
	watchersAsOf uint64 // as of this change to watches
}

// kind is the way in which a request is estimated.
type kind uint8

const (
	other    kind = iota // always one seat
	list                 // lists and watches: by the size of what is listed
	mutation             // by the number of watchers
)

// Estimator is what the estimates of one server depend on: the rules of its release, what it
// knows of its stored objects, and its watches.
type Estimator struct {
	Rules    *rules.Rules
	Store    Store
	Watchers *Watchers
}

// NewEstimator returns the estimator of a server that has no watch open.
func NewEstimator(r *rules.Rules, store Store) *Estimator {
	return &Estimator{Rules: r, Store: store, Watchers: NewWatchers()}
}

// NewRequest returns the request with the given attributes and URL query, which is what
// follows the question mark: limit=500&resourceVersion=0. What is stored is read now, once.
//
// The name that a list or a watch asks for by the field selector metadata.name counts as
// the request's name. All else in a, the name of a create too, is taken as it stands.
//
// The error says what in the query is no URL encoding. A query that kube-apiserver can
// read but not make sense of, as limit=many, is no error: such a list takes all the seats
// it can.
func (e *Estimator) NewRequest(a *classify.Attributes, query string) (*Request, error) {
	o, err := parseOptions(query)
	if err != nil {
		return nil, err
	}
	name := a.Name
	if name == "" && (a.Verb == "list" || a.Verb == "watch") {
		name = o.objectName()
	}
	r := &Request{scope: scope{a.Namespace, name}}
	resource := Resource{a.APIGroup, a.Resource}
	switch {
	case a.Verb == "list" || a.Verb == "watch":
		r.kind = list
		r.seats = e.listSeats(&o, a.Verb == "watch", name != "", resource)
	case slices.Contains(mutating, a.Verb):
		// A token is no object: nobody watches its creation.
		if a.Resource != "serviceaccounts" || a.Subresource != "token" {
			r.kind = mutation
			r.watches = e.Watchers.of(resource)
		}
	}
	if a.Verb == "watch" {
		r.watches = e.Watchers.of(resource)
		r.counted = o.mattersToMutations(a.Resource)
	}
	return r, nil
}

// Estimate returns the work of the request at a priority level that lets one request have
// at most maxSeats seats, or as many as the estimator allows if maxSeats is 0.
func (r *Request) Estimate(maxSeats int) Work {
	switch r.kind {
	case list:
		return Work{InitialSeats: seatCap(maxSeats, r.seats)}
	case mutation:
		return mutationWork(r.interested(), seatCap(maxSeats, maxMutatingSeats))
	}
	return Work{InitialSeats: 1}
}

// seatCap returns the lower of a level's cap, if there is one, and the estimator's.
func seatCap(level, estimator int) int {
	if level <= 0 {
		return estimator
	}
	return min(level, estimator)
}

// mutationWork is one seat for the mutation, then a seat for every ten watchers for as
// long as it takes to tell them. What exceeds the cap goes into length: the work stays.
func mutationWork(watchers, maxSeats int) Work {
	if watchers < watchersPerSeat {
		return Work{InitialSeats: 1}
	}
	seats := (watchers + watchersPerSeat - 1) / watchersPerSeat
	work := SeatsTimesDuration(float64(seats), eventNs)
	seats = min(seats, maxSeats)
	return Work{
		InitialSeats:        1,
		FinalSeats:          seats,
		AdditionalLatencyNs: work.DurationPerSeat(float64(seats)),
	}
}

// listSeats estimates a list, or a watch that begins with one, by the bytes that the
// server holds in memory at once for it, before any cap but the estimator's.
func (e *Estimator) listSeats(o *options, watch, named bool, resource Resource) int {
	most := e.Rules.MaxListSeats
	if o.invalid {
		return most
	}
	if watch && !o.startsWithList() {
		return 1
	}
	stats, known := e.Store[resource]
	if !known {
		// Most likely another server's resource, which costs this one little.
		return 1
	}
	if stats.Stale {
		// A server that cannot count is in trouble: expect the worst.
		stats = Stats{Objects: staleObjects, AverageBytes: unknownObjectBytes}
	}
	if stats.AverageBytes <= 0 && stats.Objects != 0 {
		stats.AverageBytes = unknownObjectBytes
	}
	fromCache := watch || o.servedFromCache()
	objects := stats.Objects
	if o.limit > 0 {
		objects = min(objects, o.limit)
	}
	switch {
	case named:
		objects = 1
	case !fromCache && o.selects():
		objects = max(objects, stats.Objects/2)
	}
	bytes := times(objects, stats.AverageBytes)
	if fromCache {
		bytes = min(bytes, maxBytesFromCache)
	}
	return int(max(1, min(float64(most), math.Ceil(float64(bytes)/bytesPerSeat))))
}

// times multiplies, stopping short of overflow; it is 0 unless both are positive.
func times(a, b int64) int64 {
	switch {
	case a <= 0 || b <= 0:
		return 0
	case a > math.MaxInt64/b:
		return math.MaxInt64
	}
	return a * b
}
