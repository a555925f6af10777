package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// coursesDrawn is how many workloads have their waits over time drawn.
const coursesDrawn = 12

// drawnCourses returns the workloads whose requests waited, in the scenario's order; of many, those
// with the longest waits. The sentence says which are left out.
func drawnCourses(r *Result) (drawn []*WorkloadSeries, leftOut string) {
	for _, s := range r.Courses {
		if s.Waited() {
			drawn = append(drawn, s)
		}
	}
	idle := len(r.Courses) - len(drawn)
	if n := len(drawn); n > coursesDrawn {
		longest := slices.Clone(drawn)
		slices.SortStableFunc(longest, func(a, b *WorkloadSeries) int { return -cmp.Compare(a.longestNs(), b.longestNs()) })
		drawn = slices.DeleteFunc(drawn, func(s *WorkloadSeries) bool { return !slices.Contains(longest[:coursesDrawn], s) })
		leftOut = fmt.Sprintf(" Of %d workloads whose requests waited, the %d with the longest waits are drawn.", n, coursesDrawn)
	}
	if idle > 0 && len(drawn) > 0 {
		leftOut += fmt.Sprintf(" %s not drawn: no request waited.", pluralIs(idle, "workload"))
	}
	return drawn, leftOut
}

// pluralIs returns "1 workload is", or "3 workloads are".
func pluralIs(n int, what string) string {
	if n == 1 {
		return counted(n, what) + " is"
	}
	return counted(n, what) + " are"
}

func (s *WorkloadSeries) longestNs() int64 {
	longest := int64(0)
	for i := range s.Points {
		longest = max(longest, s.Points[i].WaitP99Ns, s.Points[i].OldestWaitNs)
	}
	return longest
}

// p50, p99 and oldestWait are the values that are drawn of a point, in nanoseconds; NaN for none.
func (p *WorkloadPoint) p50() float64        { return p.ofWaits(p.WaitP50Ns) }
func (p *WorkloadPoint) p99() float64        { return p.ofWaits(p.WaitP99Ns) }
func (p *WorkloadPoint) oldestWait() float64 { return float64(p.OldestWaitNs) }

func (p *WorkloadPoint) ofWaits(ns int64) float64 {
	if p.Waits == 0 {
		return math.NaN()
	}
	return float64(ns)
}

const (
	waitsCaption  = "The median and the 99th percentile of the waits of the requests that arrived in an interval, and how long the request that waits longest has waited at its end. "
	marksCaption  = "Upright lines mark the scenario's events (solid) and adjustments that moved the limit of a priority level of the workload by 5 % or more (dashed)."
	oldestWaiting = "longest waiting so far"
)

// waitsChart draws the waits of each workload over time, nil when none waited.
func waitsChart(r *Result) *Chart {
	drawn, leftOut := drawnCourses(r)
	median, tail, event := lineStyle(blue, 1.3, nil), lineStyle(rose, 1.3, nil), lineStyle(soft, 0.9, nil)
	adjustment := lineStyle(soft, 0.7, []vg.Length{2, 2})
	c := &Chart{Name: "wait-over-time", Title: "Waits over time",
		Caption: waitsCaption + marksCaption + " The warm-up is shaded." + leftOut,
		legend: []legendEntry{{name: "median", line: median}, {name: "99th percentile", line: tail}, {name: oldestWaiting, fill: area},
			{name: "event", line: event, tick: true}, {name: "limit moved by 5 % or more", line: adjustment, tick: true}}}
	a := timeAxisOf(r.Summary)
	var tiles []tile
	for _, s := range drawn {
		unitNs, unit := 1e9, "s"
		for _, u := range []struct {
			ns   float64
			name string
		}{{1e6, "ms"}, {1e3, "µs"}, {1, "ns"}} {
			if float64(s.longestNs()) < 2*unitNs {
				unitNs, unit = u.ns, u.name
			}
		}
		p := newPlot(a.label, "wait ("+unit+")")
		p.Y.Max = float64(s.longestNs()) / unitNs
		ceiling(p)
		a.apply(p)
		lines := func(value func(*WorkloadPoint) float64) waitLine {
			l := waitLine{a: a}
			for i := range s.Points {
				l.points = append(l.points, waitInterval{float64(s.Points[i].StartNs), float64(s.Points[i].EndNs), value(&s.Points[i]) / unitNs})
			}
			return l
		}
		var oldest plotter.XYs
		for _, w := range lines((*WorkloadPoint).oldestWait).points {
			oldest = append(oldest, plotter.XY{X: w.from / a.unitNs, Y: w.value}, plotter.XY{X: w.to / a.unitNs, Y: w.value})
		}
		p.Add(filled{thin(oldest), area})
		for _, m := range s.Marks {
			style := adjustment
			if m.Event {
				style = event
			}
			p.Add(uprightMark{float64(m.AtNs) / a.unitNs, style})
		}
		p50, p99 := lines((*WorkloadPoint).p50), lines((*WorkloadPoint).p99)
		p50.style, p99.style = median, tail
		p.Add(p99, p50)
		tiles = append(tiles, tile{shorten(printable(s.Workload), 60), p})
	}
	return tiled(c, tiles)
}

// waitLine is a line of steps, one for each interval, with gaps where there is no value.
type waitLine struct {
	a      timeAxis
	points []waitInterval
	style  draw.LineStyle
}

type waitInterval struct{ from, to, value float64 } // nanoseconds of time; the value in the unit of its axis

// Plot implements plot.Plotter.
func (l waitLine) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	var steps plotter.XYs
	intervals := 0
	flush := func() {
		switch {
		case intervals == 1: // may be narrower than the line is wide
			middle := vg.Point{X: trX((steps[0].X + steps[1].X) / 2), Y: trY(steps[0].Y)}
			var dot vg.Path
			dot.Move(vg.Point{X: middle.X + 1.5, Y: middle.Y})
			dot.Arc(middle, 1.5, 0, 2*math.Pi)
			dot.Close()
			c.SetColor(l.style.Color)
			c.Fill(dot)
		case intervals > 1:
			(&plotter.Line{XYs: thin(steps), LineStyle: l.style}).Plot(c, p)
		}
		steps, intervals = nil, 0
	}
	for _, w := range l.points {
		if math.IsNaN(w.value) {
			flush()
			continue
		}
		steps = append(steps, plotter.XY{X: w.from / l.a.unitNs, Y: w.value}, plotter.XY{X: w.to / l.a.unitNs, Y: w.value})
		intervals++
	}
	flush()
}

// uprightMark is an upright line across a plot.
type uprightMark struct {
	at    float64
	style draw.LineStyle
}

// Plot implements plot.Plotter.
func (m uprightMark) Plot(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	c.StrokeLine2(m.style, trX(m.at), c.Min.Y, trX(m.at), c.Max.Y)
}

// waitPlots returns the waits of workloads over time as parts of a page, none where nothing waited.
func waitPlots(r *Result) []Part {
	drawn, leftOut := drawnCourses(r)
	a := timeAxisOf(r.Summary)
	var parts []Part
	for i, s := range drawn {
		var at figures
		for k := range s.Points {
			at = append(at, float64(s.Points[k].StartNs)/a.unitNs)
		}
		at = append(at, float64(s.Points[len(s.Points)-1].EndNs)/a.unitNs)
		values := func(value func(*WorkloadPoint) float64) figures {
			var values figures
			for k := range s.Points {
				values = append(values, value(&s.Points[k]))
			}
			return append(values, values[len(values)-1])
		}
		name := shorten(printable(s.Workload), 60)
		p := &Plot{Name: "waits-" + strconv.Itoa(i), Title: "Wait over time: " + name,
			Caption: waitsCaption + "Intervals of " + duration(float64(s.Points[0].EndNs-s.Points[0].StartNs)) + ". " + marksCaption,
			X:       a.axis(), Y: Axis{Label: "wait", Unit: "ns"}, Linked: true, Steps: true, Shaded: a.warmup, At: at,
			Lines: []Line{
				{Name: oldestWaiting, Style: LineStyle{Filled: true}, Values: values((*WorkloadPoint).oldestWait)},
				{Name: "99th percentile", Style: LineStyle{Colour: 2}, Values: values((*WorkloadPoint).p99)},
				{Name: "median", Style: LineStyle{Colour: 1}, Values: values((*WorkloadPoint).p50)},
			}}
		for _, m := range s.Marks {
			p.Marks = append(p.Marks, AtMark{At: float64(m.AtNs) / a.unitNs, Text: m.Text, Dashed: !m.Event})
		}
		parts = append(parts, Part{Plot: p})
	}
	if len(parts) > 0 {
		parts[0].Heading = "Waits of workloads"
		parts[len(parts)-1].Plot.Caption += leftOut
	}
	return parts
}
