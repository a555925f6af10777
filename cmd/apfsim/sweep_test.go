package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"apfsim/reports"
	"apfsim/sim/scenario"

	"github.com/google/go-cmp/cmp"
	yamlv3 "go.yaml.in/yaml/v3"
)

var longSweep = []string{"sweep", "small.yaml", "--set", "spec.duration=1000s", "--over", "spec.workload[w].clients=1,2,3,4", "--replications", "10", "-q", "-o"}

// The user has had enough in the middle, twice, and lets it go on later: the files are those of
// a sweep that nobody has interrupted.
func TestInterruptedSweepGoesOn(t *testing.T) {
	noWindows(t)
	dir := folderWithScenario(t)
	whole := newProcess(t, dir, "apfsim", append(longSweep, "whole")...)
	if status := whole.wait(t); status != statusDone {
		t.Fatal(whole.err.String())
	}
	out := filepath.Join(dir, "out")
	done := func() int {
		found, err := filepath.Glob(filepath.Join(out, "runs", "point-*.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		before := done()
		p := newProcess(t, dir, "apfsim", append(longSweep, "out")...)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "some more runs are over", func() bool { return done() > before+1 })
		if err := p.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if status := p.wait(t); status != statusFailed {
			t.Errorf("%v: exit status %d, want %d", signal, status, statusFailed)
		}
		if done() == 40 {
			t.Fatalf("%v: came too late", signal)
		}
		want := fmt.Sprintf("apfsim: interrupted: of 40 runs, %d are done and stay in out; the same command goes on from there\n", done())
		if before > 0 {
			want = fmt.Sprintf("apfsim: %d of 40 runs are done already\n", before) + want
		}
		if p.err.String() != want {
			t.Errorf("%v: stderr %q, want %q", signal, p.err.String(), want)
		}
		for _, path := range regular(t, out) {
			if name, _ := filepath.Rel(out, path); name != "sweep.json" && !strings.HasPrefix(name, filepath.Join("runs", "point-")) {
				t.Errorf("%v: left behind: %s", signal, name)
			}
		}
	}
	p := newProcess(t, dir, "apfsim", append(longSweep, "out")...)
	if status := p.wait(t); status != statusDone {
		t.Fatal(p.err.String())
	}
	if !bytes.Equal(p.out.Bytes(), whole.out.Bytes()) {
		t.Errorf("printed\n%s\nwant\n%s", p.out.String(), whole.out.String())
	}
	sameFolders(t, out, filepath.Join(dir, "whole"))
}

// sameFolders compares two folders, byte by byte.
func sameFolders(t *testing.T, got, want string) {
	t.Helper()
	read := func(dir string) map[string]string {
		files := map[string]string{}
		for _, path := range regular(t, dir) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := filepath.Rel(dir, path)
			files[name] = string(text)
		}
		return files
	}
	a, b := read(got), read(want)
	for _, name := range sorted(b) {
		if text, found := a[name]; !found || text != b[name] {
			t.Errorf("%s: %s is there: %v, and not as in %s", got, name, found, want)
		}
	}
	if len(a) != len(b) || len(b) == 0 {
		t.Errorf("%d files, want %d, and some", len(a), len(b))
	}
}

func TestProgressOfASweep(t *testing.T) {
	dir := folderWithScenario(t)
	p := onTerminal(t, dir, "stty cols 80; exec apfsim sweep small.yaml --set spec.duration=1000h --over 'spec.workload[w].clients=1,2' --replications 3 -o out")
	screen := p.watch(t, func(screen string) bool { return strings.HasSuffix(screen, " left") })
	if !regexp.MustCompile(`(?s)\r0 of 6 runs, \d+\.\d M events/s, \S+ left   0% \|.*apfsim: interrupted: of 6 runs, 0 are done`).MatchString(screen) {
		t.Errorf("%q", screen)
	}
}

// A level that is set by a sweep is the same as one that a file has so, and all others stay.
func TestLevelsAreSetAsByAFile(t *testing.T) {
	level := func(spec string) string {
		return "apiVersion: flowcontrol.apiserver.k8s.io/v1\nkind: PriorityLevelConfiguration\nmetadata: {name: workload-low}\nspec: {type: Limited, limited: {" + spec + "}}\n"
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const events = "  events:\n  - {at: 1s, apply: {objects: {apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: other}, spec: {type: Limited, limited: {limitResponse: {type: Reject}}}}}}\n"
	file := write("s.yaml", strings.Replace(smallScenario, "  workload:\n", events+"  workload:\n", 1))
	before := write("before.yaml", level("nominalConcurrencyShares: 100, lendablePercent: 90, borrowingLimitPercent: 30, limitResponse: {type: Queue, queuing: {queues: 128, handSize: 6, queueLengthLimit: 50}}"))
	after := write("after.yaml", level("nominalConcurrencyShares: 7, lendablePercent: 8, limitResponse: {type: Queue, queuing: {queues: 5, handSize: 3, queueLengthLimit: 9}}"))
	g, err := newGrid(t.Context(), file, []string{
		"level[workload-low].nominalConcurrencyShares=1,7", `level["workload-low"].lendablePercent=8`, "level[workload-low].borrowingLimitPercent=null",
		"level[workload-low].queues=5", "level[workload-low].handSize=3", "level[workload-low].queueLengthLimit=9",
	}, scenario.Options{ConfigFiles: []string{before}}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	want, err := loadScenarios([]string{file}, scenario.Options{ConfigFiles: []string{after}})
	if err != nil {
		t.Fatal(err)
	}
	got := g.points[1]
	if diff := cmp.Diff(want[0].Objects, got.Objects); diff != "" {
		t.Errorf("(-file +sweep)\n%s", diff)
	}
	if diff := cmp.Diff(want[0].Spec.Events[0].Objects, got.Spec.Events[0].Objects); diff != "" {
		t.Errorf("after the event (-file +sweep)\n%s", diff)
	}
	if cmp.Equal(g.points[0].Objects, got.Objects) || cmp.Equal(g.base.Objects, got.Objects) {
		t.Error("the points do not differ")
	}
}

// Points are read in parallel, and each has its own values beside what all are --set to.
func TestPointsDoNotMix(t *testing.T) {
	const values = 200
	over := "spec.duration="
	for i := range values {
		over += fmt.Sprintf("%ds,", i+1)
	}
	set := scenario.Assignments("--set", []string{"spec.seed=7", "spec.warmup=500ms", "spec.replications=3"})
	set = append(make([]scenario.Assignment, 0, 8), set...) // with room for more
	g, err := newGrid(t.Context(), "elephants-and-mice", []string{strings.TrimSuffix(over, ",")}, scenario.Options{Set: set}, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	for i, sc := range g.points {
		if want := time.Duration(i+1) * time.Second; time.Duration(sc.Spec.Duration) != want || sc.Spec.Seed != 7 {
			t.Errorf("point %d: %v with seed %d, want %v with 7", i, time.Duration(sc.Spec.Duration), sc.Spec.Seed, want)
		}
	}
}

// Spaces beside what separates are no matter, and of points there may be so many.
func TestOverIsTakenApart(t *testing.T) {
	all, mistakes := parseOver([]string{" spec.workload[mice].clients = 1 , 2", "level[workload-low].queues=8"})
	want := []reports.SweepParameter{{Path: "spec.workload[mice].clients", Values: []string{"1", "2"}}, {Path: "level[workload-low].queues", Values: []string{"8"}}}
	if diff := cmp.Diff(want, all); diff != "" || mistakes != nil {
		t.Errorf("mistakes %v; want (-), got (+):\n%s", mistakes, diff)
	}
	for _, text := range []string{"spec.seed=1,2", "spec.replications=1,2"} {
		if all, mistakes := parseOver([]string{text}); len(all) > 0 || !strings.Contains(fmt.Sprint(mistakes), "is the same at every point") {
			t.Errorf("%s: mistakes %v", text, mistakes)
		}
	}
	numbers := func(path string, n int) string {
		values := make([]string, n)
		for i := range values {
			values[i] = strconv.Itoa(i + 1)
		}
		return path + "=" + strings.Join(values, ",")
	}
	for mice, wrong := range map[int]bool{100: false, 101: true} {
		all, mistakes := parseOver([]string{numbers("spec.workload[elephants].clients", 100), numbers("spec.workload[mice].clients", mice)})
		if (mistakes != nil) != wrong || wrong && !strings.Contains(mistakes.Error(), "more than 10000 points") || len(all) == 1 != wrong {
			t.Errorf("100 times %d points: %d parameters, mistakes %v", mice, len(all), mistakes)
		}
	}
}

func TestSweepThatIsInterruptedAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd := newSweep()
	cmd.SetArgs([]string{"elephants-and-mice", "--over", "spec.workload[mice].clients=1,2", "-o", t.TempDir(), "-q"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); err == nil || err.Error() != "interrupted before the first run" {
		t.Error(err)
	}
}

// Whatever is given, there is a parameter or a mistake.
func FuzzOver(f *testing.F) {
	for _, text := range []string{"spec.workload[mice].clients=1,2", `level["workload-low"].queues=1`, "level[workload-low].handSize={,x", "spec.workload[=1", `level["=`} {
		f.Add(text)
	}
	loaded, err := loadScenarios([]string{"elephants-and-mice"}, scenario.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, mistakes := parseOver([]string{text})
		if len(all) > 1 || len(all) == 1 == (len(mistakes) > 0) {
			t.Errorf("%d parameters, mistakes %v", len(all), mistakes)
		}
		valid, wrong := resolve(all, loaded[0])
		if len(valid)+len(wrong) != len(all) {
			t.Errorf("of %d parameters %d are valid, mistakes %v", len(all), len(valid), wrong)
		}
	})
}

// The container of the Job in the documentation does what it says, for each index.
func TestIndexedJobOfTheDocumentation(t *testing.T) {
	noWindows(t)
	text, err := os.ReadFile("../../docs/guides/clusters.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	var job struct {
		Kind string
		Spec struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	if err := yamlv3.Unmarshal(block[1], &job); err != nil {
		t.Fatal(err)
	}
	if job.Kind != "Job" || job.Spec.CompletionMode != "Indexed" || job.Spec.Completions < 2 {
		t.Fatalf("%+v", job)
	}
	dir := t.TempDir()
	for i := range job.Spec.Completions {
		var args []string
		for _, arg := range job.Spec.Template.Spec.Containers[0].Args {
			args = append(args, strings.ReplaceAll(arg, "$(JOB_COMPLETION_INDEX)", fmt.Sprint(i))) // as the kubelet does
		}
		p := newProcess(t, dir, "apfsim", args...)
		if status := p.wait(t); status != statusDone {
			t.Fatal(p.err.String())
		}
	}
	p := newProcess(t, dir, "sh", "-c", "apfsim merge shards/* -o sweep")
	if status := p.wait(t); status != statusDone || !strings.Contains(p.out.String(), "  9 points, 2 runs each, ") {
		t.Errorf("%s\n%s", p.out.String(), p.err.String())
	}
}
