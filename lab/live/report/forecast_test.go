package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/lab/live/compare"
	"apfsim/lab/live/trial"
)

// The section of a page shows live and predicted statistics with what is allowed, and marks what is outside. A void run is
// counted, and not shown.
func TestWriteForecastDocument(t *testing.T) {
	run := func(wait, predicted float64) *compare.ForecastRun {
		figures := func(x float64) []trial.Figure {
			return []trial.Figure{{Part: "80/s", Name: "seats after the execution", Value: 2}, {Part: "80/s", Name: "wait mean", Value: x * 1e6}}
		}
		return &compare.ForecastRun{Basis: "execution median 2ms", Live: figures(wait), Predicted: figures(predicted), Least: figures(predicted / 2), Most: figures(predicted * 2)}
	}
	f := &Forecast{Name: "watch-fanout", Version: "v1.37.1", Runs: []*compare.ForecastRun{run(100, 110), run(120, 500), run(1, 1)}, Seeds: 20, LoadAverage: "0.10"}
	f.Runs[2].Void = "the sender was late"
	file := filepath.Join(t.TempDir(), "live.md")
	if err := os.WriteFile(file, []byte("before\n<!-- watch-fanout -->\nearlier\n<!-- end of watch-fanout -->\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteDocument(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"before\n<!-- watch-fanout -->\n", "<!-- end of watch-fanout -->\nafter\n",
		"| 80/s | seats after the execution | 2 | 2 | 2 | equal |",
		"|  | wait mean | 120ms [100ms..120ms] | 500ms [110ms..500ms] (outside) | 55ms..1s | factor 1.5 and 10ms |",
		"Runs: 2, and 1 void; the middle one [the least..the most]. A prediction is the median of 20 seeds. All runs",
		"Run 1: execution median 2ms.",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "earlier") {
		t.Error("the earlier section is still there")
	}
	if holds, failed := f.Verdict(); holds || len(failed) != 1 || !strings.HasPrefix(failed[0], "watch-fanout: 80/s: wait mean: live 120ms [100ms..120ms], predicted 500ms") {
		t.Errorf("%v, %q", holds, failed)
	}
	f.Runs = f.Runs[2:]
	if holds, failed := f.Verdict(); holds || len(failed) != 1 || failed[0] != "watch-fanout: all runs are void, so that nothing is compared: the sender was late" {
		t.Errorf("%v, %q", holds, failed)
	}
}
