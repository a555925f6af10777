package watchcache

import (
	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/random"
	"apfsim/sim/store"
)

// Direct is the watches of a resource without a cache at one server, such as events: each is a watch of etcd
// (k8s.io/apiserver pkg/storage/etcd3/watcher.go). There are no bookmarks but that at the end of the initial
// events, and nobody is closed as slow: the server keeps the events for a client that is late. A watch from an
// old version gets the events since in etcd's rounds, and ends when etcd has compacted the next of them.
type Direct struct {
	Counters Counters

	alarms     *clock.Alarms
	store      *store.Store
	resource   *store.Resource
	settings   Settings
	watchLists bool
	stream     random.Stream

	watchers   []*Watcher     // all
	feed       fifo[delivery] // what etcd has sent, and the watchers have not been offered yet
	feedAlarm  clock.AlarmID
	feeding    bool
	shared     transitions
	interested []*Watcher // kept for its capacity
}

// delivery is what etcd sends: an event to all watchers that are in sync, or a batch of events to one that is not.
type delivery struct {
	atNs  int64 // when etcd sent it
	event *api.Event
	batch *batch
}

// NewDirect returns the watches of a resource. Of the settings, Rules, FeedLagNs, Seed, Name and Dispatched
// count.
func NewDirect(alarms *clock.Alarms, s *store.Store, resource api.Resource, settings Settings) *Direct {
	d := &Direct{
		alarms: alarms, store: s, resource: s.Resource(resource), settings: settings,
		watchLists: settings.Rules.WatchLists != rules.NoWatchLists,
	}
	d.stream.Open(settings.Seed, settings.Name, 0, "direct watches")
	d.resource.OnCommit(d.committed)
	return d
}

// Watch returns the watcher of a new watch, as Cache.Watch. When it begins, it is initialized at once, and opens
// when etcd has been read.
func (d *Direct) Watch(o WatchOptions, sink Sink) *Watcher {
	asked := beginning(&o.Options, d.watchLists)
	w := newWatcher(d, d.alarms, &d.shared, o, asked, sink)
	w.indexInAll = len(d.watchers)
	d.watchers = append(d.watchers, w)
	w.setup = &directSetup{direct: d, watcher: w, asked: asked}
	return w
}

// directSetup is a watch that is being opened.
type directSetup struct {
	asked
	direct  *Direct
	watcher *Watcher
}

// begin implements opening. A client that has gone meanwhile stops its watch when that is initialized.
func (s *directSetup) begin(nowNs int64) {
	s.watcher.sink.Initialized(nowNs)
	switch {
	case s.watcher.over:
	case s.initial || s.version == 0:
		s.direct.store.Read(nowNs, s)
	default:
		s.open(nowNs)
	}
}

// Ring says that etcd has been read.
func (s *directSetup) Ring(nowNs int64) {
	current := s.direct.store.Revision()
	if s.initial && s.version > current {
		if !s.watcher.over {
			s.watcher.fail(nowNs, tooLarge(1+s.direct.stream.Int64N(3)))
		}
		return
	}
	s.version = current
	s.open(nowNs)
}

// open opens the watch.
func (s *directSetup) open(nowNs int64) {
	d, w := s.direct, s.watcher
	if w.over {
		return
	}
	w.after = s.version
	if s.initial {
		w.source = d.stateFor(w)
		if s.bookmark {
			w.source.endVersion = s.version
		}
	} else {
		name := w.scope.name
		if w.scope.namespace == "" && d.resource.Namespaced() {
			name = "" // its key is not known
		}
		w.behind = d.resource.Watch(nowNs, w.scope.namespace, name, s.version, &laggingWatcher{d, w})
	}
	w.opened = true
	w.sink.Opened(nowNs, w)
}

// stateFor returns the state of etcd for a watch.
func (d *Direct) stateFor(w *Watcher) source {
	s := source{walked: d.resource.Len(), counted: min(w.matches, d.resource.Counted())}
	if w.scope.namespace != "" {
		s.walked = s.counted
	}
	p, err := d.resource.Page(0, w.scope.namespace, "", 0, 0)
	if err != nil {
		panic("watchcache: etcd's latest revision cannot be read: " + err.Error())
	}
	if w.scope.namespace != "" {
		s.walked += int64(len(p.Objects))
	}
	for _, o := range p.Objects {
		if w.selects(o) {
			s.objects = append(s.objects, o)
		}
	}
	s.sent = s.counted + int64(len(s.objects))
	return s
}

// Stop ends all streams at once when the server stops or crashes. New watches may be opened afterwards.
func (d *Direct) Stop(nowNs int64) {
	for len(d.watchers) > 0 {
		d.watchers[0].abort(nowNs)
	}
}

// laggingWatcher is a watcher whose watch of etcd is not in sync.
type laggingWatcher struct {
	direct  *Direct
	watcher *Watcher
}

// batch is what etcd sends to a watch that is behind.
type batch struct {
	watcher   *Watcher
	events    []*api.Event
	revision  int64 // etcd's latest, with inSync
	inSync    bool  // these are the last
	compacted bool  // it ends
}

// Behind implements store.Watching.
func (b *laggingWatcher) Behind(nowNs int64, events []*api.Event, revision int64, inSync bool) {
	b.direct.send(nowNs, delivery{atNs: nowNs, batch: &batch{watcher: b.watcher, events: events, revision: revision, inSync: inSync}})
}

// Compacted implements store.Watching.
func (b *laggingWatcher) Compacted(nowNs int64) {
	b.direct.send(nowNs, delivery{atNs: nowNs, batch: &batch{watcher: b.watcher, compacted: true}})
}

// committed gets each event of the resource when it is committed.
func (d *Direct) committed(nowNs int64, e *api.Event) {
	if len(d.watchers) == 0 && d.feed.len() == 0 {
		return
	}
	d.send(nowNs, delivery{atNs: nowNs, event: e})
}

// send makes the server get what etcd sends after the lag.
func (d *Direct) send(nowNs int64, what delivery) {
	d.feed.push(what)
	d.schedule(nowNs)
}

// schedule sets the alarm of the next event.
func (d *Direct) schedule(nowNs int64) {
	if !d.feeding && !d.feedAlarm.Pending() && d.feed.len() > 0 {
		d.feedAlarm = d.alarms.Set(max(nowNs, d.feed.first().atNs+d.settings.FeedLagNs), (*directFeeder)(d))
	}
}

// directFeeder is the alarm of the next event.
type directFeeder Direct

func (f *directFeeder) Ring(nowNs int64) {
	d := (*Direct)(f)
	d.feedAlarm = clock.AlarmID{}
	d.feeding = true
	for d.feed.len() > 0 && d.feed.first().atNs+d.settings.FeedLagNs <= nowNs {
		if what := d.feed.pop(); what.batch != nil {
			d.catchUp(nowNs, what.batch)
		} else {
			d.offer(nowNs, what.event)
		}
	}
	d.feeding = false
	d.schedule(nowNs)
}

// catchUp gives a batch to its watcher.
func (d *Direct) catchUp(nowNs int64, b *batch) {
	w := b.watcher
	if w.over {
		return
	}
	if b.compacted {
		d.Counters.Expired++
		w.endWith(nowNs, expired())
		return
	}
	sent := 0
	for _, e := range b.events {
		if _, ok := w.offer(nowNs, e); ok {
			sent++
		}
		if w.over {
			break
		}
	}
	if b.inSync {
		w.behind, w.after = nil, b.revision
	}
	d.Counters.InitialEvents += int64(sent)
	if d.settings.Dispatched != nil {
		d.settings.Dispatched(nowNs, nil, sent, 0)
	}
}

// offer gives an event to all watchers that are in sync.
func (d *Direct) offer(nowNs int64, e *api.Event) {
	d.Counters.Received++
	sent, compressed := 0, 0
	d.interested = append(d.interested[:0], d.watchers...)
	for _, w := range d.interested {
		if w.over || !w.opened || w.behind != nil {
			continue
		}
		if _, ok := w.offer(nowNs, e); ok {
			sent++
			if w.compressed {
				compressed++
			}
		}
	}
	clear(d.interested)
	d.Counters.Dispatched += int64(sent)
	if d.settings.Dispatched != nil {
		d.settings.Dispatched(nowNs, e, sent, compressed)
	}
}

// unregister implements owner.
func (d *Direct) unregister(*Watcher) {}

// ended implements owner.
func (d *Direct) ended(w *Watcher) {
	last := len(d.watchers) - 1
	d.watchers[w.indexInAll] = d.watchers[last]
	d.watchers[w.indexInAll].indexInAll = w.indexInAll
	d.watchers[last] = nil
	d.watchers = d.watchers[:last]
	if w.behind != nil {
		w.behind.Stop()
	}
}

// freed implements owner.
func (d *Direct) freed(int64, *Watcher) {}

// initialized implements owner.
func (d *Direct) initialized(_ int64, w *Watcher) { d.Counters.InitialEvents += w.source.sent }
