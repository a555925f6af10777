package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/queueset"
	"apfsim/reports/judge"
	"apfsim/reports/report"
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
	sum := judged(s.collector.Result()).Summary

	want := &result.Stall{MaxNs: 13 * second, FromNs: 12 * second, Count: 2, Share: 14.5 / 20, PriorityLevel: "low", Limit: 2, NominalLimit: 3,
		Raised: &result.LimitChange{AtNs: 20 * second, Limit: 4}, Others: 1}
	if d := cmp.Diff(want, sum.Workloads[mice].Stall); d != "" {
		t.Errorf("the mice's stall (-want +got):\n%s", d)
	}
	if got := sum.Workloads[elephants].Stall; got.MaxNs != 0 || got.Count != 0 {
		t.Errorf("the elephants' stall is %+v, want none", got)
	}
	text := "no request was dispatched for 13 s, from 12 s to 25 s, while requests were queued; stalls of 1 s or longer: 2, 72.5 % of the time; " +
		"limit of low at the start of the stall: 2 seats (nominal 3, 1 lent), raised to 4 by the adjustment at 20 s; " +
		"requests of other workloads dispatched during the stall: 1"
	if got := report.StallFindings(sum); len(got) != 1 || got[0].Subject != "mice" || got[0].Text != text || got[0].Judgement != judge.Bad {
		t.Errorf("%+v, want one about the mice: %s", got, text)
	}
	for _, f := range report.RunDocument(&result.Result{Summary: sum}).Findings {
		if f.Judgement == judge.Good && (f.Subject == "mice" || f.Subject == "low") {
			t.Errorf("%s is good in spite of a stall of 13 s: %s", f.Subject, f.Text)
		}
	}
}

func adjustedAt(seconds float64) func(server.Observer) {
	return func(o server.Observer) { o.Adjusted(ns(seconds), nil) }
}

// A stall that begins with a dispatch of the workload's own does not count that among the others'.
func TestOthersDispatchedDuringAStall(t *testing.T) {
	s := newStage(storyScenario())
	m1, m2 := s.arrive(12, mice, flowB, 20), s.arrive(12, mice, flowB, 1)
	s.dispatch(12, m1)
	s.dispatch(14, s.arrive(14, elephants, flowA, 10))
	s.dispatch(16, s.arrive(16, elephants, flowA, 10))
	s.dispatch(20, m2)
	if got := judged(s.collector.Result()).Summary.Workloads[mice].Stall; got.MaxNs != 8*second || got.FromNs != 12*second || got.Others != 2 {
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
	got := judged(s.collector.Result()).Summary.Workloads[mice].Stall
	if got.MaxNs != 2*second || got.FromNs != 10*second || got.Count != 2 || got.Share != 4./20 {
		t.Errorf("%+v, want 2 s from 10 s, 2 of them in 20 %% of the window", got)
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
	sum := judged(s.collector.Result()).Summary
	to := 20 * second
	if d := cmp.Diff(&result.NoSeats{MaxNs: 5 * second, FromNs: 15 * second, ToNs: &to, TotalNs: 6 * second, NominalLimit: 3}, sum.PriorityLevels[1].NoSeats); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	want := "the limit was 0 seats from 15 s to 20 s (nominal 3), so that no request was dispatched; total time with a limit of 0: 6 s"
	if got := report.StallFindings(sum); len(got) != 2 || got[1].Subject != "low" || got[1].Text != want || got[1].Judgement != judge.Bad {
		t.Errorf("%+v, want one of the level: %s", got, want)
	}
}

// The limit of a level is 0 because its nominal limit is, from an apply event on. What a later one gives it is no nominal
// limit of that time, and what it raises is not raised by an adjustment.
func TestLimitsThatEventsChange(t *testing.T) {
	level := func(shares int) string {
		return fmt.Sprintf("{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: workload-low}, spec: {type: Limited, "+
			"limited: {nominalConcurrencyShares: %d, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 50}}}}}", shares)
	}
	spec := strings.Replace(failing(60, "", "request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {constant: {rate: 1/s}}"), "as: {user: u}", "as: {serviceAccount: a/b}", 1)
	spec = strings.Replace(spec, "  workload:", "  events: [{at: 21s, apply: {objects: ["+level(0)+"]}}, {at: 27500ms, apply: {objects: ["+level(100)+"]}}]\n  workload:", 1)
	r, _ := runServers(t, spec)
	var texts []string
	for _, f := range report.StallFindings(r.Summary) {
		texts = append(texts, f.Text)
	}
	all := strings.Join(texts, "\n")
	if !strings.Contains(all, "the limit was 0 seats from 21 s to 27.5 s (nominal 0)") || !strings.Contains(all, "by the change of the configuration at 27.5 s") || strings.Contains(all, "adjustment") {
		t.Errorf("got\n%s", all)
	}
}

// On an idle server nothing collapses, whatever the seed.
func TestNothingCollapsesOnAnIdleServer(t *testing.T) {
	for seed := range 20 {
		r, _ := runServers(t, fmt.Sprintf("%s  seed: %d\n", failing(120, "capacity: {cores: 4}", "request: {verb: get, resource: pods, name: x}, execution: {exponential: {mean: 20ms}}, arrivals: {poisson: {rate: 5/s}}"), seed+1))
		for _, f := range report.ServerFindings(r.Summary) {
			t.Errorf("seed %d: %s: %s", seed+1, f.Subject, f.Text)
		}
	}
}
