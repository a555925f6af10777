package experiment

import (
	"context"

	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// bound repeats a run with the corners of the interval of the capacity of its servers, and adds to its summary between what its statistics lie. A run
// that would be ok is not, if one of these is not.
func bound(ctx context.Context, sc *scenario.Scenario, r *result.Result) error {
	c := sc.Spec.Servers.Capacity
	if c == nil || c.Interval == nil {
		return nil
	}
	corners := c.Corners()
	trials := BeginTrials(ctx, Plan{N: len(corners), Run: func(i int) *scenario.Scenario {
		own := *sc
		own.Spec.Servers.Capacity = corners[i]
		return &own
	}})
	defer trials.Stop()
	var others []*result.Summary
	for range corners {
		t, err := trials.Next()
		if err != nil {
			return err
		}
		others = append(others, t.Summary)
	}
	r.Summary.Bound(others)
	return nil
}
