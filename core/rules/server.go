package rules

// Server is the behaviour of the process of a server, apart from flow control.
type Server struct {
	MaxStreams        int  // requests that a client may have in progress on one HTTP/2 connection (server/secure_serving.go)
	StreamedLists     bool // a list is encoded in parts as it is sent, otherwise in whole before (KEP-5116)
	CompressedWatches bool // the events of a watch that asks for initial events and bookmarks are compressed if its client accepts that (gate WatchListCompression)
	CachesBeforeReady bool // a server is not ready until its watch caches are, up to a limit (gate WatchCacheInitializationPostStartHook)
	SendRetryAfter    bool // the flag --shutdown-send-retry-after exists
	WatchGracePeriod  bool // the flag --shutdown-watch-termination-grace-period exists
	HooksHoldRequests bool // new requests are accepted until the hooks before the shutdown have ended, not only until the delay is over
	HooksHoldListener bool // the listener is open until the hooks before the shutdown have ended
	PacedWatchEnds    bool // all watches of a server that stops end at the limited rate, otherwise some may end before that begins
}

// Storage is the behaviour of the storage and the watch caches of a server (storage/cacher,
// storage/etcd3, registry/generic/registry).
type Storage struct {
	Match              bool // requests may have a resourceVersionMatch
	InitialEvents      bool // watches may have the parameter sendInitialEvents
	RefuseWithoutCache bool // requests that need a cache that is not ready are answered 429, otherwise they wait (gate ResilientWatchCacheInitialization)
	Snapshots          bool // the caches serve lists at old versions (gate ListFromCacheSnapshot)
	CachedPages        bool // the caches serve the first page of a list that is at least at a version, otherwise etcd does
	FutureTooLarge     bool // a list at a version that etcd does not have yet is answered that the version is too large, otherwise with an error without a reason
	GrowingPages       bool // the ranges that a list with a selector reads from etcd grow
	NameTries          int  // how often a generated name is tried
	FittedRing         bool // a cache fits the capacity of its events to their rate
	MinuteBookmarks    bool // bookmarks come every minute, otherwise only before the deadline of a watch
	ProgressEvents     bool // the progress that etcd reports moves the version of a cache
	SizesByRate        bool // the channels of watchers are as long as the rate of events demands
	PromptBookmark     bool // the initial events end with a bookmark at once, otherwise with the next tick
	GrowingRetryAfter  bool // Retry-After grows with the time that a cache has not been ready
	EventBookmarks     bool // a cache puts a bookmark of its version behind each event in the queue for dispatch, where it takes a place
	CountedPages       bool // a page of a cached list reads its objects and counts those that follow, otherwise it walks all; with a selector, it ends with the page
	InitialByPrefix    bool // the initial events of a watch walk its namespace, or the index of its node, otherwise all objects of the resource
	DrainedBeginnings  bool // a slow watch gets its initial events with their bookmark, and what is queued for it, before it ends
}

// Node is the behaviour of the kubelets of a release, and of kubeadm, which writes the static pod of a server.
type Node struct {
	StartupProbe bool // a server has a startup, a liveness and a readiness probe, otherwise a liveness probe of /healthz (kubeadm, app/util/staticpod/utils.go)
	Pings        bool // a client pings an HTTP/2 connection that is silent (apimachinery util/net/http.go)

	// ClosesIdle says that a kubelet whose heartbeats fail closes its idle connections, otherwise all that it has
	// (cmd/kubelet/app/server.go).
	ClosesIdle bool
}
