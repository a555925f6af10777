package main

import (
	"path/filepath"
	"strings"
	"testing"

	"apfsim/sim"
	"apfsim/sim/scenario"
)

// The first output that cannot be begun is the one that is told of, and no other stays behind.
func TestOutputsThatCannotBeBegun(t *testing.T) {
	loaded, err := loadScenarios([]string{"elephants-and-mice"}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := sim.New(loaded[0]).Server
	dir := t.TempDir()
	for _, metrics := range []string{"metrics.om", "gone/metrics.om"} {
		f := runFlags{outputFlags: outputFlags{openMetrics: filepath.Join(dir, metrics), events: filepath.Join(dir, "none", "events.json"), toNs: 1}}
		want := "none"
		if metrics != filepath.Base(metrics) {
			want = "gone"
		}
		if _, err := f.create(loaded[0], of); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, want)) {
			t.Errorf("%s: %v; want that there is no %s", metrics, err, want)
		}
		if left := regular(t, dir); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}
