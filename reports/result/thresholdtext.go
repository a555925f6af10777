package result

import (
	"fmt"

	"apfsim/reports/format"
)

// Ran returns a short description of what was simulated.
func Ran(s *Summary) string {
	text := format.Window(s.DurationNs, s.WarmupNs, s.WarmupBy, s.FlowControl)
	if s.AdjustmentPhaseNs > 0 {
		text += ", adjustment phase " + format.Duration(float64(s.AdjustmentPhaseNs))
	}
	return s.After(fmt.Sprintf("%s, seed %d", text, s.Seed))
}

// Found writes the value of a threshold and its window, or why there is no value.
func (v *Verdict) Found() string {
	text := v.ValueText()
	if v.Windows != nil {
		text += " " + v.Windows.Text()
	}
	return text
}

// ValueText writes the value with its unit, or why there is none.
func (v *Verdict) ValueText() string {
	if v.Value == nil {
		return v.Note
	}
	text := format.BesideLimit(*v.Value, v.Limit, v.Unit, format.InPercent(v.Expression))
	if v.AtLeast {
		return "≥ " + text
	}
	return text
}

// Notes of a threshold that has no value.
const (
	NoSuchFlow  = "no such flow appeared"
	NoSuchLevel = "the priority level did not exist"
)

// Text says which windows the verdict is about.
func (w *Windows) Text() string {
	if w.WorstFromNs == nil {
		return "in any window"
	}
	which := "the only window"
	if w.Judged > 1 {
		which = fmt.Sprintf("the worst of %d windows", w.Judged)
	}
	text := fmt.Sprintf("in %s, from %s", which, format.Duration(float64(*w.WorstFromNs)))
	if w.Failed > 0 {
		text += fmt.Sprintf("; %d failed", w.Failed)
	}
	return text
}
