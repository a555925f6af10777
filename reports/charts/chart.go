// Package charts draws the charts of a result as SVG and PNG.
package charts

import (
	"bytes"

	"apfsim/reports/format"
	"apfsim/reports/result"

	"image/color"
	"io"
	"math"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Chart is one picture of a run.
type Chart struct {
	Name    string // of its files, without extension
	Title   string
	Caption string // what is drawn and how to read it

	width, height vg.Length
	legend        []legendEntry
	draw          func(draw.Canvas) // below title and legend
}

// OfRun returns the charts of a run. What nothing happened to has none.
func OfRun(r *result.Result) []*Chart {
	var charts []*Chart
	add := func(c *Chart) {
		if c != nil {
			charts = append(charts, c)
		}
	}
	add(waitChart(r))
	add(waitsChart(r))
	add(SeatsChart(r))
	add(requestsChart(r))
	for _, s := range r.Series {
		add(queuesChart(r, s))
	}
	for i := range r.Summary.PriorityLevels {
		add(ServiceChart(r, &r.Summary.PriorityLevels[i]))
	}
	return charts
}

// The palette is Paul Tol's "bright", whose colours stay apart for the colour-blind and
// in print.
var (
	blue   = color.NRGBA{0x44, 0x77, 0xaa, 0xff}
	cyan   = color.NRGBA{0x66, 0xcc, 0xee, 0xff}
	greenC = color.NRGBA{0x22, 0x88, 0x33, 0xff}
	sand   = color.NRGBA{0xcc, 0xbb, 0x44, 0xff}
	rose   = color.NRGBA{0xee, 0x66, 0x77, 0xff}
	purple = color.NRGBA{0xaa, 0x33, 0x77, 0xff}

	ink    = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	soft   = color.NRGBA{0x66, 0x66, 0x66, 0xff}
	faint  = color.NRGBA{0xe4, 0xe4, 0xe4, 0xff}
	shade  = color.NRGBA{0xf3, 0xf0, 0xe8, 0xff} // of the warm-up
	area   = color.NRGBA{0xb9, 0xcc, 0xe0, 0xff}
	nobody = color.NRGBA{0xff, 0xff, 0xff, 0xff}

	arrivals = color.NRGBA{0xd5, 0xd5, 0xd5, 0xff}

	palette = []color.NRGBA{blue, rose, greenC, sand, purple, cyan}
	dashes  = [][]vg.Length{nil, {5, 2}, {1.5, 1.5}, {6, 2, 1.5, 2}}
)

// chartWidth suits a page and, halved, a telephone.
const chartWidth = 7.6 * vg.Inch

func fontOf(size vg.Length, strong bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	if strong {
		f.Weight = xfont.WeightBold
	}
	return f
}

func textStyle(size vg.Length, c color.Color, strong bool) text.Style {
	return text.Style{Color: c, Font: fontOf(size, strong), Handler: plot.DefaultTextHandler,
		XAlign: draw.XLeft, YAlign: draw.YBottom}
}

// legendEntry is a sample of how something is drawn, and its name.
type legendEntry struct {
	name string
	line draw.LineStyle
	fill color.Color // of a box, in place of a line
	tick bool        // an upright stroke, in place of a line
}

func lineStyle(c color.Color, width vg.Length, dash []vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: width, Dashes: dash}
}

// render draws the whole chart: title, legend, and what it is about.
func (c *Chart) render(on draw.Canvas) {
	on.SetColor(nobody)
	on.Fill(on.Rectangle.Path())
	in := draw.Crop(on, 10, -14, 8, -8)
	title := textStyle(12, ink, true)
	y := in.Max.Y - 12
	in.FillText(title, vg.Point{X: in.Min.X, Y: y}, c.Title)
	y -= 8
	if len(c.legend) > 0 {
		y = drawLegend(in, c.legend, y-10) - 6
	}
	c.draw(draw.Crop(in, 0, 0, 0, y-in.Max.Y))
}

// drawLegend sets the entries side by side, in as many rows as they need, and returns
// where the last one ends.
func drawLegend(in draw.Canvas, entries []legendEntry, y vg.Length) vg.Length {
	const swatch, gap, row = 18, 14, 13
	style := textStyle(8.5, ink, false)
	x := in.Min.X
	for _, e := range entries {
		width := swatch + 4 + style.Width(e.name)
		if x > in.Min.X && x+width > in.Max.X {
			x, y = in.Min.X, y-row
		}
		middle := y + 3
		switch {
		case e.tick:
			in.StrokeLine2(e.line, x+swatch/2, middle-5, x+swatch/2, middle+5)
		case e.fill != nil:
			in.SetColor(e.fill)
			in.Fill(vg.Rectangle{Min: vg.Point{X: x, Y: middle - 4}, Max: vg.Point{X: x + swatch, Y: middle + 4}}.Path())
		default:
			in.StrokeLine2(e.line, x, middle, x+swatch, middle)
		}
		in.FillText(style, vg.Point{X: x + swatch + 4, Y: y}, e.name)
		x += width + gap
	}
	return y
}

// legendRows guesses how many rows a legend takes, for the height of its chart.
func legendRows(entries []legendEntry) int {
	style := textStyle(8.5, ink, false)
	rows, x := 1, vg.Length(0)
	for _, e := range entries {
		width := 36 + style.Width(e.name)
		if x > 0 && x+width > chartWidth-20 {
			rows, x = rows+1, 0
		}
		x += width
	}
	return rows
}

// headHeight is what title and legend take.
func headHeight(entries []legendEntry) vg.Length {
	return 40 + vg.Length(13*legendRows(entries))
}

// newPlot returns a plot in the style of the house.
func newPlot(xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = fontOf(9, false)
		a.Label.TextStyle.Color = soft
		a.Tick.Label.Font = fontOf(8, false)
		a.Tick.Label.Color = soft
		a.LineStyle = lineStyle(color.NRGBA{0xaa, 0xaa, 0xaa, 0xff}, 0.6, nil)
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 3
		a.Padding = 0
	}
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	p.Y.Label.Padding, p.X.Label.Padding = 4, 2
	return p
}

// gridLines are faint lines across the data at the major ticks.
type gridLines struct{ upright bool }

// Plot implements plot.Plotter.
func (g gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	style := lineStyle(faint, 0.5, nil)
	trX, trY := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" && t.Value >= p.Y.Min && t.Value <= p.Y.Max {
			c.StrokeLine2(style, c.Min.X, trY(t.Value), c.Max.X, trY(t.Value))
		}
	}
	if !g.upright {
		return
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if t.Label != "" && t.Value >= p.X.Min && t.Value <= p.X.Max {
			c.StrokeLine2(style, trX(t.Value), c.Min.Y, trX(t.Value), c.Max.Y)
		}
	}
}

// WriteSVG writes the chart as SVG. Where the fonts it was measured with are missing,
// others of the same widths will do.
func (c *Chart) WriteSVG(w io.Writer) error {
	canvas := vgsvg.New(c.width, c.height)
	c.render(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	svg := b.Bytes()
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arimo,Helvetica,Arial,sans-serif;"))
	svg = bytes.ReplaceAll(svg, []byte("data:image/jpg;"), []byte("data:image/png;"))
	// An image is to fill its rectangle. By default a viewer keeps the image's own proportions, and
	// leaves bands empty beside it.
	svg = bytes.ReplaceAll(svg, []byte("<image "), []byte(`<image preserveAspectRatio="none" `))
	_, err := w.Write(svg)
	return err
}

// WritePNG writes the chart as PNG, at 144 dots an inch.
func (c *Chart) WritePNG(w io.Writer) error {
	canvas := vgimg.NewWith(vgimg.UseWH(c.width, c.height), vgimg.UseDPI(144))
	c.render(draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// ticks are the values that are marked on an axis.
type ticks []plot.Tick

// Ticks implements plot.Ticker.
func (t ticks) Ticks(least, most float64) []plot.Tick { return t }

// roundTicks marks about so many round values from 0 to most.
func roundTicks(most float64, about int, label func(float64) string) ticks {
	if most <= 0 {
		return ticks{{Value: 0, Label: label(0)}}
	}
	raw := most / float64(about)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := unit
	for _, factor := range []float64{1, 2, 5, 10} {
		if step = unit * factor; step >= raw {
			break
		}
	}
	var t ticks
	for i := 0; float64(i)*step <= most*(1+1e-9); i++ {
		t = append(t, plot.Tick{Value: float64(i) * step, Label: label(float64(i) * step)})
	}
	return t
}

func plainLabel(x float64) string { return strings.ReplaceAll(format.Number(x), " ", "") }
