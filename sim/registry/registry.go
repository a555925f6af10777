// Package registry simulates the handlers of a server: they check the options of a request for a resource,
// read from etcd, the watch cache or a snapshot, write in transactions that may have to be repeated, and
// answer (k8s.io/apiserver, pkg/endpoints/handlers, pkg/registry/generic/registry, pkg/storage). Each process of
// a server makes a Registry and begins an Operation for each request.
//
// Registry knows no server: its Host says when CPU time has been served and takes the answers.
package registry

import (
	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/random"
	"apfsim/sim/registry/change"
	"apfsim/sim/store"
	"apfsim/sim/watchcache"
)

// Host is the server around a registry.
type Host interface {
	// Serve makes the machine work for an operation, for demandNs if it is alone, and then calls
	// Operation.Served, in another event, unless Done comes before: a watch may end while it is served.
	Serve(nowNs int64, op *Operation, demandNs int64)
	// ServeBehind makes the machine work for demandNs that no operation waits for.
	ServeBehind(nowNs, demandNs int64)
	// Send sends so many bytes to the client of an operation. If that takes time, it calls Operation.Served afterwards, as
	// Serve does.
	Send(nowNs int64, op *Operation, bytes int64) (takesTime bool)
	// Done is called when an operation is answered, with Operation.Answer. It returns whether a watch whose
	// status is 200 is open now: then Ended follows, unless Operation.Abandon is called before. Otherwise
	// the operation is not used afterwards.
	Done(nowNs int64, op *Operation) (open bool)
	// Received is called with each event that the client of a watch has read; it may be called before Done.
	Received(nowNs int64, op *Operation, e *api.Event)
	// Counted is called with the number of initial events of objects that are only counted.
	Counted(nowNs int64, op *Operation, n int64)
	// Ended is called when an open watch ends. The operation is not used afterwards.
	Ended(nowNs int64, op *Operation)
	// Known is called when the server learns how many objects a resource has, and how large they are.
	Known(resource api.Resource, stats estimate.Stats)
	// Dispatched is called when an event is sent to so many watchers; it may be none. The event, which is nil for
	// initial events and those of the history, must not be kept. To compress it takes so much CPU time for all of them.
	Dispatched(nowNs int64, e *api.Event, watchers int, compressionNs int64)
}

// Settings are the settings of a registry.
type Settings struct {
	Rules *rules.Rules
	Costs Costs

	// Uncached are the resources without a watch cache (--watch-cache-sizes RESOURCE#0); NoCache says that no
	// resource has one (--watch-cache=false). Events never have one.
	Uncached []api.Resource
	NoCache  bool

	// FeedLagNs is how long after its commit an event reaches a cache and its watchers; ProgressNs is how long
	// a request for etcd's progress takes, NotifyEveryNs how often etcd reports it unasked, 0 for never.
	FeedLagNs, ProgressNs, NotifyEveryNs int64
	// NoProgress says that etcd cannot be asked for its progress, so that consistent lists go to it.
	NoProgress bool
	// MinRequestTimeoutNs is the shortest time after which the server ends a watch that does not say how long
	// it lasts; the longest is twice as long (--min-request-timeout, 1800 s).
	MinRequestTimeoutNs int64
	// CountEveryNs is the least time between two counts of the objects of a resource, 0 for none; the longest is 2.2
	// times as long (--etcd-count-metric-poll-period, 60 s).
	CountEveryNs int64

	Seed   uint64
	Server int // index
}

// Registry is the storage of all resources as one server sees it.
type Registry struct {
	alarms   *clock.Alarms
	store    *store.Store
	settings Settings
	costs    *Costs
	host     Host

	resources []*resource // in the order in which they were needed
	byName    map[api.Resource]*resource
	running   bool // a process of the server, between Open and Stop
	free      []*Operation
	work      []*Work
	names     random.Stream // of generated names
	timeouts  random.Stream // of watches

	rules      rules.Storage // of the release
	compresses bool          // watches, for the clients that accept it
	consistent bool          // lists without a version come from the cache
	watchList  bool
}

// New returns the registry of one process of a server, which begins with Open and ends with Stop.
func New(alarms *clock.Alarms, s *store.Store, host Host, settings Settings) *Registry {
	r := &Registry{alarms: alarms, store: s, settings: settings, host: host, byName: map[api.Resource]*resource{}}
	r.costs = &r.settings.Costs
	r.rules, r.compresses = settings.Rules.Storage, settings.Rules.Server.CompressedWatches
	r.consistent = settings.Rules.CacheUnversioned && !settings.NoProgress
	r.watchList = settings.Rules.WatchLists != rules.NoWatchLists
	r.names.Open(settings.Seed, "servers", settings.Server, "names")
	r.timeouts.Open(settings.Seed, "servers", settings.Server, "watch timeouts")
	return r
}

// Stop ends all watches and caches at once when the server's process ends. The operations in flight must be
// abandoned.
func (r *Registry) Stop(nowNs int64) {
	r.running = false
	for _, res := range r.resources {
		if res.cache != nil {
			res.filled = false
			res.cache.Stop(nowNs)
		}
		if res.direct != nil {
			res.direct.Stop(nowNs)
		}
		if res.counter != nil {
			res.counter.stop()
			res.counter = nil
		}
	}
}

// Open begins a process of the server, whose caches are filled by Fill or Know.
func (r *Registry) Open() { r.running = true }

// Know makes the cache of a resource ready, and counts its objects, as if it had been filled and they had been counted
// before.
func (r *Registry) Know(nowNs int64, name api.Resource) {
	res := r.resource(name)
	if !r.running {
		return
	}
	if res.cache != nil && !res.filled {
		res.filled = true
		res.cache.Start(nowNs, 0)
	}
	if res.counter == nil {
		r.startCounting(nowNs, res, true)
	}
}

// Fill begins to fill the cache of a resource and to count its objects, and returns how long the first takes: leastNs,
// or longer if the objects take longer.
func (r *Registry) Fill(nowNs int64, name api.Resource, leastNs int64) (ns int64) {
	res := r.resource(name)
	if res.counter == nil {
		r.startCounting(nowNs, res, false)
	}
	if res.cache == nil || res.filled {
		return 0
	}
	res.filled = true
	ns = max(leastNs, r.costs.fetch(res.data.Len(), res.data.Len()*res.data.AverageBytes()))
	res.cache.Start(nowNs, ns)
	return ns
}

// Cache returns the watch cache of a resource, nil if it has none or nobody has asked for it.
func (r *Registry) Cache(name api.Resource) *watchcache.Cache {
	if res := r.byName[name]; res != nil {
		return res.cache
	}
	return nil
}

// resource is the objects of a resource as one server sees them.
type resource struct {
	change.Strategy
	name    api.Resource
	data    *store.Resource
	cache   *watchcache.Cache  // nil without one
	direct  *watchcache.Direct // of a resource without a cache
	filled  bool               // the cache has been started
	counter *counter           // nil if the resource is not counted
	work    [classes][]*Work   // by verb
}

// resource returns a resource, with a cache that has not been started if it is new.
func (r *Registry) resource(name api.Resource) *resource {
	if res := r.byName[name]; res != nil {
		return res
	}
	res := &resource{Strategy: change.StrategyOf(name), name: name, data: r.store.Resource(name)}
	settings := watchcache.Settings{
		Rules: r.settings.Rules, Indexed: res.Index != "",
		FeedLagNs: r.settings.FeedLagNs, ProgressNs: r.settings.ProgressNs,
		NotifyEveryNs: r.settings.NotifyEveryNs, NoProgress: r.settings.NoProgress,
		Seed: r.settings.Seed, Name: name.Name + "." + name.Group + " " + text(int64(r.settings.Server)),
		Dispatched: r.dispatched,
	}
	if res.Events || r.settings.NoCache || contains(r.settings.Uncached, name) {
		res.direct = watchcache.NewDirect(r.alarms, r.store, name, settings)
	} else {
		res.cache = watchcache.New(r.alarms, r.store, name, settings)
	}
	r.byName[name] = res
	r.resources = append(r.resources, res)
	return res
}

// dispatched is told of an event that is sent to watchers. Each of those whose events are compressed has a compressor of
// its own, although all share the encoding.
func (r *Registry) dispatched(nowNs int64, e *api.Event, watchers, compressed int) {
	compressionNs := int64(0)
	if compressed > 0 {
		compressionNs = int64(compressed) * e.Object.Bytes * int64(r.costs.CompressedKilobyte) / 1000
	}
	r.host.Dispatched(nowNs, e, watchers, compressionNs)
}

// lookup returns an object that exists, nil if it does not. One that is only counted gets its name here.
func (res *resource) lookup(nowNs int64, namespace, name string) *api.Object {
	if o := res.data.Get(namespace, name); o != nil {
		return o
	}
	return res.data.Adopt(nowNs, namespace, name)
}

// cached returns the cache's version of an object, nil if the cache does not have it.
func (res *resource) cached(namespace, name string) *api.Object {
	if res.cache == nil {
		return nil
	}
	return res.cache.Get(namespace, name)
}
