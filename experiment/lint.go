package experiment

import (
	"context"

	"apfsim/lint"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// MeasureLoad runs a scenario once and returns the load of its priority levels, for the rules of
// package lint that depend on it. It writes no files.
func MeasureLoad(ctx context.Context, sc *scenario.Scenario, progress Progress) (*lint.Load, error) {
	sc.Spec.Replications = 1
	if err := ChooseWarmups(ctx, []*scenario.Scenario{sc}, progress); err != nil {
		return nil, err
	}
	runs := Begin(ctx, []*scenario.Scenario{sc}, Outputs{}, Precision{}, progress)
	defer runs.Stop()
	run, err := runs.Groups[0].Next()
	if err != nil {
		return nil, err
	}
	return loadOf(run.Summary), nil
}

// loadOf returns the load that a summary shows, without the levels at which no request arrived.
func loadOf(s *result.Summary) *lint.Load {
	load := &lint.Load{Scenario: s.Name, Levels: map[string]lint.LevelLoad{}}
	seconds := float64(s.DurationNs-s.WarmupNs) / 1e9
	for _, l := range s.PriorityLevels {
		if l.Arrived == 0 {
			continue
		}
		level := lint.LevelLoad{Arrived: l.Arrived}
		if l.Executed > 0 {
			level.Demand = float64(l.Arrived) / seconds * l.ServiceSeatSeconds / float64(l.Executed)
		}
		if l.Execution != nil {
			level.ExecutionSeconds = float64(l.Execution.MeanNs) / 1e9
		}
		load.Levels[l.Name] = level
	}
	return load
}
