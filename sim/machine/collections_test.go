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

// Two visits of 4 ms and a list of 6 ms share one core in turns, and garbage is collected for 4 ms when 3 ms have been served since the last
// collection began, whoever they were served to. Collections are from 3, 8, 13 and 18 ms on. The first visit ends within one, at 5 ms; the list
// ends at 15 ms, after 1, 1, 2, 1 and 1 ms of its demand; the second visit begins then, and is served 1, 1 and 2 ms.
func TestGarbageIsCollectedBetweenVisits(t *testing.T) {
	m, nowNs := New(&Capacity{Cores: 1, Turn: 10 * ms, Collection: &Collection{Every: 3 * ms, Lasts: 4 * ms}}), int64(0)
	visitor, list := m.BeginVisits(0, 8*ms, 2), m.Begin(0, 6*ms)
	tells(t, story(m, &nowNs, 50*ms), "3: step", "5: step", "7: step", "8: step", "12: step", "13: step",
		fmt.Sprintf("15: end of %d", list), "17: step", "18: step", fmt.Sprintf("22: end of %d", visitor))
	if m.Work.Sum(nowNs) != 14*ms {
		t.Errorf("%v ns of demand are served, want 14 ms", m.Work.Sum(nowNs))
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
// cores serve while it lasts, and the rest with all of them. So c/(1 + c·lasts/(2·every)) cores are left, with turns or without, and in however many visits.
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
			m.BeginVisits(nowNs, int64(source.ExpFloat64()*9*ms), 1+source.Int32N(3))
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
