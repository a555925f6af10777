package tune_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"apfsim/experiment/tune"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/render"
)

var (
	fastOnce sync.Once
	fast     *tune.Answer
)

// fastAnswer is the answer of the fastest problem: handSize 8 instead of 6.
func fastAnswer(t *testing.T) *tune.Answer {
	t.Helper()
	fastOnce.Do(func() { fast = solve(t, problems[fastest].file, tune.Usual, nil, 1) })
	if fast == nil {
		t.Fatal("there is no answer")
	}
	return fast
}

// written returns the files of an answer by name.
func written(t *testing.T, a *tune.Answer) map[string]string {
	t.Helper()
	dir := t.TempDir()
	var set atomicfile.Set
	if err := a.Write(&set, dir); err != nil {
		t.Fatal(err)
	}
	if err := set.Commit(); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range tune.Files {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			all[name] = string(text)
		}
	}
	return all
}

// The change says which value nearer to the present one was tried, and what failed there: with a hand of 7, eight lists need
// 8 · 8 = 64 of 60 seats.
func TestChangeSaysWhatSetsItsValue(t *testing.T) {
	a := fastAnswer(t)
	const reason = `^7 held in 0 of [0-9]+ runs, and failed wait\{workload:apps\}: p99 < 10ms$`
	if len(a.Selected.Changes) != 1 || !regexp.MustCompile(reason).MatchString(a.Selected.Changes[0].Because) {
		t.Fatalf("got the changes %+v, want one because of %q", a.Selected.Changes, reason)
	}
	because := a.Selected.Changes[0].Because
	files := written(t, a)
	before, _, _ := strings.Cut(because, "p99") // lines end at 100 characters
	if want := "# limited.limitResponse.queuing.handSize 6 → 8: " + strings.TrimSpace(before); !strings.Contains(files[tune.ChangeFile], want) {
		t.Errorf("%s is\n%s\nwant it to have\n%s", tune.ChangeFile, files[tune.ChangeFile], want)
	}
}

// The level exists, so that its former fields undo the change.
func TestChangeOfAnObjectIsUndoneByItsFormerFields(t *testing.T) {
	a := fastAnswer(t)
	if got, want := strings.Join(a.Undo, "; "), "kubectl apply -f undo.yaml"; got != want {
		t.Errorf("the commands are %q, want %q", got, want)
	}
	files := written(t, a)
	if text := files[tune.UndoFile]; !strings.Contains(text, "handSize: 6\n") || !strings.Contains(text, "name: readers\n") {
		t.Errorf("%s is\n%s\nwant readers with its hand of 6", tune.UndoFile, text)
	}
}

// Each goal has its value and its runs on both sides: requests are rejected in most runs now, and in none with the change.
func TestGoalsBeforeAndAfter(t *testing.T) {
	a := fastAnswer(t)
	if len(a.Thresholds) != len(a.Goals) {
		t.Fatalf("there are %d thresholds, want %d", len(a.Thresholds), len(a.Goals))
	}
	for i, g := range a.Thresholds {
		if g.Goal != a.Goals[i] {
			t.Errorf("threshold %d is %q, want %q", i, g.Goal, a.Goals[i])
		}
		if 2*g.Before.Passes > g.Before.Runs || *g.Before.Value <= g.Limit || g.After.Passes != g.After.Runs || *g.After.Value > g.Limit {
			t.Errorf("%s: %d of %d runs with %v now, %d of %d with %v then; want less than half, and all", g.Goal,
				g.Before.Passes, g.Before.Runs, *g.Before.Value, g.After.Passes, g.After.Runs, *g.After.Value)
		}
	}
}

// All that has requests at the changed level is to be measured, and the FlowSchema that brings them.
func TestWhatToMeasureAfterwards(t *testing.T) {
	measured := map[string]tune.Measurement{}
	for _, m := range fastAnswer(t).Measure {
		measured[m.Metric+" of "+m.Of] = m
	}
	seats := measured["apiserver_flowcontrol_nominal_limit_seats of readers"]
	if seats.Before == nil || *seats.Before != 60 || *seats.After != 60 {
		t.Errorf("the nominal limit is %+v, want 60 seats before and after", seats)
	}
	rejected := measured["apiserver_flowcontrol_rejected_requests_total of readers"]
	if rejected.Before == nil || *rejected.Before <= 0 || *rejected.After != 0 {
		t.Errorf("rejected are %+v, want some before and none after", rejected)
	}
	if m, ok := measured["apiserver_flowcontrol_dispatched_requests_total of readers"]; !ok || m.Label != "flow_schema" || *m.After <= 100 {
		t.Errorf("dispatched are %+v, want more than 100/s of the FlowSchema readers", m)
	}
}

// The answer is repeated with other executions and another load. Seats do not depend on how long a list takes, so that it
// holds with all of them.
func TestAnswerIsRepeatedWithOtherScenarios(t *testing.T) {
	a := fastAnswer(t)
	var what []string
	for _, b := range a.Breaks {
		what = append(what, b.What)
		if !b.Holds || b.Passes < b.Runs-1 || b.Runs < 18 || b.Fails != "" {
			t.Errorf("%+v: want it to hold", b)
		}
	}
	if got, want := strings.Join(what, ", "), "executions × 0.8, executions × 1.25, load × 1.1"; got != want {
		t.Errorf("repeated with %s, want %s", got, want)
	}
}

// The scenario has no capacity and names no release. Its clients have numbers for names, which are drawn anew for each run,
// so that they are no reason.
func TestReasonsToTrustTheAnswerLess(t *testing.T) {
	var ids []string
	for _, r := range fastAnswer(t).Trust {
		ids = append(ids, r.ID)
	}
	for _, want := range []string{"no-capacity", "version-assumed"} {
		if !slices.Contains(ids, want) {
			t.Errorf("the reasons are %s, want %s among them", ids, want)
		}
	}
	if slices.Contains(ids, "invented-names") {
		t.Errorf("the reasons are %s, want none that is about names", ids)
	}
}

// An answer has the same facts in all formats.
func TestAnswerInAllFormats(t *testing.T) {
	a := fastAnswer(t)
	files := written(t, a)
	var text, markdown bytes.Buffer
	if err := render.Text(&text, a.Document(), format.TextOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := render.Markdown(&markdown, a.Document(), format.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("a line of a terminal has %d characters: %s", n, line)
		}
	}
	for name, content := range map[string]string{"text": text.String(), "Markdown": markdown.String(), tune.PageFile: files[tune.PageFile]} {
		content = strings.Join(strings.Fields(strings.ReplaceAll(content, "<wbr>", "")), " ")
		for _, want := range []string{"53 of 53", "7 held in 0 of ", "executions × 1.25", "undo.yaml", "merge-flows reports"} {
			if !strings.Contains(content, want) {
				t.Errorf("the %s does not have %q", name, want)
			}
		}
	}
	var again map[string]any
	if err := json.Unmarshal([]byte(files[tune.AnswerFile]), &again); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"thresholds", "undo", "measure", "breaks", "trust", "notTried", "needs", "clients"} {
		if again[field] == nil {
			t.Errorf("%s does not have %s", tune.AnswerFile, field)
		}
	}
}
