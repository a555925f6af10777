package watchcache

import (
	"fmt"
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/store"
)

// reader waits for the cache, and notes when and how the wait ended.
type reader struct {
	w    *world
	told string
}

func (r *reader) Waited(nowNs int64, fresh bool) {
	if r.told != "" {
		r.w.t.Errorf("the wait ends twice: %s", r.told)
	}
	r.told = fmt.Sprintf("%v at %d ms", fresh, nowNs/ms)
}

// wait begins to wait, and fails the test if the cache is fresh already.
func (w *world) wait(c *Cache, version int64) *reader {
	w.t.Helper()
	r := &reader{w: w}
	if c.WaitFresh(w.now(), version, r) {
		w.t.Errorf("the cache has %d already", version)
	}
	return r
}

// other writes an object of another resource.
func (w *world) other() int64 {
	o, _ := w.store.Resource(api.Resource{Name: "secrets"}).Put(w.now(), &api.Object{Name: "s" + itoa(w.store.Revision())}, 0)
	return o.Version
}

// A read at a version that the cache has does not wait. One that is ahead waits until the event comes, or
// 3 s.
func TestWaitFresh(t *testing.T) {
	w := newWorld(t, store.Settings{})
	w.write(10)
	cache := w.cache("1.37", func(s *Settings) { s.FeedLagNs = 5 * ms })
	for _, version := range []int64{0, 9, 10} {
		if !cache.WaitFresh(0, version, nil) {
			t.Errorf("a read at %d waits", version)
		}
	}
	soon, late, never := w.wait(cache, 11), w.wait(cache, 12), w.wait(cache, 13)
	w.run(second)
	w.put("default", "a") // 11
	w.run(2 * second)
	w.put("default", "a") // 12
	w.run(4 * second)
	for r, want := range map[*reader]string{soon: "true at 1005 ms", late: "true at 2005 ms", never: "false at 3000 ms"} {
		if r.told != want {
			t.Errorf("a wait ends: %q, want %q", r.told, want)
		}
	}
	if got := cache.Counters; got.Waits != 3 || got.TimedOut != 1 || got.WaitedNs != 6010*ms {
		t.Errorf("counted %+v", got)
	}
}

// Waits that begin at different times end after 3 s each.
func TestWaitsTimeOutOneByOne(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	var readers []*reader
	for range 5 {
		readers = append(readers, w.wait(cache, 100))
		w.run(w.now() + 500*ms)
	}
	w.run(10 * second)
	for i, r := range readers {
		if want := fmt.Sprintf("false at %d ms", 3000+500*i); r.told != want {
			t.Errorf("wait %d ends: %s, want %s", i, r.told, want)
		}
	}
}

// A read of a resource that does not change waits for etcd's progress: it is requested at once if the last
// request was at least 100 ms ago, once for all who wait, and then every 100 ms. The answer comes after the
// events before it.
func TestProgressRequests(t *testing.T) {
	w := newWorld(t, store.Settings{})
	w.write(10)
	cache := w.cache("1.37", func(s *Settings) { s.FeedLagNs, s.ProgressNs = 5*ms, 2*ms })
	w.run(second)
	w.other() // 11
	first, second1 := w.wait(cache, 11), w.wait(cache, 11)
	w.run(second + 50*ms)
	w.other() // 12
	third := w.wait(cache, 12)
	w.run(second + 90*ms)
	w.put("default", "a") // 13, seen 5 ms later
	w.run(2 * second)
	for r, want := range map[*reader]string{first: "true at 1007 ms", second1: "true at 1007 ms", third: "true at 1095 ms"} {
		if r.told != want {
			t.Errorf("a wait ends: %q, want %q", r.told, want)
		}
	}
	// The second request, at 1100 ms, found nobody waiting and was not made, so that it is made at once now.
	w.other() // 14
	fourth := w.wait(cache, 14)
	w.run(3 * second)
	if fourth.told != "true at 2007 ms" || cache.Counters.ProgressRequests != 2 || cache.Version() != 14 {
		t.Errorf("%s, %d requests, version %d; want true at 2007 ms, 2, 14", fourth.told, cache.Counters.ProgressRequests, cache.Version())
	}

	never := w.wait(cache, 1000)
	w.run(10 * second)
	if got := cache.Counters.ProgressRequests - 2; never.told != "false at 6000 ms" || got != 30 {
		t.Errorf("%s, %d requests; want false at 6000 ms, 30", never.told, got)
	}
}

// Before the cache served consistent lists, nothing was requested: only events end a wait.
func TestNoProgressRequests(t *testing.T) {
	w := newWorld(t, store.Settings{})
	w.write(10)
	old := w.cache("1.30")
	without := w.cache("1.37", func(s *Settings) { s.NoProgress = true })
	w.other()
	one, two := w.wait(old, 11), w.wait(without, 11)
	w.run(second)
	if one.told+two.told != "" {
		t.Errorf("waits end: %q, %q", one.told, two.told)
	}
	w.put("default", "a")
	w.run(2 * second)
	if one.told != "true at 1000 ms" || two.told != one.told {
		t.Errorf("waits end: %q, %q", one.told, two.told)
	}
}

// Etcd tells its progress unasked, if it is set up so, when there has been no event for the interval. Up to
// 1.20 the cache takes no notice.
func TestProgressNotifications(t *testing.T) {
	for version, want := range map[string]int64{"1.37": 13, "1.20": 12} {
		w := newWorld(t, store.Settings{})
		w.write(10)
		cache := w.cache(version, func(s *Settings) { s.NotifyEveryNs = 5 * second })
		w.run(5*second + 1) // the first tick only notes that it is quiet
		w.other()           // 11
		w.run(9 * second)
		w.put("default", "a") // 12
		w.other()             // 13
		w.run(10*second + 1)  // there has been an event since the first tick
		if cache.Version() != 12 {
			t.Errorf("%s: version %d after 10 s, want 12", version, cache.Version())
		}
		w.run(15*second + 1)
		if cache.Version() != want {
			t.Errorf("%s: version %d after 15 s, want %d", version, cache.Version(), want)
		}
	}
}

// Those who wait may ask again at once, and may stop the cache, and nobody is called then.
func TestWaitersActAtOnce(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	var again *reader
	ask := waiter(func(nowNs int64, fresh bool) { again = w.wait(cache, 3) })
	stop := waiter(func(nowNs int64, fresh bool) { cache.Stop(nowNs) })
	cache.WaitFresh(0, 2, ask)
	cache.WaitFresh(0, 3, stop)
	last := w.wait(cache, 3)
	w.put("default", "a")
	w.run(second)
	if again == nil || again.told != "" || last.told != "" {
		t.Fatal("a wait ends too early")
	}
	w.put("default", "a")
	w.run(10 * second)
	if again.told != "" || last.told != "" || cache.Ready() {
		t.Errorf("after the stop waits end: %q, %q", again.told, last.told)
	}
}

type waiter func(nowNs int64, fresh bool)

func (f waiter) Waited(nowNs int64, fresh bool) { f(nowNs, fresh) }

// Before 1.31, requests wait until the cache is ready.
func TestAwaitReady(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.30")
	cache.Relist(0, second)
	r := &reader{w: w}
	cache.AwaitReady(0, r)
	w.run(2 * second)
	if r.told != "true at 1000 ms" {
		t.Errorf("the wait ends: %q", r.told)
	}
	at := &reader{w: w}
	cache.AwaitReady(w.now(), at)
	if at.told != "true at 2000 ms" {
		t.Errorf("the wait ends: %q", at.told)
	}
}
