package charts

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/format"
	"apfsim/reports/plots"
	"apfsim/reports/result"
)

// waitsChart draws the waits of each workload over time, nil when none waited.
func waitsChart(r *result.Result) *Chart {
	drawn, leftOut := plots.DrawnCourses(r)
	median, tail, event := lineStyle(blue, 1.3, nil), lineStyle(rose, 1.3, nil), lineStyle(soft, 0.9, nil)
	adjustment := lineStyle(soft, 0.7, []vg.Length{2, 2})
	c := &Chart{Name: "wait-over-time", Title: "Waits over time",
		Caption: plots.WaitsCaption + plots.MarksCaption + " The warm-up is shaded." + leftOut,
		legend: []legendEntry{{name: "median", line: median}, {name: "99th percentile", line: tail}, {name: plots.OldestWaiting, fill: area},
			{name: "event", line: event, tick: true}, {name: "limit moved by 5 % or more", line: adjustment, tick: true}}}
	a := plots.TimeAxisOf(r.Summary)
	var tiles []tile
	for _, s := range drawn {
		unitNs, unit := 1e9, "s"
		for _, u := range []struct {
			ns   float64
			name string
		}{{1e6, "ms"}, {1e3, "µs"}, {1, "ns"}} {
			if float64(s.LongestNs()) < 2*unitNs {
				unitNs, unit = u.ns, u.name
			}
		}
		p := newPlot(a.Label, "wait ("+unit+")")
		p.Y.Max = float64(s.LongestNs()) / unitNs
		ceiling(p)
		apply(a, p)
		lines := func(value func(*result.WorkloadPoint) float64) waitLine {
			l := waitLine{a: a}
			for i := range s.Points {
				l.points = append(l.points, waitInterval{float64(s.Points[i].StartNs), float64(s.Points[i].EndNs), value(&s.Points[i]) / unitNs})
			}
			return l
		}
		var oldest plotter.XYs
		for _, w := range lines((*result.WorkloadPoint).OldestWait).points {
			oldest = append(oldest, plotter.XY{X: w.from / a.UnitNs, Y: w.value}, plotter.XY{X: w.to / a.UnitNs, Y: w.value})
		}
		p.Add(filled{thin(oldest), area})
		for _, m := range s.Marks {
			style := adjustment
			if m.Event {
				style = event
			}
			p.Add(uprightMark{float64(m.AtNs) / a.UnitNs, style})
		}
		p50, p99 := lines((*result.WorkloadPoint).P50), lines((*result.WorkloadPoint).P99)
		p50.style, p99.style = median, tail
		p.Add(p99, p50)
		tiles = append(tiles, tile{format.Shorten(format.Printable(s.Workload), 60), p})
	}
	return tiled(c, tiles)
}

// waitLine is a line of steps, one for each interval, with gaps where there is no value.
type waitLine struct {
	a      plots.TimeAxis
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
		steps = append(steps, plotter.XY{X: w.from / l.a.UnitNs, Y: w.value}, plotter.XY{X: w.to / l.a.UnitNs, Y: w.value})
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
