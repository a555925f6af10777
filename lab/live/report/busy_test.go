package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apfsim/lab/live/compare"
	"apfsim/live/calibrate"
	"apfsim/reports/format"
	"apfsim/reports/render"
)

func busyResults() *Busy {
	ms := time.Millisecond
	stats := func(p50 time.Duration) []compare.BusyStats {
		return []compare.BusyStats{{Kind: "list configmaps", PerSecond: 30, P50: p50, P99: 3 * p50}}
	}
	run := func(heavy, predicted time.Duration) *compare.BusyRun {
		r := &compare.BusyRun{Fits: []compare.BusyFit{{Load: 0.25, Capacity: "capacity: unknown", Failed: "no workload"}, {Load: 0.45, Known: true, Capacity: "capacity: cores 2"}}}
		for i, l := range []float64{0.25, 0.45, 0.75, 1.05} {
			live, p := 10*ms, 10*ms
			if i == 3 {
				live, p = heavy, predicted
			}
			r.Loads = append(r.Loads, compare.BusyLoad{Load: l, PerSecond: 120 * l, Live: stats(live)})
			f := &r.Fits[1]
			f.Predictions, f.Least, f.Most = append(f.Predictions, stats(p)), append(f.Least, stats(p)), append(f.Most, stats(p+50*ms))
		}
		return r
	}
	curve := &calibrate.Measurement{Curve: &calibrate.Curve{Stopped: "the throughput does not grow any more", Steps: []calibrate.Step{{Clients: 1, PerSecond: 70, Error: 1}}}}
	return &Busy{Name: "busy", Version: "v1.37.1", Fitted: 2, Curve: curve, Runs: []*compare.BusyRun{run(100*ms, 110*ms), run(120*ms, 300*ms)}}
}

// The section of a page shows live and predicted statistics, marks a prediction outside of the tolerance, and says of a log
// without a prediction why there is none. It is written also if the comparisons fail.
func TestWriteBusyDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "live.md")
	if err := os.WriteFile(file, []byte("before\n<!-- busy -->\nearlier\n<!-- end of busy -->\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	results := busyResults()
	results.Runs[0].Fits[1].Disagrees = "the mean execution was 1 ms in the log"
	if err := results.WriteDocument(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for _, want := range []string{
		"before\n<!-- busy -->\n", "<!-- end of busy -->\nafter\n",
		"| 1 | 70.0 ± 2.0 |", "until the throughput does not grow any more.",
		"| 0.25: 30/s | list configmaps: 30/s | p50 | 10.0 ms | - | 10.0 ms, all 10.0..60.0 ms |",
		"| 1.05: 126/s | list configmaps: 30/s | p50 | 120 ms [100..120 ms] | - | 300 ms [110..300 ms], all 110..350 ms (outside) |",
		"| 1 | 0.25 | capacity: unknown; not predicted: no workload |",
		"| 1 | 0.45 | capacity: cores 2. Not like the log: the mean execution was 1 ms in the log |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "earlier") {
		t.Error("the earlier section is still there")
	}
}

// The terminal names each comparison that fails.
func TestBusyVerdict(t *testing.T) {
	b := busyResults()
	holds, failed := b.Verdict()
	if holds || len(failed) != 2 || !strings.Contains(failed[0], "busy: run 2, fitted to 0.45, load 1.05: list configmaps p50: predicted 300ms to 350ms") {
		t.Errorf("%v, %q", holds, failed)
	}
	b.Runs[1].Loads[0].Void = "the sender was late"
	if _, failed = b.Verdict(); len(failed) != 3 || !strings.Contains(failed[2], "run 2, load 0.25 is void: the sender was late") {
		t.Errorf("%q", failed)
	}
	var text strings.Builder
	if err := render.Text(&text, b.Document(), format.TextOptions{}); err != nil || !strings.Contains(text.String(), "What does not hold") {
		t.Errorf("%v\n%s", err, text.String())
	}
}
