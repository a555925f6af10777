package result

import (
	"fmt"
	"math"
	"slices"

	"apfsim/reports/format"
)

// The kinds of reasons to doubt that a run is in steady state.
const (
	NotSteady = "not-steady" // waits and backlog of a priority level have a trend
	Load1     = "load-1"     // the requests that arrived at a level needed at least its seats
	Drift     = "drift"      // a level became overloaded in the last fifth of the window
	Backlog   = "backlog"    // many requests waited at a level when the run ended
)

// ShortWarmupID is the kind of the reason that the warm-up may be too short.
const ShortWarmupID = "short-warmup"

// DependsOnWindow says whether a reason means that the statistics hold only for the window of the run.
func DependsOnWindow(id string) bool {
	return slices.Contains([]string{NotSteady, Load1, Drift, Backlog, ShortWarmupID}, id)
}

// Unsteady is what was found about a priority level that is not in steady state.
type Unsteady struct {
	Kind   string // NotSteady, Load1, Drift or Backlog
	Level  string
	FromNs int64 // the window
	ToNs   int64
	// Load is the seat-seconds that the requests needed that arrived, over those of the current limit: in the window, and
	// for Drift in its last fifth.
	Load     float64
	Scripted bool // the scenario changes the load or the servers by itself

	Waits    [2]float64 // mean wait in the first and in the last fifth; for Drift, before and in the last fifth; ns
	Backlogs [2]float64 // mean number of queued requests, likewise

	Waiting  int64   // requests that waited when the run ended; 0 if they are not many
	ServedIn float64 // how long the level takes to dispatch as many, in seconds; +Inf if it dispatched none
}

// TrustUnsteady adds the reason to trust statistics of the run less.
func (s *Summary) TrustUnsteady(u *Unsteady) {
	window := fmt.Sprintf("the window from %s to %s", s.StartNs.Moment(u.FromNs), s.StartNs.Moment(u.ToNs))
	if u.Scripted {
		window += "; the scenario itself changes the load or the configuration during the run"
	}
	backlog := fmt.Sprintf("from %s to %s queued requests", format.Number(u.Backlogs[0]), format.Number(u.Backlogs[1]))
	load := fmt.Sprintf("needed %.2f times the seat-seconds of its limit", u.Load)
	if math.IsInf(u.Load, 1) {
		load = "waited for seats, of which it had none"
	}
	text := ""
	switch u.Kind {
	case Load1:
		text = fmt.Sprintf("the requests that arrived at %s %s, so that waits depend on the length of the run or on the limits of queues", u.Level, load)
	case Drift:
		text = fmt.Sprintf("the backlog of %s went %s in the last fifth of the window, in which the requests that arrived %s", u.Level, backlog, load)
	case NotSteady:
		text = fmt.Sprintf("between the first and the last fifth of the window, the backlog of %s went %s and the mean wait from %s to %s, which is a significant trend",
			u.Level, backlog, format.Duration(u.Waits[0]), format.Duration(u.Waits[1]))
	case Backlog:
		text = "the waits of requests that the run did not see to their end are known only in part"
	}
	if u.Waiting > 0 {
		waiting := fmt.Sprintf("%s waited at %s when the run ended", RequestCount(u.Waiting), u.Level)
		if !math.IsInf(u.ServedIn, 1) {
			waiting += ", as many as it dispatches in " + format.Duration(u.ServedIn*1e9)
		}
		if u.Kind == Backlog {
			text = waiting + "; " + text
		} else {
			text += "; " + waiting
		}
	}
	if u.Kind == Drift || u.Kind == NotSteady {
		text += "; the statistics are not those of a steady state and hold for " + window
	} else {
		text += "; the statistics hold for " + window
	}
	s.AddTrust(u.Kind, text)
	s.Verdict.Trust[len(s.Verdict.Trust)-1].Level = u.Level
}

// ShortWarmup says why a given warm-up is too short for a priority level.
type ShortWarmup struct {
	Level    string // "" without priority levels
	WarmupNs int64
	EnoughNs int64 // a warm-up that would do

	// RelaxationNs is the time in which the autocorrelation of the number of requests at the level falls to 1/e. It is 0 if
	// the beginning of the window differs from the rest: then Early and Rest are the mean numbers of requests up to EnoughNs
	// and after it.
	RelaxationNs float64
	Early, Rest  float64
}

// LevelText returns the name of a priority level, and what stands for it without priority levels.
func LevelText(name string) string {
	if name == "" {
		return "the servers"
	}
	return name
}

// TrustShortWarmup adds the reason to trust statistics of the run less.
func (s *Summary) TrustShortWarmup(w *ShortWarmup) {
	level := LevelText(w.Level)
	text := fmt.Sprintf("the mean number of requests at %s is %s from %s to %s and %s after it, and MSER-5 leaves out the beginning",
		level, format.Number(w.Early), s.StartNs.Moment(w.WarmupNs), s.StartNs.Moment(w.EnoughNs), format.Number(w.Rest))
	if w.RelaxationNs > 0 {
		text = fmt.Sprintf("the number of requests at %s, which is 0 when the run begins, settles in about %s (autocorrelation 1/e)", level, format.Duration(w.RelaxationNs))
	}
	text += fmt.Sprintf("; the warm-up is %s, and %s would do", format.Moment(w.WarmupNs), format.Moment(w.EnoughNs))
	if w.EnoughNs > s.DurationNs/2 {
		text += ", in a longer run"
	}
	s.AddTrust(ShortWarmupID, text)
	s.Verdict.Trust[len(s.Verdict.Trust)-1].Level = w.Level
}

// Growth says which measures of a priority level increased during the window: those for which the test of Mann and Kendall
// for a trend, over twenty batches, has p < 0.01.
type Growth struct {
	Waits   bool // the mean wait
	Backlog bool // the mean number of queued requests
}

// Text says what grew: waits, backlog or both. It is "" if nothing did.
func (g *Growth) Text() string {
	switch {
	case g == nil:
		return ""
	case g.Waits && g.Backlog:
		return "waits and backlog grew"
	case g.Waits:
		return "waits grew"
	case g.Backlog:
		return "the backlog grew"
	}
	return ""
}
