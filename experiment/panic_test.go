package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/trace"
)

// A defect of the program in one of several runs is an error that names the run. Files that were complete
// before remain, and none that are not.
func TestPanicOfARunIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.jsonl"), []byte(`{"arrivalNs":0,"user":"u","verb":"get","resource":"pods","executionNs":1}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var all []*scenario.Scenario
	for _, name := range []string{"whole", "broken"} {
		file := filepath.Join(dir, name+".yaml")
		text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: " + name + "}\nspec:\n  seed: 7\n  duration: 1s\n  workload:\n  - {name: w, arrivals: {trace: {file: t.jsonl}}}\n"
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		sc, err := LoadOne(file, loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sc)
	}
	all[1].Spec.Workload[0].Arrivals.Trace.Open = func() (*trace.Reader, error) { panic("invariant broken") }
	out := filepath.Join(dir, "out")
	runs := Begin(context.Background(), all, Outputs{Dir: out, Requests: true}, Precision{}, noProgress{})
	defer runs.Stop()
	if _, err := runs.Groups[0].Next(); err != nil {
		t.Fatal(err)
	}
	_, err := runs.Groups[1].Next()
	var defect *Panic
	if !errors.As(err, &defect) {
		t.Fatalf("got %v, want a Panic", err)
	}
	if defect.Run != "broken" || defect.Seed != 7 || defect.Value != "invariant broken" || !strings.Contains(string(defect.Stack), "TestPanicOfARunIsAnError") {
		t.Errorf("got %q of %s, seed %d:\n%s", defect.Value, defect.Run, defect.Seed, defect.Stack)
	}
	for name, wanted := range map[string]bool{"whole/summary.json": true, "whole/requests.jsonl": true, "broken": false} {
		if _, err := os.Stat(filepath.Join(out, name)); (err == nil) != wanted {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type noProgress struct{}

func (noProgress) Begin(time.Duration) RunProgress { return noProgress{} }
func (noProgress) Update(int64, uint64)            {}
func (noProgress) Finish()                         {}
