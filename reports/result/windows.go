package result

import (
	"fmt"

	"apfsim/reports/format"
)

// Text says of which windows a verdict tells.
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
