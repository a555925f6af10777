package watchcache

import (
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/store"
)

// Sink is the server's end of a watch. It receives what the client has read.
//
// A watch that opens calls Opened, then Initialized once and the events, and Ended at the end unless
// Watcher.Stop ended it. A watch that cannot open calls Received with an Error event and Ended, its HTTP status
// being 200, or only Ended. None of them is called before Watcher.Begin, so that whoever asks for a watch has its
// watcher, and can stop it, whenever it is told something.
type Sink interface {
	// Opened says that the stream begins. Nothing is sent until Watcher.Proceed, which the server calls after
	// the CPU time that Watcher.Initial takes. Meanwhile live events gather in the watcher's input channel.
	Opened(nowNs int64, w *Watcher)
	// Received is called with each event that the client has read.
	Received(nowNs int64, e *api.Event)
	// Counted says that the client has read n initial events of objects that are only counted. These come
	// before all others.
	Counted(nowNs, n int64)
	// Initialized says that the last initial event is in the result channel, so that the request gives its
	// seats back.
	Initialized(nowNs int64)
	// Ended says that the stream has ended: the watcher was too slow, the cache failed or stopped, the
	// history was overtaken, or after an error.
	Ended(nowNs int64)
}

// Watcher is one watch (cacheWatcher in cache_watcher.go). An event goes through an input channel, in which
// dispatch puts it, and a result channel, from which it is written to the client; between the two is the
// watcher's goroutine, which first sends the initial events, and may hold one event while the result channel
// is full. Both channels have the same size.
//
// A client that takes no time to read never fills its channels, and gets each event at once.
type Watcher struct {
	owner  owner
	alarms *clock.Alarms
	sink   Sink
	shared *transitions
	setup  opening // nil after Begin

	scope      scope // whose objects it watches
	byNode     bool  // it uses the index
	node       string
	selector   *api.Selector
	matches    int64
	size       int // of each channel; 0 for no limit
	readNs     int64
	deadlineNs int64
	after      int64 // events up to this version are not sent live

	compressed bool // all that the server sends to it is
	bookmarks  bool // it may get them
	marks      marks
	marksAfter int64 // the least version of its first bookmark

	behind *store.Watch // etcd's, unless it is in sync or there is a cache

	group        *group // of those who are told of events; nil if it is not
	indexInGroup int
	indexInAll   int

	over     bool // the stream has ended, or will end without calling the sink
	opened   bool
	proceeds bool // Proceed was called
	live     bool // the initial events are in the result channel
	direct   bool // it is live and reads at once, so that events pass by the channels
	closed   bool // nothing comes into the result channel any more
	draining bool // nothing comes into the input channel any more

	source    source
	input     fifo[*api.Event] // nil for one that its selector drops
	hand      *api.Event       // of the goroutine, for which there is no room in the result channel
	result    fifo[*api.Event]
	reading   *api.Event // by the client
	readAlarm clock.AlarmID
	advancing bool
	taken     bool // an event was taken from the input channel
}

// owner is the cache, or the watches without one, to which a watcher belongs.
type owner interface {
	// unregister makes no more events be offered to it.
	unregister(w *Watcher)
	// ended forgets it.
	ended(w *Watcher)
	// freed says that there is room in its input channel.
	freed(nowNs int64, w *Watcher)
	// initialized counts its initial events, and says that they are in the result channel.
	initialized(nowNs int64, w *Watcher)
}

// opening is how a watch opens.
type opening interface {
	// begin opens it, at once or later.
	begin(nowNs int64)
}

// Begin opens a watch that the cache has returned. It does nothing the second time, or if the watch has ended.
func (w *Watcher) Begin(nowNs int64) {
	s := w.setup
	w.setup = nil
	if s != nil && !w.over {
		s.begin(nowNs)
	}
}

// marks is whether a watcher has got the bookmark that ends its initial events.
type marks uint8

const (
	marksDelivered marks = iota // or it gets none
	marksAwaited
	marksReceived // by its input channel, or from the beginning (rules.Storage.DrainedBeginnings)
)

// countedEvent stands for the initial event of an object that is only counted.
var countedEvent = &api.Event{}

// Initial returns how many objects, or events of the history, are walked for what is sent before the live
// events, and how many are sent, those that are only counted included. It is known when the watch has opened.
func (w *Watcher) Initial() (walked, sent int64) { return w.source.walked, w.source.sent }

// Compressed says whether the server compresses what it sends, each flush alone: the initial events and all that follow
// (endpoints/handlers/watch.go).
func (w *Watcher) Compressed() bool { return w.compressed }

// Proceed begins to send: first the initial events or the history, then what has gathered since the watch
// was opened, then live events. It does nothing if the watch has ended.
func (w *Watcher) Proceed(nowNs int64) {
	if w.over || w.proceeds || !w.opened {
		return
	}
	w.proceeds = true
	w.advance(nowNs)
	w.release(nowNs)
}

// Stop ends the watch: the client has gone, or the deadline has come. The sink is not called any more. It does
// nothing if the watch has ended.
func (w *Watcher) Stop(nowNs int64) {
	if w.over {
		return
	}
	w.over = true
	w.alarms.Cancel(&w.readAlarm)
	w.owner.ended(w)
}

// abort ends the stream at once.
func (w *Watcher) abort(nowNs int64) {
	if !w.over {
		w.Stop(nowNs)
		w.sink.Ended(nowNs)
	}
}

// fail ends a stream that cannot open, or not go on, with an error.
func (w *Watcher) fail(nowNs int64, failure *api.Answer) {
	w.Stop(nowNs)
	w.sink.Received(nowNs, &api.Event{Type: api.Error, AtNs: nowNs, Failure: failure})
	w.sink.Ended(nowNs)
}

// endWith ends an open stream with an error, after what has been offered before.
func (w *Watcher) endWith(nowNs int64, failure *api.Answer) {
	w.direct, w.draining = false, true
	w.input.push(&api.Event{Type: api.Error, AtNs: nowNs, Failure: failure})
	w.advance(nowNs)
}

// close closes the watcher: the client reads what is in the result channel, and then the stream ends. What is
// in the input channel is thrown away, unless the bookmark that ends the initial events is in it.
func (w *Watcher) close(nowNs int64) {
	if w.over || w.draining || w.closed {
		return
	}
	w.owner.unregister(w)
	w.direct = false
	if w.marks == marksReceived {
		w.draining = true
	} else {
		w.closed, w.hand = true, nil
	}
	w.advance(nowNs)
}

// selects says whether the watcher watches an object.
func (w *Watcher) selects(o *api.Object) bool {
	v := api.View{Object: o}
	return w.sees(&v)
}

// sees is like selects, of the object of a view.
func (w *Watcher) sees(v *api.View) bool {
	return (w.scope.namespace == "" || w.scope.namespace == v.Object.Namespace) &&
		(w.scope.name == "" || w.scope.name == v.Object.Name) && w.selector.Sees(v)
}

// offer puts an event in the input channel, or returns that there is no room; sent says that the selector
// lets the client get it.
func (w *Watcher) offer(nowNs int64, e *api.Event) (accepted, sent bool) {
	if w.direct {
		if e.Version <= w.after {
			return true, false
		}
		seen := w.shared.event(e, w)
		if seen == nil {
			return true, false
		}
		w.sink.Received(nowNs, seen)
		return true, true
	}
	if w.size > 0 && w.input.len() >= w.size {
		return false, false
	}
	var seen *api.Event
	if e.Version > w.after {
		seen = w.shared.event(e, w)
	}
	w.input.push(seen)
	w.advance(nowNs)
	return true, seen != nil
}

// offerBookmark puts a bookmark in the input channel if there is room and the watcher wants it.
func (w *Watcher) offerBookmark(nowNs int64, e *api.Event) {
	if e.Version < w.marksAfter || !w.direct && w.size > 0 && w.input.len() >= w.size {
		return
	}
	if w.marks == marksAwaited {
		w.marks = marksReceived
	}
	if w.direct {
		if e = w.bookmark(e); e != nil {
			w.marks = marksDelivered
			w.sink.Received(nowNs, e)
		}
		return
	}
	w.input.push(e)
	w.advance(nowNs)
}

// bookmark returns a bookmark of the input channel as the client gets it, nil if it does not: those after its
// beginning, and the one that ends the initial events.
func (w *Watcher) bookmark(e *api.Event) *api.Event {
	switch {
	case w.marks != marksDelivered && e.Version >= w.after:
		return &api.Event{Type: api.Bookmark, Version: e.Version, AtNs: e.AtNs, InitialEnd: true}
	case e.Version > w.after:
		return e
	}
	return nil
}

// Ring ends the reading of an event.
func (w *Watcher) Ring(nowNs int64) {
	w.readAlarm = clock.AlarmID{}
	e := w.reading
	w.reading = nil
	w.receive(nowNs, e)
	if !w.over {
		w.advance(nowNs)
		w.release(nowNs)
	}
}

func (w *Watcher) receive(nowNs int64, e *api.Event) {
	if e == countedEvent {
		w.sink.Counted(nowNs, 1)
	} else {
		w.sink.Received(nowNs, e)
	}
}

// advance moves events towards the client as far as they can go.
func (w *Watcher) advance(nowNs int64) {
	if w.advancing || w.over || !w.proceeds && !w.closed {
		return
	}
	w.advancing = true
	for w.step(nowNs) {
	}
	w.advancing = false
}

// release tells the owner that there is room in the input channel, if there is now. It must not be called
// while the owner is offering an event.
func (w *Watcher) release(nowNs int64) {
	if w.taken {
		w.taken = false
		w.owner.freed(nowNs, w)
	}
}

// step moves one event, and returns whether there may be more to move.
func (w *Watcher) step(nowNs int64) bool {
	if w.hand == nil && !w.closed {
		w.hand = w.next(nowNs)
		if w.over {
			return false
		}
	}
	moved := false
	if w.hand != nil && (w.size == 0 || w.result.len() < w.size) {
		if w.hand.Type == api.Bookmark {
			w.marks = marksDelivered
		}
		w.result.push(w.hand)
		w.hand = nil
		moved = true
	}
	switch {
	case w.reading != nil:
	case w.result.len() == 0:
		if w.closed && w.hand == nil {
			w.abort(nowNs)
			return false
		}
	case w.readNs == 0:
		w.receive(nowNs, w.result.pop())
		moved = true
	default:
		w.reading = w.result.pop()
		w.readAlarm = w.alarms.Set(nowNs+w.readNs, w)
		moved = true
	}
	return moved && !w.over
}

// next returns the next event of the watcher's goroutine, nil if it has nothing to send.
func (w *Watcher) next(nowNs int64) *api.Event {
	if !w.live {
		if e := w.nextInitial(nowNs); e != nil || !w.live {
			return e
		}
	}
	for w.input.len() > 0 {
		e := w.input.pop()
		w.taken = true
		if e != nil && e.Type == api.Bookmark {
			e = w.bookmark(e)
		}
		if e != nil {
			return e
		}
	}
	if w.draining {
		w.closed = true
	} else {
		w.direct = w.readNs == 0
	}
	return nil
}

// nextInitial returns the next event of the source. After the last one, the watcher is live. If the source has
// been lost, the stream ends.
func (w *Watcher) nextInitial(nowNs int64) *api.Event {
	s := &w.source
	if n := s.counted; n > 0 && w.readNs == 0 {
		s.counted = 0
		w.sink.Counted(nowNs, n)
		if w.over {
			return nil
		}
	}
	e, lost := s.next(nowNs)
	if lost {
		w.owner.unregister(w)
		w.closed = true
		return nil
	}
	if e == nil {
		w.live = true
		w.source = source{walked: s.walked, sent: s.sent}
		w.owner.initialized(nowNs, w)
	}
	return e
}

// transitions is what watchers share that see the same event one after the other: its objects, and what those get whose selectors an
// object enters or leaves.
type transitions struct {
	change, entered, left *api.Event
	object, previous      api.View
}

// event returns an event of the store as a watcher gets it; nil if it does not.
func (t *transitions) event(e *api.Event, w *Watcher) *api.Event {
	if t.change != e {
		*t = transitions{change: e, object: api.View{Object: e.Object}, previous: api.View{Object: e.Previous}}
	}
	is := e.Type != api.Deleted && w.sees(&t.object)
	was := false
	switch e.Type {
	case api.Modified:
		was = w.sees(&t.previous)
	case api.Deleted:
		was = w.sees(&t.object)
	}
	switch {
	case !is && !was:
		return nil
	case is == was, e.Type != api.Modified:
		return e
	}
	if is {
		if t.entered == nil {
			t.entered = &api.Event{Type: api.Added, Version: e.Version, Object: e.Object, AtNs: e.AtNs}
		}
		return t.entered
	}
	if t.left == nil {
		t.left = &api.Event{Type: api.Deleted, Version: e.Version, Object: e.Previous, AtNs: e.AtNs}
	}
	return t.left
}
