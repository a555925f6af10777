package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"apfsim/lab/live/outcome"
)

func busyRequest(verb string, arrivalMs, waitMs, executionMs int64) (o outcome.Outcome) {
	o.Verb, o.Resource, o.Outcome = verb, "configmaps", outcome.Executed
	o.ArrivalNs, o.WaitNs, o.ExecutionNs = arrivalMs*1e6, waitMs*1e6, executionMs*1e6
	o.FinishNs = o.ArrivalNs + o.WaitNs + o.ExecutionNs
	return o
}

// The first seconds are left out. The execution of a simulated request is from its dispatch to its end, and not its demand.
func TestSummarizeBusy(t *testing.T) {
	early, late, simulated, rejected := busyRequest("list", 4000, 0, 900), busyRequest("list", 6000, 10, 30), busyRequest("get", 7000, 0, 1), busyRequest("list", 9000, 0, 0)
	simulated.DispatchNs, simulated.FinishNs = 7000e6, 7005e6
	rejected.Outcome, rejected.Status, late.Status = outcome.Rejected, 429, 504
	ms := time.Millisecond
	want := []BusyStats{
		{Kind: "list configmaps", Requests: 2, PerSecond: 0.5, Rejected: 0.5, P50: 40 * ms, P99: 40 * ms, WaitP99: 10 * ms, Execution: 30 * ms, Failed: 0.5},
		{Kind: "get configmaps", Requests: 1, PerSecond: 0.25, P50: 5 * ms, P99: 5 * ms, Execution: 5 * ms},
	}
	if d := cmp.Diff(want, SummarizeBusy([]outcome.Outcome{early, late, simulated, rejected})); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

// A prediction is held against the range of the live runs, without void ones. Where the log does not say the capacity, nothing is compared.
func TestBusyChecks(t *testing.T) {
	ms := time.Millisecond
	run := func(p50, p99 time.Duration, rejected float64, predicted BusyStats, known bool) *BusyRun {
		return &BusyRun{
			Loads: []BusyLoad{{Load: 0.25}, {Load: 1.05, Live: []BusyStats{{Kind: "list configmaps", P50: p50, P99: p99, Rejected: rejected}}}},
			Fits:  []BusyFit{{Load: 0.25, Known: known, Least: [][]BusyStats{nil, {predicted}}, Most: [][]BusyStats{nil, {predicted}}}},
		}
	}
	good, bad := BusyStats{Kind: "list configmaps", P50: 140 * ms, P99: 2900 * ms, Rejected: 0.19}, BusyStats{Kind: "list configmaps", P50: 151 * ms, P99: 3100 * ms, Rejected: 0.21}
	runs := []*BusyRun{
		run(100*ms, 1000*ms, 0.1, good, true), run(90*ms, 2000*ms, 0.1, bad, true), run(99*ms, 1500*ms, 0.05, bad, false),
		run(time.Hour, time.Hour, 1, good, true),
	}
	runs[3].Loads[1].Void = "the sender was late"
	var got []string
	for _, c := range BusyChecks(runs, 0, 1, false) {
		got = append(got, map[bool]string{true: "holds: ", false: "fails: "}[c.Passed]+c.What+": "+c.Detail)
	}
	want := []string{
		"holds: run 1, fitted to 0.25, load 1.05: list configmaps p50: predicted 140ms to 140ms, allowed 60ms to 150ms",
		"holds: run 1, fitted to 0.25, load 1.05: list configmaps p99: predicted 2.9s to 2.9s, allowed 666.7ms to 3s",
		"holds: run 1, fitted to 0.25, load 1.05: list configmaps rejected: predicted 19.0 to 19.0 %, allowed 0.0 to 20.0 %",
		"fails: run 2, fitted to 0.25, load 1.05: list configmaps p50: predicted 151ms to 151ms, allowed 60ms to 150ms",
		"fails: run 2, fitted to 0.25, load 1.05: list configmaps p99: predicted 3.1s to 3.1s, allowed 666.7ms to 3s",
		"fails: run 2, fitted to 0.25, load 1.05: list configmaps rejected: predicted 21.0 to 21.0 %, allowed 0.0 to 20.0 %",
		"holds: run 4, fitted to 0.25, load 1.05: list configmaps p50: predicted 140ms to 140ms, allowed 60ms to 150ms",
		"holds: run 4, fitted to 0.25, load 1.05: list configmaps p99: predicted 2.9s to 2.9s, allowed 666.7ms to 3s",
		"holds: run 4, fitted to 0.25, load 1.05: list configmaps rejected: predicted 19.0 to 19.0 %, allowed 0.0 to 20.0 %",
	}
	if d := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}

// A scenario that is not like its log predicts nothing.
func TestNoChecksOfAnotherServer(t *testing.T) {
	live := []BusyStats{{Kind: "create configmaps", P50: time.Second, P99: time.Second}}
	fit := BusyFit{Load: 0.25, Known: true, Least: [][]BusyStats{live}, Most: [][]BusyStats{live}}
	runs := []*BusyRun{{Loads: []BusyLoad{{Load: 0.75, Live: live}}, Fits: []BusyFit{fit}}}
	if checks := BusyChecks(runs, 0, 0, false); len(checks) != 3 {
		t.Errorf("%v; want three checks", checks)
	}
	runs[0].Fits[0].Disagrees = "the mean execution was 1 ms in the log"
	if checks := BusyChecks(runs, 0, 0, false); checks != nil {
		t.Errorf("%v; want none", checks)
	}
}

// Of a case that compares all statistics, waits may differ by some milliseconds beside the factor, and other errors by a point.
func TestAllBusyChecks(t *testing.T) {
	ms := time.Millisecond
	live := BusyStats{Kind: "list events", P50: 100 * ms, P99: 100 * ms, WaitP99: 30 * ms, Execution: 60 * ms, Failed: 0.02}
	predicted := live
	predicted.WaitP99, predicted.Execution, predicted.Failed = 0, 91*ms, 0.04
	runs := []*BusyRun{{
		Loads: []BusyLoad{{Load: 1.05, Live: []BusyStats{live}}},
		Fits:  []BusyFit{{Load: 0.45, Known: true, Least: [][]BusyStats{{predicted}}, Most: [][]BusyStats{{predicted}}}},
	}}
	var failed []string
	checks := BusyChecks(runs, 0, 0, true)
	for _, c := range checks {
		if !c.Passed {
			failed = append(failed, c.What+": "+c.Detail)
		}
	}
	want := []string{
		"run 1, fitted to 0.45, load 1.05: list events execution mean: predicted 91ms to 91ms, allowed 40ms to 90ms",
		"run 1, fitted to 0.45, load 1.05: list events other errors: predicted 4.0 to 4.0 %, allowed 1.0 to 3.0 %",
	}
	if d := cmp.Diff(want, failed); d != "" || len(checks) != 6 {
		t.Errorf("%d checks; want (-), got (+):\n%s", len(checks), d)
	}
}
