package result

import (
	"fmt"

	"apfsim/reports/format"
)

// The kinds of reasons to doubt that a run is in steady state.
const (
	NotSteady = "not-steady" // waits and backlog of a priority level have a trend
	Load1     = "load-1"     // the requests that arrived at a level needed at least its seats
	Drift     = "drift"      // a level became overloaded in the last fifth of the window
)

// Unsteady is what was found about a priority level that is not in steady state.
type Unsteady struct {
	Kind   string // NotSteady, Load1 or Drift
	Level  string
	FromNs int64 // the window
	ToNs   int64
	// Load is the seat-seconds that the requests needed that arrived, over those of the current limit: in the window, and
	// for Drift in its last fifth.
	Load     float64
	Scripted bool // the scenario changes the load or the servers by itself

	Waits    [2]float64 // mean wait in the first and in the last fifth; for Drift, before and in the last fifth; ns
	Backlogs [2]float64 // mean number of queued requests, likewise
}

// TrustUnsteady adds the reason to trust statistics of the run less.
func (s *Summary) TrustUnsteady(u *Unsteady) {
	window := fmt.Sprintf("the window from %s to %s", format.Moment(u.FromNs), format.Moment(u.ToNs))
	backlog := fmt.Sprintf("from %s to %s queued requests", format.Number(u.Backlogs[0]), format.Number(u.Backlogs[1]))
	wait := fmt.Sprintf("the mean wait from %s to %s", format.Duration(u.Waits[0]), format.Duration(u.Waits[1]))
	if u.Scripted {
		window += "; the scenario itself changes the load or the configuration during the run"
	}
	text := ""
	switch u.Kind {
	case Load1:
		text = fmt.Sprintf("the requests that arrived at %s needed %.2f times the seat-seconds of its limit, so that waits depend on the length of the run or on the limits of queues; "+
			"the statistics hold for %s", u.Level, u.Load, window)
	case Drift:
		text = fmt.Sprintf("the backlog of %s went %s in the last fifth of the window, in which the requests that arrived needed %.2f times the seat-seconds of its limit; "+
			"the statistics are not those of a steady state and hold for %s", u.Level, backlog, u.Load, window)
	default:
		text = fmt.Sprintf("between the first and the last fifth of the window, the backlog of %s went %s and %s, which is a significant trend; "+
			"the statistics are not those of a steady state and hold for %s", u.Level, backlog, wait, window)
	}
	s.AddTrust(u.Kind, text)
}
