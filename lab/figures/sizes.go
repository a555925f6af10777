package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const nsPerOp = "ns/op"

// axisTitles are the titles of the axes of BenchmarkSize.
var axisTitles = map[string]string{
	"queues": "queues",
	"seats":  "seats, all of them in use",
	"flows":  "flows",
	"width":  "seats a request, of 1000",
}

// sizes returns a section with a table and a chart of the time for a request against the size
// along each axis.
func sizes(input string) (section, error) {
	all, rounds, err := read(input, "Size", nsPerOp)
	if err != nil {
		return section{}, err
	}
	rows := [][]string{{"", "", "ns/request", "spread", "ns per doubling of the size"}}
	for _, s := range all {
		title := axisTitles[s.axis]
		if title == "" {
			return section{}, fmt.Errorf("in BenchmarkSize/%s: the axis is not supported; use queues, seats, flows or width", s.axis)
		}
		for i := range s.points {
			p := &s.points[i]
			more := ""
			if i > 0 {
				before := &s.points[i-1]
				doublings := math.Log2(float64(p.size) / float64(before.size))
				more = fmt.Sprintf("%+.0f", (p.median(nsPerOp)-before.median(nsPerOp))/doublings)
			}
			rows = append(rows, []string{title, grouped(float64(p.size)), grouped(p.median(nsPerOp)),
				fmt.Sprintf("%.0f %%", 100*p.spread(nsPerOp)), more})
			title = ""
		}
	}
	chart, err := sizesChart(all)
	if err != nil {
		return section{}, err
	}
	const name = "cost-against-size.svg"
	text := fmt.Sprintf("%s; rounds: %d.\n\n"+
		"![ns a request against the number of queues, of seats, of flows and of seats a request, on logarithmic axes](../docs/images/%s)\n\n%s",
		machine(input), rounds, name, table(rows))
	return section{text: text, chartName: name, chart: chart}, nil
}

var (
	ink  = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	blue = color.NRGBA{0x44, 0x77, 0xaa, 0xff}
	grid = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}
)

// sizesChart draws a panel for each axis, two in a row, with the same vertical scale: a line
// through the medians, and a vertical stroke from the smallest to the largest value of the rounds.
func sizesChart(all []*series) ([]byte, error) {
	least, most := math.Inf(1), 0.0
	for _, s := range all {
		for _, p := range s.points {
			least, most = min(least, slices.Min(p.values[nsPerOp])), max(most, slices.Max(p.values[nsPerOp]))
		}
	}
	const columns = 2
	rows := (len(all) + columns - 1) / columns
	panels := make([][]*plot.Plot, rows)
	for i := range panels {
		panels[i] = make([]*plot.Plot, columns)
	}
	for i, s := range all {
		p, err := sizesPanel(s)
		if err != nil {
			return nil, err
		}
		p.Y.Min, p.Y.Max = min(100, least), 1.2*max(1000, most)
		panels[i/columns][i%columns] = p
	}
	svg := vgsvg.New(7.6*vg.Inch, vg.Length(rows)*2.6*vg.Inch)
	c := draw.New(svg)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 18, PadY: 14, PadTop: 8, PadBottom: 6, PadLeft: 6, PadRight: 14}
	for i, row := range plot.Align(panels, tiles, c) {
		for j, canvas := range row {
			if p := panels[i][j]; p != nil {
				p.Draw(canvas)
			}
		}
	}
	var b bytes.Buffer
	if _, err := svg.WriteTo(&b); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arimo,Helvetica,Arial,sans-serif;")), nil
}

func sizesPanel(s *series) (*plot.Plot, error) {
	p := plot.New()
	p.BackgroundColor = nil
	p.X.Label.Text, p.Y.Label.Text = axisTitles[s.axis], "ns a request"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Scale = plot.LogScale{}
		a.Label.TextStyle.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 9}
		a.Tick.Label.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: 8}
		a.Label.TextStyle.Color, a.Tick.Label.Color = ink, ink
		a.Padding = 0
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = sizeTicks(s), costTicks()
	medians := make(plotter.XYs, len(s.points))
	for i := range s.points {
		at := &s.points[i]
		x := float64(at.size)
		medians[i] = plotter.XY{X: x, Y: at.median(nsPerOp)}
		stroke, err := plotter.NewLine(plotter.XYs{{X: x, Y: slices.Min(at.values[nsPerOp])}, {X: x, Y: slices.Max(at.values[nsPerOp])}})
		if err != nil {
			return nil, err
		}
		stroke.Color, stroke.Width = blue, 0.7
		p.Add(stroke)
	}
	line, points, err := plotter.NewLinePoints(medians)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = blue, 1.2
	points.Color, points.Shape, points.Radius = blue, draw.CircleGlyph{}, 2
	lines := plotter.NewGrid()
	lines.Horizontal.Color, lines.Vertical.Color = grid, grid
	lines.Horizontal.Width, lines.Vertical.Width = 0.5, 0.5
	p.Add(lines, line, points)
	p.X.Min, p.X.Max = float64(s.points[0].size)/1.15, float64(s.points[len(s.points)-1].size)*1.15
	return p, nil
}

// ticks are the values that are labelled on an axis.
type ticks []plot.Tick

// Ticks implements plot.Ticker.
func (t ticks) Ticks(least, most float64) (within []plot.Tick) {
	for _, tick := range t {
		if least <= tick.Value && tick.Value <= most {
			within = append(within, tick)
		}
	}
	return within
}

// costTicks returns ticks at 1, 2 and 5 times each power of ten.
func costTicks() (t ticks) {
	for unit := 1.0; unit < 1e6; unit *= 10 {
		for _, factor := range []float64{1, 2, 5} {
			t = append(t, plot.Tick{Value: unit * factor, Label: grouped(unit * factor)})
		}
	}
	return t
}

// sizeTicks returns ticks at the measured sizes, or at every second one if the labels are long.
func sizeTicks(s *series) (t ticks) {
	step := 1
	if s.points[len(s.points)-1].size > 1000 {
		step = 2
	}
	for i := 0; i < len(s.points); i += step {
		size := float64(s.points[i].size)
		t = append(t, plot.Tick{Value: size, Label: grouped(size)})
	}
	return t
}
