package charts

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/core/dealer"
	"apfsim/internal/atomicfile"
	"apfsim/reports/collisions"
)

// leastDrawn is the least probability that the chart of a collision table has room for.
const leastDrawn = 1e-16

// OfCollisions draws for each deck how the probability of a collision grows with the elephants,
// from 1 to the most that the table has a column for.
func OfCollisions(c *collisions.Collisions) *Chart {
	most := 2
	for _, n := range c.Elephants {
		most = max(most, n)
	}
	p := newPlot("elephants", "")
	p.X.Min, p.X.Max, p.Y.Max = 1, float64(most), 1
	p.Y.Min = 1
	p.Y.Scale = plot.LogScale{}
	p.X.Tick.Marker = roundTicks(float64(most), 8, plainLabel)
	p.Add(gridLines{upright: true})
	chart := &Chart{Name: "collisions", Title: "How likely elephants cover a mouse's whole hand", width: chartWidth,
		Caption: "For each hand size and number of queues the probability that every queue of a mouse's hand is also in the hand of an elephant."}
	for i, r := range c.Rows {
		style := lineStyle(palette[i%len(palette)], 1.6, dashes[i/len(palette)%len(dashes)])
		var points plotter.XYs
		// A point for every number of elephants is more than a line can show of many.
		for n := 1; n <= most; n += max(1, most/64) {
			y := max(leastDrawn, dealer.CollisionProbabilityFloat(r.Queues, r.HandSize, n))
			points = append(points, plotter.XY{X: float64(n), Y: y})
			p.Y.Min = min(p.Y.Min, y)
		}
		p.Add(&plotter.Line{XYs: points, LineStyle: style})
		chart.legend = append(chart.legend, legendEntry{name: fmt.Sprintf("%d of %d", r.HandSize, r.Queues), line: style})
	}
	p.Y.Min = math.Pow(10, math.Floor(math.Log10(min(p.Y.Min, 0.1))))
	p.Y.Tick.Marker = everyOther(decades(p.Y.Min, 1, func(x float64) string { return fmt.Sprintf("%.0e", x) }))
	chart.height = headHeight(chart.legend) + 3.6*vg.Inch
	chart.draw = func(on draw.Canvas) {
		in := draw.Crop(on, 0, 0, 0, -16)
		p.Draw(in)
		data := p.DataCanvas(in)
		on.FillText(textStyle(9, soft, false), vg.Point{X: data.Min.X, Y: data.Max.Y + 6}, "probability")
	}
	return chart
}

// everyOther keeps the labelled marks, and the labels of every other one when there are many.
func everyOther(all ticks) ticks {
	var kept ticks
	for _, t := range all {
		if t.Label != "" {
			kept = append(kept, t)
		}
	}
	for i := range kept {
		if len(kept) > 8 && (len(kept)-1-i)%2 == 1 {
			kept[i].Label = ""
		}
	}
	return kept
}

// WriteCollisions writes the chart to a file, SVG or PNG by its ending, whole or not at all.
func WriteCollisions(c *collisions.Collisions, path string) error {
	var b bytes.Buffer
	var err error
	switch ending := strings.ToLower(filepath.Ext(path)); ending {
	case ".svg":
		err = OfCollisions(c).WriteSVG(&b)
	case ".png":
		err = OfCollisions(c).WritePNG(&b)
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
