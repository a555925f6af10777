package clock

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// At one time, events of lower classes come first, and within a class those scheduled first.
func TestOrderAtOneTime(t *testing.T) {
	var q Queue[string]
	q.Schedule(5, 2, "arrival")
	q.Schedule(5, 1, "finish of the first")
	q.Schedule(5, 1, "finish of the second")
	q.Schedule(4, 9, "earlier")
	var got []string
	for e, ok := q.Next(); ok; e, ok = q.Next() {
		got = append(got, e)
		if e == "arrival" { // its consequences are events at the same time
			q.Schedule(5, 3, "last")
			q.Schedule(5, 0, "consequence")
		}
	}
	want := []string{"earlier", "finish of the first", "finish of the second", "arrival", "consequence", "last"}
	if !slices.Equal(got, want) {
		t.Errorf("the events are %q, want %q", got, want)
	}
	if q.NowNs() != 5 {
		t.Errorf("time is %d after the last event, want 5", q.NowNs())
	}
}

func TestCancel(t *testing.T) {
	var q Queue[string]
	first := q.Schedule(10, 0, "first")
	q.Schedule(10, 0, "second")
	third := q.Schedule(10, 0, "third")
	far := q.Schedule(1<<62, 0, "far")
	for _, h := range []Handle{third, first, far} {
		q.Cancel(h)
	}
	if e, ok := q.Next(); !ok || e != "second" {
		t.Errorf("the first event is %q, %v, want the second", e, ok)
	}
	if e, ok := q.Next(); ok {
		t.Errorf("then %q, want no event", e)
	}
}

// After random operations with near and far times, the queue yields the same events as a sorted
// list.
func TestQueueAgreesWithASortedList(t *testing.T) {
	type pending struct {
		atNs     int64
		class    uint8
		sequence int
		handle   Handle
	}
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var slow []pending
		for sequence := range rapid.IntRange(1, 300).Draw(t, "operations") {
			switch rapid.IntRange(0, 3).Draw(t, "operation") {
			case 0, 1:
				reach := rapid.Uint8Range(0, 61).Draw(t, "reach")
				at := q.NowNs() + rapid.Int64Range(0, 1<<reach).Draw(t, "delay")
				if at < q.NowNs() {
					at = math.MaxInt64
				}
				class := rapid.Uint8Range(0, Classes-1).Draw(t, "class")
				slow = append(slow, pending{at, class, sequence, q.Schedule(at, class, sequence)})
			case 2:
				if len(slow) > 0 {
					i := rapid.IntRange(0, len(slow)-1).Draw(t, "cancelled")
					q.Cancel(slow[i].handle)
					slow = slices.Delete(slow, i, i+1)
				}
			case 3:
				nextNs, more := q.NextNs()
				got, ok := q.Next()
				if more != ok || ok && nextNs != q.NowNs() {
					t.Fatalf("NextNs is %d, %v; then Next is %v at %d", nextNs, more, ok, q.NowNs())
				}
				if ok != (len(slow) > 0) {
					t.Fatalf("Next is %v with %d events pending", ok, len(slow))
				}
				if !ok {
					continue
				}
				slices.SortFunc(slow, func(a, b pending) int {
					return cmp.Or(cmp.Compare(a.atNs, b.atNs), cmp.Compare(a.class, b.class), cmp.Compare(a.sequence, b.sequence))
				})
				if want := slow[0]; got != want.sequence || q.NowNs() != want.atNs {
					t.Fatalf("Next is event %d at %d, want %d at %d", got, q.NowNs(), want.sequence, want.atNs)
				}
				slow = slow[1:]
			}
		}
	})
}

func panics(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}

func TestSchedulingInThePastPanics(t *testing.T) {
	var q Queue[int]
	q.Schedule(5, 0, 0)
	q.Next()
	panics(t, func() { q.Schedule(4, 0, 0) })
}

// What is not pending cannot be cancelled: neither no event, nor one that was cancelled or has happened.
func TestCancellingWhatIsNotPendingPanics(t *testing.T) {
	var q Queue[int]
	first, second := q.Schedule(5, 0, 0), q.Schedule(6, 0, 0)
	panics(t, func() { q.Cancel(0) })
	q.Cancel(first)
	panics(t, func() { q.Cancel(first) })
	q.Next()
	panics(t, func() { q.Cancel(second) })
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	var q Queue[int]
	for i := range 1000 {
		q.Schedule(int64(i), 0, 0)
	}
	q.Cancel(q.Schedule(1_000_000, 1, 0))
	if n := testing.AllocsPerRun(1000, func() {
		q.Next()
		q.Schedule(q.NowNs()+1000, 0, 0)
		q.Cancel(q.Schedule(q.NowNs()+1_000_000, 1, 0))
	}); n != 0 {
		t.Errorf("%v allocations an event, want none", n)
	}
}

// The hold model: take the next event and schedule another after an exponential time, with a
// constant number of pending events.
func BenchmarkHold(b *testing.B) {
	for _, pending := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("pending=%d", pending), func(b *testing.B) {
			var q Queue[[2]uint64]
			stream := rand.New(rand.NewPCG(1, 2))
			random := func() int64 { return int64(stream.ExpFloat64() * 50_000 * float64(pending)) }
			for range pending {
				q.Schedule(random(), 0, [2]uint64{})
			}
			b.ReportAllocs()
			for b.Loop() {
				e, _ := q.Next()
				q.Schedule(q.NowNs()+random(), 0, e)
			}
		})
	}
}
