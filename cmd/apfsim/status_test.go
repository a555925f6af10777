package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// documentedStatuses returns the exit statuses of the table in the reference.
func documentedStatuses(t *testing.T) []int {
	t.Helper()
	text, err := os.ReadFile("../../docs/reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n| Exit status | Meaning |\n|---|---|\n")
	if !found {
		t.Fatal("there is no table of exit statuses")
	}
	var statuses []int
	for row := range strings.Lines(table) {
		m := regexp.MustCompile(`^\| ([0-9, ]+) \| .+ \|$`).FindStringSubmatch(strings.TrimSpace(row))
		if m == nil {
			break
		}
		for _, number := range strings.Split(m[1], ", ") {
			status, err := strconv.Atoi(number)
			if err != nil {
				t.Fatalf("%q: %v", row, err)
			}
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// The table of exit statuses is complete and true: for each there is a command that ends so.
func TestExitStatuses(t *testing.T) {
	noWindows(t)
	const readsForEver = "config validate /dev/stdin"
	unwritable := strings.Repeat("long", 100)
	cases := []struct {
		status int
		line   string
		signal os.Signal
	}{
		{statusDone, "run small.yaml", nil},
		{statusFailed, "run small.yaml -o " + unwritable, nil},
		{statusFailed, "run small.yaml --junit " + unwritable + "/junit.xml", nil},
		{statusInvalid, "run small.yaml --sed 1", nil},
		{statusInvalid, "run small.yaml --set spec.duration=1", nil},
		{statusInvalid, "run nowhere.yaml", nil},
		{statusInvalid, "run small.yaml -o small.yaml", nil},
		{statusInvalid, "run small.yaml --junit nowhere/junit.xml", nil},
		{statusThreshold, "run small.yaml --set spec.duration=1ms", nil},
		{statusThreshold, "run small.yaml --expect-fingerprint 0123456789abcdef", nil},
		{128 + int(syscall.SIGINT), readsForEver, os.Interrupt},
		{128 + int(syscall.SIGTERM), readsForEver, syscall.SIGTERM},
	}
	var seen []int
	dir := folderWithScenario(t)
	for _, c := range cases {
		seen = append(seen, c.status)
		p := newProcess(t, dir, "apfsim", strings.Fields(c.line)...)
		if c.signal != nil {
			if _, err := p.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			if err := p.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
		}
		got := p.wait(t)
		if ended, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && ended.Signaled() {
			got = 128 + int(ended.Signal()) // as a shell tells it
		}
		if got != c.status {
			t.Errorf("apfsim %s: exit status %d, want %d\n%s", c.line, got, c.status, &p.err)
		}
	}
	slices.Sort(seen)
	if documented := documentedStatuses(t); !slices.Equal(documented, slices.Compact(seen)) {
		t.Errorf("the reference has the exit statuses %v, and the program %v", documented, slices.Compact(seen))
	}
}
