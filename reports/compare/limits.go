package compare

import (
	"math"
	"slices"

	"apfsim/reports/result"
)

// LevelLimits are the concurrency limits of a priority level by run, in seats, NaN where they are unknown.
type LevelLimits struct {
	Level   string
	Nominal RunValues
	Current RunValues // when the run ended
}

// SetLimits sets the limits of a run, whose number is its index in Seeds.
func (r *Replications) SetLimits(run int, levels []result.Level) {
	for i := range levels {
		l := &levels[i]
		at := slices.IndexFunc(r.Limits, func(limits LevelLimits) bool { return limits.Level == l.Name })
		if at < 0 {
			at = len(r.Limits)
			r.Limits = append(r.Limits, LevelLimits{Level: l.Name})
		}
		limits := &r.Limits[at]
		limits.Nominal = with(limits.Nominal, run, float64(l.Limits.Nominal))
		limits.Current = with(limits.Current, run, float64(l.Limits.Current))
	}
}

// with sets the value of a run. The values of runs before it that are missing are NaN.
func with(values RunValues, run int, value float64) RunValues {
	for len(values) <= run {
		values = append(values, math.NaN())
	}
	values[run] = value
	return values
}
