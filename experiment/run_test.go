package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/sim"
	"apfsim/sim/scenario"
)

// The first output that cannot be begun is the one that is told of, and no other stays behind.
func TestOutputsThatCannotBeBegun(t *testing.T) {
	sc, err := LoadOne("elephants-and-mice", scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := sim.New(sc).Server
	dir := t.TempDir()
	for _, metrics := range []string{"metrics.om", "gone/metrics.om"} {
		files := Outputs{OpenMetrics: filepath.Join(dir, metrics), Events: filepath.Join(dir, "none", "events.json"), ToNs: 1}
		want := "none"
		if metrics != filepath.Base(metrics) {
			want = "gone"
		}
		if _, err := files.create(sc, of); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, want)) {
			t.Errorf("%s: %v; want that there is no %s", metrics, err, want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}
