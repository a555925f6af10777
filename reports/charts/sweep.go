package charts

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/format"
	"apfsim/reports/replicate"
	"apfsim/reports/sweep"
)

// OfSweep draws each statistic that is shown and has samples: a line if one parameter varies,
// a heat map if two do. More do not fit on paper.
func OfSweep(t *sweep.SweepTables) []*Chart {
	varied := t.Varied()
	var charts []*Chart
	names := t.ChartNames()
	for i := range t.Shown {
		of := &t.Shown[i]
		if of.Empty() {
			continue
		}
		var c *Chart
		switch len(varied) {
		case 1:
			c = lineChart(of, varied[0])
		case 2:
			c = heatMap(of, varied[0], varied[1])
		default:
			continue
		}
		c.Name, c.width = names[i], chartWidth
		charts = append(charts, c)
	}
	return charts
}

// SweepWarnings says what is not drawn.
func SweepWarnings(t *sweep.SweepTables) (all []string) {
	switch n := len(t.Varied()); {
	case n == 0:
		return []string{"no parameter has several values: no charts are drawn"}
	case n > 2:
		return []string{fmt.Sprintf("%d parameters vary: no charts are drawn", n)}
	}
	for i := range t.Shown {
		if of := &t.Shown[i]; of.Empty() {
			all = append(all, of.Name+": no samples at any point, and no chart")
		}
	}
	return all
}

// lineChart draws the means over a parameter, with their intervals.
func lineChart(of *sweep.ShownStatistic, over *sweep.Parameter) *Chart {
	scale, unit := of.Scale()
	p := newPlot(format.Shorten(format.Printable(over.Path), 80), "")
	at, logarithmic := over.Places()
	var marks ticks
	for i, x := range at {
		marks = append(marks, plot.Tick{Value: x, Label: over.Label(i)})
	}
	p.X.Tick.Marker = marks
	least, most := slices.Min(at), slices.Max(at)
	p.X.Min, p.X.Max = least-0.05*(most-least), most+0.05*(most-least)
	if logarithmic {
		p.X.Scale = plot.LogScale{}
		margin := math.Pow(most/least, 0.05)
		p.X.Min, p.X.Max = least/margin, most*margin
	}
	style := lineStyle(blue, 1.6, nil)
	var means intervals
	high := 0.0
	for i, e := range of.Points {
		if e != nil {
			m := interval{at[i], e.Mean / scale, e.Half() / scale}
			means = append(means, m)
			high = max(high, m.mean+m.half)
		}
	}
	slices.SortFunc(means, func(a, b interval) int { return int(math.Copysign(1, a.x-b.x)) })
	points := make(plotter.XYs, len(means))
	for i, m := range means {
		points[i] = plotter.XY{X: m.x, Y: m.mean}
	}
	if high == 0 {
		high = 1
	}
	p.Y.Min, p.Y.Max = 0, high*1.05 // no statistic is less than 0
	p.Y.Tick.Marker = roundTicks(p.Y.Max, 6, plainLabel)
	p.Add(gridLines{upright: true}, &plotter.Line{XYs: points, LineStyle: style}, means)
	c := &Chart{Title: of.Title(unit),
		Caption: "The mean of the runs at each value of the parameter, with its 95 % interval.",
		height:  headHeight(nil) + 3.3*vg.Inch}
	c.draw = func(on draw.Canvas) { p.Draw(on) }
	return c
}

// intervals are means and the half-widths of their intervals, over x.
type intervals []interval

type interval struct{ x, mean, half float64 }

// Plot implements plot.Plotter.
func (all intervals) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	const radius, serif = 2.5, 3
	style := lineStyle(blue, 1, nil)
	for _, m := range all {
		x, y := trX(m.x), trY(m.mean)
		if m.half > 0 {
			low, high := max(trY(m.mean-m.half), c.Min.Y), min(trY(m.mean+m.half), c.Max.Y)
			c.StrokeLine2(style, x, low, x, high)
			c.StrokeLine2(style, x-serif, low, x+serif, low)
			c.StrokeLine2(style, x-serif, high, x+serif, high)
		}
		var dot vg.Path
		dot.Move(vg.Point{X: x + radius, Y: y})
		dot.Arc(vg.Point{X: x, Y: y}, radius, 0, 2*math.Pi)
		dot.Close()
		c.SetColor(blue)
		c.Fill(dot)
	}
}

// heatMap draws the means over two parameters, the first upward.
func heatMap(of *sweep.ShownStatistic, up, right *sweep.Parameter) *Chart {
	scale, unit := of.Scale()
	p := newPlot(format.Shorten(format.Printable(right.Path), 80), format.Shorten(format.Printable(up.Path), 60))
	marks := func(of *sweep.Parameter) (t ticks) {
		for i := range of.Values {
			t = append(t, plot.Tick{Value: float64(i), Label: of.Label(i)})
		}
		return t
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = marks(right), marks(up)
	p.X.Min, p.X.Max = -0.5, float64(len(right.Values))-0.5
	p.Y.Min, p.Y.Max = -0.5, float64(len(up.Values))-0.5
	m := heatCells{points: of.Points, wide: len(right.Values), scale: scale, least: math.Inf(1), most: math.Inf(-1)}
	for _, e := range of.Points {
		if e != nil {
			m.least, m.most = min(m.least, e.Mean), max(m.most, e.Mean)
		}
	}
	p.Add(m)
	var scaleMarks ticks
	for share := 0.0; share <= 1; share += 0.25 {
		scaleMarks = append(scaleMarks, plot.Tick{Value: share, Label: plainLabel((m.least + (m.most-m.least)*share) / scale)})
	}
	c := &Chart{Title: of.Title(unit),
		Caption: "The mean of the runs at each point of the grid, with half of its 95 % interval: the darker, the more.",
		height:  headHeight(nil) + max(2*vg.Inch, min(8*vg.Inch, 60+vg.Length(len(up.Values))*32))}
	c.draw = func(on draw.Canvas) {
		const room = 52
		p.Draw(draw.Crop(on, 0, -room, 0, 0))
		data := p.DataCanvas(draw.Crop(on, 0, -room, 0, 0))
		drawScale(draw.Crop(on, on.Max.X-on.Min.X-room+10, 0, data.Min.Y-on.Min.Y, data.Max.Y-on.Max.Y), shades, scaleMarks)
	}
	return c
}

// heatCells are the cells of a heat map, from the lower left, row by row.
type heatCells struct {
	points      []*replicate.Estimate
	wide        int // so many in a row
	scale       float64
	least, most float64 // mean
}

// shades are the colours from the least to the most, as in the map of queues.
var shades = lengthPalette[1:]

// Plot implements plot.Plotter.
func (m heatCells) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for i, e := range m.points {
		x, y := float64(i%m.wide), float64(i/m.wide)
		cell := vg.Rectangle{Min: vg.Point{X: trX(x - 0.5), Y: trY(y - 0.5)}, Max: vg.Point{X: trX(x + 0.5), Y: trY(y + 0.5)}}
		text, margin := "–", ""
		dark := false
		if e != nil {
			shade := 0
			if m.most > m.least {
				shade = int((e.Mean - m.least) / (m.most - m.least) * float64(len(shades)-1))
			}
			dark = shade > len(shades)/2
			c.SetColor(shades[shade])
			c.Fill(cell.Path())
			text = format.Digits(e.Mean / m.scale)
			if half := e.Half(); half > 0 {
				text, margin = format.Rounded(e.Mean/m.scale, half/m.scale)
				margin = "± " + margin
			}
		}
		var on color.Color = ink
		if dark {
			on = nobody
		}
		m.label(c, cell, text, margin, on)
	}
}

// label writes into a cell as much as there is room for.
func (m heatCells) label(c draw.Canvas, cell vg.Rectangle, text, margin string, on color.Color) {
	style, small := textStyle(9, on, false), textStyle(7, on, false)
	style.XAlign, small.XAlign = draw.XCenter, draw.XCenter
	width, height := cell.Max.X-cell.Min.X, cell.Max.Y-cell.Min.Y
	middle := vg.Point{X: (cell.Min.X + cell.Max.X) / 2, Y: (cell.Min.Y + cell.Max.Y) / 2}
	if style.Width(text)+4 > width || height < 11 {
		return
	}
	if margin == "" || small.Width(margin)+4 > width || height < 22 {
		c.FillText(style, vg.Point{X: middle.X, Y: middle.Y - 3}, text)
		return
	}
	c.FillText(style, vg.Point{X: middle.X, Y: middle.Y + 1}, text)
	c.FillText(small, vg.Point{X: middle.X, Y: middle.Y - 9}, margin)
}
