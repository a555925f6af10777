// Package estimate computes how many seats a request occupies, and for how long after it has
// executed, as kube-apiserver does (k8s.io/apiserver/pkg/util/flowcontrol/request).
package estimate

import (
	"maps"

	"apfsim/core/classify"
	"apfsim/core/request"
	"apfsim/core/rules"
)

// Work is the estimate of a request. The request occupies InitialSeats while it executes. After
// its response it occupies FinalSeats for AdditionalLatencyNs nanoseconds, while the server
// notifies the watchers of the changed object. The execution time is not part of the estimate.
type Work struct {
	InitialSeats, FinalSeats int
	AdditionalLatencyNs      int64
}

// MaxSeats returns the larger number of seats of the two phases. Dispatch needs this many free
// seats.
func (w Work) MaxSeats() int { return max(w.InitialSeats, w.FinalSeats) }

// Request holds everything that the estimate of a request depends on. One Request serves for
// all requests to one server with the same attributes and query. Estimate does not allocate
// memory. It caches the number of watchers, so that goroutines must not share a Request.
type Request struct {
	rules *rules.Rules

	scope   *scope           // nil if the estimate does not depend on watches
	watches *resourceWatches // the open watches of the resource; nil likewise

	watchersAsOf uint64 // the value of watches.changes for which watchers was counted
	watchers     int32  // of a mutation: the number of interested watches

	kind    kind
	counted bool // of a watch: it counts as a watcher in the estimate of mutations

	listing *listing // of a list, or of a watch whose seats may be more than one
}

// kind is the rule by which a request is estimated.
type kind uint8

const (
	other    kind = iota // the least seats
	list                 // lists and watches: by the listed objects
	mutation             // by the number of watchers
	write                // one seat, without watchers
)

// Estimator estimates requests for one server, by the rules of its release, the statistics of its
// stored objects, and its watches.
type Estimator struct {
	Rules    *rules.Rules
	Watchers *Watchers

	store   Store
	updates uint64 // of store
}

// NewEstimator returns the estimator of a server that has no watch open. The store is what the
// server knows at first; it is copied.
func NewEstimator(r *rules.Rules, store Store) *Estimator {
	return &Estimator{Rules: r, Watchers: NewWatchers(), store: maps.Clone(store)}
}

// Update makes the server know other statistics of a resource, for the estimates from now on.
func (e *Estimator) Update(resource Resource, stats Stats) {
	if e.store == nil {
		e.store = Store{}
	}
	if known, ok := e.store[resource]; ok && known == stats {
		return
	}
	e.store[resource] = stats
	e.updates++
}

// NewRequest returns the request with the given attributes and URL query. The query is the text
// after the question mark, for example limit=500&resourceVersion=0.
//
// If a list or a watch selects one object with the field selector metadata.name, that name
// counts as the name of the request. All other attributes are used as given, including the name
// of a create.
//
// The error says that the query is not in URL encoding. A query with an invalid value, such as
// limit=many, is not an error: as in kube-apiserver, such a list is estimated at the maximum.
func (e *Estimator) NewRequest(a *classify.Attributes, query string) (*Request, error) {
	parsed, err := request.ParseOptions(a.Verb, query)
	if err != nil {
		return nil, err
	}
	return e.NewParsedRequest(a, parsed), nil
}

// NewParsedRequest is NewRequest for a query that has been parsed for the verb of the request.
func (e *Estimator) NewParsedRequest(a *classify.Attributes, parsed request.Options) *Request {
	o := options{parsed}
	name := a.Name
	if name == "" && (a.Verb == "list" || a.Verb == "watch") {
		name = o.ObjectName()
	}
	r := &Request{rules: e.Rules}
	resource := Resource{a.APIGroup, a.Resource}
	switch {
	case a.Verb == "list" || a.Verb == "watch":
		r.kind = list
		r.listing = e.newListing(&o, a.Verb == "watch", name != "", resource)
		if a.Verb == "watch" && !r.listing.counts && r.listing.seats == int32(e.Rules.MinSeats) {
			r.listing = nil
		}
	case request.ChangesObject(a.Verb):
		r.kind = write
		// The token of a service account is not stored, so that no watch sees its creation.
		if e.Rules.FinalSeats && (e.Rules.TokensAreObjects || a.Resource != "serviceaccounts" || a.Subresource != "token") {
			r.kind = mutation
			r.watches = e.Watchers.resource(resource)
		}
	}
	if a.Verb == "watch" {
		r.watches = e.Watchers.resource(resource)
		r.counted = o.countsForMutations(a.Resource)
	}
	if r.watches != nil {
		r.scope = &scope{a.Namespace, name}
	}
	return r
}

// Named returns the request that is like r, but names another object. It must not be a list or a watch.
func (r *Request) Named(namespace, name string) Request {
	named := *r
	if named.scope != nil {
		named.scope = &scope{namespace, name}
		named.watchersAsOf, named.watchers = 0, 0
	}
	return named
}

// Estimate returns the work of the request at a priority level whose requests may occupy at
// most maxSeats seats each. If maxSeats is 0, only the limits of the estimator apply.
func (r *Request) Estimate(maxSeats int) Work {
	switch r.kind {
	case list:
		switch {
		case r.listing == nil:
		case r.rules.ListSeats == rules.FixedSeats:
			return Work{InitialSeats: r.listing.initialSeats()}
		default:
			return Work{InitialSeats: seatCap(maxSeats, r.listing.initialSeats())}
		}
	case mutation:
		return mutationWork(&r.rules.SeatConstants, r.interested(), seatCap(maxSeats, r.rules.MaxMutatingSeats))
	case write:
		return Work{InitialSeats: 1}
	}
	return Work{InitialSeats: seatCap(maxSeats, r.rules.MinSeats)}
}

// ListBytes returns how many bytes the objects have that a list returns if these objects are stored of the resource,
// whatever the server knows of them: those of its page, or all, since what a selector selects is not known. It is 0 for
// other requests.
func (r *Request) ListBytes(stored Stats) int64 {
	if r.listing == nil {
		return 0
	}
	return r.listing.bytes(stored)
}

// seatCap returns the lower of the two caps, where 0 means that the level has none.
func seatCap(level, estimator int) int {
	if level <= 0 {
		return estimator
	}
	return min(level, estimator)
}

// mutationWork returns one seat for the mutation itself, then a seat for every WatchersPerSeat watchers for
// the time of one event. If the cap is lower, the additional latency grows so that the product
// of seats and time, the work, stays the same.
func mutationWork(c *rules.SeatConstants, watchers, maxSeats int) Work {
	if watchers < c.WatchersPerSeat {
		return Work{InitialSeats: 1}
	}
	seats := (watchers + c.WatchersPerSeat - 1) / c.WatchersPerSeat
	work := SeatsTimesDuration(float64(seats), c.EventNs)
	seats = min(seats, maxSeats)
	return Work{
		InitialSeats:        1,
		FinalSeats:          seats,
		AdditionalLatencyNs: work.DurationPerSeat(float64(seats)),
	}
}
