// Package charts draws the pictures that package report defines as SVG and PNG, with gonum/plot. It
// chooses sizes, fonts, colours and strokes; package report decides what is shown.
package charts

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"path/filepath"
	"strings"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Chart is one picture, ready to be drawn.
type Chart struct {
	Name  string // of its files, without extension
	Title string

	height vg.Length
	legend []legendEntry
	draw   func(draw.Canvas) // below title and legend
}

func newChart(p *report.Picture) *Chart {
	c := &Chart{Name: p.Name, Title: p.Title}
	for _, e := range p.Legend {
		c.legend = append(c.legend, legendEntry{e.Name, styleOf(e.Kind, e.Index)})
	}
	return c
}

// Of returns a chart for each picture of a document.
func Of(d *report.Document) (charts []*Chart) {
	if d.Pictures == nil {
		return nil
	}
	for p := range d.Pictures {
		charts = append(charts, New(p))
	}
	return charts
}

// New returns the chart of a picture. What the picture has decides how it is drawn.
func New(p *report.Picture) *Chart {
	switch {
	case p.Bars != nil:
		return barsChart(p)
	case p.Grid != nil:
		return gridChart(p)
	case p.Columns > 0:
		return tilesChart(p)
	case p.Panels[0].Queues != nil:
		return queuesChart(p)
	case p.Panels[0].Lines[0].High != nil:
		return meansChart(p)
	case p.Panels[0].Y.Log:
		return curvesChart(p)
	}
	return panelsChart(p)
}

// chartWidth fits the width of a page.
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

// legendEntry is a sample of a style, and its name. The sample of a style with a fill is a box.
type legendEntry struct {
	name string
	style
}

// render draws the whole chart: title, legend and plots.
func (c *Chart) render(on draw.Canvas) {
	on.SetColor(white)
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

// drawLegend draws the entries side by side, in as many rows as they need, from y downward. It returns
// the y of the last row.
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
		case e.vertical:
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

// legendRows estimates the rows of a legend, from which the height of the chart follows.
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

// headHeight is the height of title and legend.
func headHeight(entries []legendEntry) vg.Length {
	return 40 + vg.Length(13*legendRows(entries))
}

// newPlot returns a plot with the fonts and colours of all charts.
func newPlot(xLabel, yLabel string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = fontOf(9, false)
		a.Label.TextStyle.Color = soft
		a.Tick.Label.Font = fontOf(8, false)
		a.Tick.Label.Color = soft
		a.LineStyle = stroke(axisGrey, 0.6, nil)
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 3
		a.Padding = 0
	}
	p.X.Label.Text, p.Y.Label.Text = xLabel, yLabel
	p.Y.Label.Padding, p.X.Label.Padding = 4, 2
	return p
}

// gridLines are faint lines at the labelled ticks: horizontal ones and, if wanted, vertical ones.
type gridLines struct{ vertical bool }

// Plot implements plot.Plotter.
func (g gridLines) Plot(c draw.Canvas, p *plot.Plot) {
	style := stroke(gridGrey, 0.5, nil)
	trX, trY := p.Transforms(&c)
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if t.Label != "" && t.Value >= p.Y.Min && t.Value <= p.Y.Max {
			c.StrokeLine2(style, c.Min.X, trY(t.Value), c.Max.X, trY(t.Value))
		}
	}
	if !g.vertical {
		return
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if t.Label != "" && t.Value >= p.X.Min && t.Value <= p.X.Max {
			c.StrokeLine2(style, trX(t.Value), c.Min.Y, trX(t.Value), c.Max.Y)
		}
	}
}

// WriteSVG writes the chart as SVG. The file names fonts of the same widths for viewers that do not
// have the font with which the chart was laid out.
func (c *Chart) WriteSVG(w io.Writer) error {
	canvas := vgsvg.New(chartWidth, c.height)
	c.render(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return err
	}
	svg := b.Bytes()
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arimo,Helvetica,Arial,sans-serif;"))
	svg = bytes.ReplaceAll(svg, []byte("data:image/jpg;"), []byte("data:image/png;"))
	// An image has to fill its rectangle. By default a viewer keeps the proportions of the image, and
	// leaves empty bands beside it.
	svg = bytes.ReplaceAll(svg, []byte("<image "), []byte(`<image preserveAspectRatio="none" `))
	_, err := (&format.PrintableWriter{Next: w}).Write(svg)
	return err
}

// WritePNG writes the chart as PNG, at 144 dots an inch.
func (c *Chart) WritePNG(w io.Writer) error {
	canvas := vgimg.NewWith(vgimg.UseWH(chartWidth, c.height), vgimg.UseDPI(144))
	c.render(draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// WriteFile writes the chart to a file, as SVG or PNG according to its extension. The file is complete
// or, with an error, as it was before.
func (c *Chart) WriteFile(path string) error {
	var b bytes.Buffer
	var err error
	switch strings.ToLower(filepath.Ext(path)) {
	case ".svg":
		err = c.WriteSVG(&b)
	case ".png":
		err = c.WritePNG(&b)
	default:
		return fmt.Errorf("%s: want a name that ends in .svg or .png", path)
	}
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(path, b.Bytes()); err != nil {
		return fmt.Errorf("%s could not be written: %w", path, err)
	}
	return nil
}

// ticks are the values that are marked on an axis.
type ticks []plot.Tick

// Ticks implements plot.Ticker.
func (t ticks) Ticks(least, most float64) []plot.Tick { return t }

// roundTicks marks about as many round values as given, from 0 to most.
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
