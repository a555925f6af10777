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

// Complete writes a fitted scenario to a file, runs it so many times, and compares it with the recorded requests (Settle).
// Workloads whose bursts are not those recorded are replaced by replays, whose requests are written beside the scenario,
// and the scenario is written and compared again. With 0 runs, nothing is compared. Progress is called before each of
// the comparisons.
func Complete(ctx context.Context, f *fit.Fitted, path string, runs int, progress func(*scenario.Scenario) experiment.Progress) (*Report, *scenario.Scenario, error) {
	if runs == 0 {
		sc, err := write(f, path)
		return &Report{Report: f.Report}, sc, err
	}
	for {
		var sc *scenario.Scenario
		var c *Check
		var err error
		if f, sc, c, err = Settle(ctx, f, path, runs, progress); err != nil {
			return nil, nil, err
		}
		for i, w := range f.Report.Workloads {
			if slices.Contains(w.NotFitted, fit.Bursts) {
				delete(c.missed, i)
			}
		}
		if len(c.missed) == 0 {
			return &Report{Report: f.Report, Check: c}, sc, nil
		}
		dir := filepath.Dir(path)
		err = f.Replay(c.missed, func(name string) (io.WriteCloser, error) {
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

// Settle writes a fitted scenario to a file, runs it so many times, and compares it with the recorded requests. If it has a capacity that was estimated, and
// disagrees with the log, the capacity is unknown, and the scenario is fitted again.
func Settle(ctx context.Context, f *fit.Fitted, path string, runs int, progress func(*scenario.Scenario) experiment.Progress) (*fit.Fitted, *scenario.Scenario, *Check, error) {
	for {
		sc, err := write(f, path)
		if err != nil {
			return nil, nil, nil, err
		}
		c, err := Run(ctx, f, sc, runs, progress(sc))
		if err != nil {
			return nil, nil, nil, err
		}
		if k := f.Report.Capacity; c.Disagrees == "" || k.Given {
			return f, sc, c, nil
		}
		if f, err = f.WithoutCapacity("a scenario with the one that the log suggests is not like the log: " + c.Disagrees); err != nil {
			return nil, nil, nil, err
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
