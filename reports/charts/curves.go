package charts

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// curvesChart draws lines over a logarithmic y axis.
func curvesChart(picture *report.Picture) *Chart {
	spec := picture.Panels[0]
	p := newPlot(spec.X.Label, "")
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = spec.X.Min, spec.X.Max, spec.Y.Min, spec.Y.Max
	p.Y.Scale = plot.LogScale{}
	height := 3.3 * vg.Inch
	if spec.X.Log {
		p.X.Scale = plot.LogScale{}
		p.X.Tick.Marker = decades(spec.X.Min, spec.X.Max, format.Duration)
	} else {
		p.X.Tick.Marker, height = roundTicks(spec.X.Max, 8, plainLabel), 3.6*vg.Inch // room for more decades
	}
	if spec.Y.Unit == "share" {
		p.Y.Tick.Marker = decades(spec.Y.Min, spec.Y.Max, format.PercentTick)
	} else {
		p.Y.Tick.Marker = everyOther(decades(spec.Y.Min, spec.Y.Max, func(x float64) string { return fmt.Sprintf("%.0e", x) }))
	}
	p.Add(gridLines{vertical: true})
	for i := range spec.Lines {
		l := &spec.Lines[i]
		line := &plotter.Line{LineStyle: styleOf(l.Kind, l.Index).line}
		at, values := spec.At, l.Values
		if spec.Steps {
			line.StepStyle = plotter.PostStep
			at, values = spec.VisibleSteps(l)
		}
		if len(at) < 2 {
			continue
		}
		for k, x := range at {
			line.XYs = append(line.XYs, plotter.XY{X: x, Y: values[k]})
		}
		p.Add(line)
	}
	c := newChart(picture)
	c.height = headHeight(c.legend) + height
	c.draw = func(on draw.Canvas) {
		in := draw.Crop(on, 0, 0, 0, -16)
		p.Draw(in)
		// gonum/plot would give a vertical label room as if the scale were linear.
		data := p.DataCanvas(in)
		on.FillText(textStyle(9, soft, false), vg.Point{X: data.Min.X, Y: data.Max.Y + 6}, spec.Y.Label)
	}
	return c
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

// everyOther keeps the labelled marks, and only every other label if there are many.
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
