package reports_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/queueset"
	"apfsim/reports/findings"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// A level has 3 seats by its shares and has lent 1 of them until 20 s. The mice (b) ask at 12 s and
// are served at 25 s; meanwhile an elephant (a) is dispatched. The window begins at 10 s.
func TestStallOfAWorkload(t *testing.T) {
	s := newStage(storyScenario())
	s.low.current = 2
	s.each(adjustedAt(1))
	e1 := s.arrive(11, elephants, flowA, 10)
	s.dispatch(11, e1)
	m := s.arrive(12, mice, flowB, 1)
	e2 := s.arrive(13, elephants, flowA, 10)
	s.dispatch(13, e2)
	s.low.current = 4
	s.each(adjustedAt(20))
	s.dispatch(25, m)
	m = s.arrive(27, mice, flowB, 1)
	s.reject(28.5, m, queueset.TimedOut) // 1.5 s in which nothing is dispatched either
	sum := s.collector.Result().Summary

	want := &result.Stall{MaxNs: 13 * second, FromNs: 12 * second, Count: 2, Share: 14.5 / 20, PriorityLevel: "low", Limit: 2, NominalLimit: 3,
		Raised: &result.LimitChange{AtNs: 20 * second, Limit: 4}, Others: 1}
	if d := cmp.Diff(want, sum.Workloads[mice].Stall); d != "" {
		t.Errorf("the mice's stall (-want +got):\n%s", d)
	}
	if got := sum.Workloads[elephants].Stall; got.MaxNs != 0 || got.Count != 0 {
		t.Errorf("the elephants' stall is %+v, want none", got)
	}
	text := "no request was dispatched for 13 s, from 12 s to 25 s, while requests waited; 2 stalls of 1 s or more took 72.5 % of the time. " +
		"low had lent 1 of its 3 seats when the stall began: its limit was 2 until the adjustment at 20 s raised it to 4. " +
		"It dispatched 1 request of other workloads during the stall."
	if got := findings.Stalls(sum); len(got) != 1 || got[0].Subject != "mice" || got[0].Text != text || got[0].Judgement != judge.Bad {
		t.Errorf("%+v, want one about the mice: %s", got, text)
	}
	for _, f := range findings.Run(sum) {
		if f.Judgement == judge.Good && (f.Subject == "mice" || f.Subject == "low") {
			t.Errorf("%s is praised beside a stall of 13 s: %s", f.Subject, f.Text)
		}
	}
}

func adjustedAt(seconds float64) func(server.Observer) {
	return func(o server.Observer) { o.Adjusted(ns(seconds)) }
}

// A stall that begins with a dispatch of the workload's own does not count that among the others'.
func TestOthersDispatchedDuringAStall(t *testing.T) {
	s := newStage(storyScenario())
	m1, m2 := s.arrive(12, mice, flowB, 20), s.arrive(12, mice, flowB, 1)
	s.dispatch(12, m1)
	s.dispatch(14, s.arrive(14, elephants, flowA, 10))
	s.dispatch(16, s.arrive(16, elephants, flowA, 10))
	s.dispatch(20, m2)
	if got := s.collector.Result().Summary.Workloads[mice].Stall; got.MaxNs != 8*second || got.FromNs != 12*second || got.Others != 2 {
		t.Errorf("%+v, want 8 s from 12 s with 2 requests of others dispatched", got)
	}
}

// A stall that began in the warm-up counts from its end, and one that lasts counts to the end of the
// run. Who waits less than a second does not count among the stalls.
func TestStallsAreThoseOfTheWindow(t *testing.T) {
	s := newStage(storyScenario())
	m := s.arrive(5, mice, flowB, 1)
	s.dispatch(12, m)
	m = s.arrive(20, mice, flowB, 1)
	s.dispatch(20.9, m)
	s.arrive(28, mice, flowB, 1)
	got := s.collector.Result().Summary.Workloads[mice].Stall
	if got.MaxNs != 2*second || got.FromNs != 10*second || got.Count != 2 || got.Share != 4./20 {
		t.Errorf("%+v, want 2 s from 10 s, 2 of them in 20 %% of the window", got)
	}
}

func TestCausesOfStalls(t *testing.T) {
	for _, c := range []struct {
		stall result.Stall
		want  string
	}{
		{result.Stall{Limit: 56, NominalLimit: 245, Others: 7, Raised: &result.LimitChange{AtNs: 40 * second, Limit: 245}},
			"low had lent 189 of its 245 seats when the stall began: its limit was 56 until the adjustment at 40 s raised it to 245. It dispatched 7 requests of other workloads during the stall."},
		{result.Stall{Limit: 56, NominalLimit: 245}, "low had lent 189 of its 245 seats when the stall began: its limit was 56. It dispatched no request during the stall: " +
			"its seats were held by requests in execution, or fewer were free than the next request takes."},
		{result.Stall{Limit: 0, NominalLimit: 3, Raised: &result.LimitChange{AtNs: 40 * second, Limit: 3}},
			"low had lent 3 of its 3 seats when the stall began: its limit was 0 until the adjustment at 40 s raised it to 3. With no seat it could dispatch no request."},
		{result.Stall{Limit: 300, NominalLimit: 245, Others: 1}, "The limit of low was 300 seats (nominal 245) when the stall began. It dispatched 1 request of other workloads during the stall."},
	} {
		c.stall.MaxNs, c.stall.FromNs, c.stall.Count, c.stall.PriorityLevel = 10*second, 30*second, 1, "low"
		want := "no request was dispatched for 10 s, from 30 s to 40 s, while requests waited. " + c.want
		if got := findings.StallText(&c.stall); got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
}

// The limit falls to 0 at 15 s and is 2 again at 20 s. Before the window it does not matter.
func TestALimitOfNoSeats(t *testing.T) {
	s := newStage(storyScenario())
	for _, step := range []struct {
		at    float64
		limit int
	}{{2, 0}, {9, 3}, {15, 0}, {20, 2}, {29, 0}} {
		s.low.current = step.limit
		s.each(adjustedAt(step.at))
	}
	s.arrive(16, mice, flowB, 1)
	sum := s.collector.Result().Summary
	to := 20 * second
	if d := cmp.Diff(&result.NoSeats{MaxNs: 5 * second, FromNs: 15 * second, ToNs: &to, TotalNs: 6 * second}, sum.PriorityLevels[1].NoSeats); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := "its limit was 0 seats from 15 s until 20 s (nominal 3), and no request could be dispatched; the limit was 0 for 6 s in all."
	if got := findings.Stalls(sum); len(got) != 2 || got[1].Subject != "low" || got[1].Text != want || got[1].Judgement != judge.Bad {
		t.Errorf("%+v, want one of the level: %s", got, want)
	}
}
