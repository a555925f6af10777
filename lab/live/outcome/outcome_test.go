package outcome

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every case is a valid scenario, and its library of cases is not empty.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("../cases/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d cases (%v)", len(files), err)
	}
	for _, file := range files {
		sc, err := Load(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if len(sc.Warnings) > 0 {
			t.Errorf("%s: %v", file, sc.Warnings)
		}
		if want := filepath.Base(file); sc.Metadata.Name+".yaml" != want {
			t.Errorf("%s: the name is %s", file, sc.Metadata.Name)
		}
	}
}

// If a live server were the simulated one, the replay would decide the same: each request waits as long, takes as
// many seats and is rejected for the same reason, and the limits are the same.
func TestReplayRepeatsARun(t *testing.T) {
	for _, name := range []string{"overload", "borrowing"} {
		t.Run(name, func(t *testing.T) {
			file, dir := filepath.Join("..", "cases", name+".yaml"), t.TempDir()
			sc, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			run, err := Simulate(context.Background(), sc, filepath.Join(dir, "requests.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			replay, err := Replay(context.Background(), file, dir, run.Requests, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Requests) < 1000 || len(run.Adjustments) < 4 {
				t.Fatalf("%d requests, %d adjustments; want 1000 and 4 at least", len(run.Requests), len(run.Adjustments))
			}
			if d := cmp.Diff(run, replay); d != "" {
				t.Errorf("run (-), replay (+):\n%.2000s", d)
			}
		})
	}
}
