package watchcache

import (
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/store"
)

// fillRing adds n events to a ring, one every gapNs, and returns the time of the next.
func fillRing(r *ring, version *int64, n int, fromNs, gapNs int64) int64 {
	for range n {
		*version++
		r.add(&api.Event{Version: *version, AtNs: fromNs})
		fromNs += gapNs
	}
	return fromNs
}

func newRing() *ring {
	r := &ring{}
	r.reset()
	return r
}

// N1, N2: a ring doubles if it is full of events from less than 75 s, and drops the oldest otherwise.
func TestRingGrows(t *testing.T) {
	for _, c := range []struct {
		name     string
		overNs   int64
		capacity int
		oldest   int64
	}{
		{"N1", 75*second - 1, 200, 0},
		{"exactly 75 s", 75 * second, 100, 1},
		{"N2", 80 * second, 100, 1},
	} {
		r := newRing()
		version := int64(0)
		// The 101st event comes overNs after the first.
		fillRing(r, &version, 100, 0, 0)
		fillRing(r, &version, 1, c.overNs, 0)
		if r.capacity() != c.capacity || r.oldest(0) != c.oldest {
			t.Errorf("%s: capacity %d, resumes from %d; want %d, %d", c.name, r.capacity(), r.oldest(0), c.capacity, c.oldest)
		}
	}
	fixed := newRing()
	fixed.fixed = true
	version := int64(0)
	fillRing(fixed, &version, 101, 0, 0)
	if fixed.capacity() != 100 || fixed.oldest(0) != 1 {
		t.Errorf("1.18: capacity %d, resumes from %d; want 100, 1", fixed.capacity(), fixed.oldest(0))
	}
}

// N3: at a steady rate the capacity becomes the smallest that lasts 75 s, up to the greatest.
func TestRingAtSteadyRate(t *testing.T) {
	for _, c := range []struct {
		rate, capacity int
		lastsNs        int64
	}{{10, 800, 80 * second}, {100, 12_800, 128 * second}, {2000, 102_400, 51200 * ms}, {1, 100, 100 * second}} {
		r := newRing()
		version := int64(0)
		gapNs := second / int64(c.rate)
		nowNs := fillRing(r, &version, 400*c.rate, 0, gapNs)
		lasts := nowNs - r.eventAt(r.start).AtNs
		if r.capacity() != c.capacity || lasts != c.lastsNs {
			t.Errorf("%d/s: capacity %d, lasts %d ms; want %d, %d", c.rate, r.capacity(), lasts/ms, c.capacity, c.lastsNs/ms)
		}
	}
}

// A ring shrinks when a quarter of it lasts longer than 75 s, and keeps the newest events.
func TestRingShrinks(t *testing.T) {
	r := newRing()
	version := int64(0)
	nowNs := fillRing(r, &version, 400*10, 0, second/10) // capacity 800
	// At 1/s, the newest quarter of 800 events lasts 200 s.
	for r.capacity() == 800 {
		before := r.eventAt(max(r.start, r.end-200)).AtNs
		nowNs = fillRing(r, &version, 1, nowNs, second)
		if r.capacity() < 800 && nowNs-second-before <= 75*second {
			t.Errorf("it shrinks when its quarter lasts %d s", (nowNs-second-before)/second)
		}
	}
	for i := r.start; i < r.end; i++ {
		if v := r.eventAt(i).Version; v != version-int64(r.end-1-i) {
			t.Fatalf("event %d has version %d; the newest is %d", i, v, version)
		}
	}
	fillRing(r, &version, 4000, nowNs, second)
	if r.capacity() != 200 { // a quarter of 400 lasts 100 s, one of 200 only 50 s
		t.Errorf("capacity %d at 1/s, want 200", r.capacity())
	}
	if got := r.oldest(0); got != version-200 {
		t.Errorf("resumes from %d, want %d", got, version-200)
	}
}

// The oldest version that can be resumed from is that of the list until the first event is dropped, however
// old the events are. A new list empties the ring, and keeps its capacity.
func TestRingResumes(t *testing.T) {
	w := newWorld(t, store.Settings{})
	w.write(50)
	cache := w.cache("1.37")
	w.store.Resource(api.Resource{Name: "secrets"}).Put(w.now(), &api.Object{Name: "s"}, 0)
	for range 100 { // one every ten minutes
		w.run(w.now() + 600*second)
		w.put("default", "a")
	}
	w.run(w.now() + second)
	if got := cache.OldestVersion(); got != 50 {
		t.Errorf("with a full ring it resumes from %d, want 50", got)
	}
	w.put("default", "a")
	w.run(w.now() + second)
	if got := cache.OldestVersion(); got != 52 { // the event at 52 was dropped, the next has 53
		t.Errorf("after 101 events it resumes from %d, want 52", got)
	}
	for range 150 {
		w.put("default", "a")
	}
	w.run(w.now() + second)
	capacity := cache.ring.capacity()
	cache.Relist(w.now(), 0)
	w.run(w.now())
	if got := cache.OldestVersion(); got != w.store.Revision() || cache.ring.capacity() != capacity || capacity < 200 {
		t.Errorf("after a list at %d it resumes from %d, capacity %d of %d", w.store.Revision(), got, cache.ring.capacity(), capacity)
	}
}

// N4, N5: channels hold a second of events, with bounds that depend on the index. Up to 1.24 they had two
// sizes.
func TestChannelSize(t *testing.T) {
	for _, c := range []struct {
		capacity      int
		byRate        bool
		index, byNode bool
		want          int
	}{
		{102_400, true, true, false, 1000},
		{102_400, true, true, true, 10},
		{102_400, true, false, false, 100},
		{800, true, false, false, 11},
		{6400, true, false, false, 86},
		{100, true, false, false, 10},
		{102_400, false, false, false, 10},
		{102_400, false, true, false, 1000},
		{102_400, false, true, true, 10},
	} {
		r := &ring{events: make([]*api.Event, c.capacity)}
		if got := r.channelSize(c.byRate, c.index, c.byNode); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
