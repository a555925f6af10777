package result

import (
	"fmt"

	"apfsim/reports/format"
)

// Ran says in a few words what was simulated.
func Ran(s *Summary) string {
	text := format.Window(s.DurationNs, s.WarmupNs, s.FlowControl)
	if s.AdjustmentPhaseNs > 0 {
		text += ", adjustment phase " + format.Duration(float64(s.AdjustmentPhaseNs))
	}
	return fmt.Sprintf("%s, seed %d", text, s.Seed)
}

// Found writes the value of a threshold, or why it has none.
func (v *Verdict) Found() string {
	text := v.ValueText()
	if v.Windows != nil {
		text += " " + v.Windows.Text()
	}
	return text
}

func (v *Verdict) ValueText() string {
	if v.Value == nil {
		return v.Note
	}
	return format.BesideLimit(*v.Value, v.Limit, v.Unit, format.InPercent(v.Expression))
}
