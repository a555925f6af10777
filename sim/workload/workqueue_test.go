package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"apfsim/document"
	"apfsim/sim/clock"
)

// An item waits 5 ms after its first failure, twice as long after each further one, and 1000 s at most.
func TestItemsWaitLongerWithEachFailure(t *testing.T) {
	var s Queue
	document.SetDefaults(&s)
	s.QPS = 0
	l := newLimiter(&s)
	for failures, want := range map[int]time.Duration{
		0: 5 * time.Millisecond, 1: 10 * time.Millisecond, 2: 20 * time.Millisecond,
		17: 655_360 * time.Millisecond, 18: 1000 * time.Second, 2000: 1000 * time.Second,
	} {
		if got := time.Duration(l.waitNs(0, failures)); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
}

// Of 120 items that fail at once, the first 100 wait 5 ms; then the bucket of 10 a second makes the others wait.
func TestFailuresShareABucket(t *testing.T) {
	var s Queue
	document.SetDefaults(&s)
	l := newLimiter(&s)
	for i := range 120 {
		want := max(5*time.Millisecond, time.Duration(i-99)*100*time.Millisecond)
		if got := time.Duration(l.waitNs(0, 0)); got != want {
			t.Fatalf("item %d waits %v, want %v", i, got, want)
		}
	}
}

// A bucket of less than one item in a second is one too, and a QPS of 0 is none.
func TestSlowBucket(t *testing.T) {
	for qps, want := range map[float64]time.Duration{0.5: 2 * time.Second, 1: time.Second, 0: 5 * time.Millisecond} {
		var s Queue
		document.SetDefaults(&s)
		s.QPS, s.Burst = qps, 1
		l := newLimiter(&s)
		l.waitNs(0, 0)
		if got := time.Duration(l.waitNs(0, 0)); got != want {
			t.Errorf("with %v a second, the second item waits %v, want %v", qps, got, want)
		}
	}
}

// bench is a queue in virtual time.
type bench struct {
	*queue
	events clock.Queue[int32]
	ready  int // calls of added
}

func newBench() *bench {
	b := &bench{}
	alarms := clock.NewAlarms(func(atNs int64, slot int32) clock.Handle { return b.events.Schedule(atNs, 0, slot) }, b.events.Cancel)
	var s Queue
	document.SetDefaults(&s)
	b.queue = newQueue(alarms, &s, func(int64) { b.ready++ })
	return b
}

// step lets the next item come back that waits, and returns the time.
func (b *bench) step() int64 {
	slot, _ := b.events.Next()
	b.alarms.Ring(b.events.NowNs(), slot)
	return b.events.NowNs()
}

// An item that is added several times is processed once; one that is added while it is processed, once more after
// that.
func TestQueueHasEachItemOnce(t *testing.T) {
	b := newBench()
	b.add(0, "a")
	b.add(0, "b")
	b.add(0, "a")
	first := b.get()
	if first.key != "a" {
		t.Fatalf("the first is %s", first.key)
	}
	b.add(1, "a")
	if second := b.get(); second.key != "b" || b.get() != nil {
		t.Fatalf("then %s", second.key)
	}
	b.done(2, first)
	again := b.get()
	if again != first || again.startedNs != 1 {
		t.Fatalf("then %+v", again)
	}
	b.forget(again)
	b.done(3, again)
	if b.get() != nil || b.items["a"] != nil {
		t.Error("an item that is done is still known")
	}
}

// An item that fails again while it waits comes back at the earlier time. Its failures count until it succeeds.
func TestFailedItemsComeBack(t *testing.T) {
	b := newBench()
	b.add(0, "a")
	a := b.get()
	b.addLimited(0, a) // 5 ms
	b.done(0, a)
	if now := b.step(); now != 5e6 || b.get() != a {
		t.Fatalf("the item comes back at %d", now)
	}
	b.addLimited(5e6, a) // 10 ms
	b.add(6e6, "a")
	b.done(7e6, a)
	if b.get() != a {
		t.Fatal("an event does not bring the item back before its wait is over")
	}
	b.addLimited(7e6, a) // 20 ms, later than what it waits for already
	b.done(7e6, a)
	if now := b.step(); now != 15e6 || b.get() != a || a.failures != 3 {
		t.Fatalf("comes back at %d after %d failures", now, a.failures)
	}
	b.forget(a)
	b.done(15e6, a)
	if len(b.items) != 0 || b.ready == 0 {
		t.Error("an item that has succeeded is still known")
	}
}

// Whatever happens to a queue, no item is processed twice at once, and none that was added is lost.
func TestQueueLosesNothing(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := newBench()
		wanted := map[string]bool{}
		var processing []*item
		now := int64(0)
		for range 300 {
			switch key := fmt.Sprint(r.IntN(5)); r.IntN(4) {
			case 0:
				b.add(now, key)
				wanted[key] = true
			case 1:
				if it := b.get(); it != nil {
					if slices.Contains(processing, it) {
						t.Fatalf("%s is processed twice at once", it.key)
					}
					processing = append(processing, it)
					delete(wanted, it.key)
				}
			case 2:
				if len(processing) > 0 {
					it := processing[0]
					processing = processing[1:]
					if r.IntN(2) == 0 {
						b.addLimited(now, it)
						wanted[it.key] = true
					} else {
						b.forget(it)
					}
					b.done(now, it)
				}
			case 3:
				if _, ok := b.events.NextNs(); ok {
					now = b.step()
				}
			}
		}
		for _, it := range processing {
			b.forget(it)
			b.done(now, it)
		}
		for {
			if _, ok := b.events.NextNs(); !ok {
				break
			}
			now = b.step()
		}
		for it := b.get(); it != nil; it = b.get() {
			delete(wanted, it.key)
			b.forget(it)
			b.done(now, it)
		}
		if len(wanted) > 0 || len(b.items) > 0 {
			t.Fatalf("seed %d: %v were not processed; %d are still known", seed, wanted, len(b.items))
		}
	}
}
