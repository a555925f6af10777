package charts

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/report"
)

func ticksOf(a report.Axis) (marks ticks) {
	for _, t := range a.Ticks {
		marks = append(marks, plot.Tick{Value: t.At, Label: t.Label})
	}
	return marks
}

// meansChart draws means over a parameter, with their intervals.
func meansChart(picture *report.Picture) *Chart {
	spec := picture.Panels[0]
	line := &spec.Lines[0]
	p := newPlot(spec.X.Label, "")
	p.X.Min, p.X.Max = spec.X.Min, spec.X.Max
	p.X.Tick.Marker = ticksOf(spec.X)
	if spec.X.Log {
		p.X.Scale = plot.LogScale{}
	}
	p.Y.Min, p.Y.Max = 0, spec.Y.Max
	p.Y.Tick.Marker = roundTicks(p.Y.Max, 6, plainLabel)
	points := make(plotter.XYs, len(spec.At))
	for i, x := range spec.At {
		points[i] = plotter.XY{X: x, Y: line.Values[i]}
	}
	p.Add(gridLines{vertical: true}, &plotter.Line{XYs: points, LineStyle: styleOf(line.Kind, line.Index).line}, intervals{spec.At, line})
	c := newChart(picture)
	c.height = headHeight(nil) + 3.3*vg.Inch
	c.draw = func(on draw.Canvas) { p.Draw(on) }
	return c
}

// intervals draws a dot for each value of a line, and its bounds.
type intervals struct {
	at   []float64
	line *report.Line
}

// Plot implements plot.Plotter.
func (in intervals) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	const serif = 3
	style := stroke(blue, 1, nil)
	for i, value := range in.line.Values {
		x := trX(in.at[i])
		if in.line.High[i] > value {
			low, high := max(trY(in.line.Low[i]), c.Min.Y), min(trY(in.line.High[i]), c.Max.Y)
			c.StrokeLine2(style, x, low, x, high)
			c.StrokeLine2(style, x-serif, low, x+serif, low)
			c.StrokeLine2(style, x-serif, high, x+serif, high)
		}
		fillDot(c, vg.Point{X: x, Y: trY(value)}, 2.5, blue)
	}
}

// gridChart draws means over two parameters as colours, with their numbers.
func gridChart(picture *report.Picture) *Chart {
	g := picture.Grid
	p := newPlot(g.X.Label, g.Y.Label)
	p.X.Tick.Marker, p.Y.Tick.Marker = ticksOf(g.X), ticksOf(g.Y)
	p.X.Min, p.X.Max = g.X.Min, g.X.Max
	p.Y.Min, p.Y.Max = g.Y.Min, g.Y.Max
	cells := gridCells{g, math.Inf(1), math.Inf(-1)}
	for _, cell := range g.Cells {
		if !math.IsNaN(cell.Mean) {
			cells.least, cells.most = min(cells.least, cell.Mean), max(cells.most, cell.Mean)
		}
	}
	p.Add(cells)
	var marks ticks
	for share := 0.0; share <= 1; share += 0.25 {
		marks = append(marks, plot.Tick{Value: share, Label: plainLabel(cells.least + (cells.most-cells.least)*share)})
	}
	c := newChart(picture)
	c.height = headHeight(nil) + max(2*vg.Inch, min(8*vg.Inch, 60+vg.Length(len(g.Y.Ticks))*32))
	c.draw = func(on draw.Canvas) {
		const room = 52
		in := draw.Crop(on, 0, -room, 0, 0)
		p.Draw(in)
		data := p.DataCanvas(in)
		drawScale(draw.Crop(on, on.Max.X-on.Min.X-room+10, 0, data.Min.Y-on.Min.Y, data.Max.Y-on.Max.Y), gridPalette, marks)
	}
	return c
}

// gridCells draws the cells of a grid.
type gridCells struct {
	*report.Grid
	least, most float64 // of the means
}

// gridPalette has the colours from the least to the greatest mean, as in the map of queues.
var gridPalette = lengthPalette[1:]

// Plot implements plot.Plotter.
func (g gridCells) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	wide := len(g.X.Ticks)
	for i, cell := range g.Cells {
		x, y := float64(i%wide), float64(i/wide)
		area := vg.Rectangle{Min: vg.Point{X: trX(x - 0.5), Y: trY(y - 0.5)}, Max: vg.Point{X: trX(x + 0.5), Y: trY(y + 0.5)}}
		if math.IsNaN(cell.Mean) {
			drawCellText(c, area, "–", "", ink)
			continue
		}
		shade := 0
		if g.most > g.least {
			shade = int((cell.Mean - g.least) / (g.most - g.least) * float64(len(gridPalette)-1))
		}
		c.SetColor(gridPalette[shade])
		c.Fill(area.Path())
		col := ink
		if shade > len(gridPalette)/2 {
			col = white
		}
		drawCellText(c, area, cell.Text, cell.Interval, col)
	}
}

// drawCellText writes a mean and its margin into a cell, or only as much as fits.
func drawCellText(c draw.Canvas, area vg.Rectangle, text, margin string, col color.Color) {
	style, small := textStyle(9, col, false), textStyle(7, col, false)
	style.XAlign, small.XAlign = draw.XCenter, draw.XCenter
	width, height := area.Max.X-area.Min.X, area.Max.Y-area.Min.Y
	middle := vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y) / 2}
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
