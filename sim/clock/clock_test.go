package clock

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// At one instant, lower classes come first, and within a class what was scheduled first.
func TestOrderAtOneInstant(t *testing.T) {
	var q Queue[string]
	q.Schedule(5, 2, "arrival")
	q.Schedule(5, 1, "finish of the first")
	q.Schedule(5, 1, "finish of the second")
	q.Schedule(4, 9, "earlier")
	var timer Timer[string]
	q.Start(&timer, 5, 1, "time-out")
	var got []string
	for e, ok := q.Next(100); ok; e, ok = q.Next(100) {
		got = append(got, e)
	}
	want := []string{"earlier", "finish of the first", "finish of the second", "time-out", "arrival"}
	if !slices.Equal(got, want) {
		t.Errorf("events came as %q, want %q", got, want)
	}
	if q.NowNs() != 5 {
		t.Errorf("time is %d after the last event, want 5", q.NowNs())
	}
}

func TestNothingComesAtTheEnd(t *testing.T) {
	var q Queue[string]
	var timer Timer[string]
	q.Schedule(10, 0, "event")
	q.Start(&timer, 10, 0, "timer")
	if e, ok := q.Next(10); ok {
		t.Errorf("%q came at 10, which is when the run is over", e)
	}
	q.Stop(&timer)
	if timer.Running() {
		t.Error("a stopped timer runs")
	}
	if e, ok := q.Next(11); !ok || e != "event" {
		t.Errorf("Next is %q, %v after the timer was stopped, want the event", e, ok)
	}
}

// The queue yields what a sorted list would, whatever is scheduled, started and stopped
// in between.
func TestQueueIsASortedList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type pending struct {
			key
			id    int
			timer *Timer[int]
		}
		var q Queue[int]
		var slow []pending
		sequence := uint64(0)
		next := func(class uint8, atNs int64) key {
			sequence++
			return key{atNs, uint64(class)<<56 | sequence}
		}
		for id := range rapid.IntRange(1, 200).Draw(t, "operations") {
			at := rapid.Int64Range(0, 20).Draw(t, "delay")
			class := rapid.Uint8Range(0, 3).Draw(t, "class")
			switch rapid.IntRange(0, 3).Draw(t, "operation") {
			case 0:
				q.Schedule(q.NowNs()+at, class, id)
				slow = append(slow, pending{next(class, q.NowNs()+at), id, nil})
			case 1:
				timer := &Timer[int]{}
				q.Start(timer, at, 1, id)
				slow = append(slow, pending{next(1, q.NowNs()+at), id, timer})
			case 2:
				var running []int
				for i, p := range slow {
					if p.timer != nil {
						running = append(running, i)
					}
				}
				if len(running) > 0 {
					i := rapid.SampledFrom(running).Draw(t, "timer")
					q.Stop(slow[i].timer)
					slow = slices.Delete(slow, i, i+1)
				}
			case 3:
				until := q.NowNs() + at
				slices.SortFunc(slow, func(a, b pending) int {
					if a.before(b.key) {
						return -1
					}
					return 1
				})
				got, ok := q.Next(until)
				if want := len(slow) > 0 && slow[0].atNs < until; ok != want {
					t.Fatalf("Next(%d) is %v, want %v", until, ok, want)
				}
				if ok {
					if got != slow[0].id || q.NowNs() != slow[0].atNs {
						t.Fatalf("Next is event %d at %d, want %d at %d", got, q.NowNs(), slow[0].id, slow[0].atNs)
					}
					slow = slow[1:]
				}
			}
		}
	})
}

func TestSchedulingInThePastPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	var q Queue[int]
	q.Schedule(5, 0, 0)
	q.Next(10)
	q.Schedule(4, 0, 0)
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	var q Queue[int]
	var timers [100]Timer[int]
	for i := range 1000 {
		q.Schedule(int64(i), 0, 0)
	}
	for i := range timers[1:] {
		q.Start(&timers[i+1], 1_000_000, 1, 0)
	}
	if n := testing.AllocsPerRun(1000, func() {
		q.Next(1 << 62)
		q.Schedule(q.NowNs()+1000, 0, 0)
		q.Start(&timers[0], 1_000_000, 1, 0)
		q.Stop(&timers[0])
	}); n != 0 {
		t.Errorf("%v allocations an event, want none", n)
	}
}

// The hold model: take the next event, schedule another; with so many pending.
func BenchmarkHold(b *testing.B) {
	for _, pending := range []int{100, 10_000} {
		b.Run(map[int]string{100: "pending=100", 10_000: "pending=10000"}[pending], func(b *testing.B) {
			var q Queue[[2]uint64]
			x := uint64(1)
			random := func() int64 { x = x*6364136223846793005 + 1442695040888963407; return int64(x >> 44) }
			for range pending {
				q.Schedule(random(), 0, [2]uint64{})
			}
			b.ReportAllocs()
			for b.Loop() {
				e, _ := q.Next(1 << 62)
				q.Schedule(q.NowNs()+random(), 0, e)
			}
		})
	}
}
