package tune

import (
	"context"
	"errors"

	"apfsim/experiment"
	"apfsim/reports/collect"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
)

// draw makes the runs of the picture: the one that the verdict is on and, unless c is nil, one with the same seed and the
// candidate.
func (a *Answer) draw(c *Candidate) (err error) {
	s := a.search
	if a.pictured[0], err = s.series(s.present, s.explained.Seed, 0); err != nil || c == nil {
		return err
	}
	a.pictured[1], err = s.series(c.scenarioOf(s.present), s.explained.Seed, s.mostEvents())
	return err
}

// coarser is how many times as long the intervals of the picture are as those of other reports, because two runs with short
// ones would hide each other.
const coarser = 4

// series makes a run with all that a report shows over time. It is nil if the run has more than most events; 0: any number.
func (s *search) series(sc *scenario.Scenario, seed, most uint64) (r *result.Result, err error) {
	defer experiment.Recover(&err)
	own := s.variant(sc, seed)
	run := sim.New(own)
	measurement := collect.Measure(run, result.Interval(coarser*int64(own.Spec.Duration)))
	ctx, end := context.WithCancel(s.ctx)
	defer end()
	ranAway := false
	err = run.Execute(ctx, func(_ int64, events uint64) {
		if most > 0 && events > most {
			ranAway = true
			end()
		}
	})
	s.runs++
	switch {
	case s.ctx.Err() != nil: // a short run may end without noticing the interruption
		return nil, errors.New("interrupted")
	case ranAway:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return measurement.Result(), nil
}
