package registry

import (
	"iter"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/watchcache"
)

// Class classifies the options of a list or watch by what it costs to serve them.
type Class uint8

// The classes.
const (
	Plain       Class = iota // of everything that is neither a list nor a watch
	Latest                   // without a version
	LatestPage               // the same, a page
	Any                      // version 0
	Continued                // with a continue token
	NotOlder                 // a version, or a newer one
	ExactPage                // a version exactly, as by a limit
	SendInitial              // a watch that begins with the objects
	Resumed                  // a watch that begins at a version

	classes
)

// String returns the class as reports write it.
func (c Class) String() string {
	return [classes]string{"", "latest", "latest, page", "any", "continued", "not older", "exact", "initial events", "resumed"}[c]
}

// Work sums the estimates of the requests of one kind, and the work that they have caused.
type Work struct {
	Verb     string
	Resource api.Resource
	Class    Class
	Selects  bool // by labels or fields

	Requests, Answered int64
	// EstimatedSeatNs is the seats that flow control has taken for the requests that are answered: for as long
	// as they were executed, and afterwards. HeldNs is how long they were executed.
	EstimatedSeatNs, HeldNs int64
	CPUNs                   int64 // of the server
	Gets, Txns, Ranges      int64 // calls to etcd
	Grants                  int64 // of leases
	MaxSeats                int32 // of one request
	Walked                  int64 // objects of a cache that were looked at
	Returned                int64 // objects of lists that were answered
	Fetched                 int64 // objects that etcd has returned
	Bytes                   int64 // of the answers
	Initial                 int64 // initial events that were sent
}

// Work returns the work of all kinds of requests, in the order of their first appearance.
func (r *Registry) Work() []*Work { return r.work }

// workOf returns the work that an operation counts for.
func (r *Registry) workOf(op *Operation) *Work {
	o := &op.Call.Options
	class, selects := classOf(op), o.LabelSelector != "" || o.FieldSelector != ""
	for _, w := range op.resource.work[class] {
		if w.Verb == op.Verb && w.Selects == selects {
			return w
		}
	}
	w := &Work{Verb: op.Verb, Resource: op.Resource, Class: class, Selects: selects}
	op.resource.work[class] = append(op.resource.work[class], w)
	r.work = append(r.work, w)
	return w
}

func classOf(op *Operation) Class {
	o := &op.Call.Options
	switch op.kind {
	case watch:
		if o.SendInitialEvents || !o.SendInitialEventsGiven && o.Match == request.NoMatch && (!o.Version.Given || o.Version.Zero()) {
			return SendInitial
		}
		return Resumed
	case list, collection:
		switch {
		case o.Continue != "":
			return Continued
		case o.Match == request.Exact:
			return ExactPage
		case o.Version.Zero():
			return Any
		case !o.Version.Given && o.Limit > 0:
			return LatestPage
		case !o.Version.Given:
			return Latest
		case o.Limit > 0 && o.Match == request.NoMatch:
			return ExactPage
		}
		return NotOlder
	}
	return Plain
}

// count counts an operation that is answered.
func (w *Work) count(op *Operation, nowNs int64) {
	w.Answered++
	held := nowNs - op.beganNs
	w.HeldNs += held
	w.MaxSeats = max(w.MaxSeats, op.Seats, op.FinalSeats)
	w.EstimatedSeatNs += int64(op.Seats)*held + int64(op.FinalSeats)*op.AdditionalNs
}

// KeepWork continues the counts of the server's earlier registry, which was of another release.
func (r *Registry) KeepWork(before *Registry) {
	r.work = before.work
	for _, w := range r.work {
		res := r.resource(w.Resource)
		res.work[w.Class] = append(res.work[w.Class], w)
	}
}

// Reset forgets what was counted.
func (r *Registry) Reset() {
	for _, w := range r.work {
		*w = Work{Verb: w.Verb, Resource: w.Resource, Class: w.Class, Selects: w.Selects}
	}
	for _, res := range r.resources {
		*res.counters() = watchcache.Counters{}
	}
}

// Counters returns what the caches of all resources have counted.
func (r *Registry) Counters() (sum watchcache.Counters) {
	for _, res := range r.resources {
		sum.Add(res.counters())
	}
	return sum
}

// SlowWatchers returns how many watches of each resource were closed as slow, in the order in which the resources
// were needed.
func (r *Registry) SlowWatchers() iter.Seq2[api.Resource, int64] {
	return func(yield func(api.Resource, int64) bool) {
		for _, res := range r.resources {
			if n := res.counters().TerminatedAsSlow; n > 0 && !yield(res.name, n) {
				return
			}
		}
	}
}

func (res *resource) counters() *watchcache.Counters {
	if res.cache != nil {
		return &res.cache.Counters
	}
	return &res.direct.Counters
}
