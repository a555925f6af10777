package watchcache

import (
	"testing"

	"apfsim/core/rules"
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
	since.expect("initialized, opened, ADDED a@3")
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
	for _, cl := range []*client{state, zero, notOlder, live, since} {
		cl.expect("MODIFIED a@4, MODIFIED a@5, MODIFIED a@6")
	}
	future.expect("MODIFIED a@6")
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
	w.watchDirectly(d, options("3")).expect("initialized, opened, MODIFIED b@4")
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
	w.watchDirectly(d, options("5")).expect("initialized, ERROR 410 Expired, ended")
	if got := w.watchDirectly(d, options(itoa(compacted-1))); got.ended {
		t.Errorf("a watch of what is left: %s", got.told())
	}
	if d.Counters.Expired != 1 {
		t.Errorf("%d expired, want 1", d.Counters.Expired)
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
