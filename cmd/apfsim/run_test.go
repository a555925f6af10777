package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mixedScenarios is a file of scenarios: one that takes as long as told, one with a
// threshold that does not hold, one that is warned of, and a plain one.
func mixedScenarios(slowDuration string) string {
	scenario := func(name, duration, rate, more string) string {
		return fmt.Sprintf(`
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: %s}
spec:
  duration: %s
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods}
    execution: {exponential: {mean: 10ms}}
    arrivals: {poisson: {rate: %s}}
%s`, name, duration, rate, more)
	}
	return strings.Join([]string{
		scenario("slow", slowDuration, "2000/s", ""),
		scenario("strict", "5s", "100/s", `  thresholds: {arrived: ["count < 1"]}`),
		scenario("odd", "5s", "100/s", `  config:
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: FlowSchema
      metadata: {name: dangling}
      spec: {priorityLevelConfiguration: {name: nowhere}}
`),
		scenario("plain", "5s", "100/s", ""),
	}, "\n---")
}

func folderWithMixedScenarios(t *testing.T, slowDuration string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mixed.yaml"), []byte(mixedScenarios(slowDuration)), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// onCores makes the process use so many cores.
func (p *process) onCores(n int) { p.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", n)) }

// contents returns the files below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, path := range regular(t, dir) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(path, dir)] = string(text)
	}
	return all
}

// What is printed, in which order, and what is written does not depend on the number of
// cores, though the first scenario is the last to be done.
func TestOutputIsThatOfOneCore(t *testing.T) {
	for _, flags := range []string{
		"--replications 2 -o out --requests",
		"--replications 20 --seed 5 --format yaml --set spec.duration=1s",
		"-o out --format json",
	} {
		var printed string
		var written map[string]string
		for _, cores := range []int{1, 5} {
			dir := folderWithMixedScenarios(t, "30s")
			p := newProcess(t, dir, "apfsim", append([]string{"run", "mixed.yaml"}, strings.Fields(flags)...)...)
			p.onCores(cores)
			p.Stderr = p.Stdout // as a terminal shows them
			if status := p.wait(t); status != statusThreshold {
				t.Fatalf("%s: %d cores: exit status %d, want %d\n%s", flags, cores, status, statusThreshold, &p.out)
			}
			if cores == 1 {
				printed, written = p.out.String(), contents(t, dir)
				order := regexp.MustCompile(`(?s)slow.*strict.*warning.*dangling.*odd.*plain`)
				if !order.MatchString(printed) || strings.Contains(flags, "-o") != (len(written) > 1) {
					t.Errorf("%s: %d files, and on the screen\n%s", flags, len(written), printed)
				}
				continue
			}
			if got := p.out.String(); got != printed {
				t.Errorf("%s: %d cores print\n%s\none prints\n%s", flags, cores, got, printed)
			}
			got := contents(t, dir)
			if len(got) != len(written) {
				t.Errorf("%s: %d cores write %d files, one writes %d", flags, cores, len(got), len(written))
			}
			for name, text := range written {
				if got[name] != text {
					t.Errorf("%s: %s differs on %d cores", flags, name, cores)
				}
			}
		}
	}
}

// A run that fails is told of after those before it in order; later ones, done or not,
// are not. Every file that there is, is whole.
func TestFailureIsThatOfOneCore(t *testing.T) {
	whole := folderWithMixedScenarios(t, "30s")
	if p := newProcess(t, whole, "apfsim", "run", "mixed.yaml", "-o", "out", "--requests"); p.wait(t) != statusThreshold {
		t.Fatal(p.err.String())
	}
	want := contents(t, whole)
	var printed string
	for _, cores := range []int{1, 2, 7} {
		dir := folderWithMixedScenarios(t, "30s")
		if err := os.Mkdir(filepath.Join(dir, "out"), 0o777); err != nil {
			t.Fatal(err)
		}
		inTheWay := filepath.Join(dir, "out", "odd")
		if err := os.WriteFile(inTheWay, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		p := newProcess(t, dir, "apfsim", "run", "mixed.yaml", "-o", "out", "--requests")
		p.onCores(cores)
		p.Stderr = p.Stdout
		if status := p.wait(t); status != statusFailed {
			t.Errorf("%d cores: exit status %d, want %d", cores, status, statusFailed)
		}
		if cores == 1 {
			printed = p.out.String()
			if !regexp.MustCompile(`(?s)results of slow .*results of strict .*apfsim: odd: making the folder .*out/odd`).MatchString(printed) {
				t.Error(printed)
			}
		}
		if got := p.out.String(); got != printed || strings.Contains(got, "plain") {
			t.Errorf("%d cores print\n%s\none prints\n%s", cores, got, printed)
		}
		got := contents(t, dir)
		for name, text := range got {
			if filepath.Join(dir, name) != inTheWay && want[name] != text {
				t.Errorf("%d cores: %s is not whole, or should not be", cores, name)
			}
		}
		for name, text := range want {
			if regexp.MustCompile(`out.(slow|strict)`).MatchString(name) && got[name] != text {
				t.Errorf("%d cores: %s is missing", cores, name)
			}
		}
	}
}

// An interruption ends all runs that are under way. What is done stays whole, and of the
// rest nothing is left.
func TestInterruptionOfParallelRuns(t *testing.T) {
	noWindows(t)
	dir := folderWithMixedScenarios(t, "1000h")
	if err := os.WriteFile(filepath.Join(dir, "small.yaml"), []byte(smallScenario), 0o666); err != nil {
		t.Fatal(err)
	}
	done := newProcess(t, dir, "apfsim", "run", "small.yaml", "-o", "done", "--requests", "--replications", "2")
	if status := done.wait(t); status != statusDone {
		t.Fatal(done.err.String())
	}
	p := newProcess(t, dir, "apfsim", "run", "small.yaml", "mixed.yaml", "-o", "out", "--requests", "--replications", "2")
	p.onCores(3)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "both slow runs are under way and the last one is done", func() bool {
		for _, name := range []string{"slow-seed-1", "slow-seed-2", "plain-seed-2"} {
			if len(regular(t, filepath.Join(dir, "out", name))) == 0 {
				return false
			}
		}
		_, err := os.Stat(filepath.Join(dir, "out", "plain-seed-2", "report.html"))
		return err == nil
	})
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := p.wait(t); status != statusFailed {
		t.Errorf("exit status %d, want %d", status, statusFailed)
	}
	message := regexp.MustCompile(`^(apfsim: wrote the results of small(-seed-\d)? to \S+\n){3}apfsim: slow-seed-1: interrupted after \S+ of 1000h0m0s; its results are not written\n$`)
	if !message.MatchString(p.err.String()) {
		t.Errorf("stderr %q", p.err.String())
	}
	if !bytes.Equal(p.out.Bytes(), done.out.Bytes()) {
		t.Errorf("stdout\n%s\nwant the summaries of what was done:\n%s", &p.out, &done.out)
	}
	got := contents(t, filepath.Join(dir, "out"))
	for name, text := range contents(t, filepath.Join(dir, "done")) {
		if got[name] != text {
			t.Errorf("%s was done, and is missing or not whole", name)
		}
	}
	for name := range got {
		if strings.Contains(name, "slow") || strings.HasPrefix(filepath.Base(name), ".") {
			t.Errorf("left behind: %s", name)
		}
	}
}
