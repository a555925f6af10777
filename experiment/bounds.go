package experiment

import (
	"context"

	"apfsim/reports/result"
	"apfsim/sim/machine"
	"apfsim/sim/scenario"
)

// bound runs the scenario again with the least and with the greatest capacity that its servers may have, and adds the
// range of each statistic to the summary. A run whose status is OK loses it if one of these runs is not OK.
func bound(ctx context.Context, sc *scenario.Scenario, r *result.Result) error {
	c := sc.Spec.Servers.Capacity
	if c == nil || c.Interval == nil {
		return nil
	}
	least, greatest := c.Bounds()
	bounds := []*machine.Capacity{least}
	if greatest != nil {
		bounds = append(bounds, greatest)
	}
	trials := BeginTrials(ctx, Plan{N: len(bounds), Run: func(i int) *scenario.Scenario {
		own := *sc
		own.Spec.Servers.Capacity = bounds[i]
		return &own
	}})
	defer trials.Stop()
	var others []*result.Summary
	for range bounds {
		t, err := trials.Next()
		if err != nil {
			return err
		}
		others = append(others, t.Summary)
	}
	r.Summary.Bound(others)
	return nil
}
