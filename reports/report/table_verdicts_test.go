package report

import (
	"strings"
	"testing"

	"apfsim/reports/compare"
	"apfsim/reports/result"
)

// A value that differs from the limit is written with enough digits to differ from its text.
func TestVerdictsDifferFromLimits(t *testing.T) {
	v := compare.RunsVerdict{Values: compare.RunValues{1e9, 1_000_000_001, 999_000_000}, Limit: 1e9, Unit: "ns", FailedSeeds: []uint64{4}}
	if got := foundInRuns(&v); got != "999 ms to 1.000000001 s; fails with seed 4" {
		t.Error(got)
	}
	v.FailedSeeds = []uint64{1, 2, 3, 4, 5, 6, 7}
	if got := foundInRuns(&v); got != "999 ms to 1.000000001 s; fails with seeds 1, 2, 3, 4, 5 and 2 more" {
		t.Error(got)
	}
	change, limit := 0.0500001, compare.LimitVerdict{Relative: true, Limit: 0.05}
	limit.Change, limit.Low, limit.High = &change, &change, &change
	if got := compare.LimitText(&limit); got != "+5.00001 %" {
		t.Error(got)
	}
}

// A precision that differs from the wanted one is written with enough digits to differ from its text.
func TestPrecisionDiffersFromWanted(t *testing.T) {
	for _, c := range []struct {
		wanted, reached float64
		want            string
	}{
		{0.02, 0.0198, "1.98 %"}, {0.02, 0.02, "2 %"}, {0.02, 0.02000001, "2.000001 %"}, {0.0206, 0.02061, "2.061 %"},
		{0.02061, 0.020614, "2.0614 %"}, {0.02061, 0.0206, "2.06 %"}, {0.02061, 0.125, "12.5 %"}, {0.00005, 0.00006, "0.006 %"},
	} {
		r := &compare.Replications{Seeds: []uint64{1, 2}, Precision: &compare.Precision{Wanted: c.wanted, Statistics: []compare.PrecisionResult{{Name: "wait.mean", Reached: &c.reached}}}}
		got := r.Precision.ReachedText(&r.Precision.Statistics[0])
		if title := r.PrecisionTitle(); got != c.want || strings.Contains(title, " "+got+" ") != (c.reached == c.wanted) {
			t.Errorf("%s, known to %q; want %q", title, got, c.want)
		}
	}
}

// A difference that all of a few runs have may be due to chance, but it is printed.
func TestSameChangeInFewRuns(t *testing.T) {
	change, none := 0.5, 0.0
	for _, c := range []struct {
		c    compare.Change
		want string
	}{
		{compare.Change{Base: 4, Difference: 0.5, Low: &change, High: &change, Outcome: compare.Same}, "~ +12.5 %"},
		{compare.Change{Base: 4, Difference: 0.5, Low: &change, High: &change, Outcome: compare.Changed}, "+12.5 ±0 %"},
		{compare.Change{Base: 4, Low: &none, High: &none, Outcome: compare.Same}, "~ ±0 %"},
		{compare.Change{Base: 4, Low: &none, High: &none, Outcome: compare.Exact}, "~ exact"},
	} {
		if got := compare.WithInterval(compare.ChangeText(&c.c)); got != c.want {
			t.Errorf("%+v reads %q, want %q", c.c, got, c.want)
		}
	}
}

// The mark on a terminal and the words on a page are the same verdict.
func TestMarksOfVerdicts(t *testing.T) {
	table := thresholdTable(&result.Summary{Thresholds: []result.Verdict{{Metric: "rejected", Passed: true}, {Metric: "wait"}}})
	short, long := table.In(Terminal), table.In(HTML)
	for i, want := range []string{"✗ failed", "✓ holds"} { // what failed is first
		mark, _, _ := strings.Cut(want, " ")
		if got := short.Rows[i][0].Text; got != mark {
			t.Errorf("terminal: %q, want %q", got, mark)
		}
		if got := long.Rows[i][1].Text; got != want {
			t.Errorf("page: %q, want %q", got, want)
		}
	}
	if table.Title != "Thresholds: 1 of 2 failed" {
		t.Error(table.Title)
	}
}
