package charts

import (
	"image"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/report"
)

// queuesChart draws the lengths of the queues of a level over time as colours. Flows that keep the
// queues of their hands full appear as horizontal lines.
func queuesChart(picture *report.Picture) *Chart {
	spec := picture.Panels[0]
	m := lengthMap{spec, spec.Queues.Longest()}
	queues := spec.Queues.Queues
	p := newPlot(timeLabel(spec.X), spec.Y.Label)
	setTimeAxis(p, spec)
	p.Y.Min, p.Y.Max = 0, spec.Y.Max
	p.Y.Tick.Marker = roundTicks(float64(queues), 4, plainLabel)
	p.Add(m)
	if spec.Warmup > 0 { // shading would hide data
		p.Add(verticalLine{spec.Warmup, stroke(soft, 0.8, []vg.Length{3, 3})})
	}
	var marks ticks
	for _, t := range roundTicks(float64(m.longest), 5, plainLabel) {
		if t.Value == float64(int64(t.Value)) {
			marks = append(marks, plot.Tick{Value: t.Value / float64(m.longest), Label: t.Label})
		}
	}
	c := newChart(picture)
	c.height = headHeight(nil) + 3.2*vg.Inch
	c.draw = func(on draw.Canvas) {
		in := draw.Crop(on, 0, -52, 0, 0)
		p.Draw(in)
		data := p.DataCanvas(in)
		drawScale(draw.Crop(on, on.Max.X-on.Min.X-42, 0, data.Min.Y-on.Min.Y, data.Max.Y-on.Max.Y), lengthPalette, marks)
	}
	return c
}

// lengthMap draws queue lengths as an image: a shape for each queue and interval would make files of
// many megabytes.
type lengthMap struct {
	plot    *report.Plot
	longest int32
}

// Plot implements plot.Plotter.
func (m lengthMap) Plot(c draw.Canvas, p *plot.Plot) {
	intervals, queues := len(m.plot.Queues.Lengths), m.plot.Queues.Queues
	// Viewers smooth an enlarged image; enlarging it beforehand keeps the edges sharp.
	wide, high := max(1, 1200/intervals), max(1, 480/queues)
	img := image.NewPaletted(image.Rect(0, 0, wide*intervals, high*queues), lengthPalette)
	for i, lengths := range m.plot.Queues.Lengths {
		for q, n := range lengths {
			shade := m.shade(n)
			for x := i * wide; x < (i+1)*wide; x++ {
				for y := (queues - 1 - q) * high; y < (queues-q)*high; y++ {
					img.SetColorIndex(x, y, shade)
				}
			}
		}
	}
	// The last interval may be shorter than the others. Its pixels then reach beyond the end of the run.
	rect := c.Rectangle
	if intervals > 1 {
		rect.Max.X = rect.Min.X + (rect.Max.X-rect.Min.X)*vg.Length(m.plot.At[1]*float64(intervals)/m.plot.X.Max)
	}
	c.Push()
	c.DrawImage(rect, img)
	c.Pop()
	if rect.Max.X > c.Max.X {
		c.SetColor(white)
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Max.X + 0.5, Y: c.Min.Y}, Max: rect.Max}.Path())
	}
}

func (m lengthMap) shade(n int32) uint8 {
	if n == 0 {
		return 0
	}
	return uint8(1 + int64(n-1)*int64(len(lengthPalette)-2)/int64(max(1, m.longest-1)))
}

// lengthPalette goes from near white through blue to near black: the longer, the darker. The first
// colour is that of an empty queue.
var lengthPalette = func() color.Palette {
	stops := []color.NRGBA{{0xd6, 0xe6, 0xf4, 0xff}, {0x6b, 0xae, 0xd6, 0xff}, {0x21, 0x71, 0xb5, 0xff}, {0x08, 0x1d, 0x58, 0xff}}
	p := color.Palette{color.NRGBA{0xf8, 0xf8, 0xf8, 0xff}}
	const shades = 96
	for i := range shades {
		at := float64(i) / (shades - 1) * float64(len(stops)-1)
		k := min(int(at), len(stops)-2)
		mix := func(a, b uint8) uint8 { return uint8(float64(a) + (at-float64(k))*(float64(b)-float64(a)) + 0.5) }
		a, b := stops[k], stops[k+1]
		p = append(p, color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff})
	}
	return p
}()

// drawScale draws the scale of colours, from the bottom to the top. The value of a mark is its height
// as a share of the whole.
func drawScale(c draw.Canvas, colours color.Palette, marks ticks) {
	const width = 10
	height := c.Max.Y - c.Min.Y
	for i, col := range colours {
		c.SetColor(col)
		c.Fill(vg.Rectangle{
			Min: vg.Point{X: c.Min.X, Y: c.Min.Y + height*vg.Length(i)/vg.Length(len(colours))},
			Max: vg.Point{X: c.Min.X + width, Y: c.Max.Y}, // what is above covers it, without seams
		}.Path())
	}
	style := textStyle(8, soft, false)
	for _, t := range marks {
		y := c.Min.Y + height*vg.Length(t.Value)
		c.FillText(style, vg.Point{X: c.Min.X + width + 4, Y: min(y-3, c.Max.Y-7)}, t.Label)
	}
}
