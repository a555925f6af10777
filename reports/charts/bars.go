package charts

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/report"
)

// barsChart draws a horizontal bar for each flow, with a mark at its fair share.
func barsChart(picture *report.Picture) *Chart {
	bars := picture.Bars.Bars
	p := newPlot(picture.Bars.X.Label, "")
	p.Y.Min, p.Y.Max = -0.6, float64(len(bars))-0.4
	var names ticks
	for i, bar := range bars {
		names = append(names, plot.Tick{Value: float64(len(bars) - 1 - i), Label: bar.Name})
	}
	p.X.Min, p.X.Max = 0, picture.Bars.X.Max
	p.X.Tick.Marker = roundTicks(p.X.Max, 6, plainLabel)
	p.Y.Tick.Marker = names
	p.Y.Tick.Length = 0
	p.Y.LineStyle.Width = 0
	p.Add(verticalGrid{}, serviceBars(bars))

	c := newChart(picture)
	c.height = headHeight(c.legend) + vg.Length(len(bars))*14 + 42
	c.draw = func(on draw.Canvas) { p.Draw(on) }
	return c
}

// serviceBars are drawn from the top to the bottom.
type serviceBars []report.Bar

// Plot implements plot.Plotter.
func (bars serviceBars) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for i, bar := range bars {
		y := trY(float64(len(bars) - 1 - i))
		kind := report.KindService
		if bar.Underserved {
			kind = report.KindUnderservedService
		}
		c.SetColor(styleOf(kind, 0).fill)
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y - 4}, Max: vg.Point{X: trX(bar.Service), Y: y + 4}}.Path())
		c.StrokeLine2(styleOf(report.KindFairShare, 0).line, trX(bar.FairShare), y-6, trX(bar.FairShare), y+6)
	}
}

// verticalGrid is the faint lines of a chart whose values run along x.
type verticalGrid struct{}

// Plot implements plot.Plotter.
func (verticalGrid) Plot(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(stroke(gridGrey, 0.5, nil), trX(t.Value), c.Min.Y, trX(t.Value), c.Max.Y)
	}
}
