package charts

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/plots"
	"apfsim/reports/result"
)

// apply sets a plot's time axis and shades the warm-up.
func apply(a plots.TimeAxis, p *plot.Plot) {
	p.X.Min, p.X.Max = 0, a.Most
	p.X.Tick.Marker = roundTicks(a.Most, 7, plainLabel)
	p.Add(warmup(a.Warmup), gridLines{})
}

// warmup shades what is left out of the statistics: the time up to it.
type warmup float64

// Plot implements plot.Plotter.
func (u warmup) Plot(c draw.Canvas, p *plot.Plot) {
	if u <= 0 {
		return
	}
	trX, _ := p.Transforms(&c)
	c.SetColor(shade)
	c.Fill(vg.Rectangle{Min: c.Min, Max: vg.Point{X: trX(float64(u)), Y: c.Max.Y}}.Path())
}

// steps returns the outline of values that hold for an interval each.
func steps(a plots.TimeAxis, points []result.Point, value func(*result.Point) float64) plotter.XYs {
	var xys plotter.XYs
	for i := range points {
		p := &points[i]
		y := value(p)
		xys = append(xys, plotter.XY{X: float64(p.StartNs) / a.UnitNs, Y: y}, plotter.XY{X: float64(p.EndNs) / a.UnitNs, Y: y})
	}
	return thin(xys)
}

// thin leaves out the points in the middle of a level stretch.
func thin(xys plotter.XYs) plotter.XYs {
	kept := xys[:0]
	for i, xy := range xys {
		if i > 0 && i < len(xys)-1 && kept[len(kept)-1].Y == xy.Y && xys[i+1].Y == xy.Y {
			continue
		}
		kept = append(kept, xy)
	}
	return kept
}

// filled is the area between a line and zero.
type filled struct {
	xys   plotter.XYs
	color color.Color
}

// Plot implements plot.Plotter.
func (f filled) Plot(c draw.Canvas, p *plot.Plot) {
	if len(f.xys) == 0 {
		return
	}
	trX, trY := p.Transforms(&c)
	outline := []vg.Point{{X: trX(f.xys[0].X), Y: trY(0)}}
	for _, xy := range f.xys {
		outline = append(outline, vg.Point{X: trX(xy.X), Y: trY(xy.Y)})
	}
	outline = append(outline, vg.Point{X: trX(f.xys[len(f.xys)-1].X), Y: trY(0)})
	c.FillPolygon(f.color, outline)
}

// tile is a plot among others over the same time, and its name.
type tile struct {
	title string
	plot  *plot.Plot
}

const tileHeight = 1.35 * vg.Inch

// tiled makes a chart of tiles one below the other.
func tiled(c *Chart, tiles []tile) *Chart {
	if len(tiles) == 0 {
		return nil
	}
	c.width = chartWidth
	c.height = headHeight(c.legend) + vg.Length(len(tiles))*tileHeight + 16
	plots := make([][]*plot.Plot, len(tiles))
	for i, t := range tiles {
		if i < len(tiles)-1 {
			t.plot.X.Label.Text = ""
		}
		plots[i] = []*plot.Plot{t.plot}
	}
	c.draw = func(on draw.Canvas) {
		grid := draw.Tiles{Cols: 1, Rows: len(tiles), PadY: 18, PadTop: 12}
		for i, row := range plot.Align(plots, grid, on) {
			plots[i][0].Draw(row[0])
			data := plots[i][0].DataCanvas(row[0])
			on.FillText(textStyle(9.5, ink, true), vg.Point{X: data.Min.X, Y: data.Max.Y + 4}, tiles[i].title)
		}
	}
	return c
}

// SeatsChart draws the seats in use at each level against its limits.
func SeatsChart(r *result.Result) *Chart {
	current := lineStyle(ink, 1, nil)
	nominal := lineStyle(soft, 0.8, []vg.Length{4, 3})
	c := &Chart{Name: "seats", Title: "Seats in use and concurrency limits",
		Caption: "For each priority level the seats in use, and the current limit, which moves as levels lend and borrow seats, against the nominal one. The warm-up is shaded.",
		legend: []legendEntry{{name: "seats in use", fill: area}, {name: "current limit", line: current},
			{name: "nominal limit", line: nominal}}}
	if !anyLimited(r) {
		c.Title, c.legend = "Requests executing", []legendEntry{{name: "requests executing", fill: area}}
		c.Caption = "How many requests executed at once. The warm-up is shaded."
	}
	a := plots.TimeAxisOf(r.Summary)
	var tiles []tile
	for _, s := range r.Series {
		if s.Quiet() {
			continue
		}
		p := newPlot(a.Label, "seats")
		if s.Level == "" {
			p.Y.Label.Text = "requests"
		}
		use := steps(a, s.Points, func(p *result.Point) float64 { return p.SeatsInUse })
		p.Y.Max = highest(use)
		var limit, nominalLimit plotter.XYs
		if s.Limited {
			limit = steps(a, s.Points, func(p *result.Point) float64 { return p.CurrentLimit })
			nominalLimit = steps(a, s.Points, func(p *result.Point) float64 { return p.NominalLimit })
			p.Y.Max = max(p.Y.Max, highest(limit), highest(nominalLimit))
		}
		ceiling(p)
		apply(a, p)
		p.Add(filled{use, area}, &plotter.Line{XYs: use, LineStyle: lineStyle(blue, 0.9, nil)})
		if s.Limited {
			p.Add(&plotter.Line{XYs: nominalLimit, LineStyle: nominal}, &plotter.Line{XYs: limit, LineStyle: current})
		}
		tiles = append(tiles, tile{result.LevelTitle(r.Summary, s.Level), p})
	}
	return tiled(c, tiles)
}

func anyLimited(r *result.Result) bool {
	for _, s := range r.Series {
		if s.Limited && !s.Quiet() {
			return true
		}
	}
	return false
}

// rateStyles are how the rates are drawn, in their order.
var rateStyles = []draw.LineStyle{
	lineStyle(blue, 1.3, nil),
	lineStyle(rose, 1.3, nil),
	lineStyle(purple, 1.3, nil),
	lineStyle(sand, 1.3, []vg.Length{5, 2}),
}

// requestsChart draws how many requests arrive, start and are rejected at each level.
func requestsChart(r *result.Result) *Chart {
	c := &Chart{Name: "requests", Title: "Requests arriving, dispatched and rejected",
		Caption: "For each priority level the requests per second that arrived, that were dispatched, and that were rejected, by reason. The warm-up is shaded.",
		legend:  []legendEntry{{name: "arrived", fill: arrivals}}}
	a := plots.TimeAxisOf(r.Summary)
	drawn := make([]bool, len(plots.Rates))
	var tiles []tile
	for _, s := range r.Series {
		if s.Quiet() {
			continue
		}
		p := newPlot(a.Label, "per second")
		arrived := steps(a, s.Points, func(p *result.Point) float64 { return float64(p.Arrived) / p.Seconds() })
		p.Y.Max = highest(arrived)
		var lines []*plotter.Line
		for i, of := range plots.Rates {
			xys := steps(a, s.Points, func(p *result.Point) float64 { return float64(of.Count(p)) / p.Seconds() })
			if most := highest(xys); most > 0 {
				p.Y.Max = max(p.Y.Max, most)
				drawn[i] = true
				lines = append(lines, &plotter.Line{XYs: xys, LineStyle: rateStyles[i]})
			}
		}
		ceiling(p)
		apply(a, p)
		p.Add(filled{arrived, arrivals})
		for _, line := range lines {
			p.Add(line)
		}
		tiles = append(tiles, tile{result.LevelTitle(r.Summary, s.Level), p})
	}
	for i, of := range plots.Rates {
		if drawn[i] {
			c.legend = append(c.legend, legendEntry{name: of.Name, line: rateStyles[i]})
		}
	}
	return tiled(c, tiles)
}

func highest(xys plotter.XYs) float64 {
	most := 0.0
	for _, xy := range xys {
		most = max(most, xy.Y)
	}
	return most
}

// ceiling leaves some room above what a plot shows, and marks round values.
func ceiling(p *plot.Plot) {
	if p.Y.Max <= 0 {
		p.Y.Max = 1
	}
	p.Y.Min, p.Y.Max = 0, p.Y.Max*1.06
	p.Y.Tick.Marker = roundTicks(p.Y.Max, 4, plainLabel)
}
