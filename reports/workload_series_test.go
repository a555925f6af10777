package reports_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/queueset"
	"apfsim/reports/result"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// stallScenario is a run of 60 s in intervals of 10 s, with an event at 25 s.
func stallScenario() *scenario.Scenario {
	sc := storyScenario()
	sc.Spec.Warmup.Duration, sc.Spec.Duration = 0, quantity.Duration(60*second)
	sc.Spec.Events = []scenario.Event{{At: quantity.Duration(25 * second), Apply: &scenario.Change{Remove: []scenario.ObjectName{{Kind: "FlowSchema", Name: "x"}}}}}
	return sc
}

// A closed loop stands still: its request of 12 s is dispatched at 47 s, and nothing is sent in
// between. The wait stands where the request arrived, and the age of what waits shows the stall in
// every interval that it lasts through.
func TestAStallShowsWhileItLasts(t *testing.T) {
	s := newStage(stallScenario())
	first := s.arrive(2, mice, flowA, 1)
	s.dispatch(2, first)
	s.finish(3, first)
	second := s.arrive(4, mice, flowA, 1)
	s.dispatch(5, second)
	s.finish(6, second)
	s.tick(10)
	stuck := s.arrive(12, mice, flowA, 1)
	s.tick(20)
	s.tick(30)
	s.tick(40)
	s.dispatch(47, stuck)
	s.finish(48, stuck)
	s.tick(50)
	refused := s.arrive(51, mice, flowA, 1)
	s.reject(54, refused, queueset.TimedOut)
	s.arrive(55, mice, flowA, 1) // still waits at the end
	s.tick(60)
	got := s.collector.Result().WorkloadSeries[mice]
	want := []result.WorkloadPoint{
		{StartNs: 0, EndNs: 10e9, Arrived: 2, Dispatched: 2, Waits: 2, WaitP50Ns: 0, WaitP99Ns: 1e9},
		{StartNs: 10e9, EndNs: 20e9, Arrived: 1, Waits: 1, WaitP50Ns: 35e9, WaitP99Ns: 35e9},
		{StartNs: 20e9, EndNs: 30e9, OldestWaitNs: 10e9},
		{StartNs: 30e9, EndNs: 40e9, OldestWaitNs: 20e9},
		{StartNs: 40e9, EndNs: 50e9, Dispatched: 1},
		{StartNs: 50e9, EndNs: 60e9, Arrived: 2},
	}
	want[5].Rejected[queueset.TimedOut] = 1
	if diff := cmp.Diff(want, got.Points); diff != "" {
		t.Errorf("the points (-want +got):\n%s", diff)
	}
	if other := s.collector.Result().WorkloadSeries[elephants]; other.Waited() || !got.Waited() {
		t.Error("the mice waited, and the elephants did not")
	}
}

// A limit that moves by 5 % or more is marked for the workloads that have requests at its level, once
// an interval; so is each event of the scenario, for all.
func TestMarksOfEventsAndAdjustments(t *testing.T) {
	s := newStage(stallScenario())
	limit := func(at float64, seats int) {
		s.low.current = seats
		s.each(func(o server.Observer) { o.Adjusted(ns(at), nil) })
	}
	limit(0, 100)
	s.tick(10)
	s.arrive(11, mice, flowA, 1)
	limit(12, 104) // 4 %
	s.tick(20)
	limit(21, 98) // 5.8 %
	limit(22, 60)
	s.tick(30)
	limit(31, 62) // 3.3 %
	s.tick(60)
	r := s.collector.Result()
	event := result.Mark{AtNs: 25e9, Event: true, Text: "event: remove FlowSchema x"}
	if diff := cmp.Diff([]result.Mark{{AtNs: 21e9, Text: "limit of low: 104 → 60 seats"}, event}, r.WorkloadSeries[mice].Marks[1:]); diff != "" {
		t.Errorf("marks of the mice (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]result.Mark{event}, r.WorkloadSeries[elephants].Marks); diff != "" {
		t.Errorf("marks of the elephants (-want +got):\n%s", diff)
	}
}

// The percentiles are those of all waits of an interval, kept and sorted.
func TestWaitsOverTimeAgainstAllWaits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	s := newStage(stallScenario())
	type waiting struct {
		arrival, dispatch float64
		rejected          bool
	}
	var all []waiting
	for range 3000 {
		w := waiting{arrival: 60 * random.Float64()}
		w.dispatch = w.arrival
		if random.IntN(3) > 0 {
			w.dispatch += random.ExpFloat64() * 4
		}
		w.rejected = random.IntN(20) == 0
		all = append(all, w)
	}
	type happening struct {
		at float64
		do func()
	}
	var plan []happening
	for i := range all {
		w := &all[i]
		plan = append(plan, happening{w.arrival, func() {
			r := s.arrive(w.arrival, mice, flowA, 1)
			leave := func() {
				if w.rejected {
					s.reject(w.dispatch, r, queueset.TimedOut)
				} else {
					s.dispatch(w.dispatch, r)
				}
			}
			switch {
			case w.dispatch == w.arrival:
				leave()
			case w.dispatch < 60:
				plan = append(plan, happening{w.dispatch, leave})
			}
		}})
	}
	for i := range 6 {
		plan = append(plan, happening{float64(10*i) + 10, func() { s.tick(float64(10*i) + 10) }})
	}
	for len(plan) > 0 {
		next := 0
		for i := range plan {
			if plan[i].at < plan[next].at {
				next = i
			}
		}
		do := plan[next].do
		plan = slices.Delete(plan, next, next+1)
		do()
	}
	got := s.collector.Result().WorkloadSeries[mice].Points
	for i, p := range got {
		var waits []int64
		for _, w := range all {
			if int(w.arrival/10) == i && w.dispatch < 60 && !w.rejected {
				waits = append(waits, ns(w.dispatch)-ns(w.arrival))
			}
		}
		slices.Sort(waits)
		if int(p.Waits) != len(waits) {
			t.Errorf("interval %d: %d waits, want %d", i, p.Waits, len(waits))
		}
		for _, percentile := range []struct {
			name    string
			got     int64
			percent int
		}{{"p50", p.WaitP50Ns, 50}, {"p99", p.WaitP99Ns, 99}} {
			exact := waits[(len(waits)*percentile.percent+99)/100-1]
			if percentile.got < exact || float64(percentile.got) > float64(exact)*(1+1./32) {
				t.Errorf("interval %d: %s is %d, want %d to within 1/32 above", i, percentile.name, percentile.got, exact)
			}
		}
	}
}
