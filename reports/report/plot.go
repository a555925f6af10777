package report

import (
	"math"
	"strings"

	"apfsim/reports/format"
)

// Plot is a chart with lines over one axis, or with a map of queues in place of the lines.
type Plot struct {
	Name    string // unique in a report: letters, digits and hyphens
	Title   string
	Subject string // the workload or priority level that the plot is about; "" for several
	Caption string
	X, Y    Axis
	Linked  bool      // plots of one report with this mark are zoomed together along x
	Steps   bool      // a value holds from its place to the next place; the last place only ends the last step
	Warmup  float64   // the end of the warm-up, along x; 0 for none
	At      []float64 // the places of the values along x, in ascending order
	Lines   []Line
	Queues  *QueueMap // nil if there are lines
	Marks   []Mark

	// Transposed says that At runs along y, and the values of the lines with their bounds along x:
	// a distribution that is known by its percentiles.
	Transposed bool
}

// Constant returns what a plot over time says if no line of it ever changes, in a sentence that takes its place; "" if one
// does.
func (p *Plot) Constant() string {
	if !p.Linked || p.Queues != nil || p.Transposed || len(p.Lines) == 0 {
		return ""
	}
	var texts []string
	for i := range p.Lines {
		l := &p.Lines[i]
		x := l.Values[0]
		for _, y := range l.Values {
			if y != x && !(math.IsNaN(x) && math.IsNaN(y)) {
				return ""
			}
		}
		text := "none"
		if !math.IsNaN(x) {
			text = format.ValueText(x, p.Y.Unit, p.Y.Unit == "share")
		}
		texts = append(texts, l.Name+" "+text)
	}
	return p.Title + ": " + strings.Join(texts, ", ") + ", all the time."
}

// Axis is one axis of a plot.
type Axis struct {
	Label    string
	Unit     string     // "ns" is written as a duration, "share" as a percentage; any other unit follows the number
	Log      bool       // values at or below 0 are not drawn
	Min, Max float64    // what a picture shows; 0 and 0 where the values decide
	Ticks    []plotTick // the marked values; nil for round numbers

	// Of a time that is written as a time of day: that at 0, and how long a unit is. Clock is 0 for other axes.
	Clock  format.Clock
	UnitNs float64
}

// plotTick is a marked value of an axis.
type plotTick struct {
	At    float64
	Label string
}

// Line is one line of a plot.
type Line struct {
	Name   string
	Kind   PlotKind
	Index  int       // tells apart the lines of one kind, from 0
	At     []float64 // places of the line's own; nil for those of the plot
	Values []float64 // one for each place; NaN for none

	// Low and High bound the values: a confidence interval, for example. nil for no bounds.
	Low, High []float64
}

// PlotKind says what a line or mark shows. Whatever draws a plot chooses colours and strokes by it.
type PlotKind uint8

const (
	KindCategory       PlotKind = iota // one of several alike, as a workload among workloads
	KindPercentile                     // the percentiles of a workload
	KindBasePercentile                 // those of a workload on the base side of a comparison
	KindSeatsInUse
	KindCurrentLimit
	KindNominalLimit
	KindArrived
	KindDispatched
	KindRejected // the Index is that of the reason
	KindWaiting
	KindJainIndex
	KindOldestWait
	KindWaitP99
	KindWaitMedian
	KindMeasured           // of a live server
	KindReplayed           // of a run with what was measured
	KindPredicted          // of a run without it
	KindService            // a bar
	KindUnderservedService // a bar
	KindFairShare          // a mark on a bar
	KindEvent              // a mark: an event of the scenario
	KindAdjustment         // a mark: an adjustment that moved a limit
)

// Mark is an upright line across a plot.
type Mark struct {
	At   float64 // along x
	Kind PlotKind
	Text string // what happened
}

// QueueMap holds the lengths of queues over time. Interval i lasts from the plot's place i to the
// next one.
type QueueMap struct {
	Queues  int
	Lengths [][]int32 // requests waiting, by interval and queue; nil where all queues are empty
	DealtTo []string  // for each queue, flows that have it in their hands
}

// Longest returns the greatest length of a queue.
func (m *QueueMap) Longest() int32 {
	longest := int32(0)
	for _, lengths := range m.Lengths {
		for _, n := range lengths {
			longest = max(longest, n)
		}
	}
	return longest
}
