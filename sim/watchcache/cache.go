// Package watchcache simulates the watch cache of one resource at one server: the recent events in a ring, what it
// serves reads from, and the watchers to which it sends events
// (k8s.io/apiserver pkg/storage/cacher). A registry reads from a Cache and adds a Watcher for each watch; Direct
// serves watches without a cache, as those of events are.
//
// The objects themselves are not copied: the cache asks the store for its state at a version.
package watchcache

import (
	"math"

	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/store"
)

// Settings are the settings of a cache.
type Settings struct {
	Rules *rules.Rules // of the server's release

	// Indexed says that watches of objects by spec.nodeName use an index: of pods and resourceslices.
	Indexed bool

	// FeedLagNs is how long after its commit an event reaches the cache.
	FeedLagNs int64
	// ProgressNs is how long a request for etcd's progress takes to etcd. The answer comes back as events do.
	ProgressNs int64
	// NotifyEveryNs is how often etcd tells a watch without events its progress unasked
	// (--watch-progress-notify-interval); 0 for never.
	NotifyEveryNs int64
	// NoProgress says that etcd is too old to answer requests for its progress.
	NoProgress bool

	// Seed and Name are those of the random stream from which the ticks of bookmarks are drawn: the name is
	// of the server and the resource.
	Seed uint64
	Name string

	// Dispatched is told, unless it is nil, of each event that has been dispatched, to how many watchers it was
	// sent, 0 included, and for how many of them it is compressed, for the cost of it. The event is nil for so
	// many that a watch without a cache gets of its history.
	Dispatched func(nowNs int64, e *api.Event, watchers, compressed int)
}

// Counters are the counters of a cache since it was made.
type Counters struct {
	Received         int64 // events from etcd
	Dispatched       int64 // events given to watchers, those that their selectors drop not counted
	InitialEvents    int64 // sent to watchers before the live events (apiserver_init_events_total)
	Expired          int64 // watches answered 410
	TerminatedAsSlow int64 // watchers (apiserver_terminated_watchers_total)
	Waits, TimedOut  int64 // reads that waited for freshness, and those of them that it did not come to
	WaitedNs         int64 // by all of them
	ProgressRequests int64
	Initializations  int64
}

// Add adds what another cache has counted.
func (c *Counters) Add(other *Counters) {
	c.Received += other.Received
	c.Dispatched += other.Dispatched
	c.InitialEvents += other.InitialEvents
	c.Expired += other.Expired
	c.TerminatedAsSlow += other.TerminatedAsSlow
	c.Waits += other.Waits
	c.TimedOut += other.TimedOut
	c.WaitedNs += other.WaitedNs
	c.ProgressRequests += other.ProgressRequests
	c.Initializations += other.Initializations
}

// count counts a read that has waited.
func (c *Counters) count(waitedNs int64, fresh bool) {
	c.WaitedNs += waitedNs
	if !fresh {
		c.TimedOut++
	}
}

// Cache is the watch cache of one resource at one server.
//
// An event takes effect in this order: it is added to the ring, moves the version, makes a snapshot, ends the
// waits of readers, and is then queued for dispatch to the watchers. So reads can be ahead of watches. While
// dispatch waits for watchers that are full, events gather in its queue, and when that is full, too, the
// version stays behind.
type Cache struct {
	Counters Counters

	alarms   *clock.Alarms
	store    *store.Store
	resource *store.Resource
	settings Settings
	rules    rules.Storage // of the release

	asksProgress bool // of etcd, for waiting reads
	watchLists   bool // a watch may ask for initial events

	state     state
	startedNs int64
	sinceNs   int64 // when the state began
	initAlarm clock.AlarmID
	initNs    int64 // how long it takes to fill it

	// Of the watch of etcd that begins when the cache has been filled. It is nil if that is in sync. Up to the version sent,
	// etcd has sent the events: those that were committed while the cache was filled come in rounds.
	watch *store.Watch
	sent  int64

	filled  int64 // the version that the cache had when it became ready last, or will have when it does
	version int64 // 0 before it has been ready
	ring    ring

	feed      fifo[cacheInput] // what etcd has sent and the cache has not seen
	feeding   bool
	feedAlarm clock.AlarmID

	snapshots    snapshots
	nodes        nodes
	versionWaits versionWaits
	dispatch     dispatch
	watchers     watchers
	bookmarks    bookmarks
}

// state is whether a cache can be used.
type state uint8

const (
	stopped state = iota
	pending
	ready
)

// cacheInput is what etcd sends to a cache.
type cacheInput struct {
	event   *api.Event // nil for progress
	version int64
	atNs    int64 // when etcd sent it
}

// restartNs is how long a cache waits after a failure before it lists again (cacher.go).
const restartNs = 1_000_000_000

// queueLength is the length of the queue for dispatch (the channel incoming in cacher.go).
const queueLength = 100

// queuedEvents returns how many events the queue holds.
func queuedEvents(r *rules.Storage) int {
	if r.EventBookmarks {
		return queueLength / 2
	}
	return queueLength
}

// New returns a cache that has not been started.
func New(alarms *clock.Alarms, s *store.Store, resource api.Resource, settings Settings) *Cache {
	r := settings.Rules
	c := &Cache{
		alarms: alarms, store: s, resource: s.Resource(resource), settings: settings,
		rules: r.Storage, asksProgress: r.CacheUnversioned && !settings.NoProgress, watchLists: r.WatchLists != rules.NoWatchLists,
	}
	c.bookmarks.stream.Open(settings.Seed, settings.Name, 0, "bookmarks")
	c.resource.OnCommit(c.committed)
	return c
}

// Start begins to fill the cache when its server's process starts. It is ready initNs later, and then has what
// the store has now and the events since.
func (c *Cache) Start(nowNs, initNs int64) {
	if c.state != stopped {
		panic("watchcache: Start of a cache that runs")
	}
	c.startedNs, c.initNs = nowNs, initNs
	c.version = 0
	c.ring = ring{fixed: !c.rules.FittedRing}
	c.dispatch.budget = budget{lastNs: nowNs}
	c.versionWaits.lastNs = nowNs
	c.bookmarks.start()
	if c.settings.NotifyEveryNs > 0 && c.rules.ProgressEvents {
		c.versionWaits.notifyAlarm = c.alarms.Set(nowNs+c.settings.NotifyEveryNs, (*notify)(c))
	}
	if c.rules.Snapshots {
		c.snapshots.alarm = c.alarms.Set(nowNs+pollNs, (*snapshotCompaction)(c))
	}
	c.fill(nowNs, initNs)
}

// fill makes the cache have what the store has now, initNs later.
func (c *Cache) fill(nowNs, initNs int64) {
	c.state, c.sinceNs = pending, nowNs
	c.filled = c.store.Revision()
	c.alarms.Cancel(&c.feedAlarm)
	c.alarms.Cancel(&c.initAlarm)
	c.unwatch()
	c.initAlarm = c.alarms.Set(nowNs+initNs, (*filled)(c))
}

// Relist makes the cache not ready, as when its watch of etcd has failed: all watchers are closed, and it is
// ready again initNs later, as by Start, but with the capacity of its ring. Reads of single objects by the
// handlers of writes see its old state meanwhile. It does nothing if the cache is not ready.
func (c *Cache) Relist(nowNs, initNs int64) {
	if c.state != ready {
		return
	}
	c.fill(nowNs, initNs)
	c.dispatch.clear(c.alarms)
	for _, w := range c.watchers.copy() {
		w.close(nowNs)
	}
}

// filled is the alarm by which a cache becomes ready.
type filled Cache

func (f *filled) Ring(nowNs int64) {
	c := (*Cache)(f)
	c.initAlarm = clock.AlarmID{}
	c.state, c.sinceNs = ready, nowNs
	c.Counters.Initializations++
	c.version = c.filled
	c.ring.reset()
	c.snapshots.restart(c)
	c.nodes.clear()
	c.dispatch.version = c.filled
	for c.feed.len() > 0 && c.feed.first().version <= c.filled {
		c.feed.pop()
	}
	c.sent = math.MaxInt64
	if c.watch = c.resource.Watch(nowNs, "", "", c.filled, (*etcdWatch)(c)); c.watch != nil {
		c.sent = c.filled
	}
	c.versionWaits.wake(nowNs, c)
	for _, w := range c.versionWaits.takeUnready() {
		w.Waited(nowNs, true)
	}
	c.drain(nowNs)
}

// etcdWatch is the cache as etcd serves its watch.
type etcdWatch Cache

// Behind implements store.Watching. The events are those that the cache has got by committed.
func (w *etcdWatch) Behind(nowNs int64, _ []*api.Event, revision int64, inSync bool) {
	c := (*Cache)(w)
	c.sent = revision
	if inSync {
		c.sent, c.watch = math.MaxInt64, nil
	}
	waiting := c.feed.waiting()
	for i := range waiting {
		if n := &waiting[i]; n.version <= revision {
			n.atNs = nowNs
		}
	}
	c.schedule(nowNs)
}

// Compacted implements store.Watching: to fill the cache has taken longer than etcd has kept the events.
func (w *etcdWatch) Compacted(nowNs int64) {
	w.watch = nil
	w.initAlarm = w.alarms.Set(nowNs+w.settings.FeedLagNs, (*lost)(w))
}

// lost is the alarm by which a cache loses its watch of etcd. The list is as of now, although it begins a second later.
type lost Cache

func (l *lost) Ring(nowNs int64) {
	l.initAlarm = clock.AlarmID{}
	(*Cache)(l).Relist(nowNs, restartNs+l.initNs)
}

// unwatch ends the watch of etcd.
func (c *Cache) unwatch() {
	if c.watch != nil {
		c.watch.Stop()
		c.watch = nil
	}
}

// Stop ends the cache when its server stops or crashes: all streams end at once, without a bookmark, and nobody
// who waits is called any more. It does nothing if the cache does not run. It may be started again.
func (c *Cache) Stop(nowNs int64) {
	if c.state == stopped {
		return
	}
	c.state, c.sinceNs = stopped, nowNs
	c.alarms.Cancel(&c.initAlarm)
	c.unwatch()
	c.alarms.Cancel(&c.feedAlarm)
	c.alarms.Cancel(&c.snapshots.alarm)
	c.feed.clear()
	c.versionWaits.clear(c.alarms)
	c.dispatch.clear(c.alarms)
	c.bookmarks.clear(c.alarms)
	for _, w := range c.watchers.copy() {
		w.abort(nowNs)
	}
}

// Ready says whether the cache can serve reads and watches.
func (c *Cache) Ready() bool { return c.state == ready }

// RetryAfterSeconds returns the Retry-After of the answer 429 of a cache that is not ready (util.go).
func (c *Cache) RetryAfterSeconds(nowNs int64) int64 {
	if !c.rules.GrowingRetryAfter {
		return 1
	}
	seconds := float64(nowNs-c.sinceNs) / 1e9
	return int64(min(30, max(1, math.Exp(0.06*seconds))))
}

// Version returns the version up to which the cache has seen events or etcd's progress; 0 before it has been
// ready.
func (c *Cache) Version() int64 { return c.version }

// OldestVersion returns the oldest version that a watch can resume from, of a cache that is ready.
func (c *Cache) OldestVersion() int64 { return c.ring.oldest(c.filled) }

// LagNs returns for how long etcd's oldest event that the cache has not seen has been committed; 0 if it has
// seen all.
func (c *Cache) LagNs(nowNs int64) int64 {
	for _, n := range c.feed.waiting() {
		if n.event != nil {
			return nowNs - n.event.AtNs
		}
	}
	return 0
}

// committed gets each event of the resource when it is committed.
func (c *Cache) committed(nowNs int64, e *api.Event) {
	if c.state == stopped {
		return
	}
	c.versionWaits.quiet = false
	c.send(cacheInput{e, e.Version, nowNs})
}

// send makes the cache see an input after the lag, unless it was filled with it.
func (c *Cache) send(n cacheInput) {
	c.feed.push(n)
	c.schedule(n.atNs)
}

// inputAlarm is the alarm of the next input.
type inputAlarm Cache

func (f *inputAlarm) Ring(nowNs int64) {
	f.feedAlarm = clock.AlarmID{}
	(*Cache)(f).drain(nowNs)
}

// drain lets the cache see the inputs that have come, unless the queue for dispatch is full.
func (c *Cache) drain(nowNs int64) {
	if c.feeding {
		return
	}
	c.feeding = true
	for c.feedable() && c.feed.first().atNs+c.settings.FeedLagNs <= nowNs {
		c.see(nowNs, c.feed.pop())
	}
	c.feeding = false
	c.schedule(nowNs)
}

// feedable says whether there are inputs that the cache can see when their time has come.
func (c *Cache) feedable() bool {
	return c.state == ready && c.feed.len() > 0 && c.feed.first().version <= c.sent && c.dispatch.queue.len() <= queuedEvents(&c.rules)
}

// schedule sets the alarm of the next input. Without a lag it rings in the same instant, since those who are
// told of events may change the store, which is not possible in the middle of a commit.
func (c *Cache) schedule(nowNs int64) {
	if !c.feeding && !c.feedAlarm.Pending() && c.feedable() {
		c.feedAlarm = c.alarms.Set(max(nowNs, c.feed.first().atNs+c.settings.FeedLagNs), (*inputAlarm)(c))
	}
}

// see adds an input to the cache.
func (c *Cache) see(nowNs int64, n cacheInput) {
	if e := n.event; e != nil {
		c.Counters.Received++
		c.ring.add(e)
		c.version = n.version
		c.snapshots.add(&c.ring, n.version)
		c.nodes.add(e, &c.ring)
	} else {
		c.version = max(c.version, n.version)
	}
	c.versionWaits.wake(nowNs, c)
	if c.state != ready { // one of the readers has stopped it
		return
	}
	c.dispatch.queue.push(n)
	c.dispatchQueue(nowNs)
}
