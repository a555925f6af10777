package experiment

import (
	"context"
	"runtime"
	"time"

	"apfsim/document"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/report"
	"apfsim/sim/scenario"
)

// Precision is the wanted precision of some statistics.
type Precision struct {
	Wanted float64  // greatest half-width of the 95 % interval divided by the mean; 0: no precision is wanted
	Of     []string // names of statistics
}

// Runs are the runs of several scenarios, each with its number of replications.
type Runs struct {
	Groups []*Group // by scenario
	*inOrder[outcome]
}

// Group is the runs of one scenario. With a Precision, the number of runs is not known in advance, so that
// more runs may be started than are necessary. For this reason, runs write no files, their errors
// matter only when Next reaches them, and unnecessary ones are cancelled.
type Group struct {
	*scenario.Scenario
	Replicator *compare.Replicator // of the runs that Next has returned
	// TraceWarnings are the warnings of the replayed traces, which the first run reads. They are complete once Next has
	// returned that run.
	TraceWarnings document.Errors
	// Document is the report of the run that Next has returned last; nil if the run wrote no files.
	Document *report.Document

	runs      *Runs
	files     Outputs
	precision Precision
	taken     int             // number of runs that Next has passed, including unnecessary ones
	enough    context.Context // is cancelled when no more runs are necessary
	stop      context.CancelFunc
}

// outcome is the result of one run.
type outcome struct {
	completed
	err error // of a run that may be unnecessary
}

// RunError is the error of a run that was not completed.
type RunError struct {
	Name string // of the run
	Seed uint64
	Err  error // which names the run
}

// Error implements error.
func (e *RunError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RunError) Unwrap() error { return e.Err }

// Begin starts the runs of all scenarios, in their order, on all cores. Stop must be called at the end.
func Begin(ctx context.Context, all []*scenario.Scenario, files Outputs, precision Precision, progress Progress) *Runs {
	runs := &Runs{}
	n := 0
	for _, sc := range all {
		g := &Group{Scenario: sc, runs: runs, files: files, precision: precision,
			Replicator: compare.NewReplicator(sc.Metadata.Name, precision.Wanted, precision.Of)}
		g.enough, g.stop = context.WithCancel(context.Background()) // not derived from ctx: an interruption does not mean that there are enough runs
		runs.Groups = append(runs.Groups, g)
		n += sc.Spec.Replications
	}
	runs.inOrder = newInOrder(ctx, runtime.GOMAXPROCS(0), n, func(ctx context.Context, i int) (outcome, error) {
		return runs.simulate(ctx, i, progress)
	})
	return runs
}

// Stop cancels the unfinished runs and waits for their end.
func (r *Runs) Stop() { r.inOrder.stop() }

// simulate makes the i-th of all runs.
func (r *Runs) simulate(ctx context.Context, i int, progress Progress) (outcome, error) {
	for _, g := range r.Groups {
		if i < g.Spec.Replications {
			return g.simulate(ctx, i, progress)
		}
		i -= g.Spec.Replications
	}
	panic("experiment: no scenario for a run")
}

// simulate makes the i-th run of the group.
func (g *Group) simulate(ctx context.Context, i int, progress Progress) (outcome, error) {
	own, err := drawn(g.Scenario, i)
	if err != nil {
		return outcome{}, err
	}
	if g.precision.Wanted == 0 {
		run, err := simulate(ctx, own, g.files, progress)
		return outcome{completed: run}, err
	}
	if g.enough.Err() != nil {
		progress.Begin(time.Duration(g.Spec.Duration)).Finish()
		return outcome{}, nil
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.enough, cancel)()
	files := g.files
	files.Dir, files.Bounds, files.EveryFlow = "", false, true // a statistic that must be precise may be that of any flow
	run, err := simulate(running, own, files, progress)
	if err != nil && ctx.Err() != nil { // interrupted: start no more runs
		return outcome{}, err
	}
	return outcome{run, err}, nil
}

// Next returns the next run, in the order of the seeds, or nil if all runs have been returned or the precision
// is reached. The groups must be read in their order, each to its end. The error is a RunError, or that
// of a statistic of the Precision that does not exist.
func (g *Group) Next() (*collect.Replication, error) {
	for g.taken < g.Spec.Replications {
		i := g.taken
		g.taken++
		run, err := g.runs.next()
		if g.enough.Err() != nil && err == nil {
			continue // started in advance and not necessary
		}
		if err == nil {
			err = run.err
		}
		if err != nil {
			own := replication(g.Scenario, i)
			return nil, &RunError{own.Metadata.Name, own.Spec.Seed, err}
		}
		g.TraceWarnings, g.Document = run.warnings, run.document
		g.Replicator.Add(run.Replication)
		if g.precision.Wanted > 0 {
			precise, err := g.Replicator.Precise()
			if err != nil {
				return nil, err
			}
			if precise {
				g.stop()
			}
		}
		return run.Replication, nil
	}
	g.stop()
	return nil, nil
}

// All waits for all runs of the group and returns their combined result.
func (g *Group) All() (*compare.Replications, error) {
	for {
		run, err := g.Next()
		switch {
		case err != nil:
			return nil, err
		case run == nil:
			return g.Replicator.Replications(), nil
		}
	}
}
