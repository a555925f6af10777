package experiment

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"apfsim/document"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
)

const (
	// pilots is how many runs a warm-up is chosen from. The mean of some runs shows the beginning, which they have in
	// common, more clearly than one run does (P. D. Welch, "The statistical analysis of simulation results", 1983).
	pilots = 5

	// What chooses a warm-up, see scenario.Warmup.By.
	byMSER5 = "MSER-5"
	byOther = "other side"
)

// PilotRuns returns how many runs ChooseWarmups makes of the scenario.
func PilotRuns(sc *scenario.Scenario) int {
	if w := &sc.Spec.Warmup; w.Auto && w.By == "" {
		return pilots
	}
	return 0
}

// ChooseWarmups replaces the warm-up auto of the scenarios by a duration. It runs each of them with its first seeds,
// however many replications there will be, so that the duration depends on nothing but the scenario and its first seed.
// Runs with the duration then have exactly the statistics of runs for which it is given. The duration is what MSER-5 leaves out
// of the mean number of requests at a priority level, waiting or executing, in the intervals of the series, averaged
// over the runs: the longest of all levels at which enough requests arrived.
func ChooseWarmups(ctx context.Context, all []*scenario.Scenario, progress Progress) error {
	var toChoose []*scenario.Scenario
	for _, sc := range all {
		if PilotRuns(sc) > 0 {
			toChoose = append(toChoose, sc)
		}
	}
	runs := newInOrder(ctx, runtime.GOMAXPROCS(0), pilots*len(toChoose), func(ctx context.Context, i int) ([]collect.Occupancy, error) {
		return pilot(ctx, toChoose[i/pilots], uint64(i%pilots), progress)
	})
	defer runs.stop()
	for _, sc := range toChoose {
		var sum []collect.Occupancy
		for range pilots {
			next, err := runs.next()
			if err != nil {
				return err
			}
			sum = addOccupancies(sum, next)
		}
		chooseWarmup(sc, sum)
	}
	return nil
}

// pilot runs the scenario with its i-th seed and returns the series of its levels.
func pilot(ctx context.Context, sc *scenario.Scenario, i uint64, progress Progress) (all []collect.Occupancy, err error) {
	own := *sc
	own.Spec.Seed += i
	own.Spec.Warmup = scenario.Warmup{}
	defer func() {
		var wrong document.Errors
		if err != nil && !errors.As(err, &wrong) {
			err = fmt.Errorf("%s: choosing the warm-up, seed %d: %w", own.Metadata.Name, own.Spec.Seed, err)
		}
	}()
	defer Recover(&err)
	boundHeap(&own)
	run := sim.New(&own)
	c := collect.NewOfServers(&own, run.Servers(), result.Interval(int64(own.Spec.Duration)))
	run.Observe(c.Observer())
	p := progress.Begin(time.Duration(own.Spec.Duration))
	err = run.Execute(ctx, p.Update)
	if ctx.Err() != nil { // a short run may end without noticing the interruption
		return nil, errors.New("interrupted")
	}
	if err != nil {
		return nil, err
	}
	p.Finish()
	return c.Occupancies(), nil
}

// addOccupancies adds the series of a run to those of others. The order is that in which the levels first appear.
func addOccupancies(sum, next []collect.Occupancy) []collect.Occupancy {
	for _, o := range next {
		found := false
		for i := range sum {
			if sum[i].Level != o.Level {
				continue
			}
			found = true
			sum[i].Arrived += o.Arrived
			for k := range sum[i].Mean {
				sum[i].Mean[k] += o.Mean[k]
			}
		}
		if !found {
			sum = append(sum, o)
		}
	}
	return sum
}

// chooseWarmup sets the warm-up from the sums of the pilots' series.
func chooseWarmup(sc *scenario.Scenario, sum []collect.Occupancy) {
	intervalNs := result.Interval(int64(sc.Spec.Duration))
	w := &sc.Spec.Warmup
	w.By = byMSER5
	chosen := false
	for i := range sum {
		if sum[i].Arrived < pilots*collect.Settled {
			continue
		}
		chosen = true
		leave, ok := measure.MSER5(sum[i].Mean)
		w.Duration = max(w.Duration, quantity.Duration(int64(leave)*intervalNs))
		switch {
		case len(sum[i].Mean) < measure.LeastMSER5:
			w.Doubt = fmt.Sprintf("the run is too short for MSER-5, which needs %d intervals of %s", measure.LeastMSER5, format.Moment(intervalNs))
		case !ok:
			w.Doubt = fmt.Sprintf("the run is too short for MSER-5, which finds the least standard error of %s outside the first half", result.LevelText(sum[i].Level))
		}
	}
	if !chosen {
		w.Doubt = fmt.Sprintf("MSER-5 leaves nothing out, because fewer than %d requests arrive at each priority level", collect.Settled)
	}
}

// WarmupText states the warm-up that has been chosen for a scenario, and why it may be wrong.
func WarmupText(sc *scenario.Scenario) string {
	w := &sc.Spec.Warmup
	text := "warm-up " + format.Moment(int64(w.Duration)) + " by " + w.By
	if w.Doubt != "" {
		text += "; " + w.Doubt
	}
	return text
}

// AlignWarmups gives the sides of a comparison the same window: each scenario whose warm-up has been chosen gets the
// longest one of all scenarios and results, if it is that long. Given warm-ups stay as they are.
func AlignWarmups(all []*scenario.Scenario, results ...*compare.Replications) {
	var longest quantity.Duration
	by := byOther
	for _, sc := range all {
		longest = max(longest, sc.Spec.Warmup.Duration)
	}
	for _, r := range results {
		if r != nil {
			longest = max(longest, quantity.Duration(r.WarmupNs))
		}
	}
	for _, sc := range all {
		if w := &sc.Spec.Warmup; w.Auto && w.Duration == longest {
			by = byMSER5
		}
	}
	for _, sc := range all {
		if w := &sc.Spec.Warmup; w.Auto && w.Duration < longest && longest < sc.Spec.Duration {
			w.Duration, w.By = longest, by
		}
	}
}
