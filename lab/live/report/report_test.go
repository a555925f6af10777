package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apfsim/lab/live/compare"
	"apfsim/lab/live/fitted"
	"apfsim/reports/format"
	"apfsim/reports/render"

	"github.com/google/go-cmp/cmp"
)

func results() *Results {
	stats := func(executed int, wait time.Duration) []*compare.Stats {
		waits := make([]time.Duration, 101)
		for i := range waits {
			waits[i] = time.Duration(i) * wait / 50
		}
		return []*compare.Stats{{Level: "live", Kind: "mice", Requests: 600, Executed: executed, QueueFull: 600 - executed,
			WaitMean: wait, WaitP50: wait, WaitP90: 2 * wait, WaitP99: 2 * wait, Waits: waits}}
	}
	run := func(executed int, wait time.Duration) Run {
		return Run{Live: stats(executed, wait), Replay: stats(500, 100*time.Millisecond),
			Checks: []compare.Check{{What: "nothing lost", Passed: true, Detail: "600 requests"}}, Handover: time.Millisecond, Phase: 3100*time.Millisecond + 123*time.Microsecond,
			Adjustments: []Limits{{10 * time.Second, "live", 8, 8}, {20 * time.Second, "live", 47, 46}}}
	}
	void := run(1, time.Hour)
	void.Void = "the sender was 30ms late"
	return &Results{Version: "v1.37.1", Cases: []Case{{Name: "elephant",
		Runs:       []Run{run(500, 90*time.Millisecond), void, run(520, 110*time.Millisecond)},
		Prediction: stats(510, 95*time.Millisecond), OtherSeeds: [][]*compare.Stats{stats(480, 80*time.Millisecond), stats(530, 120*time.Millisecond)}}}}
}

// Means and ranges are those of the runs that are not void. Reasons for which nothing was rejected have no row.
func TestTable(t *testing.T) {
	want := `
case      requests           statistic   live              replay of the measured times  prediction, same seed  other seeds
elephant  mice: 600 at live  executed    510 [500..520]    500                           510                    480..530
                             queue-full  90 [80..100]      100                           90                     70..120
                             wait mean   100 ms [90..110 ms]  100 ms                        95.0 ms                80.0..120 ms
`
	var b strings.Builder
	if err := render.Text(&b, results().Document(), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for line := range strings.Lines(strings.TrimSpace(want)) {
		if !strings.Contains(squeeze(got), strings.ReplaceAll(squeeze(line), "[90..", "[90.0..")) {
			t.Errorf("no line %q in\n%s", squeeze(line), got)
		}
	}
	if strings.Contains(got, "time-out") {
		t.Errorf("a row for time-outs, of which there are none, in\n%s", got)
	}
}

// The document keeps what is around its section. The chart is written beside it.
func TestWriteDocument(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"lab", "docs/images"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "lab", "live.md")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("before\n" + sectionStart + "old\n" + sectionEnd + "after\n")
	if err := results().WriteDocument(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n", "| elephant | mice: 600 at live | executed |", "| elephant 2 | void: the sender was 30ms late |",
		" | `{adjustmentPhase: 3.1s, handover: 1ms}` |\n", "| elephant | live | 10s, 20s | 8 / 8, 47 / 46 |", "\nafter\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	chart, err := os.ReadFile(filepath.Join(dir, "docs", "images", chartName+".svg"))
	if err != nil || !strings.Contains(string(chart), "elephant: mice") {
		t.Errorf("the chart has no panel of the mice (%v)", err)
	}
	write("no section\n")
	if err := results().WriteDocument(file); err == nil {
		t.Error("a document without the section is written")
	}
}

// The page of the documentation has the tables and sentences that are written today: their titles, heads and notes.
func TestDocumentationHasTheTables(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "live.md"))
	if err != nil {
		t.Fatal(err)
	}
	r := results()
	r.Cases[0].Runs[0].Fit = &fitted.Result{Statistics: 2, Within: 1, Coverage: 0.95}
	var b strings.Builder
	if err := render.Markdown(&b, r.Document(), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	var fixed []string
	for line := range strings.Lines(b.String()) {
		for _, start := range []string{"Live", "Limits", "###", "| case", "| run", "|---", "| ---"} {
			if strings.HasPrefix(line, start) {
				fixed = append(fixed, line)
			}
		}
	}
	if len(fixed) != 16 {
		t.Errorf("%d lines are on every page, want 16:\n%s", len(fixed), b.String())
	}
	for _, line := range fixed {
		if !strings.Contains(string(page), line) {
			t.Errorf("the page does not have the line %q", line)
		}
	}
}

// A case whose runs are all void shows nothing, which is a failure; so is a comparison that fails in one run.
func TestVerdict(t *testing.T) {
	void, users := []Run{results().Cases[0].Runs[1]}, []compare.Check{{What: "users", Detail: "one is wrong"}}
	for _, c := range []struct {
		story  string
		change func(*Case)
		want   string
	}{
		{"no difference", func(*Case) {}, "All comparisons hold."},
		{"a comparison fails in a void run", func(c *Case) { c.Runs[1].Checks = users }, "All comparisons hold."},
		{"a comparison fails", func(c *Case) { c.Runs[2].Checks = users }, "- elephant: users: one is wrong"},
		{"all runs are void", func(c *Case) { c.Runs = void }, "- elephant: all runs are void, so that nothing is shown"},
	} {
		t.Run(c.story, func(t *testing.T) {
			r := results()
			c.change(&r.Cases[0])
			var b strings.Builder
			if err := render.Text(&b, r.Document(), format.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), c.want) {
				t.Errorf("no %q in\n%s", c.want, b.String())
			}
			if failed := len(r.Failures())+len(r.Void()) > 0; failed == strings.HasPrefix(c.want, "All") {
				t.Errorf("failures %q, void %q", r.Failures(), r.Void())
			}
		})
	}
}

// The report of one run has its comparisons, what was measured, and which statistics a fitted scenario does not have in
// its intervals.
func TestRunDocument(t *testing.T) {
	run := results().Cases[0].Runs[0]
	run.Checks = append(run.Checks, compare.Check{What: "users", Detail: "one is wrong"})
	run.Fit = &fitted.Result{Statistics: 2, Within: 1, Coverage: 0.95, Outside: []string{"workload mice wait mean: 3ms, interval 1ms to 2ms"}}
	var b strings.Builder
	if err := render.Text(&b, run.Document("elephant.1.1", time.Minute), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	const want = `elephant.1.1  1 of 2 comparisons fail, 1m0s

  sender late, p90              0.0 ms
  webhook overhead, calibrated  0.0 ms
  webhook overhead, p50         0.0 ms
  webhook overhead, p90         0.0 ms
  wait without a queue, p50     0.0 ms
  wait without a queue, p99     0.0 ms
  hand-over                     1.0 ms
  same outcome in the replay    0.0 %
  spec.servers of a scenario    {adjustmentPhase: 3.1s, handover: 1ms}

  ok      nothing lost  600 requests
  FAILED  users         one is wrong

Scenario fitted to the logs: 1 of 2 statistics are within the 95 % prediction intervals

Outside
  - workload mice wait mean: 3ms, interval 1ms to 2ms
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Errorf("want (-), got (+):\n%s", d)
	}
}
