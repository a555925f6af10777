package watchcache

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"apfsim/sim/api"
	"apfsim/sim/store"
)

// slowWatch opens a watch from a version whose client takes a time for each event.
func (w *world) slowWatch(c *Cache, version string, readNs int64) *client {
	w.t.Helper()
	o := options(version)
	o.ReadNs = readNs
	return w.watch(c, o)
}

// N7: the budget gains 50 ms in a second, up to 100 ms, from the start of the server, and what is not used is
// kept.
func TestBudget(t *testing.T) {
	for atNs, want := range map[int64]int64{0: 0, second: 50 * ms, 10 * second: 100 * ms} {
		b := budget{}
		if got := b.take(atNs); got != want {
			t.Errorf("after %d s: %d ms, want %d", atNs/second, got/ms, want/ms)
		}
	}
	b := budget{}
	b.take(10 * second)
	b.giveBack(30 * ms)
	if got := b.take(11 * second); got != 80*ms {
		t.Errorf("after 30 ms were given back and 1 s: %d ms, want 80", got/ms)
	}
}

// W15, N7: a watcher whose client does not read at all takes 22 events: ten in each channel, one at its
// goroutine, one at the client. The next one makes dispatch wait for the whole budget. Meanwhile the cache
// goes on, but no watcher gets anything. Then the watcher is closed, and its client still gets what was in its
// result channel, without an error.
func TestSlowWatcherIsClosed(t *testing.T) {
	for _, c := range []struct{ startedNs, budgetNs int64 }{{second, 50 * ms}, {10 * second, 100 * ms}} {
		w := newWorld(t, store.Settings{})
		cache := w.cache("1.37")
		w.run(c.startedNs)
		slow := w.slowWatch(cache, "1", 3600*second)
		fast := w.watch(cache, options("1"))
		for range 22 {
			w.put("default", "a") // up to 23
		}
		w.run(w.now())
		if n := len(fast.received); n != 22 || cache.Counters.TerminatedAsSlow != 0 {
			t.Fatalf("%d events to the fast one, %d closed; want 22, 0", n, cache.Counters.TerminatedAsSlow)
		}
		fast.told()
		w.put("default", "a") // 24
		w.run(w.now())
		fast.expect("MODIFIED a@24") // it is not full, so that it comes first
		w.put("default", "a")        // 25
		w.run(w.now() + c.budgetNs - 1)
		fast.expect("")
		if cache.Version() != 25 {
			t.Errorf("the cache is at %d, want 25", cache.Version())
		}
		w.run(w.now() + 1)
		fast.expect("MODIFIED a@25")
		if cache.Counters.TerminatedAsSlow != 1 {
			t.Errorf("%d watchers closed, want 1", cache.Counters.TerminatedAsSlow)
		}
		slow.expect("opened, initialized")
		w.run(100 * 3600 * second)
		want := ""
		for v := int64(2); v <= 12; v++ { // one was being read, ten were in the result channel
			kind := "MODIFIED"
			if v == 2 {
				kind = "ADDED"
			}
			want += fmt.Sprintf("%s a@%d, ", kind, v)
		}
		slow.expect(want + "ended")
	}
}

// Without a budget, at the start of the server, a full watcher is closed at once.
func TestSlowWatcherWithoutBudget(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	w.slowWatch(cache, "1", 3600*second)
	for range 23 {
		w.put("default", "a")
	}
	w.run(w.now())
	if cache.Counters.TerminatedAsSlow != 1 || cache.Version() != 24 {
		t.Errorf("%d watchers closed at version %d, want 1 at 24", cache.Counters.TerminatedAsSlow, cache.Version())
	}
}

// If the client reads in time, dispatch goes on, and gives back what it has not used of the budget. The first
// of the full watchers may use the budget up for all.
func TestFullWatcherIsWaitedFor(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	w.run(10 * second)
	slow := w.slowWatch(cache, "1", 20*ms)
	for range 23 {
		w.put("default", "a")
	}
	w.run(w.now())
	if cache.dispatch.event == nil {
		t.Fatal("dispatch does not wait")
	}
	w.run(w.now() + 20*ms)
	if cache.dispatch.event != nil || cache.Counters.TerminatedAsSlow != 0 {
		t.Fatal("dispatch does not go on when the client has read an event")
	}
	if got := cache.dispatch.budget.ns; got != 80*ms {
		t.Errorf("80 ms of the budget remain, but it has %d", got/ms)
	}
	w.run(w.now() + 23*20*ms)
	if n := len(slow.received); n != 23 {
		t.Errorf("the client has %d events, want all 23", n)
	}

	never := w.slowWatch(cache, "24", 3600*second)
	soon := w.slowWatch(cache, "24", 150*ms) // would have room 50 ms after the budget has ended
	for range 23 {
		w.put("default", "a")
	}
	w.run(w.now() + 200*ms)
	if cache.Counters.TerminatedAsSlow != 2 {
		t.Errorf("%d watchers closed, want both", cache.Counters.TerminatedAsSlow)
	}
	w.run(w.now() + 10*3600*second*24)
	if !never.ended || !soon.ended || len(soon.received) != 11 {
		t.Errorf("ended: %v, %v; the second one has %d events, want 11", never.ended, soon.ended, len(soon.received))
	}
}

// While dispatch waits, its queue of 100 is full, and one more event is in the hand of who queues them. Then the cache's version stays
// behind, and it catches up afterwards. From 1.20 to 1.37, a bookmark of its own version follows each event into the queue.
func TestSlowDispatchMakesTheVersionLag(t *testing.T) {
	for version, queued := range map[string]int64{"1.19": 100, "1.20": 50, "1.37": 50, "1.38": 100} {
		testSlowDispatch(t, version, queued)
	}
}

func testSlowDispatch(t *testing.T, version string, queued int64) {
	w := newWorld(t, store.Settings{})
	cache := w.cache(version)
	fast := w.watch(cache, options("1"))
	w.run(10 * second)
	w.slowWatch(cache, "1", 3600*second)
	for range 300 {
		w.put("default", "a")
	}
	w.run(w.now() + 99*ms)
	// 22 were dispatched and one is being dispatched.
	if want := 1 + 23 + queued + 1; cache.Version() != want || cache.LagNs(w.now()) != 99*ms {
		t.Errorf("%s: version %d, %d ms behind; want %d, 99 ms", version, cache.Version(), cache.LagNs(w.now())/ms, want)
	}
	if o := cache.Get("default", "a"); o.Version != cache.Version() {
		t.Errorf("a read gets version %d, want the cache's %d", o.Version, cache.Version())
	}
	if p := cache.Page("", "", 0, 0); p.Revision != cache.Version() || p.Objects[0].Version != cache.Version() {
		t.Errorf("a list at %d has version %d, want the cache's %d", p.Revision, p.Objects[0].Version, cache.Version())
	}
	w.run(w.now() + ms)
	if cache.Version() != 301 || len(fast.received) != 300 || cache.LagNs(w.now()) != 0 {
		t.Errorf("afterwards version %d and %d events, want 301 and 300", cache.Version(), len(fast.received))
	}
}

// A bookmark that is due while dispatch waits for a watcher comes when it goes on, and says what has been
// dispatched, not what the cache has seen.
func TestBookmarkWaitsForDispatch(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	w.run(10 * second)
	fast := w.watch(cache, options("0", "bookmarks"))
	w.slowWatch(cache, "1", 3600*second)
	for range 24 {
		w.put("default", "a") // up to 25
	}
	w.run(w.now())
	fast.told()
	w.run(w.now() + 50*ms)
	(*ticker)(cache).Ring(w.now())
	fast.expect("")
	w.run(w.now() + 50*ms)
	fast.expect("BOOKMARK@24, MODIFIED a@25")
}

// While a watch sends its initial events, live ones gather in its input channel, and it can be closed before
// it has sent anything (store.md 3.6). If the bookmark that ends the initial events has come into that channel
// meanwhile, it is emptied first.
func TestWatchIsClosedBeforeItsInitialEventsAreSent(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	w.put("default", "a")
	w.run(w.now())
	open := func(o WatchOptions) *client {
		cl := &client{w: w, hesitate: true}
		cl.watcher = begin(w, cache, o, cl)
		return cl
	}
	plain, marked := open(options("0")), open(options("0", "bookmarks"))
	w.run(2 * second) // a tick offers the bookmark
	for range 11 {
		w.put("default", "a")
	}
	w.run(w.now() + second)
	plain.expect("opened, ended")
	marked.expect("opened")
	marked.watcher.Proceed(w.now())
	want := "opened, ADDED a@2, END@2, initialized, "
	for v := 3; v < 12; v++ { // nine beside the bookmark, which says nothing new
		want += fmt.Sprintf("MODIFIED a@%d, ", v)
	}
	marked.log = append([]string{"opened"}, marked.log...)
	marked.expect(want + "ended")
	plain.watcher.Proceed(w.now())
	plain.expect("")
}

// Up to 1.37, a watch that is closed as slow before the end of its initial events starts over. From 1.38 on, if it wants the bookmark
// at their end, it gets all of them, the bookmark and what is in its input channel, and resumes from there.
func TestSlowBeginningIsDrained(t *testing.T) {
	for version, drained := range map[string]bool{"1.37": false, "1.38": true} {
		w := newWorld(t, store.Settings{})
		cache := w.cache(version)
		w.put("default", "a")
		w.run(w.now())
		open := func(o WatchOptions) *client {
			cl := &client{w: w, hesitate: true}
			cl.watcher = begin(w, cache, o, cl)
			cl.expect("opened")
			return cl
		}
		plain, marked := open(options("0")), open(options("0", "bookmarks"))
		for range 11 { // ten of them fit into the input channels
			w.put("default", "a")
		}
		w.run(w.now() + second/2) // before a tick
		plain.expect("ended")
		if cache.Counters.TerminatedAsSlow != 2 {
			t.Errorf("%s: %d watchers closed, want both", version, cache.Counters.TerminatedAsSlow)
		}
		if !drained {
			marked.expect("ended")
			continue
		}
		marked.watcher.Proceed(w.now())
		want := "ADDED a@2, END@2, initialized, "
		for v := 3; v <= 12; v++ {
			want += fmt.Sprintf("MODIFIED a@%d, ", v)
		}
		marked.expect(want + "ended")
		w.watch(cache, options("12")).expect("opened, MODIFIED a@13, initialized")
	}
}

// Initial events wait for a client that reads slowly, and the request keeps its seats until the last one is
// in the result channel.
func TestInitialEventsOfASlowClient(t *testing.T) {
	w := newWorld(t, store.Settings{}, store.Count{Resource: pods, Objects: 30})
	w.put("default", "a")
	w.put("default", "b")
	cache := w.cache("1.37")
	o := options("0", "bookmarks")
	o.Matches, o.ReadNs = 30, second
	cl := w.watch(cache, o)
	cl.times = true
	// 33 events with the bookmark: 10 in the result channel and one at the client when 22 have been read.
	w.run(22*second - 1)
	if slices.Contains(cl.log, "initialized") || len(cl.log) != 22 {
		t.Errorf("after 21 s: %q", cl.log)
	}
	cl.told()
	w.run(33 * second)
	want := "22s 1 counted, 22s initialized, "
	for i := 23; i <= 30; i++ {
		want += fmt.Sprintf("%ds 1 counted, ", i)
	}
	cl.expect(want + "31s ADDED a@2, 32s ADDED b@3, 33s END@3")
}

// When the ring overtakes a watch that sends history, its stream ends silently; it has taken batches of 100.
func TestHistoryIsOvertaken(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	for range 300 {
		w.put("default", "a") // 2 to 301
	}
	w.run(w.now() + 80*second)
	o := options("1", "namespace:default") // what happens in others does not fill its channels
	o.ReadNs = 10 * ms
	slow := w.watch(cache, o)
	hesitant := &client{w: w, hesitate: true}
	begin(w, cache, o, hesitant)
	for range 201 { // the ring has 400 places, and drops 101 of the old events
		w.put("other", "b")
	}
	w.run(w.now() + 10*second)
	if cache.ring.capacity() != 400 || cache.ring.start != 101 {
		t.Fatalf("the ring begins at %d of %d", cache.ring.start, cache.ring.capacity())
	}
	if !slow.ended || len(slow.received) != 100 {
		t.Errorf("it has got %d events, ended: %v; want the first 100, and the end", len(slow.received), slow.ended)
	}
	hesitant.watcher.Proceed(w.now())
	w.run(w.now() + 10*second)
	if !hesitant.ended || len(hesitant.received) != 100 { // the first batch was taken when it opened
		t.Errorf("one that began to send later has got %d events, ended: %v; want the same", len(hesitant.received), hesitant.ended)
	}
}

// What watchers are told of may let them do anything with the cache.
func TestSinksActAtOnce(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	first := w.watch(cache, options("1"))
	second1 := w.watch(cache, options("1"))
	third := w.watch(cache, options("1"))
	var opened *client
	first.onReceived = func(nowNs int64, e *api.Event) {
		switch e.Version {
		case 2:
			second1.watcher.Stop(nowNs)
			w.put("default", "b")                 // 3
			opened = w.watch(cache, options("1")) // gets 2 from the history
		case 3:
			cache.Relist(nowNs, second)
		}
	}
	w.put("default", "a")
	w.run(w.now())
	first.expect("opened, initialized, ADDED a@2, ADDED b@3, ended")
	second1.expect("opened, initialized")
	third.expect("opened, initialized, ADDED a@2, ended")
	opened.expect("opened, ADDED a@2, initialized, ended")
	w.run(2 * second)
	if !cache.Ready() || cache.Version() != 3 {
		t.Errorf("ready: %v, version %d", cache.Ready(), cache.Version())
	}
}

// Every watcher gets the events of the store's history after its version that its selector lets through, in
// order, none twice, none missing, until it is closed: whatever is written, however slowly it reads, and
// whenever it came.
func TestWatchersGetTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, store.Settings{})
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		lagNs := rapid.SampledFrom([]int64{0, ms, 100 * ms}).Draw(t, "lag")
		indexed := rapid.Bool().Draw(t, "indexed")
		cache := w.cache(rapid.SampledFrom([]string{"1.18", "1.24", "1.30", "1.37"}).Draw(t, "release"),
			func(s *Settings) { s.FeedLagNs, s.Indexed = lagNs, indexed })
		w.run(rapid.SampledFrom([]int64{0, second, 10 * second}).Draw(t, "started"))
		names := []string{"a", "b", "c", "d"}
		scopes := []string{
			"namespace:a", "fields:spec.nodeName=n1", "labels:app=a", "fields:metadata.name=b", "labels:app!=a", "bookmarks", "bookmarks",
		}
		var clients []*client
		var asked []WatchOptions
		for range rapid.IntRange(1, 400).Draw(t, "steps") {
			switch n := random.IntN(20); {
			case n < 10:
				for range 1 + random.IntN(6)*random.IntN(6) {
					namespace, name := names[random.IntN(2)], names[random.IntN(4)]
					if w.resource.Get(namespace, name) != nil && random.IntN(4) == 0 {
						w.delete(namespace, name)
					} else {
						w.put(namespace, name, "spec.nodeName=n"+itoa(random.Int64N(3)), "metadata.labels.app="+names[random.IntN(2)])
					}
				}
			case n < 14:
				w.run(w.now() + random.Int64N(200)*ms)
			case n < 15:
				w.run(w.now() + random.Int64N(100)*second)
			case n < 16 && random.IntN(20) == 0:
				cache.Relist(w.now(), random.Int64N(2)*second)
			case n < 17 && len(clients) > 0 && random.IntN(5) == 0:
				clients[random.IntN(len(clients))].watcher.Stop(w.now())
			default:
				o := options(itoa(max(0, cache.Version()+5-random.Int64N(100))), scopes[random.IntN(len(scopes))])
				if random.IntN(2) == 0 {
					o.ReadNs = 1 << random.IntN(31)
				}
				cl := &client{w: w, hesitate: random.IntN(4) == 0}
				watcher, _ := cache.Watch(w.now(), o, cl)
				if watcher == nil {
					continue // it is not ready
				}
				cl.watcher = watcher
				watcher.Begin(w.now())
				w.at(w.now()+random.Int64N(second), watcher.Proceed)
				clients, asked = append(clients, cl), append(asked, o)
			}
		}
		w.run(w.now() + 3000*second)
		for i, cl := range clients {
			checkHistory(t, w, cl, asked[i])
		}
		if len(cache.watchers.all) != len(slices.DeleteFunc(clients, func(cl *client) bool { return cl.ended || cl.watcher.over })) {
			t.Errorf("the cache has %d watchers", len(cache.watchers.all))
		}
	})
}

// checkHistory compares what a watch has got with the history of the store.
func checkHistory(t *rapid.T, w *world, cl *client, o WatchOptions) {
	selects := func(o2 *api.Object) bool {
		return o2 != nil && (o.Namespace == "" || o.Namespace == o2.Namespace) && o.Selector.Matches(o2)
	}
	var want []string
	state := map[string]*api.Object{}
	initial := o.Options.Version.N == 0
	from := o.Options.Version.N
	if initial {
		from = cl.openedAt
	}
	events, _ := w.resource.Since(0)
	began := false
	begin := func() {
		began = true
		if !initial {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(state)) {
			if o := state[key]; selects(o) {
				want = append(want, fmt.Sprintf("ADDED %s@%d", o.Key(), o.Version))
			}
		}
	}
	for e := range events {
		if e.Version > from && !began {
			begin()
		}
		was, is := e.Previous, e.Object
		if e.Type == api.Deleted {
			is = nil
			delete(state, e.Object.Key())
		} else {
			state[is.Key()] = is
		}
		if !began {
			continue
		}
		switch {
		case selects(is) && selects(was):
			want = append(want, fmt.Sprintf("MODIFIED %s@%d", is.Key(), e.Version))
		case selects(is):
			want = append(want, fmt.Sprintf("ADDED %s@%d", is.Key(), e.Version))
		case selects(was):
			want = append(want, fmt.Sprintf("DELETED %s@%d", was.Key(), e.Version))
		}
	}
	if !began {
		begin()
	}
	var got []string
	bookmark := int64(0)
	for _, e := range cl.received {
		switch e.Type {
		case api.Bookmark:
			bookmark = e.Version
		case api.Error:
			if len(cl.received) > 1 || !cl.ended {
				t.Errorf("%+v: an error that does not stand alone: %q", o, cl.log)
			}
		default:
			if e.Version <= bookmark {
				t.Errorf("%+v: an event at %d after a bookmark at %d", o, e.Version, bookmark)
			}
			got = append(got, fmt.Sprintf("%s %s@%d", e.Type, e.Object.Key(), e.Version))
		}
	}
	whole := !cl.ended && !cl.watcher.over
	if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) || whole && len(got) < len(want) {
		t.Fatalf("a watch with %+v, opened at %d, ended: %v, got\n\t%q\nof\n\t%q", o, cl.openedAt, !whole, got, want)
	}
}
