package result

import (
	"apfsim/reports/format"
)

// RequestCount writes a number of requests: "1 request", "24.4 k requests".
func RequestCount(n int64) string {
	if n == 1 {
		return "1 request"
	}
	return format.Quantity(n) + " requests"
}

// Names lists the first flows by name, see listed.
func Names(flows []*Flow, most int, before string) string {
	var all []string
	for _, f := range flows {
		all = append(all, f.Name)
	}
	return format.Listed(all, most, before)
}

func (l *Level) Idle() bool { return l.Arrived == 0 && l.PeakSeats == 0 }
