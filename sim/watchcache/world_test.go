package watchcache

import (
	"fmt"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/store"
)

const (
	ms     = int64(1e6)
	second = int64(1e9)
)

// world is a store with one resource, and the time in which it lives.
type world struct {
	t        rapid.TB // of rapid or testing
	queue    clock.Queue[int32]
	alarms   *clock.Alarms
	store    *store.Store
	resource *store.Resource
}

var pods = api.Resource{Name: "pods"}

func newWorld(t rapid.TB, s store.Settings, counts ...store.Count) *world {
	w := &world{t: t}
	w.alarms = clock.NewAlarms(func(atNs int64, slot int32) clock.Handle { return w.queue.Schedule(atNs, 1, slot) }, w.queue.Cancel)
	w.store = store.New(w.alarms, s, 0, counts)
	w.resource = w.store.Resource(pods)
	return w
}

// alarm is a function as an alarm.
type alarm func(nowNs int64)

func (a alarm) Ring(nowNs int64) { a(nowNs) }

// at lets something happen at a time.
func (w *world) at(atNs int64, f func(nowNs int64)) { w.alarms.Set(atNs, alarm(f)) }

// run lets time pass until all that is due at untilNs has happened.
func (w *world) run(untilNs int64) {
	w.at(untilNs, func(int64) {})
	for {
		next, ok := w.queue.NextNs()
		if !ok || next > untilNs {
			return
		}
		slot, _ := w.queue.Next()
		w.alarms.Ring(w.queue.NowNs(), slot)
	}
}

func (w *world) now() int64 { return w.queue.NowNs() }

// cache returns a cache of a release that is ready at once. More settings may be made before.
func (w *world) cache(version string, change ...func(*Settings)) *Cache {
	r, err := rules.For(version)
	if err != nil {
		w.t.Fatal(err)
	}
	s := Settings{Rules: r, Seed: 1, Name: "server 0 pods"}
	for _, f := range change {
		f(&s)
	}
	c := New(w.alarms, w.store, pods, s)
	c.Start(w.now(), 0)
	w.run(w.now())
	return c
}

// put writes an object, with fields as name=value pairs, and returns its version.
func (w *world) put(namespace, name string, fields ...string) int64 {
	o := &api.Object{Namespace: namespace, Name: name, DeletionNs: -1, Bytes: 100}
	for _, f := range fields {
		field, value, _ := strings.Cut(f, "=")
		if o.Fields == nil {
			o.Fields = map[string]string{}
		}
		o.Fields[field] = value
	}
	expected := int64(0)
	if old := w.resource.Get(namespace, name); old != nil {
		expected = old.Version
	}
	stored, ok := w.resource.Put(w.now(), o, expected)
	if !ok {
		w.t.Fatalf("put %s/%s: conflict", namespace, name)
	}
	return stored.Version
}

func (w *world) delete(namespace, name string) int64 {
	e, ok := w.resource.Delete(w.now(), namespace, name, w.resource.Get(namespace, name).Version)
	if !ok {
		w.t.Fatalf("delete %s/%s: conflict", namespace, name)
	}
	return e.Version
}

// write writes objects until the store has a revision.
func (w *world) write(revision int64) {
	for w.store.Revision() < revision {
		w.put("default", "filler")
	}
}

// client is a client's end of a watch. It writes what it gets as words: "ADDED a@5", "BOOKMARK@7", "ERROR
// 410", "opened", "initialized", "12 counted", "ended".
type client struct {
	w          *world
	watcher    *Watcher
	hesitate   bool // Proceed is not called when the watch opens
	times      bool // what it gets is written with the time
	received   []*api.Event
	log        []string
	ended      bool
	openedAt   int64 // live events are after this version
	onReceived func(nowNs int64, e *api.Event)
}

func (c *client) add(nowNs int64, format string, arguments ...any) {
	word := fmt.Sprintf(format, arguments...)
	if c.times {
		word = fmt.Sprintf("%gs %s", float64(nowNs)/1e9, word)
	}
	c.log = append(c.log, word)
}

func (c *client) Opened(nowNs int64, w *Watcher) {
	c.watcher, c.openedAt = w, w.after
	c.add(nowNs, "opened")
	if !c.hesitate {
		w.Proceed(nowNs)
	}
}

func (c *client) Received(nowNs int64, e *api.Event) {
	if c.ended {
		c.w.t.Errorf("an event after the end of the watch: %v", e)
	}
	c.received = append(c.received, e)
	switch {
	case e.Type == api.Bookmark && e.InitialEnd:
		c.add(nowNs, "END@%d", e.Version)
	case e.Type == api.Bookmark:
		c.add(nowNs, "BOOKMARK@%d", e.Version)
	case e.Type == api.Error:
		c.add(nowNs, "ERROR %d %s", e.Failure.Status, e.Failure.Reason)
	default:
		c.add(nowNs, "%s %s@%d", e.Type, e.Object.Name, e.Version)
	}
	if c.onReceived != nil {
		c.onReceived(nowNs, e)
	}
}

func (c *client) Counted(nowNs, n int64)  { c.add(nowNs, "%d counted", n) }
func (c *client) Initialized(nowNs int64) { c.add(nowNs, "initialized") }
func (c *client) Ended(nowNs int64)       { c.ended = true; c.add(nowNs, "ended") }

// told returns what the client has got since the last time, and forgets it.
func (c *client) told() string {
	s := strings.Join(c.log, ", ")
	c.log = nil
	return s
}

// expect compares what the client has got since the last time.
func (c *client) expect(want string) {
	c.w.t.Helper()
	if got := c.told(); got != want {
		c.w.t.Errorf("at %gs the client has got\n\t%s\nwant\n\t%s", float64(c.w.now())/1e9, got, want)
	}
}

// options returns options of a watch.
func options(version string, words ...string) WatchOptions {
	var o WatchOptions
	if version != "" {
		o.Options.Version.Given = true
		fmt.Sscan(version, &o.Options.Version.N)
	}
	for _, word := range words {
		switch key, value, _ := strings.Cut(word, ":"); key {
		case "initial":
			o.Options.SendInitialEventsGiven, o.Options.SendInitialEvents = true, true
			o.Options.Match = request.NotOlderThan
		case "live":
			o.Options.SendInitialEventsGiven = true
			o.Options.Match = request.NotOlderThan
		case "bookmarks":
			o.Options.Bookmarks = true
		case "namespace":
			o.Namespace = value
		case "name":
			o.Name = value
		case "labels":
			o.Selector, _ = api.ParseSelector(value, "")
		case "fields":
			o.Selector, _ = api.ParseSelector("", value)
		default:
			panic(word)
		}
	}
	return o
}

// watch opens a watch of a cache that is ready.
func (w *world) watch(c *Cache, o WatchOptions) *client {
	w.t.Helper()
	cl := &client{w: w}
	cl.watcher = begin(w, c, o, cl)
	return cl
}

// begin begins a watch of a cache that is ready.
func begin(w *world, c *Cache, o WatchOptions, sink Sink) *Watcher {
	w.t.Helper()
	watcher, answer := c.Watch(w.now(), o, sink)
	if answer != nil {
		w.t.Fatalf("the watch is answered %d", answer.Status)
	}
	watcher.Begin(w.now())
	return watcher
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
