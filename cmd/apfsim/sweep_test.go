package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	yamlv3 "go.yaml.in/yaml/v3"
)

var longSweep = []string{"sweep", "small.yaml", "--set", "spec.duration=500s", "--over", "spec.workload[w].clients=1,2,3,4", "--replications", "10", "-q", "-o"}

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
		want := fmt.Sprintf("apfsim: interrupted: %d of 40 runs are done and kept in out; run the same command again to continue\n", done())
		if before > 0 {
			want = fmt.Sprintf("apfsim: %d of 40 runs are already done\n", before) + want
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
	if !regexp.MustCompile(`(?s)\r0 of 6 runs, \d+\.\d M events/s, \S+ left   0% \|.*apfsim: interrupted: 0 of 6 runs are done`).MatchString(screen) {
		t.Errorf("%q", screen)
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

// The container of the Job in the documentation does what it says, for each index.
func TestIndexedJobOfTheDocumentation(t *testing.T) {
	noWindows(t)
	text, err := os.ReadFile("../../docs/guides/compare.md")
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
	p := newProcess(t, dir, "sh", "-c", "apfsim sweep merge shards/* -o sweep")
	if status := p.wait(t); status != statusDone || !strings.Contains(p.out.String(), "  9 points, 2 runs each, ") {
		t.Errorf("%s\n%s", p.out.String(), p.err.String())
	}
}
