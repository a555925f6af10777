package experiment

import (
	"context"
	"errors"
	"runtime"

	"apfsim/reports/collect"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
)

// Trials are runs of one scenario with consecutive seeds, of which the caller takes as many as it needs, in the order
// of the seeds. Some more may be started in advance, so that all cores are busy.
type Trials struct {
	runs *inOrder[*Trial]
}

// Trial is one of the runs.
type Trial struct {
	Seed uint64
	// Replication has the results; nil if the run was ended early.
	*collect.Replication
	// Phases are what was counted before, during and after the rollouts of the scenario; nil without any, and if the run
	// was ended early.
	Phases *collect.Phases
	// Ended is the index of the threshold that could not hold any more, for which the run was ended; -1 otherwise.
	Ended int
	// Events is the number of events of the run. RanAway says that the run was ended because it exceeded
	// Plan.MostEvents: clients that send the next request as soon as one is rejected can go on for ever.
	Events  uint64
	RanAway bool
}

// Passed says whether all thresholds held.
func (t *Trial) Passed() bool { return t.Ended < 0 && !t.RanAway && t.Summary.Passed }

// Failed returns the indices of the thresholds that did not hold. Of a run that was ended early, only the threshold
// that ended it is known.
func (t *Trial) Failed() (all []int) {
	switch {
	case t.Ended >= 0:
		return []int{t.Ended}
	case t.RanAway:
		return nil
	}
	for i := range t.Summary.Thresholds {
		if !t.Summary.Thresholds[i].Passed {
			all = append(all, i)
		}
	}
	return all
}

// Plan says which runs are made and when one of them is ended.
type Plan struct {
	N   int                            // how many
	Run func(i int) *scenario.Scenario // the i-th, with its seed
	// Early ends a run as soon as one of its thresholds cannot hold any more. Sent returns how many requests of each workload
	// arrive at most after the warm-up in the i-th run, as far as that is known; nil: it is not known.
	Early bool
	Sent  func(i int) map[string]int64
	// MostEvents is how many events a run may have before it is ended; 0: any number.
	MostEvents uint64
}

// BeginTrials starts the runs of a plan. Stop must be called at the end.
func BeginTrials(ctx context.Context, p Plan) *Trials {
	return &Trials{newInOrder(ctx, runtime.GOMAXPROCS(0), p.N, func(ctx context.Context, i int) (*Trial, error) {
		sc := p.Run(i)
		boundHeap(sc)
		var sent map[string]int64
		if p.Sent != nil {
			sent = p.Sent(i)
		}
		return try(ctx, sc, p.Early, sent, p.MostEvents)
	})}
}

// Next returns the next run. It may be called n times.
func (t *Trials) Next() (*Trial, error) { return t.runs.next() }

// Stop cancels the runs that have not been taken and waits for their end.
func (t *Trials) Stop() { t.runs.stop() }

// try makes one run.
func try(ctx context.Context, sc *scenario.Scenario, early bool, sent map[string]int64, most uint64) (t *Trial, err error) {
	defer nameRun(&err, sc)
	defer Recover(&err)
	run := sim.New(sc)
	measurement := collect.Measure(run, result.Interval(int64(sc.Spec.Duration)))
	running, end := context.WithCancel(ctx)
	defer end()
	t = &Trial{Seed: sc.Spec.Seed, Ended: -1}
	phases := collect.NewPhases(sc)
	if phases != nil {
		run.Observe(phases.Observer())
	}
	if early {
		for i := range sc.Spec.Thresholds {
			f := newEarlyFailure(sc, &sc.Spec.Thresholds[i], sent, func() {
				if t.Ended < 0 {
					t.Ended = i
					end()
				}
			})
			if f != nil {
				run.Observe(f.observer())
			}
		}
	}
	err = run.Execute(running, func(_ int64, events uint64) {
		if t.Ended < 0 && !t.RanAway {
			t.Events = events
			if t.RanAway = most > 0 && events > most; t.RanAway {
				end()
			}
		}
	})
	switch {
	case ctx.Err() != nil: // a short run may end without noticing the interruption
		return nil, errors.New("interrupted")
	case t.Ended >= 0 || t.RanAway: // likewise, and the results depend on when it noticed
		return t, nil
	case err != nil:
		return nil, err
	}
	r := measurement.Result()
	judge.Verdict(r)
	t.Replication, t.Phases = collect.NewReplication(r), phases
	return t, nil
}
