package charts

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/report"
)

// panelHeight is the height of a panel with its title.
const panelHeight = 1.35 * vg.Inch

// panelsChart draws plots of steps over the same time, one below the other.
func panelsChart(picture *report.Picture) *Chart {
	c := newChart(picture)
	c.height = headHeight(c.legend) + vg.Length(len(picture.Panels))*panelHeight + 16
	panels := make([][]*plot.Plot, len(picture.Panels))
	for i, spec := range picture.Panels {
		p := stepsPlot(spec)
		if i < len(picture.Panels)-1 {
			p.X.Label.Text = ""
		}
		panels[i] = []*plot.Plot{p}
	}
	c.draw = func(on draw.Canvas) {
		grid := draw.Tiles{Cols: 1, Rows: len(panels), PadY: 18, PadTop: 12}
		for i, row := range plot.Align(panels, grid, on) {
			panels[i][0].Draw(row[0])
			data := panels[i][0].DataCanvas(row[0])
			on.FillText(textStyle(9.5, ink, true), vg.Point{X: data.Min.X, Y: data.Max.Y + 4}, picture.Panels[i].Subject)
		}
	}
	return c
}

// stepsPlot draws lines of steps over time, with the marks above the areas and below the lines.
func stepsPlot(spec *report.Plot) *plot.Plot {
	highest := 0.0
	for _, l := range spec.Lines {
		for _, y := range l.Values {
			if y > highest {
				highest = y
			}
		}
	}
	yLabel, scale := spec.Y.Label, 1.0
	if spec.Y.Unit == "ns" {
		unit := ""
		scale, unit = unitOf(highest)
		yLabel += " (" + unit + ")"
	}
	p := newPlot(timeLabel(spec.X), yLabel)
	p.Y.Max = highest / scale
	addHeadroom(p)
	setTimeAxis(p, spec)
	p.Add(warmup(spec.Warmup), gridLines{})
	var lines []plot.Plotter
	for i := range spec.Lines {
		l := &spec.Lines[i]
		style := styleOf(l.Kind, l.Index)
		gapped := gappedLine{at: spec.At, style: style.line}
		for _, y := range l.Values[:len(l.Values)-1] {
			gapped.values = append(gapped.values, y/scale)
		}
		if style.fill != nil {
			p.Add(filled{gapped.outline(0, len(gapped.values)), style.fill})
		}
		var line plot.Plotter = gapped
		if !style.gaps {
			line = &plotter.Line{XYs: gapped.outline(0, len(gapped.values)), LineStyle: style.line}
		}
		switch {
		case style.line.Width == 0:
		case style.below && len(lines) > 0:
			lines = slices.Insert(lines, len(lines)-1, line)
		default:
			lines = append(lines, line)
		}
	}
	for _, m := range spec.Marks {
		p.Add(verticalLine{m.At, styleOf(m.Kind, 0).line})
	}
	p.Add(lines...)
	return p
}

// unitOf returns a unit of time that suits a length of time, in nanoseconds.
func unitOf(ns float64) (unitNs float64, unit string) {
	unitNs, unit = 1e9, "s"
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e6, "ms"}, {1e3, "µs"}, {1, "ns"}} {
		if ns < 2*unitNs {
			unitNs, unit = u.ns, u.name
		}
	}
	return unitNs, unit
}

func timeLabel(x report.Axis) string {
	if x.Clock != 0 {
		return x.Label
	}
	return x.Label + " (" + x.Unit + ")"
}

func setTimeAxis(p *plot.Plot, spec *report.Plot) {
	p.X.Min, p.X.Max = 0, spec.X.Max
	if spec.X.Clock == 0 {
		p.X.Tick.Marker = roundTicks(spec.X.Max, 7, plainLabel)
		return
	}
	var ticks []plot.Tick
	at, labels := spec.X.ClockTicks(7)
	for i := range at {
		ticks = append(ticks, plot.Tick{Value: at[i], Label: labels[i]})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
}

// addHeadroom leaves some room above the greatest value, and marks round values.
func addHeadroom(p *plot.Plot) {
	if p.Y.Max <= 0 {
		p.Y.Max = 1
	}
	p.Y.Min, p.Y.Max = 0, p.Y.Max*1.06
	p.Y.Tick.Marker = roundTicks(p.Y.Max, 4, plainLabel)
}

// warmup shades the time that the statistics leave out: the time up to this one.
type warmup float64

// Plot implements plot.Plotter.
func (end warmup) Plot(c draw.Canvas, p *plot.Plot) {
	if end <= 0 {
		return
	}
	trX, _ := p.Transforms(&c)
	c.SetColor(warmGrey)
	c.Fill(vg.Rectangle{Min: c.Min, Max: vg.Point{X: trX(float64(end)), Y: c.Max.Y}}.Path())
}

// withoutLevelPoints leaves out the points inside level stretches of an outline.
func withoutLevelPoints(xys plotter.XYs) plotter.XYs {
	kept := xys[:0]
	for i, xy := range xys {
		if i > 0 && i < len(xys)-1 && kept[len(kept)-1].Y == xy.Y && xys[i+1].Y == xy.Y {
			continue
		}
		kept = append(kept, xy)
	}
	return kept
}

// filled is the area between an outline and zero.
type filled struct {
	outline plotter.XYs
	color   color.Color
}

// Plot implements plot.Plotter.
func (f filled) Plot(c draw.Canvas, p *plot.Plot) {
	if len(f.outline) == 0 {
		return
	}
	trX, trY := p.Transforms(&c)
	polygon := []vg.Point{{X: trX(f.outline[0].X), Y: trY(0)}}
	for _, xy := range f.outline {
		polygon = append(polygon, vg.Point{X: trX(xy.X), Y: trY(xy.Y)})
	}
	polygon = append(polygon, vg.Point{X: trX(f.outline[len(f.outline)-1].X), Y: trY(0)})
	c.FillPolygon(f.color, polygon)
}

// gappedLine is a line of steps with gaps where a value is NaN. Value i lasts from place i to the next
// place.
type gappedLine struct {
	at, values []float64
	style      draw.LineStyle
}

// outline returns the corners of the steps from one value to before another, without those inside
// level stretches.
func (l gappedLine) outline(from, to int) (xys plotter.XYs) {
	for i := from; i < to; i++ {
		xys = append(xys, plotter.XY{X: l.at[i], Y: l.values[i]}, plotter.XY{X: l.at[i+1], Y: l.values[i]})
	}
	return withoutLevelPoints(xys)
}

// Plot implements plot.Plotter.
func (l gappedLine) Plot(c draw.Canvas, p *plot.Plot) {
	from := 0
	for to := range len(l.values) + 1 {
		if to < len(l.values) && !math.IsNaN(l.values[to]) {
			continue
		}
		switch to - from {
		case 0:
		case 1: // a step alone may be shorter than its line is wide
			trX, trY := p.Transforms(&c)
			fillDot(c, vg.Point{X: trX((l.at[from] + l.at[to]) / 2), Y: trY(l.values[from])}, 1.5, l.style.Color)
		default:
			(&plotter.Line{XYs: l.outline(from, to), LineStyle: l.style}).Plot(c, p)
		}
		from = to + 1
	}
}

func fillDot(c draw.Canvas, middle vg.Point, radius vg.Length, col color.Color) {
	var dot vg.Path
	dot.Move(vg.Point{X: middle.X + radius, Y: middle.Y})
	dot.Arc(middle, radius, 0, 2*math.Pi)
	dot.Close()
	c.SetColor(col)
	c.Fill(dot)
}

// verticalLine is a line across a plot.
type verticalLine struct {
	at    float64
	style draw.LineStyle
}

// Plot implements plot.Plotter.
func (l verticalLine) Plot(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	c.StrokeLine2(l.style, trX(l.at), c.Min.Y, trX(l.at), c.Max.Y)
}
