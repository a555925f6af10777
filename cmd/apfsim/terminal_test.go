package main

import (
	"bufio"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// onTerminal returns a process that runs a command line on a terminal.
func onTerminal(t *testing.T, dir, line string) *process {
	t.Helper()
	if _, err := exec.LookPath("script"); err != nil || runtime.GOOS != "linux" {
		t.Skip("script, which lends a terminal, is not installed")
	}
	return newProcess(t, dir, "script", "-qec", line, "/dev/null")
}

// watch runs a process on a terminal and types Ctrl-C as soon as the screen is as wanted. It
// returns what was on the screen.
func (p *process) watch(t *testing.T, asWanted func(screen string) bool) string {
	t.Helper()
	keys, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stdout = nil
	screen, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	typed := false
	for r := bufio.NewReader(screen); ; {
		b, err := r.ReadByte()
		if err != nil {
			break
		}
		seen.WriteByte(b)
		if !typed && asWanted(seen.String()) {
			typed = true
			keys.Write([]byte{3})
		}
	}
	if status := p.wait(t); status != statusFailed {
		t.Errorf("exit status %d, want %d", status, statusFailed)
	}
	return seen.String()
}

// On a terminal a run shows how far it is, and Ctrl-C typed there ends it.
func TestProgressOnATerminal(t *testing.T) {
	p := onTerminal(t, t.TempDir(), "stty cols 80; exec apfsim run elephants-and-mice --set spec.duration=1000h -o out --requests")
	screen := p.watch(t, func(screen string) bool { return strings.HasSuffix(screen, " left") })
	for _, want := range []string{" of 1000h0m0s, ", " M events/s, ", " left", "apfsim: elephants-and-mice: interrupted after "} {
		if !strings.Contains(screen, want) {
			t.Errorf("no %q on the screen: %q", want, screen)
		}
	}
}

// Runs in parallel have one display.
func TestProgressOfSeveralRuns(t *testing.T) {
	p := onTerminal(t, t.TempDir(), "stty cols 80; exec apfsim run elephants-and-mice borrowing --set spec.duration=1000h --replications 2")
	screen := p.watch(t, func(screen string) bool { return strings.HasSuffix(screen, " left") })
	if !regexp.MustCompile(`\r0 of 4 runs, \d+\.\d M events/s, \S+ left   0% \|.*\r *\r[^\r]*apfsim: elephants-and-mice-seed-1: interrupted after `).MatchString(screen) {
		t.Errorf("%q", screen)
	}
}

// Ctrl-C takes the display away before the message.
func TestInterruptedTable(t *testing.T) {
	p := onTerminal(t, t.TempDir(), "stty cols 80; exec apfsim collisions --deals 100000000")
	screen := p.watch(t, func(screen string) bool { return strings.HasSuffix(screen, " left") })
	if !regexp.MustCompile(` left .*\r *\r[^\r]*apfsim: interrupted before the table was complete\r\n$`).MatchString(screen) {
		t.Errorf("%q", screen)
	}
}

// Elsewhere nothing is shown but results.
func TestNoProgressElsewhere(t *testing.T) {
	p := newProcess(t, t.TempDir(), "apfsim", "run", "elephants-and-mice", "--set", "spec.duration=3m")
	if status := p.wait(t); status != statusDone && status != statusThreshold {
		t.Fatal(p.err.String())
	}
	if p.err.Len() > 0 || strings.Contains(p.out.String(), "\x1b") {
		t.Errorf("stderr %q, stdout %q", p.err.String(), p.out.String())
	}
}
