package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// manyRequests are scenarios of millions of requests, which together take as long as all others.
var manyRequests = []string{"collapse-with-priorities", "congestion-collapse", "day-of-5000-nodes", "kubelets-close-connections-5000",
	"kubelets-close-connections-5000-idle", "metastable-collapse", "more-seats-less-throughput"}

// Every scenario of the library runs, its thresholds hold, and what came of it is what came
// of it when the golden files were written: of a change in what is decided, the difference
// of these files shows whom it helps and whom it hurts.
func TestLibrary(t *testing.T) {
	golden := filepath.Join("testdata", "library")
	names := slices.DeleteFunc(scenarios.Names(), func(name string) bool { // see also TestDocumentedIncidents
		return scenarios.IsIncident(name) && !hasThresholds(t, name)
	})
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(manyRequests, name) && !*long && !*rewrite {
				t.Skip("make nightly runs it")
			}
			t.Parallel()
			var stdout, stderr bytes.Buffer
			if status := execute([]string{"run", name, "--replications", "1", "--format", "json"}, &stdout, &stderr); status != statusDone {
				t.Fatalf("exit status %d\n%s%s", status, &stdout, &stderr)
			}
			file, got := filepath.Join(golden, name+".txt"), ""
			for d := json.NewDecoder(&stdout); d.More(); { // a file may hold several scenarios
				var s result.Summary
				if err := d.Decode(&s); err != nil {
					t.Fatal(err)
				}
				got += keyFigures(&s)
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (make rewrite makes it)", err)
			}
			if d := diff.Diff(file, want, "this run", []byte(got)); d != nil {
				t.Errorf("make rewrite accepts:\n%s", d)
			}
		})
	}
	files, err := filepath.Glob(filepath.Join(golden, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(names, strings.TrimSuffix(filepath.Base(file), ".txt")) {
			t.Errorf("%s: there is no such scenario; remove it", file)
		}
	}
}

// hasThresholds says whether a scenario of the library has thresholds, which its story asserts.
func hasThresholds(t *testing.T, name string) bool {
	t.Helper()
	loaded, wrong := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	return slices.ContainsFunc(loaded, func(sc *scenario.Scenario) bool { return len(sc.Spec.Thresholds) > 0 })
}

// keyStatistics are those that are kept of all requests, workloads and priority levels.
var keyStatistics = []string{"arrived.count", "executed.rate", "rejected.rate", "retries.count", "wait.mean", "wait.p(99)",
	"wait.max", "virtualWait.p(99)", "stall.max", "latency.mean", "latency.p(99)", "fairness.jain", "fairness.leastRatio", "starvation.max", "service.seatSeconds",
	"utilisation.mean", "utilisation.peak", "utilisation.saturated"}

var tagsOfStatistic = regexp.MustCompile(`\{.*\}`)

// keyFigures returns the fingerprint, the verdict with its first cause, the thresholds' values and the key statistics but for
// those that are 0, one a line.
func keyFigures(s *result.Summary) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nfingerprint %s\nverdict %s", s.Name, s.Fingerprint, s.Verdict.Status)
	for i := range s.Verdict.Causes[:min(1, len(s.Verdict.Causes))] {
		fmt.Fprint(&b, " ", s.Verdict.Causes[i].ID)
	}
	fmt.Fprintln(&b)
	for _, v := range s.Thresholds {
		fmt.Fprintf(&b, "%s: %s: %s\n", v.Metric, v.Expression, figure(*v.Value, v.Unit))
	}
	for _, st := range result.Statistics(s) {
		key := slices.Contains(keyStatistics, tagsOfStatistic.ReplaceAllString(st.Name.String(), ""))
		if key && st.Value != 0 && !st.OfFlow() && st.Name.Tag(metric.TagFlowSchema) == "" {
			fmt.Fprintln(&b, st.Name, figure(st.Value, string(st.Name.Unit)))
		}
	}
	return b.String()
}

// figure writes a value with six digits: more of a sum of floating-point numbers may differ
// between processors.
func figure(value float64, unit string) string {
	if unit == "ns" {
		return time.Duration(value).String()
	}
	return strconv.FormatFloat(value, 'g', 6, 64)
}

// controlsOf returns a row of the reference for a scenario of the library that has controls: what they are called, and their
// ranges. Several scenarios of a file have the same.
func controlsOf(t *testing.T, name string) string {
	t.Helper()
	all, wrong := loader.Load(scenarios.Files, scenarios.File(name), loader.Options{})
	if err := wrong.Err(); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, c := range all[0].Metadata.Controls {
		unit := c.Unit
		if unit != "" && !strings.HasPrefix(unit, "/") {
			unit = " " + unit
		}
		parts = append(parts, fmt.Sprintf("%s: %v to %v%s", c.Name, c.Minimum, c.Maximum, unit))
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf("| `%s` | %s |\n", name, strings.Join(parts, "<br>"))
}

// The reference has a table for each group, in the same order, and one of the controls, and the README links to the groups.
func TestReferenceListsTheLibrary(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := os.ReadFile("../../docs/reference/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, group := range scenarios.Groups {
		fmt.Fprintf(&text, "\n## %s\n\n| Scenario | What it shows |\n|---|---|\n", group.Title)
		for _, s := range group.Scenarios {
			fmt.Fprintf(&text, "| [%s](../../scenarios/%s) | %s |\n", s.Name, scenarios.File(s.Name), s.Title)
		}
		if row := fmt.Sprintf("| [%s](docs/reference/scenarios.md#", group.Title); !strings.Contains(string(readme), row) {
			t.Errorf("README.md has no row %s", row)
		}
	}
	text.WriteString(`
## Controls of the playground

In [the playground](../guides/own-cluster.md#the-playground), the readers of these scenarios can move [controls](scenario.md#controls). Anything else
can be changed in the text of a scenario.

| Scenario | Controls |
|---|---|
`)
	for _, group := range scenarios.Groups {
		for _, s := range group.Scenarios {
			text.WriteString(controlsOf(t, s.Name))
		}
	}
	head, _, _ := strings.Cut(string(reference), "\n## ")
	if want := head + text.String(); *rewrite && string(reference) != want {
		if err := os.WriteFile("../../docs/reference/scenarios.md", []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if string(reference) != want {
		t.Errorf("docs/reference/scenarios.md does not end with\n%s", text.String())
	}
}
