package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Interrupted far from its end, while it waits to be precise or compares, a command says so
// and leaves nothing.
func TestInterruptionOfReplications(t *testing.T) {
	noWindows(t)
	for _, line := range []string{
		"run small.yaml --precision 0.0001% --of arrived --replications 100000 -o out -q",
		"compare small.yaml small.yaml --replications 100000 -o out -q",
	} {
		dir := folderWithScenario(t)
		p := newProcess(t, dir, "apfsim", strings.Fields(line)...)
		p.onCores(3)
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		until(t, "it has begun", func() bool { _, err := os.Stat(filepath.Join(dir, "out")); return err == nil })
		p.Process.Signal(os.Interrupt)
		if status := p.wait(t); status != statusFailed || !strings.Contains(p.err.String(), "interrupted") {
			t.Errorf("%s: exit status %d: %s", line, status, p.err.String())
		}
		if left := regular(t, filepath.Join(dir, "out")); len(left) > 0 {
			t.Errorf("%s: left behind: %q", line, left)
		}
	}
}
