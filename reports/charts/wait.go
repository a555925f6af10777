package charts

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/format"
	"apfsim/reports/histogram"
	"apfsim/reports/plots"
	"apfsim/reports/result"
)

// waitChart draws for each workload the share of its dispatched requests that waited
// longer than a time, nil when none waited. Both scales are logarithmic, so that the
// tail is as legible as the bulk; requests that did not wait are in the legend.
func waitChart(r *result.Result) *Chart {
	scale, ok := plots.WaitScaleOf(r)
	if !ok {
		return nil
	}
	left, right, bottom := scale.Left, scale.Right, scale.Bottom
	p := newPlot("… this long", "")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = left, right, bottom, 1
	p.X.Tick.Marker = decades(left, right, format.Duration)
	p.Y.Tick.Marker = decades(bottom, 1, format.PercentTick)
	p.Add(gridLines{upright: true})
	c := &Chart{Name: "wait", Title: "How long requests waited",
		Caption: "For each workload the share of its dispatched requests that waited longer than a time: lower and further left is better. The requests that did not wait at all are in the legend.",
		width:   chartWidth}
	for i := range r.Waits {
		h := &r.Waits[i]
		name := format.Shorten(format.Printable(r.Summary.Workloads[i].Name), 40)
		if h.N == 0 {
			continue
		}
		style := lineStyle(palette[i%len(palette)], 1.6, dashes[i/len(palette)%len(dashes)])
		points, unhurried := exceedance(h, left, bottom)
		c.legend = append(c.legend, legendEntry{name: name + " (" + format.Percent(unhurried) + " did not wait)", line: style})
		if len(points) > 1 {
			p.Add(&plotter.Line{XYs: points, StepStyle: plotter.PostStep, LineStyle: style})
		}
	}
	c.height = headHeight(c.legend) + 3.3*vg.Inch
	c.draw = func(on draw.Canvas) {
		in := draw.Crop(on, 0, 0, 0, -16)
		p.Draw(in)
		// An upright label would be given room as if the scale were linear.
		data := p.DataCanvas(in)
		on.FillText(textStyle(9, soft, false), vg.Point{X: data.Min.X, Y: data.Max.Y + 6}, "requests that waited longer than …")
	}
	return c
}

// exceedance returns the share of values above x, over x from left on and as long as it is
// at least bottom, and the share of zeros.
func exceedance(h *histogram.Histogram[uint64], left, bottom float64) (points plotter.XYs, zeros float64) {
	total, above := float64(h.N), h.N
	at := func(x float64, n int64) {
		y := float64(n) / total
		if y < bottom {
			y = bottom
		}
		// Steps too small to see only make the file larger.
		if k := len(points); k > 1 && n > 0 && x < points[k-1].X*1.005 && y > points[k-1].Y*0.99 {
			return
		}
		points = append(points, plotter.XY{X: x, Y: y})
	}
	done := false
	h.Each(func(_, mostNs, n int64) {
		if mostNs == 0 {
			zeros = float64(n) / total
		}
		if done {
			return
		}
		x := float64(min(mostNs, h.MostNs))
		if x > left {
			if len(points) == 0 && above > 0 {
				at(left, above)
			}
			at(x, above-n)
			done = float64(above-n)/total < bottom
		}
		above -= n
	})
	return points, zeros
}

// decades marks the powers of ten, with the digits between them unlabelled.
func decades(from, to float64, label func(float64) string) ticks {
	var t ticks
	for e := math.Round(math.Log10(from)); e <= math.Round(math.Log10(to)); e++ {
		base := math.Pow(10, e)
		t = append(t, plot.Tick{Value: base, Label: label(base)})
		for d := 2.0; d < 10 && base*d < to; d++ {
			t = append(t, plot.Tick{Value: base * d})
		}
	}
	return t
}
