package rules

// release is a minor release with flow control.
type release struct {
	minor   int
	patches int          // the number of its newest patch release, or unreleased
	change  func(*Rules) // what it decides differently from the release before it; nil if that is nothing
}

// unreleased is the number of the newest patch release of a minor one that has not been released.
const unreleased = -1

// releases are the minor releases with flow control, the oldest first. A change is that of the newest patch
// release; corrections has what the older ones do otherwise.
var releases = []release{
	// The algorithm of the article that introduced flow control. It was an alpha feature, and off by default.
	{18, 20, func(r *Rules) {
		r.Arithmetic = Float64
		r.ServiceGuessNs = 60_000_000_000
		r.LazyWaitLimit = true
		r.MaxListSeats = 1
		r.SeatConstants = SeatConstants{MinSeats: 1, ObjectsPerSeat: 100, BytesPerSeat: 100_000, MaxCachedBytes: 1_000_000, UnknownObjectBytes: 1_500_000,
			MaxMutatingSeats: 10, WatchersPerSeat: 10, EventNs: 5_000_000, LevelShare: 0.15}
		r.MaxRetryAfterSeconds = 1
		r.ExemptProbes = true
		r.Server.MaxStreams = 250
		r.Storage.NameTries = 1
	}},
	{19, 16, func(r *Rules) {
		r.Objects.Suggested = GlobalDefaultOpen
		r.Storage.Match = true
		r.Storage.FittedRing = true
		r.Storage.MinuteBookmarks = true
		r.Node.StartupProbe = true
		r.Node.Pings = true
	}},
	// The virtual start is bounded when a queue is dispatched from.
	{20, 15, func(r *Rules) {
		r.Bound = BoundAtDispatch
		r.Objects.NewestAPI = V1beta1
		r.Objects.Suggested = WorkloadLowLarge
		r.Storage.EventBookmarks = true
	}},
	// The parameter timeout counts.
	{21, 14, func(r *Rules) {
		r.TimeoutParameter = true
		r.Objects.OldestAPI = V1beta1
		r.Storage.ProgressEvents = true
	}},
	// Watches are queued, and waiting requests count in the progress of R.
	{22, 17, func(r *Rules) {
		r.WaitingProgress = true
		r.QueueWatches = true
		r.Objects.Suggested = NodeHigh
		r.Objects.Maintained = true
	}},
	// Work in seat-seconds, and lists of several seats.
	{23, 17, func(r *Rules) {
		r.Arithmetic = FixedPoint
		r.ServiceGuessNs = 3_000_000
		r.JoinLeastWork = true
		r.RotateHand = true
		r.Bound = BoundAtArrival
		r.BoundAfterDrop = true
		r.ListSeats, r.MaxListSeats = ByCount, 10
		r.NamedListsNarrow = true
		r.Objects.NewestAPI = V1beta2
		r.Server.SendRetryAfter = true
		r.Server.HooksHoldListener = true
		r.Node.ClosesIdle = true
	}},
	// Writes take seats while their watchers are notified.
	{24, 17, func(r *Rules) {
		r.FinalSeats = true
		r.TokensAreObjects = true
		r.Objects.Suggested = ElectionsByLeases
		r.Objects.PassOrder = MandatorySchemasFirst
		r.Storage.GrowingPages = true
	}},
	// Levels have seat caps.
	{25, 16, func(r *Rules) {
		r.CapByLevel = true
		r.Server.HooksHoldRequests = true
		r.Server.MaxStreams = 100
		r.Storage.SizesByRate = true
	}},
	// Levels lend and borrow seats.
	{26, 15, func(r *Rules) {
		r.TokensAreObjects = false
		r.Lending = true
		r.Objects.OldestAPI, r.Objects.NewestAPI = V1beta2, V1beta3
		r.Objects.Suggested = LendableLevels
	}},
	// etcd serves lists with an unknown resourceVersionMatch.
	{27, 16, func(r *Rules) {
		r.CacheReads = CacheUnpagedKnown
		r.Server.WatchGracePeriod = true
		r.Storage.InitialEvents = true
	}},
	// The exempt level takes part, each request has its own wait limit, and Retry-After rises.
	{28, 15, func(r *Rules) {
		r.LazyWaitLimit = false
		r.MaxWaitNs = 60_000_000_000
		r.Exempt = ExemptAlike
		r.MaxRetryAfterSeconds = 32
		r.Objects.PassOrder = LevelsFirst
	}},
	{29, 15, func(r *Rules) {
		r.Objects.OldestAPI, r.Objects.NewestAPI = V1beta3, V1
		r.Objects.ZeroShares = ZeroSharesRefused
	}},
	{30, 14, func(r *Rules) {
		r.Objects.ZeroShares = ZeroSharesKept
	}},
	// The exempt level's seats come first, and the watch cache serves lists without a resourceVersion.
	{31, 14, func(r *Rules) {
		r.CacheReads = CacheUnlessExact
		r.CacheUnversioned = true
		r.Exempt = ExemptFirst
		r.Storage.RefuseWithoutCache = true
		r.Storage.CachedPages = true
		r.Storage.NameTries = 8
	}},
	// Watches that ask for initial events take the seats of a list.
	{32, 13, func(r *Rules) {
		r.WatchLists = AskedWatchLists
		r.Objects.OldestAPI = V1
		r.Storage.PromptBookmark = true
	}},
	// They do not.
	{33, 13, func(r *Rules) {
		r.CacheReads = CacheByDelegation
		r.WatchLists = NoWatchLists
		r.Server.StreamedLists = true
		r.Storage.GrowingRetryAfter = true
	}},
	// Lists are estimated by bytes, and watches that ask for initial events as lists again.
	{34, 13, func(r *Rules) {
		r.ListSeats, r.MaxListSeats = ByBytes, 100
		r.NamedListsNarrow = false
		r.WatchLists = AskedWatchLists
		r.Objects.Suggested = NoOldElections
		r.Storage.Snapshots = true
		r.Storage.FutureTooLarge = true
	}},
	// Watches without a resourceVersion take the seats of a list, too.
	{35, 10, func(r *Rules) {
		r.WatchLists = AllWatchLists
	}},
	{36, 6, func(r *Rules) {
		r.Server.CachesBeforeReady = true
	}},
	{37, 2, func(r *Rules) {
		r.Server.CompressedWatches = true
	}},
	// Read at v1.38.0-beta.0: it decides as 1.37, and its servers have less work.
	{38, unreleased, func(r *Rules) {
		r.Storage.CountedPages = true
		r.Storage.InitialByPrefix = true
		r.Storage.DrainedBeginnings = true
		r.Storage.EventBookmarks = false
		r.Server.PacedWatchEnds = true
	}},
}

// correction is a change of decisions in patch releases: a patch release older than in says does
// what undo makes of the rules.
type correction struct {
	in   map[int]int // the first patch release with the change, by minor release
	undo func(*Rules)
}

// corrections are the changes in patch releases. Two are missing: the seats of watches of aggregated
// servers (before 1.22.4), and the deadlock of the controller (before 1.18.16, 1.19.8 and 1.20.2).
var corrections = []correction{
	{map[int]int{18: 19, 19: 11, 20: 7, 21: 1}, func(r *Rules) { r.ExemptProbes = false }},
	{map[int]int{19: 5}, func(r *Rules) { r.Node.Pings = false }},
	{map[int]int{23: 7}, func(r *Rules) { r.Node.ClosesIdle = false }},
	{map[int]int{23: 6}, func(r *Rules) { r.UnknownListsWide = true }},
	{map[int]int{23: 13, 24: 7, 25: 3}, func(r *Rules) { r.NamedListsNarrow = false }},
	{map[int]int{23: 16, 24: 10, 25: 6}, func(r *Rules) { r.BoundAfterDrop = false }},
	{map[int]int{25: 15, 26: 10, 27: 7, 28: 3}, func(r *Rules) { r.Server.MaxStreams = 250 }},
	{map[int]int{25: 13, 26: 8, 27: 5}, func(r *Rules) { r.CapByLevel = false }},
	{map[int]int{26: 13, 27: 10, 28: 6}, func(r *Rules) { r.DemandNaN = true }},
	{map[int]int{28: 5}, func(r *Rules) { r.LazyWaitLimit = true; r.MaxWaitNs = 0 }},
}
