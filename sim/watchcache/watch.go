package watchcache

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/clock"
)

// WatchOptions are the options of a watch.
type WatchOptions struct {
	// Options are those of the request, which the server has found valid: Version, SendInitialEvents and
	// Bookmarks are looked at.
	Options request.Options

	Namespace, Name string // of the request's path; "" for all
	Selector        *api.Selector
	Matches         int64 // how many of the objects that are only counted it selects

	// Compresses says that the server compresses the events if the watch asks for initial events and bookmarks.
	Compresses bool

	ReadNs     int64 // how long its client takes to read an event; 0: every event is received at once
	DeadlineNs int64 // when the server will end the watch by Watcher.Stop; 0 for never
}

// asked is what a watch is to begin with.
type asked struct {
	initial  bool  // the state, otherwise the events after a version
	latest   bool  // at least of etcd's current revision, which has to be read
	list     bool  // it has asked for initial events, so that it waits for freshness, and can have the bookmark
	version  int64 // 0: the cache's, if latest is not set
	bookmark bool  // the initial events end with a bookmark
}

// beginning returns what the options of a watch ask for. A watch from no version or from "0" that says no more
// begins with the state. Where servers know of initial events, that is asked for by default
// (apis/meta/internalversion/defaults.go).
func beginning(o *request.Options, watchLists bool) asked {
	anywhere := !o.Version.Given || o.Version.N == 0
	b := asked{version: o.Version.N}
	switch {
	case !watchLists:
		b.initial = anywhere
	case o.SendInitialEventsGiven && !o.SendInitialEvents:
		b.latest = !o.Version.Given
	case o.SendInitialEventsGiven || anywhere:
		b.initial, b.list = true, true
		b.latest = !o.Version.Given
		b.bookmark = o.Bookmarks
	}
	return b
}

// Watch returns the watcher of a new watch, which Watcher.Begin opens: at once or after it has read etcd's current
// revision or waited for freshness; the sink is told. The answer is not nil if the cache is not ready: then it is
// 429, with Retry-After, and there is no watcher.
func (c *Cache) Watch(nowNs int64, o WatchOptions, sink Sink) (*Watcher, *api.Answer) {
	if c.state != ready {
		return nil, &api.Answer{Status: 429, Reason: "TooManyRequests", RetryAfterSeconds: c.RetryAfterSeconds(nowNs), Items: -1}
	}
	asked := beginning(&o.Options, c.watchLists)
	w := newWatcher(c, c.alarms, &c.dispatch.shared, o, asked, sink)
	if c.settings.Indexed {
		w.node, w.byNode = o.Selector.Value(nodeName)
	}
	w.size = c.ring.channelSize(c.rules.SizesByRate, c.settings.Indexed, w.byNode)
	c.watchers.add(w)

	w.setup = &setup{cache: c, watcher: w, asked: asked}
	return w, nil
}

// newWatcher returns a watcher that has not opened.
func newWatcher(owner owner, alarms *clock.Alarms, shared *transitions, o WatchOptions, a asked, sink Sink) *Watcher {
	w := &Watcher{
		owner: owner, alarms: alarms, shared: shared, sink: sink,
		scope: scope{o.Namespace, o.Name}, selector: o.Selector, matches: o.Matches,
		readNs: o.ReadNs, deadlineNs: o.DeadlineNs, bookmarks: o.Options.Bookmarks,
		compressed: o.Compresses && a.bookmark,
	}
	if namespace, ok := o.Selector.Value("metadata.namespace"); ok && o.Namespace == "" {
		w.scope.namespace = namespace
	}
	if name, ok := o.Selector.Value("metadata.name"); ok && o.Name == "" {
		w.scope.name = name
	}
	return w
}

// setup is a watch that is being opened. Its watcher is over when the cache has failed or stopped meanwhile.
type setup struct {
	asked
	cache   *Cache
	watcher *Watcher
}

// begin implements opening.
func (s *setup) begin(nowNs int64) {
	c := s.cache
	switch {
	case s.bookmark && c.settings.NoProgress:
		s.watcher.fail(nowNs, &api.Answer{Status: 500, Reason: "InternalError", Items: -1})
	case s.latest:
		c.store.Read(nowNs, s)
	default:
		s.await(nowNs)
	}
}

// Ring says that etcd's current revision has been read.
func (s *setup) Ring(nowNs int64) {
	if s.watcher.over {
		return
	}
	s.version = s.cache.store.Revision()
	s.await(nowNs)
}

// await waits until the cache is fresh enough for the state that was asked for. Who asks for events only can
// wait for them when the watch is open.
func (s *setup) await(nowNs int64) {
	if !s.list || s.cache.WaitFresh(nowNs, s.version, s) {
		s.open(nowNs)
	}
}

// Waited implements Waiter.
func (s *setup) Waited(nowNs int64, fresh bool) {
	switch {
	case fresh:
		s.open(nowNs)
	case !s.watcher.over:
		s.watcher.fail(nowNs, tooLarge(1))
	}
}

// open opens the watch.
func (s *setup) open(nowNs int64) {
	c, w := s.cache, s.watcher
	if w.over {
		return
	}
	if s.initial {
		w.after = max(c.version, s.version)
		w.source = c.stateFor(w)
		if s.bookmark {
			w.marks, w.marksAfter = marksAwaited, s.version
			if s.version == 0 || c.rules.DrainedBeginnings {
				w.marksAfter = c.version
			}
			if c.rules.DrainedBeginnings {
				w.marks = marksReceived // the bookmark is behind the initial events
			}
			if c.rules.PromptBookmark {
				w.source.endVersion = c.version
			}
		}
	} else {
		version := s.version
		if version == 0 {
			version = c.version
		}
		if version < c.OldestVersion() {
			c.Counters.Expired++
			w.fail(nowNs, expired())
			return
		}
		w.after = version
		w.source = c.historyFor(w, version)
	}
	c.watchers.register(w)
	if w.bookmarks {
		c.plan(nowNs, w)
	}
	w.opened = true
	w.sink.Opened(nowNs, w)
}

// stateFor returns the state of the cache for a watch. Upstream walks all objects of the resource, unless the
// watch names the only one. With InitialByPrefix, it walks those of the namespace, or of the index of the node.
func (c *Cache) stateFor(w *Watcher) source {
	s := source{walked: c.resource.Len(), counted: min(w.matches, c.resource.Counted())}
	var objects []*api.Object
	if w.scope.name != "" {
		if o := c.Get(w.scope.namespace, w.scope.name); o != nil {
			objects = append(objects, o)
		}
		// A name selects one object in its namespace, or among objects that are in none.
		if w.scope.namespace != "" || len(objects) > 0 {
			s.walked = 1
		} else if c.resource.Namespaced() {
			objects = c.Page("", "", 0, 0).Objects
		}
	} else if w.byNode {
		objects = c.ByNode(w.node)
	} else {
		objects = c.Page(w.scope.namespace, "", 0, 0).Objects
	}
	for _, o := range objects {
		if w.selects(o) {
			s.objects = append(s.objects, o)
		}
	}
	if c.rules.InitialByPrefix && w.scope.name == "" && (w.byNode || w.scope.namespace != "") {
		s.walked = s.counted + int64(len(objects))
	}
	s.sent = s.counted + int64(len(s.objects))
	return s
}

// historyFor returns the events after a version for a watch, and makes it not get them again.
func (c *Cache) historyFor(w *Watcher, version int64) source {
	r := &c.ring
	from := r.after(version)
	s := source{walked: int64(r.end - from), ring: r, fetched: from, end: r.end}
	add := func(i int) {
		if seen := w.shared.event(r.eventAt(i), w); seen != nil {
			s.history = append(s.history, indexedEvent{seen, i})
		}
	}
	if w.byNode {
		for _, i := range c.eventsOf(w.node, from) {
			add(i)
		}
	} else {
		for i := from; i < r.end; i++ {
			add(i)
		}
	}
	if from < r.end {
		w.after = r.eventAt(r.end - 1).Version
	}
	s.fetch(min(from+1, r.end)) // the first batch is taken at once
	s.sent = int64(len(s.history))
	return s
}

// tooLarge returns the Status of a read at a version that does not exist yet.
func tooLarge(retryAfterSeconds int64) *api.Answer {
	return &api.Answer{
		Status: 504, Reason: "Timeout", RetryAfterSeconds: retryAfterSeconds, Items: -1,
		Causes: []api.Cause{{Reason: "ResourceVersionTooLarge"}},
	}
}

// expired returns the Status of a watch from a version whose events are lost.
func expired() *api.Answer { return &api.Answer{Status: 410, Reason: "Expired", Items: -1} }

// unregister implements owner.
func (c *Cache) unregister(w *Watcher) { c.watchers.unregister(w) }

// ended implements owner.
func (c *Cache) ended(w *Watcher) { c.watchers.remove(w) }

// initialized implements owner.
func (c *Cache) initialized(nowNs int64, w *Watcher) {
	c.Counters.InitialEvents += w.source.sent
	w.sink.Initialized(nowNs)
}
