// Package rules implements the differences between the releases of Kubernetes from 1.18 on: a struct of switches, [Rules],
// and for each release what it changes in those of the release before it, and the feature gates that change a switch.
// Everything else in core is common to all releases, and no package but this one compares versions: a caller looks up
// the rules of a release with [For], and what depends on the release reads their fields.
package rules

// Rules are the switches of one release. They must not be changed while they are in use.
type Rules struct {
	// Version is the release as it was asked for: "1.26", which stands for its newest patch
	// release, or "1.26.8".
	Version string

	// How the queues of a level work (util/flowcontrol/fairqueuing/queueset).

	Arithmetic      Arithmetic // of the progress meter R and of virtual times
	ServiceGuessNs  int64      // G: how long a request is expected to execute
	JoinLeastWork   bool       // a request joins the queue of its hand with the least work waiting, otherwise with the fewest requests waiting
	RotateHand      bool       // among equal queues, the one that is preferred rotates; otherwise it is the first of the hand
	WaitingProgress bool       // R advances with the waiting requests too, otherwise only with the executing ones
	Bound           Bound      // when the virtual start of a queue is bounded
	BoundAfterDrop  bool       // the bound also applies after a waiting request has been cancelled

	// How long a request waits (server/filters/priority-and-fairness.go).

	TimeoutParameter bool  // the parameter timeout of a request can shorten its deadline
	LazyWaitLimit    bool  // a request that reaches its wait limit leaves when the next one comes to its queue, or at its deadline
	MaxWaitNs        int64 // greatest wait limit; 0 with LazyWaitLimit, which has none

	Estimation

	// How the levels divide the seats (util/flowcontrol/apf_controller.go).

	Lending   bool   // levels lend and borrow seats
	Exempt    Exempt // how the exempt level takes part
	DemandNaN bool   // rounding can make the smoothed demand of a level NaN for the rest of the run

	// MaxRetryAfterSeconds is the largest Retry-After that a rejected client is given, a power
	// of two (util/flowcontrol/dropped_requests_tracker.go).
	MaxRetryAfterSeconds int

	// ExemptProbes says whether a server creates the FlowSchema probes, by which health checks are
	// exempt.
	ExemptProbes bool

	WhatIf  WhatIf  // what no release does
	Objects Objects // what a server knows of the objects of flow control
	Server  Server  // how the process of a server starts, stops and answers
	Storage Storage // what the storage and the watch caches of a server do
	Node    Node    // what kubelets of the release do
}

// Estimation is the rules by which the seats of a request are estimated (util/flowcontrol/request).
type Estimation struct {
	QueueWatches     bool       // watches are subject to flow control until they are initialized, otherwise they bypass it
	ListSeats        ListSeats  // what determines the seats of a list
	MaxListSeats     int        // of a list or a watch, before the cap of its level
	UnknownListsWide bool       // a list of a resource with an unknown number of objects takes the most seats, otherwise 1
	NamedListsNarrow bool       // a list of one object, by its name, takes 1 seat before anything else is considered
	PagesIgnored     bool       // a list is estimated as if it had neither a limit nor a continue token (gate APIListChunking off)
	CacheReads       CacheReads // which lists the watch cache serves
	CacheUnversioned bool       // among them, those without a resourceVersion (gate ConsistentListFromCache)
	WatchLists       WatchLists // which watches are estimated as the list that they begin with
	FinalSeats       bool       // writes take seats after their execution, by the number of watchers
	TokensAreObjects bool       // the creation of a token is estimated by the watchers of service accounts
	CapByLevel       bool       // the seats of a request are limited by the nominal limit of its level

	SeatConstants
}

// SeatConstants are the numbers of the estimate (util/flowcontrol/request/config.go, and priorityLevelMaxSeatsPercent in
// util/flowcontrol/max_seats.go). They are the same in all releases, where they are used at all, and no flag of a
// server changes them. A simulation may, to see what would happen if one did.
type SeatConstants struct {
	MinSeats           int     // of a request that is no write
	ObjectsPerSeat     int64   // of a list by count
	BytesPerSeat       int64   // of a list by bytes
	MaxCachedBytes     int64   // of a list from the cache, which is encoded in parts: that many at most are in memory at a time
	UnknownObjectBytes int64   // of an object of unknown size: the largest that etcd accepts
	MaxMutatingSeats   int     // of a write after its execution
	WatchersPerSeat    int     // of a write after its execution
	EventNs            int64   // how long a seat is busy with notifying its watchers of an event
	LevelShare         float64 // of the nominal limit of its level that a request takes at most, with CapByLevel
}

// EstimatesAs reports whether two releases estimate the same seats for every request.
func (r *Rules) EstimatesAs(other *Rules) bool { return r.Estimation == other.Estimation }

// Arithmetic is how virtual time is represented.
type Arithmetic uint8

// The representations.
const (
	FixedPoint Arithmetic = iota // seat-seconds in 64 bits, estimate.SeatSeconds
	Float64                      // seconds as float64; every request counts as one, whatever its seats
)

// Bound is when the virtual start of a queue is prevented from staying behind R, so that a queue
// cannot accumulate the service that it did not use (k/k 95979).
type Bound uint8

// The bounds.
const (
	Unbounded       Bound = iota
	BoundAtDispatch       // when a request of the queue is dispatched
	BoundAtArrival        // when the queue's oldest request changes
)

// ListSeats selects the quantity that determines the seats of a list.
type ListSeats uint8

// The estimates of lists.
const (
	FixedSeats   ListSeats = iota // MaxListSeats for every list, whatever its level allows
	ByCount                       // 1 seat for ObjectsPerSeat
	ByBytes                       // 1 seat for BytesPerSeat in memory
	ByCountAlone                  // 1 seat for ObjectsPerSeat, and all else as ByBytes (gate SizeBasedListCostEstimate off)
)

// CacheReads says which lists are served by the watch cache and not by etcd, as the estimate sees
// it. A list without a resourceVersion also needs CacheUnversioned.
type CacheReads uint8

// The rules, of which each replaced the former.
const (
	CacheUnpaged      CacheReads = iota // lists without a continue token, without a limit or with resourceVersion 0, and without resourceVersionMatch Exact
	CacheUnpagedKnown                   // as before, but etcd serves lists with an unknown resourceVersionMatch, too
	CacheUnlessExact                    // as before, but the cache serves the first page unless it asks for an exact version
	CacheByDelegation                   // as before, but the cache serves NotOlderThan even with a continue token
)

// WatchLists says which watches are estimated as the list that they begin with.
type WatchLists uint8

// The watches.
const (
	NoWatchLists    WatchLists = iota
	AskedWatchLists            // those that ask for initial events
	AllWatchLists              // those without a resourceVersion, too
)

// Exempt is how the exempt level takes part in the division of the seats.
type Exempt uint8

// The ways.
const (
	ExemptAbsent Exempt = iota // not at all: it has no shares, and its requests are not counted
	ExemptAlike                // as the other levels
	ExemptFirst                // what it uses is not divided among the others
)
