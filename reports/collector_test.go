package reports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/core/queueset"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/measure"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
)

func TestRequestsCountWhereTheyArrived(t *testing.T) {
	s := storyResult().Summary
	want := map[string]metric.Counts{
		"elephants": {Arrived: 1, Executed: 1}, // e1 came before the window
		"mice":      {Arrived: 6, Executed: 2, Rejected: 2, QueueFull: 1, TimedOut: 1, Retries: 1, Waiting: 1, Executing: 1},
		"unheard":   {},
	}
	for _, w := range s.Workloads {
		if w.Counts != want[w.Name] {
			t.Errorf("%s: %+v, want %+v", w.Name, w.Counts, want[w.Name])
		}
	}
	if s.Total.Arrived != 7 || s.Total.Executed != 3 {
		t.Errorf("total %+v", s.Total.Counts)
	}
	if len(s.FlowSchemas) != 1 || s.FlowSchemas[0].Arrived != 6 {
		t.Errorf("flow schemas %+v: want the one, with all but the request that passes by", s.FlowSchemas)
	}
	m := s.Workloads[mice]
	// m1 waited 3 s and was done 8 s after it came; x neither waited nor took longer than 1 s.
	if m.Wait.Count != 3 || m.Wait.MaxNs != 3*second || m.Wait.MinNs != 0 || m.Wait.MeanNs != second {
		t.Errorf("wait of mice: %+v", m.Wait)
	}
	if m.Latency.Count != 2 || m.Latency.MaxNs != 8*second || m.Latency.MinNs != second {
		t.Errorf("latency of mice: %+v", m.Latency)
	}
	if m.RejectedWait.Count != 2 || m.RejectedWait.MaxNs != 4*second || m.RejectedWait.MinNs != 0 {
		t.Errorf("waits of the rejected: %+v", m.RejectedWait)
	}
	if w := s.Workloads[unheard]; w.Wait != nil || w.Execution != nil || w.Latency != nil || w.RejectedWait != nil {
		t.Error("what has no samples has no distribution")
	}
}

// Seats in use: 3 from 10 s to 20 s, 2 until 22 s, none until 29 s, then 1.
func TestUtilisationIsTimeWeightedAndClippedToTheWindow(t *testing.T) {
	low := storyResult().Summary.PriorityLevels[1]
	nearNumber(t, "service", low.ServiceSeatSeconds, 30+4+1)
	nearNumber(t, "mean", *low.Utilisation.Mean, (30.0/4+5.0/2)/20)
	// Something waits from 12 s to 18 s and from 29.5 s on; from 20 s to 22 s the limit is used up.
	nearNumber(t, "saturated", low.Utilisation.Saturated, (6+0.5+2)/20)
	nearNumber(t, "waiting", low.MeanWaiting, (3+4+0.5)/20)
	if low.PeakSeats != 3 || low.Limits != (result.Limits{Nominal: 3, Lower: 1, Upper: 6, Current: 2}) {
		t.Errorf("peak %d, limits %+v", low.PeakSeats, low.Limits)
	}
}

func TestFairnessComparesServiceWithMaxMinShares(t *testing.T) {
	s := storyResult().Summary
	a, b := s.Flows[0], s.Flows[1]
	// a was served 5 (the rest of e1) and 2 seats for 12 s, and asked for these 24 within
	// the window. b was served 5 and 1, and asked for 5, 4, 2, 5 and 1.
	nearNumber(t, "service of a", a.ServiceSeatSeconds, 29)
	nearNumber(t, "demand of a", a.DemandSeatSeconds, 24)
	nearNumber(t, "service of b", b.ServiceSeatSeconds, 6)
	nearNumber(t, "demand of b", b.DemandSeatSeconds, 17)
	// Of the 35 served, b could have had all it wanted, and a the rest.
	nearNumber(t, "share of a", a.FairShareSeatSeconds, 18)
	nearNumber(t, "share of b", b.FairShareSeatSeconds, 17)
	f := s.PriorityLevels[1].Fairness
	phiA, phiB := 29.0/18, 6.0/17
	nearNumber(t, "jain", f.Jain, (phiA+phiB)*(phiA+phiB)/(2*(phiA*phiA+phiB*phiB)))
	nearNumber(t, "max-min error", f.MaxMinError, 11.0/17)
	nearNumber(t, "least ratio", f.LeastRatio, phiB)
	if f.LeastRatioFlow != "service-accounts/b" || f.Flows != 2 {
		t.Errorf("%+v", f)
	}
}

// Flow b waits from 12 s on; m1 is dispatched at 15 s, and m3 goes on waiting until 18 s.
func TestStarvationRestartsAtDispatchAndEndsWhenNothingWaits(t *testing.T) {
	s := storyResult().Summary
	if got := *s.PriorityLevels[1].Starvation; got != (result.Starvation{MaxNs: 3 * second, Flow: "service-accounts/b"}) {
		t.Errorf("starvation %+v, want 3 s of b", got)
	}
	if s.PriorityLevels[0].Starvation != nil {
		t.Error("a level without requests has no starvation")
	}
}

func TestStarvationIsClippedToTheWindowAndRunsToItsEnd(t *testing.T) {
	s := newStage(storyScenario())
	s.arrive(1, mice, flowB, 1)
	s.tick(30)
	if got := s.collector.Result().Summary.Flows[0].StarvationNs; got != 20*second {
		t.Errorf("starved %d ns, want the window of 20 s", got)
	}
}

// A flow starves from when something waits, whatever arrives later, to the dispatch or to when
// the last one has given up.
func TestStarvationOfSeveralRequests(t *testing.T) {
	for _, c := range []struct {
		what string
		tell func(s *stage)
		want int64
	}{
		{"another arrives meanwhile", func(s *stage) {
			first := s.arrive(12, mice, flowB, 1)
			s.arrive(14, mice, flowB, 1)
			s.dispatch(27, first)
		}, 15},
		{"it times out", func(s *stage) { s.reject(19, s.arrive(12, mice, flowB, 1), queueset.TimedOut) }, 7},
		{"the first of two times out", func(s *stage) {
			first, second := s.arrive(11, mice, flowB, 1), s.arrive(12, mice, flowB, 1)
			s.reject(15, first, queueset.TimedOut)
			s.dispatch(19, second)
		}, 8},
	} {
		s := newStage(storyScenario())
		c.tell(s)
		if got := s.collector.Result().Summary.Flows[0].StarvationNs; got != c.want*second {
			t.Errorf("%s: starved %d ns, want %d s", c.what, got, c.want)
		}
	}
}

// From 5 s to 15 s a request has a seat, and nobody looks when the window begins at 10 s.
func TestServiceIsClippedToTheWindow(t *testing.T) {
	s := newStage(storyScenario())
	r := s.arrive(5, mice, flowB, 10)
	s.dispatch(5, r)
	s.finish(15, r)
	got := s.collector.Result().Summary
	nearNumber(t, "service of the flow", got.Flows[0].ServiceSeatSeconds, 5)
	nearNumber(t, "service of the level", got.PriorityLevels[1].ServiceSeatSeconds, 5)
}

// Two of 4 seats are in use from 10 s to 20 s; then the limit is 0, of which nothing is a part,
// and from 25 s on it is 4 again.
func TestALimitOfZeroHasNoUtilisation(t *testing.T) {
	sc := storyScenario()
	sc.Spec.Thresholds = metric.Thresholds{thresholdOf("k", "utilisation", tags("priorityLevel", "low"), "mean", "<=", 1, metric.NoUnit)}
	s := newStage(sc)
	r := s.arrive(10, mice, flowA, 10, func(r *server.Request) { r.Work.InitialSeats = 2 })
	s.dispatch(10, r)
	s.finish(20, r)
	s.low.current = 0
	s.each(func(o server.Observer) { o.Adjusted(20*second, nil) })
	s.low.current = 4
	s.each(func(o server.Observer) { o.Adjusted(25*second, nil) })
	u := s.collector.Result().Summary.PriorityLevels[1].Utilisation
	nearNumber(t, "mean", *u.Mean, (10*0.5)/15)
	nearNumber(t, "saturated", u.Saturated, 5.0/20)

	s = newStage(sc)
	s.low.current = 0
	s.each(func(o server.Observer) { o.Adjusted(0, nil) })
	got := s.collector.Result().Summary
	if u := got.PriorityLevels[1].Utilisation; u.Mean != nil || got.Thresholds[0].Note != metric.NoSamples {
		t.Errorf("mean %v, %+v", u.Mean, got.Thresholds[0])
	}
}

// A FlowSchema may have flows at two levels, when a change of the configuration sends it to
// another. Flows are in the order of their names; of those that fare the same, the first to
// come is named.
func TestAFlowSchemaAtTwoLevels(t *testing.T) {
	exempt := server.NewFlow(2, schema, "exempt", "a", nil)
	first := server.NewFlow(3, &config.FlowSchema{Name: "first"}, "exempt", "d", nil)
	s := newStage(storyScenario())
	b := s.arrive(11, mice, flowB, 5)
	s.dispatch(14, b)
	a := s.arrive(16, mice, flowA, 5)
	s.dispatch(19, a)
	s.finish(19, b)
	s.finish(24, a)
	s.dispatch(26, s.arrive(25, mice, exempt, 1))
	s.dispatch(26, s.arrive(26, mice, first, 1))
	outcome := s.collector.Result()
	got := outcome.Summary
	var arrived []string
	for _, g := range got.FlowSchemas {
		arrived = append(arrived, fmt.Sprint(g.Name, g.Arrived))
	}
	for _, l := range got.PriorityLevels {
		arrived = append(arrived, fmt.Sprint(l.Name, l.Arrived))
	}
	for _, f := range got.Flows {
		arrived = append(arrived, fmt.Sprint(f.Name, f.Arrived))
	}
	if want := []string{"first1", "service-accounts3", "exempt2", "low2",
		"first/d1", "service-accounts/a1", "service-accounts/a1", "service-accounts/b1"}; !slices.Equal(arrived, want) {
		t.Errorf("%q, want %q", arrived, want)
	}
	together := compare.NewReplicator("x", 0, nil)
	together.Add(collect.NewReplication(outcome))
	merged := map[string]float64{"wait{priorityLevel:low}.p(99)": 3e9, "wait{priorityLevel:exempt}.p(99)": 1e9,
		"wait{flowSchema:first}.p(99)": 0, "wait{flowSchema:service-accounts}.p(99)": 3e9, "wait{flowSchema:service-accounts}.med": 3e9}
	for _, e := range together.Replications().Statistics {
		if e.PriorityLevel != "" && e.Merged != nil {
			t.Errorf("%s is of a flow, and is merged: %v", e.Name, *e.Merged)
		}
		if want, ok := merged[e.Name]; ok && e.Merged != nil {
			nearNumber(t, e.Name, *e.Merged, want)
			delete(merged, e.Name)
		}
	}
	if len(merged) > 0 {
		t.Errorf("not merged: %v", merged)
	}
	low := got.PriorityLevels[1]
	if *low.Starvation != (result.Starvation{MaxNs: 3 * second, Flow: "service-accounts/b"}) || low.Fairness.LeastRatio != 1 || low.Fairness.LeastRatioFlow != "service-accounts/b" {
		t.Errorf("%+v, %+v", low.Starvation, low.Fairness)
	}
}

// Flow a has 2 seats all the time. What b asks for and does not get is no part of its demand
// from 10 s to 20 s.
func TestDemandThatIsGone(t *testing.T) {
	for _, c := range []struct {
		what           string
		tell           func(s *stage)
		ratioA, ratioB float64
	}{
		// b has 10 of the 11 that are left to it, a 20 of 19.
		{"by a time-out", func(s *stage) {
			s.dispatch(1, s.arrive(1, mice, flowB, 20))
			s.reject(5, s.arrive(2, mice, flowB, 30), queueset.TimedOut)
			s.tick(10)
		}, 20. / 19, 10. / 11},
		// Both have what they are entitled to: b 5 of 5, a 20 of 20.
		{"by a dispatch that leaves the final phase out", func(s *stage) {
			r := s.arrive(1, mice, flowB, 4, twoFinalSeats)
			r.Work.FinalSeats, r.Work.AdditionalLatencyNs = 0, 0
			s.dispatch(1, r)
			s.finish(5, r)
			s.tick(10)
			r = s.arrive(12, mice, flowB, 5)
			s.dispatch(12, r)
			s.finish(17, r)
		}, 1, 1},
		// One request of b has 5 left, and another was cut off. Both flows have what they are entitled to.
		{"by an execution that ends at its deadline", func(s *stage) {
			r, cut := s.arrive(1, mice, flowB, 14), s.arrive(1, mice, flowB, 30)
			s.dispatch(1, r)
			s.dispatch(1, cut)
			s.finish(5, cut)
			s.tick(10)
			s.finish(15, r)
		}, 1, 1},
	} {
		s := newStage(storyScenario())
		s.dispatch(1, s.arrive(1, elephants, flowA, 20, func(r *server.Request) { r.Work.InitialSeats = 2 }))
		c.tell(s)
		s.tick(20)
		a, b := c.ratioA, c.ratioB
		nearNumber(t, c.what+": jain", *s.collector.Result().Series[2].Points[1].Jain, (a+b)*(a+b)/(2*(a*a+b*b)))
	}
}

// A request of 3 seats waits from 2 s to 7 s, and one of 1 from 4 s to 10 s.
func TestWaitingSeats(t *testing.T) {
	s := newStage(storyScenario())
	wide := s.arrive(2, mice, flowB, 1, func(r *server.Request) { r.SeatsAsked, r.Work.InitialSeats = 3, 3 })
	s.arrive(4, mice, flowB, 1)
	s.dispatch(7, wide)
	s.tick(10)
	p := s.collector.Result().Series[2].Points[0]
	nearNumber(t, "seats", p.WaitingSeats, (5*3+6)/10.)
	nearNumber(t, "requests", p.WaitingRequests, (5+6)/10.)
}

// Nobody is told of one request in twenty that has not finished, but of more.
func TestWarningOfWhatHasNotFinished(t *testing.T) {
	for executing, want := range []int{0, 0, 1} {
		s := newStage(storyScenario())
		for i := range 20 {
			r := s.arrive(12, mice, flowB, 5)
			s.dispatch(12, r)
			if i >= executing {
				s.finish(17, r)
			}
		}
		told := 0
		for _, w := range s.collector.Result().Summary.Warnings {
			if strings.Contains(w, "had not finished") {
				told++
			}
		}
		if told != want {
			t.Errorf("%d of 20 execute: %d warnings, want %d", executing, told, want)
		}
	}
}

func TestSeriesCoverTheWarmUpToo(t *testing.T) {
	r := storyResult()
	low := r.Series[2]
	if low.Level != "low" || len(low.Points) != 3 {
		t.Fatalf("series %q with %d points", low.Level, len(low.Points))
	}
	first, middle, last := low.Points[0], low.Points[1], low.Points[2]
	nearNumber(t, "seats in use before 10 s", first.SeatsInUse, 0.5)
	nearNumber(t, "seats in use before 20 s", middle.SeatsInUse, 3)
	nearNumber(t, "waiting before 20 s", middle.WaitingRequests, 0.7)
	nearNumber(t, "limit before 20 s", middle.CurrentLimit, 4)
	nearNumber(t, "limit after 20 s", last.CurrentLimit, 2)
	if middle.Arrived != 4 || middle.Dispatched != 2 || middle.Rejected[queueset.QueueFull] != 1 || middle.Rejected[queueset.TimedOut] != 1 {
		t.Errorf("counts before 20 s: %+v", middle)
	}
	// Before 20 s: a has 25 of the 5 left of e1 and 24 of e2; b has 5 of 11; b's share is
	// 11, a's 19. After: a has the last 4 of e2, b 1 of 6; each one's share is 2.5.
	phiA, phiB := 25.0/19, 5.0/11
	nearNumber(t, "jain before 20 s", *middle.Jain, (phiA+phiB)*(phiA+phiB)/(2*(phiA*phiA+phiB*phiB)))
	nearNumber(t, "jain after 20 s", *last.Jain, 4/(2*(1.6*1.6+0.4*0.4)))
	if unseen := r.Series[0]; unseen.Level != "" || unseen.Points[1].Arrived != 1 || unseen.Limited {
		t.Errorf("requests that pass by: %+v", unseen)
	}
}

// Points are of 10 s, and the first is the warm-up.
func TestWhenAFlowHadRequestsInQueues(t *testing.T) {
	for _, c := range []struct {
		what string
		tell func(s *stage)
		want measure.Bitset
	}{
		{"dispatched at once", func(s *stage) {
			s.tick(10)
			s.dispatch(15, s.arrive(15, mice, flowB, 1))
		}, nil},
		{"dispatched after a wait", func(s *stage) {
			s.tick(10)
			s.dispatch(16, s.arrive(15, mice, flowB, 1))
		}, measure.Bitset{0b10}},
		{"waits until the end", func(s *stage) {
			s.tick(10)
			s.arrive(15, mice, flowB, 1)
		}, measure.Bitset{0b110}},
		{"rejected", func(s *stage) {
			s.tick(10)
			s.tick(20)
			s.reject(25, s.arrive(25, mice, flowB, 1), queueset.QueueFull)
		}, measure.Bitset{0b100}},
		{"waits through a point from the warm-up on", func(s *stage) {
			r := s.arrive(5, mice, flowB, 1)
			s.tick(10)
			s.tick(20)
			s.dispatch(21, r)
		}, measure.Bitset{0b110}},
		{"waits up to the end of a point", func(s *stage) {
			s.tick(10)
			r := s.arrive(15, mice, flowB, 9)
			s.dispatch(19, r)
			s.tick(20)
			s.finish(28, r)
		}, measure.Bitset{0b10}},
	} {
		s := newStage(storyScenario())
		c.tell(s)
		if s.ticked < 20 {
			s.tick(20)
		}
		if got := s.collector.Result().Summary.Flows[0].QueuedIn; !slices.Equal(got, c.want) {
			t.Errorf("%s: %b, want %b", c.what, got, c.want)
		}
	}
}

// A configuration that is put in anew makes the server number its flows anew.
func TestAFlowThatComesBackUnderAnotherIndexIsTheSame(t *testing.T) {
	s := newStage(storyScenario())
	s.arrive(11, mice, flowB, 1)
	again := *flowB
	again.Index = 5
	s.arrive(12, mice, &again, 1)
	if flows := s.collector.Result().Summary.Flows; len(flows) != 1 || flows[0].Arrived != 2 {
		t.Errorf("flows %+v", flows)
	}
}

func TestResultMayBeAskedForTwice(t *testing.T) {
	s := newStage(storyScenario())
	s.tell()
	first, second := s.collector.Result(), s.collector.Result()
	if *first.Summary.PriorityLevels[1].Utilisation.Mean != *second.Summary.PriorityLevels[1].Utilisation.Mean {
		t.Error("the second result differs")
	}
}

// After its removal a level has no limit, and what is averaged is averaged over the time before. Seats
// that are kept beyond it are service all the same. When it comes back, all goes on.
func TestARemovedLevelHasNoLimit(t *testing.T) {
	sc := storyScenario()
	sc.Spec.Warmup.Duration, sc.Spec.Duration = 0, quantity.Duration(40*second)
	s := newStage(sc)
	s.levels = []*fakeLevel{s.low}
	r := s.arrive(0, mice, flowA, 10, func(r *server.Request) { r.Work.InitialSeats = 2 })
	s.dispatch(0, r)
	s.reject(9, s.arrive(4, mice, flowA, 1), queueset.TimedOut)
	s.tick(10)
	s.execute(10, r)
	s.levels = nil
	s.each(func(o server.Observer) { o.Adjusted(15*second, nil) })
	s.tick(20)
	s.release(20, r)
	s.tick(30)
	s.levels = []*fakeLevel{s.low}
	s.each(func(o server.Observer) { o.Adjusted(35*second, nil) })
	s.tick(40)

	result := s.collector.Result()
	for i, want := range []float64{4, 2, 0, 2} {
		nearNumber(t, "current limit", result.Series[2].Points[i].CurrentLimit, want)
		nearNumber(t, "nominal limit", result.Series[2].Points[i].NominalLimit, want*3/4)
	}
	// Both are drawn as they were, not as they are in the end.
	lines := report.LevelPlots(result, 2)[0].Lines
	if got, want := lines[2].Values, ([]float64{3, 1.5, 0, 1.5, 1.5}); lines[2].Name != "nominal limit" || !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", lines[2].Name, got, want)
	}
	drawn := func() string { return string(rendered(t, chartOf(t, result, "seats").WriteSVG)) }
	before := drawn()
	result.Series[2].Points[0].NominalLimit = 2
	if drawn() == before {
		t.Error("the chart does not show another nominal limit")
	}
	l := &result.Summary.PriorityLevels[1]
	nearNumber(t, "service", l.ServiceSeatSeconds, 40)
	nearNumber(t, "utilisation", *l.Utilisation.Mean, 30.0/80)  // for 15 s, and for 5 s with nothing in use
	nearNumber(t, "saturated", l.Utilisation.Saturated, 5.0/20) // while one waits
	nearNumber(t, "waiting", l.MeanWaiting, 5.0/20)
	if l.Name != "low" || l.Limits.Current != 4 {
		t.Errorf("the limit of %s is %d in the end, want 4", l.Name, l.Limits.Current)
	}
}

// A flow that a change of the configuration deals other queues stays one flow, of no one hand.
func TestAFlowThatIsDealtAnew(t *testing.T) {
	s := newStage(storyScenario())
	anew := server.NewFlow(7, flowA.Schema, flowA.Level, flowA.Distinguisher, []int{1, 3})
	for _, flow := range []*server.Flow{flowA, flowB, anew} {
		s.reject(12, s.arrive(12, mice, flow, 1), queueset.QueueFull)
	}
	var got []string
	for _, f := range s.collector.Result().Summary.Flows {
		got = append(got, fmt.Sprint(f.Name, f.Hand, f.Arrived))
	}
	if want := []string{"service-accounts/a[] 2", "service-accounts/b[1 3] 1"}; !slices.Equal(got, want) {
		t.Errorf("flows %q, want %q", got, want)
	}
}

// Four years of a hundred seats are more nanoseconds than an int64 holds.
func TestALongRunDoesNotOverflow(t *testing.T) {
	const seconds = 4 * 365 * 24 * 3600
	sc := storyScenario()
	sc.Spec.Warmup.Duration, sc.Spec.Duration = 0, quantity.Duration(seconds*second)
	s := newStage(sc)
	s.low.current = 1 << 30
	s.each(func(o server.Observer) { o.Adjusted(0, nil) })
	r := s.arrive(0, mice, flowA, seconds, func(r *server.Request) { r.Work.InitialSeats = 100 })
	s.dispatch(0, r)
	for i := range 400 {
		s.tick(float64(i+1) / 400 * seconds)
	}
	result := s.collector.Result()
	nearNumber(t, "service of the flow", result.Summary.Flows[0].ServiceSeatSeconds/seconds, 100)
	for _, p := range result.Series[2].Points {
		nearNumber(t, "current limit", p.CurrentLimit/(1<<30), 1)
	}
	l := &result.Summary.PriorityLevels[1]
	nearNumber(t, "service of the level", l.ServiceSeatSeconds/seconds, 100)
	nearNumber(t, "utilisation", *l.Utilisation.Mean*(1<<30), 100)
}

func TestInterval(t *testing.T) {
	for _, c := range []struct{ duration, want int64 }{
		{0, 1_000_000}, {100_000_000, 1_000_000}, {second, 5_000_000}, {60 * second, 200_000_000},
		{3600 * second, 10 * second}, {100 * 365 * 86400 * second, 10_000_000 * second},
	} {
		if got := result.Interval(c.duration); got != c.want {
			t.Errorf("Interval(%d) = %d, want %d", c.duration, got, c.want)
		}
	}
}

// BenchmarkRequest is the whole life of a request, as the collector sees it.
func BenchmarkRequest(b *testing.B) {
	sc := storyScenario()
	sc.Spec.Warmup.Duration, sc.Spec.Duration = 0, 1<<60
	s := newStage(sc)
	const flows = 200
	var requests [flows]*server.Request
	for i := range requests {
		requests[i] = &server.Request{Sent: server.Sent{Template: &server.Template{Workload: i % 2}, Attempt: 1, ExecutionNs: 5_000_000}}
		requests[i].SetFlow(server.NewFlow(i, schema, "low", string(rune('a'+i)), flowA.Hand))
		requests[i].Work.InitialSeats = 1
	}
	c := s.collector.Observer()
	now := int64(0)
	life := func(i int) {
		r := requests[i%flows]
		now += 1_000_000
		r.ArrivalNs = now
		c.Arrived(now, r)
		now += int64(i%977) * 1000
		r.DispatchNs = now
		c.Dispatched(now, r)
		now += r.ExecutionNs
		c.Executed(now, r)
		c.Released(now, r)
	}
	for i := range flows * 1000 { // every page is there
		life(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		life(i)
	}
}
