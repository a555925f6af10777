package report

import (
	"apfsim/reports/format"
	"apfsim/reports/result"
)

// timeline is the time axis of the plots of a run, in a unit that suits the run's length.
type timeline struct {
	axis   Axis
	unitNs float64
	warmup float64 // in that unit
}

func timelineOf(s *result.Summary) timeline {
	unit, unitNs := "s", 1e9
	switch d := float64(s.DurationNs); {
	case d < 2e9:
		unit, unitNs = "ms", 1e6
	case d > 5*3600e9:
		unit, unitNs = "h", 3600e9
	case d > 600e9:
		unit, unitNs = "min", 60e9
	}
	return timeline{
		axis:   Axis{Label: "time", Unit: unit, Max: float64(s.DurationNs) / unitNs, Clock: s.StartNs, UnitNs: unitNs},
		unitNs: unitNs,
		warmup: float64(s.WarmupNs) / unitNs,
	}
}

// plot returns a plot over time without lines. The places are the starts of the intervals, and the
// end of the last one.
func (t timeline) plot(name, title string, y Axis, at []float64) *Plot {
	return &Plot{Name: name, Title: title, X: t.axis, Y: y, Linked: true, Warmup: t.warmup, At: at}
}

// places returns the starts of n intervals, and the end of the last one.
func (t timeline) places(n int, interval func(i int) (startNs, endNs int64)) (at []float64) {
	for i := range n {
		startNs, endNs := interval(i)
		if at = append(at, float64(startNs)/t.unitNs); i == n-1 {
			at = append(at, float64(endNs)/t.unitNs)
		}
	}
	return at
}

// stepValues returns a value for each point, and the last one once more for the place at which its
// step ends.
func stepValues[P any](points []P, value func(*P) float64) (values []float64) {
	for i := range points {
		values = append(values, value(&points[i]))
	}
	return append(values, values[len(values)-1])
}

// marks returns marks of a plot over time.
func (t timeline) marks(all []result.Mark) (marks []Mark) {
	for _, m := range all {
		mark := Mark{At: float64(m.AtNs) / t.unitNs, Kind: KindAdjustment, Text: m.Text}
		if m.Event {
			mark.Kind = KindEvent
		}
		marks = append(marks, mark)
	}
	return marks
}

// clockSteps are the steps of round times of day, in seconds.
var clockSteps = []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600}

// ClockTicks returns round times of day on the axis, at most as many as given.
func (a *Axis) ClockTicks(maxTicks int) (at []float64, labels []string) {
	stepNs := int64(0)
	for _, seconds := range clockSteps {
		if stepNs = int64(seconds * 1e9); a.Max*a.UnitNs/float64(stepNs) <= float64(maxTicks) {
			break
		}
	}
	for ns := stepNs - (int64(a.Clock)-1)%stepNs - 1; float64(ns) <= a.Max*a.UnitNs; ns += stepNs {
		at, labels = append(at, float64(ns)/a.UnitNs), append(labels, a.Clock.Moment(ns))
	}
	return at, labels
}

// Moment writes a place on the axis of a time.
func (a *Axis) Moment(x float64) string {
	if a.Clock == 0 {
		return format.Number(x) + " " + a.Unit
	}
	return a.Clock.Moment(int64(x * a.UnitNs))
}
