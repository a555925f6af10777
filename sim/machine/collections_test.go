package machine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"apfsim/sim/quantity"
)

// Two lists of 20 ms have a core each. When 10 ms have been served, at 5 ms, garbage is collected for 4 ms, in which they share one core. At 9 ms
// each has been served 7 ms, and 4 of the next 10 ms have been served. The next collection is due 3 ms later, at 12 ms.
func TestGarbageIsCollected(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 2, Collection: &Collection{Every: 10 * ms, Lasts: 4 * ms}}), int64(0)
	first, second := m.Begin(0, 20*ms), m.Begin(0, 20*ms)
	tells(t, story(m, &nowNs, 17*ms), "5: step", "9: step", "12: step", "16: step")
	tells(t, story(m, &nowNs, 50*ms), "19: step", "23: step", fmt.Sprintf("26: end of %d", first), fmt.Sprintf("26: end of %d", second))
	if m.Work.Sum(nowNs) != 40*ms {
		t.Errorf("%v ns of demand are served, want 40 ms", m.Work.Sum(nowNs))
	}
}

// A collection ends at its time although nobody is served. One request is not slowed down by it, because it has one of two cores.
func TestCollectionGoesOnWithoutJobs(t *testing.T) {
	law := Capacity{Cores: 2, Collection: &Collection{Every: 10 * ms, Lasts: 20 * ms}}
	m, nowNs := New(&law), int64(0)
	m.Begin(0, 12*ms)
	tells(t, story(m, &nowNs, 25*ms), "10: step", "12: end of 0") // it lasts until 30 ms
	m.Begin(nowNs, 5*ms)
	m.Begin(nowNs, 5*ms) // of which they are served 2.5 ms each until then, and 1.5 ms until the next one is due
	tells(t, story(m, &nowNs, 33*ms), "30: step", "31: step")
	if m.Throughput(2) != 1 {
		t.Errorf("two requests are served %v at a time while garbage is collected, want 1", m.Throughput(2))
	}
	idle, lateNs := New(&law), int64(0)
	idle.Begin(0, 12*ms)
	story(idle, &lateNs, 31*ms)
	idle.Begin(lateNs, ms)
	idle.Begin(lateNs, ms)
	tells(t, story(idle, &lateNs, 100*ms), "32: end of 0", "32: end of 1")
}

// Requests that keep all cores busy are served, from the beginning of one collection to that of the next, what the collection waits for: half of what c
// cores serve while it lasts, and the rest with all of them. So c/(1 + c·lasts/(2·every)) cores are left, with turns or without.
func TestThroughputWithCollections(t *testing.T) {
	for _, turn := range []quantity.Duration{0, 3 * ms} {
		source := rand.New(rand.NewPCG(5, 6))
		m, nowNs := New(&Capacity{Cores: 3, Turn: turn, Collection: &Collection{Every: 300 * ms, Lasts: 80 * ms}}), int64(0)
		for range 10 {
			m.Begin(nowNs, int64(source.ExpFloat64()*9*ms))
		}
		for nowNs < 1_000_000*ms {
			slot, atNs, _ := m.Next(nowNs)
			if nowNs = atNs; slot == Step {
				m.Advance(nowNs)
				continue
			}
			m.End(nowNs, slot)
			m.Begin(nowNs, int64(source.ExpFloat64()*9*ms))
		}
		if got, want := m.Work.Sum(nowNs)/float64(nowNs), 3/(1+3*80/(2*300.)); math.Abs(got/want-1) > 0.001 {
			t.Errorf("turn %v: %v cores are left, want %v", turn, got, want)
		}
	}
}

// A collection that lasts longer than until the next one is due is followed by it at once.
func TestCollectionsWithoutEnd(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 1, Collection: &Collection{Every: 2 * ms, Lasts: 10 * ms}}), int64(0)
	m.Begin(0, 12*ms)
	tells(t, story(m, &nowNs, 100*ms), "2: step", "12: step", "12: step", "22: end of 0")
}
