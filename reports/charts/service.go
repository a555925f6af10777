package charts

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// How many flows have a bar of their own.
const (
	flowsDrawn        = 24
	flowsDrawnAtLeast = 8
)

// ServiceChart draws what the flows of a level got against their fair shares, nil when
// there are not two that asked for anything. The flows with the greatest demands have
// bars of their own, the others one for their mean.
func ServiceChart(r *result.Result, l *result.Level) *Chart {
	var flows []*result.Flow
	for i := range r.Summary.Flows {
		if f := &r.Summary.Flows[i]; f.PriorityLevel == l.Name && f.FairShareSeatSeconds > 0 {
			flows = append(flows, f)
		}
	}
	if len(flows) < 2 {
		return nil
	}
	slices.SortStableFunc(flows, func(a, b *result.Flow) int { return -cmp.Compare(a.DemandSeatSeconds, b.DemandSeatSeconds) })
	rows := serviceRows(flows)

	p := newPlot("seat-seconds", "")
	p.Y.Min, p.Y.Max = -0.6, float64(len(rows))-0.4
	var names ticks
	for i, row := range rows {
		names = append(names, plot.Tick{Value: float64(len(rows) - 1 - i), Label: row.name})
		p.X.Max = max(p.X.Max, row.service, row.share)
	}
	p.X.Min, p.X.Max = 0, p.X.Max*1.05
	p.X.Tick.Marker = roundTicks(p.X.Max, 6, plainLabel)
	p.Y.Tick.Marker = names
	p.Y.Tick.Length = 0
	p.Y.LineStyle.Width = 0
	p.Add(uprightGrid{}, rows)

	c := &Chart{Name: "service-" + files.Name(l.Name), Title: "Service and fair share of flows: " + result.LevelTitle(r.Summary, l.Name),
		Caption: "What each flow got, in seat-seconds, against what max-min fairness would have given it. The flows are ordered by demand.",
		width:   chartWidth,
		legend: []legendEntry{{name: "service", fill: blue}, {name: "service below " + format.Percent(judge.UnderservedRatio) + " of fair share", fill: rose},
			{name: "fair share", line: lineStyle(ink, 1.6, nil), tick: true}}}
	c.height = headHeight(c.legend) + vg.Length(len(rows))*14 + 42
	c.draw = func(on draw.Canvas) { p.Draw(on) }
	return c
}

// serviceBars are the rows of a chart of service, from the top.
type serviceBars []serviceBar

type serviceBar struct {
	name           string
	service, share float64
}

func serviceRows(flows []*result.Flow) serviceBars {
	var rows serviceBars
	shown := flows
	if len(flows) > flowsDrawn+1 {
		shown = flows[:flowsDrawn]
	}
	// Bars too short to see go with the others.
	most := flows[0].FairShareSeatSeconds
	for len(shown) > flowsDrawnAtLeast && shown[len(shown)-1].FairShareSeatSeconds < most/200 {
		shown = shown[:len(shown)-1]
	}
	for _, f := range shown {
		rows = append(rows, serviceBar{format.Squeeze(format.Printable(f.Name), 40), f.ServiceSeatSeconds, f.FairShareSeatSeconds})
	}
	if rest := flows[len(shown):]; len(rest) > 0 {
		bar := serviceBar{name: fmt.Sprintf("mean of %s others", plainLabel(float64(len(rest))))}
		for _, f := range rest {
			bar.service += f.ServiceSeatSeconds / float64(len(rest))
			bar.share += f.FairShareSeatSeconds / float64(len(rest))
		}
		rows = append(rows, bar)
	}
	return rows
}

// Plot implements plot.Plotter.
func (rows serviceBars) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	for i, row := range rows {
		y := trY(float64(len(rows) - 1 - i))
		var col color.Color = blue
		if row.service < judge.UnderservedRatio*row.share {
			col = rose
		}
		c.SetColor(col)
		c.Fill(vg.Rectangle{Min: vg.Point{X: c.Min.X, Y: y - 4}, Max: vg.Point{X: trX(row.service), Y: y + 4}}.Path())
		c.StrokeLine2(lineStyle(ink, 1.6, nil), trX(row.share), y-6, trX(row.share), y+6)
	}
}

// uprightGrid is the faint lines of a chart whose values run along x.
type uprightGrid struct{}

// Plot implements plot.Plotter.
func (uprightGrid) Plot(c draw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(lineStyle(faint, 0.5, nil), trX(t.Value), c.Min.Y, trX(t.Value), c.Max.Y)
	}
}
