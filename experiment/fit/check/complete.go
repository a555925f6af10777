package check

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// Complete writes a fitted scenario to a file, runs it so many times, and compares it with the recorded requests.
// Workloads whose bursts are not those recorded are replaced by replays, whose requests are written beside the scenario,
// and the scenario is written and compared again. With 0 runs, nothing is compared. Progress is called before each of
// the comparisons.
func Complete(ctx context.Context, f *fit.Fitted, path string, runs int, progress func(*scenario.Scenario) experiment.Progress) (*Report, *scenario.Scenario, error) {
	r := &Report{Report: f.Report}
	for {
		sc, err := write(f, path)
		if err != nil || runs == 0 {
			return r, sc, err
		}
		if r.Check, err = Run(ctx, f, sc, runs, progress(sc)); err != nil {
			return nil, nil, err
		}
		for i, w := range f.Report.Workloads {
			if slices.Contains(w.NotFitted, fit.Bursts) {
				delete(r.Check.missed, i)
			}
		}
		if len(r.Check.missed) == 0 {
			return r, sc, nil
		}
		dir := filepath.Dir(path)
		err = f.Replay(r.Check.missed, func(name string) (io.WriteCloser, error) {
			name = filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				return nil, err
			}
			return os.Create(name)
		})
		if err != nil {
			return nil, nil, err
		}
	}
}

// write writes the scenario and loads it.
func write(f *fit.Fitted, path string) (*scenario.Scenario, error) {
	if err := atomicfile.WriteFile(path, []byte(format.PrintableLines(string(f.Scenario)))); err != nil {
		return nil, err
	}
	sc, err := experiment.LoadOne(path, loader.Options{})
	if err != nil {
		return nil, fmt.Errorf("the fitted scenario is not valid: %w", err)
	}
	return sc, nil
}
