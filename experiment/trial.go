package experiment

import (
	"context"
	"errors"
	"runtime"

	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
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
	// Ended is the index of the threshold that could not hold any more, for which the run was ended; -1 otherwise.
	Ended int
	// Events is how many events the run had, and RanAway says that it was ended because they were too many. Clients that
	// send the next request as soon as one is rejected have no end of them.
	Events  uint64
	RanAway bool
}

// Passed says whether all thresholds held.
func (t *Trial) Passed() bool { return t.Ended < 0 && !t.RanAway && t.Summary.Passed }

// Failed returns the indices of the thresholds that did not hold. Of a run that was ended early, it is the one that is
// known.
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

// BeginTrials starts n runs with the seeds from first on. With early, a run ends as soon as a threshold cannot hold any
// more, where that is known from a single request. A run with more events than most is ended; 0: none is. Stop must be called at the end.
func BeginTrials(ctx context.Context, sc *scenario.Scenario, first uint64, n int, early bool, most uint64) *Trials {
	boundHeap(sc)
	return &Trials{newInOrder(ctx, runtime.GOMAXPROCS(0), n, func(ctx context.Context, i int) (*Trial, error) {
		own := *sc
		own.Spec.Seed = first + uint64(i)
		return try(ctx, &own, early, most)
	})}
}

// Next returns the next run. It may be called n times.
func (t *Trials) Next() (*Trial, error) { return t.runs.next() }

// Stop cancels the runs that have not been taken and waits for their end.
func (t *Trials) Stop() { t.runs.stop() }

// try makes one run.
func try(ctx context.Context, sc *scenario.Scenario, early bool, most uint64) (t *Trial, err error) {
	defer nameRun(&err, sc)
	defer Recover(&err)
	run := sim.New(sc)
	measurement := collect.Measure(run, result.Interval(int64(sc.Spec.Duration)))
	running, end := context.WithCancel(ctx)
	defer end()
	t = &Trial{Seed: sc.Spec.Seed, Ended: -1}
	if early {
		for i := range sc.Spec.Thresholds {
			if o := endsWith(sc, &sc.Spec.Thresholds[i], func() {
				if t.Ended < 0 {
					t.Ended = i
					end()
				}
			}); o != nil {
				run.Observe(*o)
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
	t.Replication = collect.NewReplication(measurement.Result())
	return t, nil
}

// endsWith returns the observer that calls end when a threshold cannot hold any more; nil if no single request decides
// that. One does if the threshold says that no request is rejected or not served.
func endsWith(sc *scenario.Scenario, t *metric.Threshold, end func()) *server.Observer {
	none := t.Limit == 0 && (t.Op == "==" || t.Op == "<=") && (t.Stat == "rate" || t.Stat == "count")
	if !none || t.Over > 0 || t.Metric != "rejected" && t.Metric != "notServed" {
		return nil
	}
	for _, tag := range t.Tags {
		if tag.Name != metric.TagWorkload {
			return nil
		}
	}
	name, fromNs := t.Tag(metric.TagWorkload), int64(sc.Spec.Warmup.Duration)
	return &server.Observer{Rejected: func(_ int64, r *server.Request) {
		if r.ArrivalNs >= fromNs && (name == "" || sc.Spec.Workload[r.Workload].Name == name) {
			end()
		}
	}}
}
