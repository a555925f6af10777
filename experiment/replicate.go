package experiment

import (
	"context"
	"runtime"
	"time"

	"apfsim/reports/collect"
	"apfsim/reports/replicate"
	"apfsim/sim/scenario"
)

// Precision is how narrow the 95 % intervals of some statistics are to become.
type Precision struct {
	Wanted float64  // half-width over mean, at most; 0: nothing is wanted
	Of     []string // names of statistics
}

// Runs are those of some scenarios, each as often as its replications say.
type Runs struct {
	Groups []*Group // by scenario
	*inOrder[outcome]
}

// Group is the runs of one scenario. While nobody knows how many runs it takes to be precise,
// there may be some too many: they leave no files, an error of theirs counts only when their
// turn has come, and they end when it turns out that they are not needed.
type Group struct {
	*scenario.Scenario
	Together *replicate.Replicator // of those that Next has returned

	runs      *Runs
	files     Outputs
	precision Precision
	taken     int             // of the runs, including those that are not needed
	enough    context.Context // ends when no more runs are needed
	stop      context.CancelFunc
}

// outcome is what came of one run.
type outcome struct {
	*collect.Replication
	err error // of a run that may turn out not to be needed
}

// RunError is why a run has not come to its end.
type RunError struct {
	Name string // of the run
	Seed uint64
	Err  error // which names the run
}

// Error implements error.
func (e *RunError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *RunError) Unwrap() error { return e.Err }

// Begin begins the runs of all scenarios, in their order, on all cores. Stop must be called in
// the end.
func Begin(ctx context.Context, all []*scenario.Scenario, files Outputs, precision Precision, progress Progress) *Runs {
	runs := &Runs{}
	n := 0
	for _, sc := range all {
		g := &Group{Scenario: sc, runs: runs, files: files, precision: precision,
			Together: replicate.New(sc.Metadata.Name, precision.Wanted, precision.Of)}
		g.enough, g.stop = context.WithCancel(context.Background()) // an interruption is not it
		runs.Groups = append(runs.Groups, g)
		n += sc.Spec.Replications
	}
	runs.inOrder = newInOrder(ctx, runtime.GOMAXPROCS(0), n, func(ctx context.Context, i int) (outcome, error) {
		return runs.simulate(ctx, i, progress)
	})
	return runs
}

// Stop ends the runs that still go on, and returns when they have ended.
func (r *Runs) Stop() { r.inOrder.stop() }

// simulate does the i-th of all runs.
func (r *Runs) simulate(ctx context.Context, i int, progress Progress) (outcome, error) {
	for _, g := range r.Groups {
		if i < g.Spec.Replications {
			return g.simulate(ctx, i, progress)
		}
		i -= g.Spec.Replications
	}
	panic("experiment: no scenario for a run")
}

// simulate does the i-th run of the group.
func (g *Group) simulate(ctx context.Context, i int, progress Progress) (outcome, error) {
	own := replication(g.Scenario, i)
	if g.precision.Wanted == 0 {
		run, err := simulate(ctx, own, g.files, progress)
		return outcome{Replication: run}, err
	}
	if g.enough.Err() != nil {
		progress.Begin(time.Duration(g.Spec.Duration)).Finish()
		return outcome{}, nil
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.enough, cancel)()
	files := g.files
	files.Dir = ""
	run, err := simulate(running, own, files, progress)
	if err != nil && ctx.Err() != nil { // interrupted: no more are to be begun
		return outcome{}, err
	}
	return outcome{run, err}, nil
}

// Next returns the next run, in the order of the seeds; nil when there are no more, as all are
// done or enough for the precision. The groups must be gone through in their order, each to its
// end. The error is a RunError, or says what is wrong with a name of the precision's.
func (g *Group) Next() (*collect.Replication, error) {
	for g.taken < g.Spec.Replications {
		i := g.taken
		g.taken++
		run, err := g.runs.next()
		if g.enough.Err() != nil && err == nil {
			continue // begun ahead, and not needed
		}
		if err == nil {
			err = run.err
		}
		if err != nil {
			own := replication(g.Scenario, i)
			return nil, &RunError{own.Metadata.Name, own.Spec.Seed, err}
		}
		g.Together.Add(run.Replication)
		if g.precision.Wanted > 0 {
			precise, err := g.Together.Precise()
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

// All goes through the runs to their end, and returns what they say together.
func (g *Group) All() (*replicate.Replications, error) {
	for {
		run, err := g.Next()
		switch {
		case err != nil:
			return nil, err
		case run == nil:
			return g.Together.Replications(), nil
		}
	}
}
