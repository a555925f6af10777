package tune_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"apfsim/experiment"
	"apfsim/experiment/tune"
	"apfsim/internal/atomicfile"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario/loader"
)

// options returns those of the fastest problem, with a folder.
func options(t *testing.T, dir string) tune.Options {
	t.Helper()
	sc, err := experiment.LoadOne(filepath.Join("testdata", problems[fastest].file+".yaml"), loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sc.Spec.Warmup.Duration, sc.Spec.Duration = quantity.Duration(2*time.Second), quantity.Duration(12*time.Second)
	return tune.Options{Scenario: sc, Kinds: []string{"queues", "lending"}, Probability: 0.8, Confidence: 0.8, Budget: 2000, Dir: dir, Version: "test"}
}

// write runs a search and returns the files of its answer by name.
func write(t *testing.T, o tune.Options) map[string]string {
	t.Helper()
	a, err := tune.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var set atomicfile.Set
	defer set.Discard()
	if err := a.Write(&set, o.Dir); err != nil {
		t.Fatal(err)
	}
	if err := set.Commit(); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range tune.Files {
		text, err := os.ReadFile(filepath.Join(o.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return files
}

func sameFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s differs:\n%s\nwant:\n%s", name, got[name], want[name])
		}
	}
}

// A search that is killed in the middle, with half a line in its file, continues where it was and gives the same files.
// So do two machines with a part of the candidates each.
func TestSearchContinuesAndIsShared(t *testing.T) {
	want := write(t, options(t, t.TempDir()))
	trials := strings.SplitAfter(want[tune.TrialsFile], "\n")

	t.Run("killed", func(t *testing.T) {
		o := options(t, t.TempDir())
		ctx, kill := context.WithCancel(t.Context())
		o.Progress = func(done, _ int) {
			if done == 1 {
				kill()
			}
		}
		if _, err := tune.Run(ctx, o); err == nil {
			t.Fatal("the search ended although it was killed")
		}
		path := filepath.Join(o.Dir, tune.TrialsFile)
		left, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(left), "\n"); n < 2 || n >= len(trials)-2 {
			t.Fatalf("%d lines are left; want some, and fewer than %d", n, len(trials)-2)
		}
		if err := os.WriteFile(path, append(left, `{"candidate":"handS`...), 0o666); err != nil {
			t.Fatal(err)
		}
		o.Progress = nil
		sameFiles(t, write(t, o), want)
	})
	t.Run("shared", func(t *testing.T) {
		var dirs []string
		for i := range 2 {
			o := options(t, t.TempDir())
			o.Part = experiment.Shard{Index: i, Of: 2}
			if n, err := tune.RunPart(t.Context(), o); err != nil || n == 0 {
				t.Fatalf("part %d made %d runs: %v", i, n, err)
			}
			dirs = append(dirs, o.Dir)
		}
		o := options(t, t.TempDir())
		var set atomicfile.Set
		defer set.Discard()
		if _, err := tune.MergeTrials(&set, dirs, o.Dir); err != nil {
			t.Fatal(err)
		}
		if err := set.Commit(); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, write(t, o), want)
	})
	t.Run("another search", func(t *testing.T) {
		o := options(t, t.TempDir())
		text := strings.Replace(strings.Join(trials[:len(trials)-2], ""), `"seed":1`, `"seed":2`, 1) // without the line of its end
		if err := os.WriteFile(filepath.Join(o.Dir, tune.TrialsFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := tune.Run(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "seed was 2, and is 1 now") {
			t.Errorf("got %v; want an error that says how the search differs", err)
		}
	})
	t.Run("after another search that has ended", func(t *testing.T) {
		o := options(t, t.TempDir())
		text := strings.Replace(want[tune.TrialsFile], `"seed":1`, `"seed":2`, 1)
		if err := os.WriteFile(filepath.Join(o.Dir, tune.TrialsFile), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		sameFiles(t, write(t, o), want)
	})
}
