package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"apfsim/internal/atomicfile"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"
)

// The error names all outputs that cannot be created, and the others are removed.
func TestOutputsThatCannotBeBegun(t *testing.T) {
	sc, err := LoadOne("elephants-and-mice", loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	servers := sim.New(sc).Servers()
	dir := t.TempDir()
	for _, metrics := range []string{"metrics.om", "gone/metrics.om"} {
		files := Outputs{OpenMetrics: filepath.Join(dir, metrics), Events: filepath.Join(dir, "none", "events.json"), ToNs: 1}
		var set atomicfile.Set
		outputs, err := files.create(&set, sc, servers)
		if isGone := metrics != "metrics.om"; err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "none")) || strings.Contains(err.Error(), filepath.Join(dir, "gone")) != isGone {
			t.Errorf("%s: %v", metrics, err)
		}
		discard(outputs)
		if err := set.Discard(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
	}
}
