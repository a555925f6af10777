package main

import (
	"os"
	"path/filepath"
	"testing"
)

// An interrupted command leaves the last one's JUnit file as it was: it has no verdict.
func TestInterruptedRunLeavesJUnitAsItWas(t *testing.T) {
	noWindows(t)
	dir := folderWithMixedScenarios(t, "1000h")
	file := filepath.Join(dir, "junit.xml")
	if err := os.WriteFile(file, []byte("the last run's\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, dir, "apfsim", "run", "mixed.yaml", "--junit", "junit.xml", "-o", "out", "--requests")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the slow run is under way", func() bool { return len(regular(t, filepath.Join(dir, "out", "slow"))) > 0 })
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := p.wait(t); status != statusFailed {
		t.Errorf("exit status %d, want %d", status, statusFailed)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "the last run's\n" {
		t.Errorf("the file is now %q (%v)", text, err)
	}
	if beside, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(beside) > 0 {
		t.Errorf("left behind: %q (%v)", beside, err)
	}
}

// The fingerprints and verdicts of runs in parallel, and their order, are those of one core.
func TestVerdictsDoNotDependOnCores(t *testing.T) {
	var want string
	for _, cores := range []int{1, 3} {
		dir := folderWithMixedScenarios(t, "10s")
		p := newProcess(t, dir, "apfsim", "run", "mixed.yaml", "--replications", "3", "--junit", "junit.xml")
		p.onCores(cores)
		if status := p.wait(t); status != statusThreshold {
			t.Fatalf("exit status %d: %s", status, &p.err)
		}
		text, err := os.ReadFile(filepath.Join(dir, "junit.xml"))
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = string(text)
		}
		if string(text) != want {
			t.Errorf("%d cores write\n%s\none writes\n%s", cores, text, want)
		}
	}
}
