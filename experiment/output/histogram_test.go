package output_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"apfsim/experiment/output"
	"apfsim/reports/measure"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// A histogram that is read from the file of a run has all percentiles of the one that was written.
func TestHistogramsOfASweepReadBack(t *testing.T) {
	s := &report.Sweep{SchemaVersion: result.SchemaVersion, Scenario: "x", Parameters: []report.Parameter{{Path: "a", Values: []string{"1"}}}, Seed: 1, Replications: 1}
	for _, n := range []int{1, 2, 3, 1000, 70_000} {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		part := measure.Part{Workload: "w", Schema: "s", Level: "l", Server: 2, Timed: measure.New(measure.FinePrecision).Timed}
		h := &part.Timed[measure.Wait]
		for range n {
			h.Record(int64(r.ExpFloat64() * 1e6))
		}
		dir := t.TempDir()
		if err := output.WriteSweepRun(s, dir, 0, &result.Summary{DurationNs: 1e9}, []measure.Part{part}); err != nil {
			t.Fatal(err)
		}
		run, err := output.ReadSweepRun(s, dir, 0)
		if err != nil || len(run.Parts) != 1 {
			t.Fatal(run, err)
		}
		got := &run.Parts[0]
		if got.Workload != "w" || got.Schema != "s" || got.Level != "l" || got.Server != 2 || got.Timed[measure.Wait].N != h.N || got.Timed[measure.Execution].N != 0 {
			t.Errorf("%d values: %+v", n, got)
		}
		for p := 0.0; p <= 100; p += 0.1 {
			if got, want := got.Timed[measure.Wait].PercentileNs(p), h.PercentileNs(p); got != want {
				t.Errorf("p%g of %d values is %d, want %d", p, n, got, want)
			}
		}
	}
}

// One run of two has nearly all requests, and all long waits: the p90 of all requests is theirs, and not the mean of both.
func TestPercentileOfASweepIsOfAllRequests(t *testing.T) {
	s := &report.Sweep{SchemaVersion: result.SchemaVersion, Scenario: "x", Parameters: []report.Parameter{{Path: "a", Values: []string{"1"}}},
		Seed: 1, Replications: 2, Charts: []string{"wait.p(90)"}}
	dir := t.TempDir()
	for run, waits := range [][2]int64{{10, 1}, {990, 1000}} { // number of requests and their wait
		part := measure.Part{Workload: "w", Timed: measure.New(measure.FinePrecision).Timed}
		h := &part.Timed[measure.Wait]
		h.RecordN(waits[1], waits[0])
		summary := &result.Summary{DurationNs: 1e9, Total: result.Group{Counts: metric.Counts{Arrived: waits[0]}, Wait: result.NewDistribution(h)}}
		if err := output.WriteSweepRun(s, dir, run, summary, []measure.Part{part}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := output.FinishSweep(s, t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, report.SweepSummaryFile))
	if err != nil {
		t.Fatal(err)
	}
	if want := regexp.MustCompile(`(?m)^1,wait\.p\(90\),ns,2,500\.5,.*,1000,,,few-runs,1,1000$`); !want.Match(text) {
		t.Errorf("want %s in\n%s", want, text)
	}
}
