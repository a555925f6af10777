package rules

import (
	"fmt"
	"slices"
)

// Change is a rule that is different after an upgrade.
type Change struct {
	Rule    string `json:"rule"`    // what it is about
	Release string `json:"release"` // the first release of the upgrade from which on the new rule holds
	Before  string `json:"before"`  // sentences
	After   string `json:"after"`
}

// OfSeats says whether the rule decides how many seats a request takes.
func (c *Change) OfSeats() bool { return slices.Contains(ofSeats, c.Rule) }

// OfWork says whether the rule decides how much work a server has with its watch caches and its watches, and not what it decides.
func (c *Change) OfWork() bool { return slices.Contains(ofWork, c.Rule) }

// ofWork are the statements on the work of a server.
var ofWork = []string{"pages from the watch cache", "initial events of a watch", "watches that are too slow at their beginning", "queue of the watch cache", "end of watches at a stop"}

// ofSeats are the statements on how many seats a request takes.
var ofSeats = []string{"watches", "seats of a list", "most seats of a list", "lists of resources that are not counted", "lists of one object", "pages",
	"lists from the watch cache", "lists without a resourceVersion", "seats of a watch", "seats of a write after its execution", "creation of a token", "most seats of a request"}

// Changes returns the rules that differ between two releases, in the order of the releases that changed them. A
// change that a later release takes back is left out. To must be newer than from: see [Upgrade].
func Changes(from, to *Rules) (all []Change) {
	path := Upgrade(from, to)
	order := func(c Change) int {
		return slices.IndexFunc(path, func(r *Rules) bool { return r.Version == c.Release })
	}
	for _, s := range statements {
		before, after := s.say(from), s.say(to)
		if before == after {
			continue
		}
		c := Change{Rule: s.rule, Before: before, After: after}
		for _, r := range slices.Backward(path) {
			if s.say(r) != after {
				break
			}
			c.Release = r.Version
		}
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Change) int { return order(a) - order(b) })
	return all
}

// statement says in a sentence what a release decides by one of its rules.
type statement struct {
	rule string
	say  func(*Rules) string
}

// either returns one of two sentences.
func either(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

// duration returns a time in seconds, or in milliseconds if it is not a number of seconds.
func duration(ns int64) string {
	if ns%1_000_000_000 == 0 {
		return fmt.Sprintf("%d s", ns/1_000_000_000)
	}
	return fmt.Sprintf("%d ms", ns/1_000_000)
}

// statements are what the rules of flow control and its objects decide: one for each field, in their order; and the rules by
// which a server needs more or less of its machine for the same requests.
var statements = []statement{
	{"unit of fair queuing", func(r *Rules) string {
		return [...]string{FixedPoint: "Flows are compared by their seat-seconds, in fixed point.",
			Float64: "Flows are compared by the seconds of their requests, whatever their seats, in floating point."}[r.Arithmetic]
	}},
	{"expected execution", func(r *Rules) string {
		return fmt.Sprintf("A request counts as one that executes for %s until it ends.", duration(r.ServiceGuessNs))
	}},
	{"queue that a request joins", func(r *Rules) string {
		return either(r.JoinLeastWork, "A request joins the queue of its hand with the least work waiting.",
			"A request joins the queue of its hand with the fewest requests waiting.")
	}},
	{"choice among equal queues", func(r *Rules) string {
		return either(r.RotateHand, "Among equal queues of a hand, the preferred one rotates.", "Among equal queues of a hand, the first one is preferred.")
	}},
	{"progress of fair queuing", func(r *Rules) string {
		return either(r.WaitingProgress, "The progress of fair queuing follows from the executing and the waiting requests.",
			"The progress of fair queuing follows from the executing requests only.")
	}},
	{"service of a queue that was idle", func(r *Rules) string {
		return [...]string{Unbounded: "A queue that was idle may catch up all the service that it did not use.",
			BoundAtDispatch: "What a queue that was idle may catch up is bounded when a request of it is dispatched.",
			BoundAtArrival:  "What a queue that was idle may catch up is bounded when its oldest request changes."}[r.Bound]
	}},
	{"service of a queue after a cancellation", func(r *Rules) string {
		return either(r.BoundAfterDrop, "The bound of what a queue may catch up also applies after a waiting request has been cancelled.",
			"The bound of what a queue may catch up does not apply after a waiting request has been cancelled.")
	}},
	{"watches", func(r *Rules) string {
		return either(r.QueueWatches, "Watches are subject to flow control until they are initialized.", "Watches bypass flow control.")
	}},
	{"parameter timeout", func(r *Rules) string {
		return either(r.TimeoutParameter, "The parameter timeout of a request can shorten its deadline, and with it its wait limit.",
			"The parameter timeout of a request does not change its deadline.")
	}},
	{"end of a wait", func(r *Rules) string {
		return either(r.LazyWaitLimit, "A request that has reached its wait limit leaves when the next one comes to its queue, or at its deadline.",
			"A request leaves its queue when it has reached its wait limit.")
	}},
	{"wait limit", func(r *Rules) string {
		return either(r.MaxWaitNs == 0, "The wait limit is a quarter of the deadline.",
			fmt.Sprintf("The wait limit is a quarter of the deadline, and at most %s.", duration(r.MaxWaitNs)))
	}},
	{"seats of a list", func(r *Rules) string {
		return [...]string{FixedSeats: "Every list takes 1 seat.", ByCount: "A list takes 1 seat for 100 objects that the server processes.",
			ByBytes:      "A list takes 1 seat for 100 kB that the server holds in memory for it.",
			ByCountAlone: "A list takes 1 seat for 100 objects that the server processes, and a list of one object 1 seat."}[r.ListSeats]
	}},
	{"most seats of a list", func(r *Rules) string {
		return fmt.Sprintf("A list takes at most %d %s, and no more than its level allows.", r.MaxListSeats, either(r.MaxListSeats == 1, "seat", "seats"))
	}},
	{"lists of resources that are not counted", func(r *Rules) string {
		return either(r.UnknownListsWide, "A list of a resource whose objects the server does not count, such as one of an aggregated server, takes the most seats.",
			"A list of a resource whose objects the server does not count takes 1 seat.")
	}},
	{"lists of one object", func(r *Rules) string {
		return either(r.NamedListsNarrow, "A list of one object by its name takes 1 seat, whatever else it asks for.",
			"A list of one object by its name is estimated as other lists are.")
	}},
	{"pages", func(r *Rules) string {
		return either(r.PagesIgnored, "A list is estimated as if it had no limit and no continue token.", "A list with a limit is estimated by its page.")
	}},
	{"lists from the watch cache", func(r *Rules) string {
		return [...]string{
			CacheUnpaged:      "The watch cache serves lists without a continue token that have no limit or resourceVersion 0, unless resourceVersionMatch is Exact.",
			CacheUnpagedKnown: "The watch cache serves lists without a continue token that have no limit or resourceVersion 0, unless resourceVersionMatch is Exact or unknown.",
			CacheUnlessExact:  "The watch cache serves lists without a continue token, with a limit too, unless they ask for an exact version.",
			CacheByDelegation: "The watch cache serves lists unless they have a continue token or ask for an exact version, and all with NotOlderThan.",
		}[r.CacheReads]
	}},
	{"lists without a resourceVersion", func(r *Rules) string {
		return either(r.CacheUnversioned, "The watch cache serves lists without a resourceVersion.", "etcd serves lists without a resourceVersion.")
	}},
	{"seats of a watch", func(r *Rules) string {
		return [...]string{NoWatchLists: "A watch takes 1 seat.",
			AskedWatchLists: "A watch that asks for initial events takes the seats of the list that it begins with (feature gate WatchList).",
			AllWatchLists:   "A watch that asks for initial events, or has no resourceVersion or 0, takes the seats of the list that it begins with (feature gate WatchList)."}[r.WatchLists]
	}},
	{"seats of a write after its execution", func(r *Rules) string {
		return either(r.FinalSeats, "A write takes seats after its execution, 1 for 10 watchers of the object.", "A write takes no seats after its execution.")
	}},
	{"creation of a token", func(r *Rules) string {
		return either(r.TokensAreObjects, "The creation of a token takes seats by the watchers of service accounts.",
			"The creation of a token takes no seats after its execution.")
	}},
	{"most seats of a request", func(r *Rules) string {
		return either(r.CapByLevel, "The seats of a request are limited by the nominal limit of its level.",
			"The seats of a request do not depend on the size of its level.")
	}},
	{"limits of the levels", func(r *Rules) string {
		return either(r.Lending, "Levels lend and borrow seats: their limits are adjusted every 10 s.", "The limits of the levels do not change with the load.")
	}},
	{"exempt level", func(r *Rules) string {
		return [...]string{ExemptAbsent: "The exempt level has no seats, and its requests are not counted.",
			ExemptAlike: "The exempt level takes part in the division of the seats as the other levels do.",
			ExemptFirst: "What the exempt level uses is set aside, and the other levels divide the rest."}[r.Exempt]
	}},
	{"smoothed demand", func(r *Rules) string {
		return either(r.DemandNaN, "A rounding error can end lending and borrowing until the server is restarted.", "Rounding errors do not end lending and borrowing.")
	}},
	{"Retry-After", func(r *Rules) string {
		return either(r.MaxRetryAfterSeconds == 1, "Rejected clients are told to retry after 1 s.",
			fmt.Sprintf("Rejected clients are told to retry after 1 s to %d s, longer while more are rejected.", r.MaxRetryAfterSeconds))
	}},
	{"health checks", func(r *Rules) string {
		return either(r.ExemptProbes, "Health checks are exempt, by the FlowSchema probes.", "Servers create no FlowSchema for health checks, which are queued.")
	}},
	{"oldest API version", func(r *Rules) string {
		return "The oldest version of flow-control objects that is served is " + r.Objects.OldestAPI.String() + "."
	}},
	{"newest API version", func(r *Rules) string {
		return "The newest version of flow-control objects that is served is " + r.Objects.NewestAPI.String() + "."
	}},
	{"suggested objects", func(r *Rules) string {
		return [...]string{FirstSuggested: "The suggested FlowSchema global-default is for service accounts only.",
			GlobalDefaultOpen: "The suggested FlowSchema global-default is for all users.",
			WorkloadLowLarge:  "The suggested levels have 100 shares for workload-low and 20 for global-default.",
			NodeHigh:          "The suggested objects have a level node-high for the heartbeats of nodes.",
			ElectionsByLeases: "The suggested FlowSchema system-leader-election is for leases only, and there is one for endpoint controllers.",
			LendableLevels:    "The suggested levels lend seats.",
			NoOldElections:    "The suggested objects have neither workload-leader-election nor endpoint-controller."}[r.Objects.Suggested]
	}},
	{"maintenance of the suggested objects", func(r *Rules) string {
		return either(r.Objects.Maintained, "Servers put their suggested objects right every minute, unless the annotation apf.kubernetes.io/autoupdate-spec is false.",
			"Servers create their suggested objects once, and do not change them.")
	}},
	{"levels with 0 shares", func(r *Rules) string {
		return [...]string{ZeroSharesDefault: "A Limited level with 0 shares has the default, 30.", ZeroSharesRefused: "Servers refuse a Limited level with 0 shares.",
			ZeroSharesKept: "A Limited level may have 0 shares."}[r.Objects.ZeroShares]
	}},
	{"order of maintenance", func(r *Rules) string {
		return [...]string{SchemasFirst: "Servers write FlowSchemas before priority levels.", MandatorySchemasFirst: "Servers write suggested priority levels before suggested FlowSchemas, and mandatory FlowSchemas before mandatory levels.",
			LevelsFirst: "Servers write priority levels before FlowSchemas."}[r.Objects.PassOrder]
	}},
	{"memory of lists", func(r *Rules) string {
		return either(r.Server.StreamedLists, "A list is encoded in parts as it is sent, so that it needs less memory.", "A list is encoded in whole before it is sent.")
	}},
	{"compression of watches", func(r *Rules) string {
		return either(r.Server.CompressedWatches,
			"A watch that asks for initial events and bookmarks is compressed, if its client accepts gzip (feature gate WatchListCompression): that takes processor time.",
			"Watches are not compressed.")
	}},
	{"pages from the watch cache", func(r *Rules) string {
		return either(r.Storage.CountedPages,
			"A page from the watch cache reads its objects, and only counts those that follow; with a selector, it stops when it is full. It takes less processor time.",
			"A page from the watch cache walks all objects that follow.")
	}},
	{"initial events of a watch", func(r *Rules) string {
		return either(r.Storage.InitialByPrefix,
			"The initial events of a watch of one namespace, or of the pods of one node, are found without a walk of the other objects: they take less processor time.",
			"The initial events of a watch walk all objects of its resource, unless it names the only one.")
	}},
	{"watches that are too slow at their beginning", func(r *Rules) string {
		return either(r.Storage.DrainedBeginnings,
			"A watch that is too slow while it gets initial events with a bookmark at their end gets all of them before it ends, and its client resumes from there.",
			"A watch that is too slow while it gets its initial events ends without what is queued for it, and its client starts over.")
	}},
	{"queue of the watch cache", func(r *Rules) string {
		return either(r.Storage.EventBookmarks,
			"The watch cache queues 50 events for its watches before reads fall behind, as each has a bookmark behind it.",
			"The watch cache queues 100 events for its watches before reads fall behind.")
	}},
	{"end of watches at a stop", func(r *Rules) string {
		return either(r.Server.PacedWatchEnds,
			"All watches of a server that stops with a grace period for them end at the limited rate.",
			"Some watches of a server that stops with a grace period for them can end at once, before their rate is limited.")
	}},
}
