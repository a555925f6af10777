package charts

import (
	"image"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/files"
	"apfsim/reports/plots"
	"apfsim/reports/result"
)

// queuesChart draws the lengths of a level's queues over time, nil when nothing was ever
// found waiting. Flows that keep their hands full stand out as lines.
func queuesChart(r *result.Result, s *result.Series) *Chart {
	if !s.Queued() {
		return nil
	}
	m := lengthMap{end: float64(r.Summary.DurationNs)}
	for i, lengths := range s.QueueLengths {
		m.columns = append(m.columns, lengths)
		m.starts = append(m.starts, float64(s.Points[i].StartNs))
		m.queues = max(m.queues, len(lengths))
		for _, n := range lengths {
			m.most = max(m.most, n)
		}
	}
	a := plots.TimeAxisOf(r.Summary)
	p := newPlot(a.Label, "queue")
	p.X.Min, p.X.Max = 0, a.Most
	p.X.Tick.Marker = roundTicks(a.Most, 7, plainLabel)
	p.Y.Min, p.Y.Max = 0, float64(m.queues)
	p.Y.Tick.Marker = roundTicks(float64(m.queues), 4, plainLabel)
	p.Add(m)
	if w := a.Warmup; w > 0 {
		p.Add(edge(w))
	}
	var marks ticks
	for _, t := range roundTicks(float64(m.most), 5, plainLabel) {
		if t.Value == float64(int64(t.Value)) {
			marks = append(marks, plot.Tick{Value: t.Value / float64(m.most), Label: t.Label})
		}
	}
	c := &Chart{Name: "queues-" + files.Name(s.Level), Title: "Requests waiting in each queue: " + result.LevelTitle(r.Summary, s.Level),
		Caption: "Each row is a queue of the priority level, and its colour how many requests wait in it: a flow that sends more than its share fills the queues of its hand. The dashed line is the end of the warm-up.",
		width:   chartWidth, height: headHeight(nil) + 3.2*vg.Inch}
	c.draw = func(on draw.Canvas) {
		p.Draw(draw.Crop(on, 0, -52, 0, 0))
		data := p.DataCanvas(draw.Crop(on, 0, -52, 0, 0))
		drawScale(draw.Crop(on, on.Max.X-on.Min.X-42, 0, data.Min.Y-on.Min.Y, data.Max.Y-on.Max.Y), lengthPalette, marks)
	}
	return c
}

// lengthMap draws queue lengths as colours. It is drawn as an image: a shape for each
// queue and interval would make files of many megabytes.
type lengthMap struct {
	columns [][]int32
	starts  []float64 // of the columns' intervals, in nanoseconds
	end     float64
	queues  int
	most    int32
}

// Plot implements plot.Plotter.
func (m lengthMap) Plot(c draw.Canvas, p *plot.Plot) {
	// Viewers smooth an enlarged image; enlarging it beforehand keeps the edges sharp.
	wide, high := max(1, 1200/len(m.columns)), max(1, 480/m.queues)
	img := image.NewPaletted(image.Rect(0, 0, wide*len(m.columns), high*m.queues), lengthPalette)
	for i, lengths := range m.columns {
		for q, n := range lengths {
			shade := m.shade(n)
			for x := i * wide; x < (i+1)*wide; x++ {
				for y := (m.queues - 1 - q) * high; y < (m.queues-q)*high; y++ {
					img.SetColorIndex(x, y, shade)
				}
			}
		}
	}
	// The last interval may be shorter than the others, whose pixels then reach beyond it.
	rect := c.Rectangle
	if n := len(m.starts); n > 1 {
		rect.Max.X = rect.Min.X + (rect.Max.X-rect.Min.X)*vg.Length(m.starts[1]*float64(n)/m.end)
	}
	c.Push()
	c.DrawImage(rect, img)
	c.Pop()
	if rect.Max.X > c.Max.X {
		c.SetColor(nobody)
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Max.X + 0.5, Y: c.Min.Y}, Max: rect.Max}.Path())
	}
}

func (m lengthMap) shade(n int32) uint8 {
	if n == 0 {
		return 0
	}
	return uint8(1 + int64(n-1)*int64(len(lengthPalette)-2)/int64(max(1, m.most-1)))
}

// lengthPalette goes from near white by blue to near black: the more, the darker. The
// first colour is that of an empty queue.
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

// drawScale draws what colours mean, from the bottom to the top. The values of the marks are their
// heights as shares of the whole.
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

// edge is an upright line: the end of the warm-up where shading would hide data.
type edge float64

// Plot implements plot.Plotter.
func (e edge) Plot(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	c.StrokeLine2(lineStyle(soft, 0.8, []vg.Length{3, 3}), trX(float64(e)), c.Min.Y, trX(float64(e)), c.Max.Y)
}
