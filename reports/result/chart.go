package result

import (
	"apfsim/reports/format"
)

// LevelTitle names a level in a chart; the one without a name is what flow control does not see.
func LevelTitle(s *Summary, name string) string {
	switch {
	case name != "":
		return format.Shorten(format.Printable(name), 60)
	case s.FlowControl == "PriorityAndFairness":
		return "past flow control"
	default:
		return "all requests"
	}
}
