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
// events, and nobody is closed as slow: etcd keeps the events for a client that is late. That it cannot keep
// them for longer than until it is compacted is left out.
type Direct struct {
	Counters Counters

	alarms     *clock.Alarms
	store      *store.Store
	resource   *store.Resource
	settings   Settings
	watchLists bool
	stream     random.Stream

	watchers   []*Watcher       // all
	feed       fifo[*api.Event] // committed, and not offered to the watchers yet
	feedAlarm  clock.AlarmID
	feeding    bool
	shared     transitions
	interested []*Watcher // kept for its capacity
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
		events, ok := d.resource.Since(s.version)
		if !ok {
			d.Counters.Expired++
			w.fail(nowNs, expired())
			return
		}
		// What the server has not got from etcd yet comes as live events.
		var unseen *api.Event
		if d.feed.len() > 0 {
			unseen = *d.feed.first()
		}
		for e := range events {
			if e == unseen {
				break
			}
			w.source.walked++
			if seen := d.shared.event(e, w); seen != nil {
				w.source.history = append(w.source.history, past{seen, -1})
			}
		}
		w.source.sent = int64(len(w.source.history))
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

// committed gets each event of the resource when it is committed.
func (d *Direct) committed(nowNs int64, e *api.Event) {
	if len(d.watchers) == 0 && d.feed.len() == 0 {
		return
	}
	d.feed.push(e)
	d.schedule(nowNs)
}

// schedule sets the alarm of the next event.
func (d *Direct) schedule(nowNs int64) {
	if !d.feeding && !d.feedAlarm.Pending() && d.feed.len() > 0 {
		d.feedAlarm = d.alarms.Set(max(nowNs, (*d.feed.first()).AtNs+d.settings.FeedLagNs), (*directFeeder)(d))
	}
}

// directFeeder is the alarm of the next event.
type directFeeder Direct

func (f *directFeeder) Ring(nowNs int64) {
	d := (*Direct)(f)
	d.feedAlarm = clock.AlarmID{}
	d.feeding = true
	for d.feed.len() > 0 && (*d.feed.first()).AtNs+d.settings.FeedLagNs <= nowNs {
		d.offer(nowNs, d.feed.pop())
	}
	d.feeding = false
	d.schedule(nowNs)
}

// offer gives an event to all watchers.
func (d *Direct) offer(nowNs int64, e *api.Event) {
	d.Counters.Received++
	sent, compressed := 0, 0
	d.interested = append(d.interested[:0], d.watchers...)
	for _, w := range d.interested {
		if w.over || !w.opened {
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
}

// freed implements owner.
func (d *Direct) freed(int64, *Watcher) {}

// initialized implements owner.
func (d *Direct) initialized(_ int64, w *Watcher) { d.Counters.InitialEvents += w.source.sent }
