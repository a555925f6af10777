package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Interrupted while it still waits to be precise, a command ends, and leaves nothing.
func TestInterruptionBeforeItIsPrecise(t *testing.T) {
	noWindows(t)
	dir := folderWithScenario(t)
	p := newProcess(t, dir, "apfsim", "run", "small.yaml", "--precision", "0.0001%", "--of", "arrived", "--replications", "100000", "-o", "out", "-q")
	p.onCores(3)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "it has begun", func() bool { _, err := os.Stat(filepath.Join(dir, "out")); return err == nil })
	p.Process.Signal(os.Interrupt)
	if status := p.wait(t); status != statusFailed || !strings.Contains(p.err.String(), "interrupted") {
		t.Errorf("exit status %d: %s", status, p.err.String())
	}
	if left := regular(t, filepath.Join(dir, "out")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Interrupted, a comparison says so, and leaves nothing.
func TestInterruptionOfAComparison(t *testing.T) {
	noWindows(t)
	dir := folderWithScenario(t)
	p := newProcess(t, dir, "apfsim", "compare", "small.yaml", "small.yaml", "--replications", "100000", "-o", "out", "-q")
	p.onCores(3)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "it has begun", func() bool { _, err := os.Stat(filepath.Join(dir, "out")); return err == nil })
	p.Process.Signal(os.Interrupt)
	if status := p.wait(t); status != statusFailed || !strings.Contains(p.err.String(), "interrupted") {
		t.Errorf("exit status %d: %s", status, p.err.String())
	}
	if left := regular(t, filepath.Join(dir, "out")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
