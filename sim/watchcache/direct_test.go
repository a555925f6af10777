package watchcache

import (
	"testing"

	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/quantity"
	"apfsim/sim/store"
)

// direct returns watches without a cache, 1 ms from etcd.
func direct(t *testing.T, s store.Settings) (*world, *Direct) {
	s.Read = quantity.Constant(quantity.Duration(ms))
	w := newWorld(t, s)
	return w, NewDirect(w.alarms, w.store, pods, Settings{Rules: rules.Latest(), FeedLagNs: 2 * ms})
}

func (w *world) watchDirectly(d *Direct, o WatchOptions) *client {
	cl := &client{w: w}
	cl.watcher = d.Watch(o, cl)
	cl.watcher.Begin(w.now())
	return cl
}

// A watch of etcd begins with its current state, the events after a version, or those after the current one.
// Its request gives its seats back at once.
func TestDirectWatch(t *testing.T) {
	w, d := direct(t, store.Settings{})
	w.put("default", "b") // 2
	w.put("default", "a") // 3
	state := w.watchDirectly(d, options("", "bookmarks"))
	zero := w.watchDirectly(d, options("0"))
	notOlder := w.watchDirectly(d, options("2", "initial", "bookmarks"))
	live := w.watchDirectly(d, options("", "live"))
	since := w.watchDirectly(d, options("2"))
	future := w.watchDirectly(d, options("5"))
	tooLate := w.watchDirectly(d, options("90", "initial"))
	state.expect("initialized")
	since.expect("initialized, opened")
	future.expect("initialized, opened")
	w.run(ms)
	state.expect("opened, ADDED a@3, ADDED b@2, END@3")
	zero.expect("initialized, opened, ADDED a@3, ADDED b@2")
	notOlder.expect("initialized, opened, ADDED a@3, ADDED b@2, END@3")
	live.expect("initialized, opened")
	tooLate.expect("initialized, ERROR 504 Timeout, ended")
	if s := tooLate.received[0].Failure.RetryAfterSeconds; s < 1 || s > 3 {
		t.Errorf("Retry-After %d, want 1 to 3", s)
	}
	w.put("default", "a") // 4
	w.put("default", "a") // 5
	w.put("default", "a") // 6
	w.run(2 * ms)
	live.expect("")
	w.run(3 * ms)
	for _, cl := range []*client{state, zero, notOlder, live} {
		cl.expect("MODIFIED a@4, MODIFIED a@5, MODIFIED a@6")
	}
	future.expect("MODIFIED a@6")
	w.run(101 * ms)
	since.expect("")
	w.run(102 * ms) // etcd's round, and the way to the server
	since.expect("ADDED a@3, MODIFIED a@4, MODIFIED a@5, MODIFIED a@6")
	w.run(1000 * second)
	state.expect("") // no bookmarks
	d.Stop(w.now())
	state.expect("ended")
	if len(d.watchers) != 0 {
		t.Errorf("%d watchers after the stop", len(d.watchers))
	}
}

// A watch that begins while events are on their way gets each of them once.
func TestDirectWatchMeanwhile(t *testing.T) {
	w, d := direct(t, store.Settings{})
	first := w.watchDirectly(d, options("1"))
	w.put("default", "a") // 2
	w.run(ms)
	since := w.watchDirectly(d, options("1"))
	since.expect("initialized, opened")
	first.watcher.Stop(w.now())
	w.put("default", "b") // 3
	w.run(2 * ms)
	state := w.watchDirectly(d, options(""))
	w.run(second)
	since.expect("ADDED a@2, ADDED b@3")
	state.expect("initialized, opened, ADDED a@2, ADDED b@3")
}

// Events that are committed when nobody watches are not lost for who watches next.
func TestDirectWatchAfterNobody(t *testing.T) {
	w, d := direct(t, store.Settings{})
	first := w.watchDirectly(d, options("1"))
	w.put("default", "a") // 2
	first.watcher.Stop(w.now())
	w.put("default", "b") // 3
	next := w.watchDirectly(d, options("1"))
	next.expect("initialized, opened")
	w.run(second)
	next.expect("ADDED a@2, ADDED b@3")
	next.watcher.Stop(w.now())
	w.put("default", "b") // 4
	last := w.watchDirectly(d, options("3"))
	w.run(2 * second)
	last.expect("initialized, opened, MODIFIED b@4")
}

// W13: a watch of events from a version that etcd has compacted gets an error.
func TestDirectWatchExpired(t *testing.T) {
	w, d := direct(t, store.Settings{CompactionInterval: quantity.Duration(10 * second)})
	w.write(60)
	w.store.NewCompactor().Start(0)
	w.run(15 * second)
	w.write(100)
	w.run(25 * second)
	compacted := w.store.Compacted()
	expired, left := w.watchDirectly(d, options("5")), w.watchDirectly(d, options(itoa(compacted-1)))
	w.run(26 * second)
	expired.expect("initialized, opened, ERROR 410 Expired, ended")
	if left.ended || len(left.received) != int(100-compacted) {
		t.Errorf("a watch of what is left: %s", left.told())
	}
	if d.Counters.Expired != 1 {
		t.Errorf("%d expired, want 1", d.Counters.Expired)
	}
}

// A watch that is behind when its next event is compacted gets an error after the events before, however slowly its client reads
// them; and it gets no event twice or out of order.
func TestDirectWatchIsCompacted(t *testing.T) {
	w, d := direct(t, store.Settings{CompactionInterval: quantity.Duration(10 * second)})
	w.store.NewCompactor().Start(0)
	w.write(5000)
	w.run(10 * second) // the compactor notes 5001
	w.write(9000)
	w.run(19_750 * ms)
	quick, slow := w.watchDirectly(d, options("2")), options("2")
	slow.ReadNs = ms
	reading, inTime := w.watchDirectly(d, slow), w.watchDirectly(d, options("4000"))
	w.at(19_900*ms, func(int64) { w.put("default", "filler") })
	w.run(20_101 * ms)
	if n := len(quick.received); n != 3000 || quick.ended || quick.received[2999].Version != 3002 {
		t.Errorf("%d events", n)
	}
	w.run(20_102 * ms)
	if last := quick.received[len(quick.received)-1]; !quick.ended || last.Type != api.Error || last.Failure.Status != 410 {
		t.Errorf("the watch has got %v at its end", last)
	}
	w.run(22_801 * ms) // 3000 ms after the first event
	if n := len(reading.received); n < 2990 || reading.ended {
		t.Errorf("the slow client has %d events, ended: %v", n, reading.ended)
	}
	w.run(30 * second)
	if n := len(reading.received); n != 3001 || !reading.ended || reading.received[3000].Type != api.Error {
		t.Errorf("the slow client has %d events, ended: %v", n, reading.ended)
	}
	for i, e := range inTime.received {
		if want := int64(4001 + i); e.Version != want && e.Version != want+1 { // 5001 is the compactor's
			t.Fatalf("event %d has version %d", i, e.Version)
		}
	}
	if n := len(inTime.received); n != 5000 || inTime.ended {
		t.Errorf("the watch in time has %d events", n)
	}
	if d.Counters.Expired != 2 {
		t.Errorf("%d expired, want 2", d.Counters.Expired)
	}
}

// Events to watches that are in sync allocate nothing.
func TestDirectEventsAllocateNothing(t *testing.T) {
	w, d := direct(t, store.Settings{})
	for range 3 {
		d.Watch(options("1"), &counter{}).Begin(w.now())
	}
	w.run(w.now())
	w.put("default", "a")
	w.run(second)
	e := &api.Event{Type: api.Added, Version: 3, Object: w.resource.Get("default", "a")}
	sent := d.Counters.Dispatched
	allocs := testing.AllocsPerRun(100, func() {
		d.committed(w.now(), e)
		d.alarms.Cancel(&d.feedAlarm)
		(*directFeeder)(d).Ring(w.now() + second)
	})
	if got := d.Counters.Dispatched - sent; allocs != 0 || got != 3*101 {
		t.Errorf("%v allocations for an event, %d events to watches", allocs, got)
	}
}

// W14, without a cache: selectors and scopes; and a slow client is never closed.
func TestDirectWatchSelectsAndWaits(t *testing.T) {
	w, d := direct(t, store.Settings{})
	chosen := w.watchDirectly(d, options("1", "labels:app=web"))
	slow := options("1", "namespace:one")
	slow.ReadNs = second
	reading := w.watchDirectly(d, slow)
	w.put("two", "a", "metadata.labels.app=web")
	w.put("two", "a")
	for range 1000 {
		w.put("one", "b")
	}
	w.run(500*second + 2*ms)
	chosen.expect("initialized, opened, ADDED a@2, DELETED a@3")
	if n := len(reading.received); n != 500 {
		t.Errorf("after 500 s the slow client has %d events", n)
	}
	w.run(2000 * second)
	if n := len(reading.received); n != 1000 || reading.ended {
		t.Errorf("the slow client has %d events, ended: %v", n, reading.ended)
	}
	reading.watcher.Stop(w.now())
}
