package reports_test

import (
	"slices"
	"strings"
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// sideFrom returns a run as replications of one run.
func sideFrom(s *result.Summary) *compare.Replications {
	all := compare.NewReplicator(s.Name, 0, nil)
	all.Add(&collect.Replication{Summary: s})
	return all.Replications()
}

// What a client of a server has measured is compared with a simulation in what both have: requests and latencies.
// The rest is named, and is nowhere taken for 0.
func TestComparisonWithAClient(t *testing.T) {
	simulated, measured := *resultOf(t, crowded).Summary, *resultOf(t, crowded).Summary
	measured.MeasuredBy = result.Client
	for _, s := range result.Statistics(&measured) {
		if m := s.Name.Metric; !slices.Contains([]string{"arrived", "executed", "rejected", "retries", "latency", "rejectedWait"}, m) || s.Name.Tag("reason") != "" {
			t.Errorf("%s is a statistic of a client", s.Name)
		}
	}
	base, head := sideFrom(&simulated), sideFrom(&measured)
	if len(base.Limits) == 0 || len(head.Limits) != 0 {
		t.Errorf("%d and %d limits of priority levels; want those of the simulation only", len(base.Limits), len(head.Limits))
	}
	c := compare.Compare("results", base, "live", head)
	for _, name := range []string{"arrived.count", "executed{workload:w}.rate", "rejected.rate", "latency.p(99)"} {
		if name = strings.ReplaceAll(name, "workload:w", "workload:"+simulated.Workloads[0].Name); changeOf(t, c, name).Outcome != compare.Exact {
			t.Errorf("%s differs", name)
		}
	}
	text := written(t, c, "text", false)
	for _, want := range []string{"live was measured by a client of a server", "a client cannot measure ", "execution,", "rejected by reason,", "wait, waiting", ", measured by a client"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("%q is not printed:\n%s", want, text)
		}
	}
	if strings.Contains(text, "--replications") {
		t.Errorf("--replications is advised, and there can be none:\n%s", text)
	}
	for _, f := range report.ComparisonFindings(c) {
		if strings.Contains(f.Text, "dispatched") || f.Group == "Workloads" && !strings.Contains(f.Text, "latency p99") {
			t.Errorf("%s: %q; want the latency, and nothing of dispatches", f.Subject, f.Text)
		}
	}
	// The other way round, and between two measurements.
	if back := compare.Compare("live", head, "results", base); len(back.Unmatched) != len(c.Unmatched) || len(back.Warnings) != len(c.Warnings) {
		t.Errorf("the other way round, there are %d unmatched statistics and %d warnings, want %d and %d", len(back.Unmatched), len(back.Warnings), len(c.Unmatched), len(c.Warnings))
	}
	if same := compare.Compare("a", head, "b", head); len(same.Unmatched) != 0 || strings.Contains(strings.Join(same.Warnings, "\n"), "cannot measure") {
		t.Errorf("between two measurements, %d statistics are unmatched: %v", len(same.Unmatched), same.Warnings)
	}
}
