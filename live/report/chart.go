package report

import (
	"bytes"
	"image/color"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"apfsim/live/compare"
)

// The colours are of Paul Tol's palette "bright".
var (
	ink  = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	grid = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}

	liveStyle       = draw.LineStyle{Color: color.NRGBA{0x44, 0x77, 0xaa, 0xff}, Width: 1.6}
	replayStyle     = draw.LineStyle{Color: color.NRGBA{0xee, 0x66, 0x77, 0xff}, Width: 1.2, Dashes: []vg.Length{5, 3}}
	predictionStyle = draw.LineStyle{Color: color.NRGBA{0x22, 0x88, 0x33, 0xff}, Width: 1, Dashes: []vg.Length{1.5, 2}}
)

// waited is the least median of the longest waits for which a kind has a panel.
const waited = 20 * time.Millisecond

// Chart returns the chart of the waits as SVG: a panel for each kind of requests that waited, with the share
// of its executed requests that waited no longer than the time along x. There is a line for each live run
// that is not void, one for its replay, and one for the prediction.
func (r *Results) Chart() ([]byte, error) {
	var panels []*plot.Plot
	for i := range r.Cases {
		c := &r.Cases[i]
		valid := c.valid()
		if len(valid) == 0 {
			continue
		}
		for _, kind := range valid[0].Live {
			if kind.WaitP90 < waited {
				continue
			}
			p := newPanel(c.Name + ": " + kind.Kind)
			for _, run := range valid {
				addWaits(p, compare.Find(run.Live, kind.Level, kind.Kind), liveStyle)
				addWaits(p, compare.Find(run.Replay, kind.Level, kind.Kind), replayStyle)
			}
			addWaits(p, compare.Find(c.Prediction, kind.Level, kind.Kind), predictionStyle)
			panels = append(panels, p)
		}
	}
	const columns = 2
	rows := max(1, (len(panels)+columns-1)/columns)
	const head = 24
	svg := vgsvg.New(7.6*vg.Inch, vg.Length(rows)*2.3*vg.Inch+head)
	c := draw.New(svg)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	drawLegend(c)
	arranged := make([][]*plot.Plot, rows)
	for i := range arranged {
		arranged[i] = make([]*plot.Plot, columns)
	}
	for i, p := range panels {
		arranged[i/columns][i%columns] = p
	}
	tiles := draw.Tiles{Rows: rows, Cols: columns, PadX: 18, PadY: 14, PadTop: 6, PadBottom: 6, PadLeft: 6, PadRight: 14}
	for i, row := range plot.Align(arranged, tiles, draw.Crop(c, 0, 0, 0, -head)) {
		for j, canvas := range row {
			if p := arranged[i][j]; p != nil {
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

func fontOf(size vg.Length) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
}

func newPanel(title string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.Title.Text = title
	p.Title.TextStyle.Font, p.Title.TextStyle.Color = fontOf(9.5), ink
	p.X.Label.Text, p.Y.Label.Text = "wait, seconds", "executed requests, %"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = fontOf(8.5), fontOf(8)
		a.Padding = 0
	}
	p.Y.Min, p.Y.Max = 0, 100
	lines := plotter.NewGrid()
	lines.Vertical.Color, lines.Horizontal.Color = grid, grid
	p.Add(lines)
	return p
}

// addWaits adds the line of one run. It ends at the 99th percentile, because the longest waits are chance.
func addWaits(p *plot.Plot, s *compare.Stats, style draw.LineStyle) {
	if len(s.Waits) == 0 {
		return
	}
	line := &plotter.Line{LineStyle: style}
	for percent, wait := range s.Waits[:100] {
		line.XYs = append(line.XYs, plotter.XY{X: wait.Seconds(), Y: float64(percent)})
	}
	p.Add(line)
	p.X.Min, p.X.Max = 0, math.Max(p.X.Max, s.Waits[99].Seconds())
}

func drawLegend(c draw.Canvas) {
	p := plot.New() // for its text style
	style := p.X.Tick.Label
	style.Font, style.Color, style.XAlign, style.YAlign = fontOf(9), ink, draw.XLeft, draw.YCenter
	x, y := c.Min.X+12, c.Max.Y-14
	for _, e := range []struct {
		name  string
		style draw.LineStyle
	}{{"live", liveStyle}, {"replay of the measured times", replayStyle}, {"prediction", predictionStyle}} {
		c.StrokeLine2(e.style, x, y, x+26, y)
		c.FillText(style, vg.Point{X: x + 32, Y: y}, e.name)
		x += 32 + style.Width(e.name) + 20
	}
}
