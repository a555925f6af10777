package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The program knows all time zones on a system that knows none, as in its image.
func TestZonesAreInTheProgram(t *testing.T) {
	deps, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(strings.Fields(string(deps)), "time/tzdata") {
		t.Error("time/tzdata is not in the program")
	}
	// A namespace of its own, in which the folder of the zones is empty; the zones of Go are elsewhere as well.
	const hidden = "mount -t tmpfs none /usr/share/zoneinfo && ZONEINFO= GOROOT=/nowhere "
	if err := exec.CommandContext(t.Context(), "unshare", "-rm", "sh", "-c", hidden+"true").Run(); err != nil {
		t.Skip("zones cannot be hidden here: ", err)
	}
	log, err := filepath.Abs("../../sim/trace/logfile/testdata/httplog-lists.log")
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, t.TempDir(), "unshare", "-rm", "sh", "-c", hidden+"exec apfsim import "+log+" --zone Europe/Berlin --year 2026 -o berlin")
	if status := p.wait(t); status != statusDone {
		t.Errorf("exit status %d: %s", status, p.err.String())
	}
	if want := "The trace begins at 2026-11-21T21:"; !strings.Contains(p.out.String(), want) {
		t.Errorf("the output does not have %q: %s", want, p.out.String())
	}
}
