package charts

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// tileHeight is the height of a plot beside others, with its title.
const tileHeight = 2.2 * vg.Inch

// tilesChart draws several columns of plots, each with axes of its own.
func tilesChart(picture *report.Picture) *Chart {
	rows := (len(picture.Panels) + picture.Columns - 1) / picture.Columns
	plots := make([][]*plot.Plot, rows)
	for i := range plots {
		plots[i] = make([]*plot.Plot, picture.Columns)
	}
	for i, spec := range picture.Panels {
		plots[i/picture.Columns][i%picture.Columns] = distributionPlot(spec)
	}
	c := newChart(picture)
	c.height = headHeight(c.legend) + vg.Length(rows)*tileHeight
	c.draw = func(on draw.Canvas) {
		if rows == 0 {
			return
		}
		grid := draw.Tiles{Cols: picture.Columns, Rows: rows, PadX: 18, PadY: 24, PadTop: 16}
		for i, row := range plot.Align(plots, grid, on) {
			for k, canvas := range row {
				if p := plots[i][k]; p != nil { // the last row may have fewer
					p.Draw(canvas)
					data := p.DataCanvas(canvas)
					on.FillText(textStyle(9.5, ink, true), vg.Point{X: data.Min.X, Y: data.Max.Y + 5}, picture.Panels[i*picture.Columns+k].Subject)
				}
			}
		}
	}
	return c
}

// distributionPlot draws a transposed plot: its places are shares along y, and the values of its lines are times along x.
func distributionPlot(spec *report.Plot) *plot.Plot {
	longest := 0.0
	for _, l := range spec.Lines {
		for _, x := range l.Values {
			longest = max(longest, x)
		}
	}
	scale, unit := unitOf(longest)
	p := newPlot(spec.X.Label+" ("+unit+")", spec.Y.Label)
	p.X.Min, p.X.Max = 0, longest/scale
	p.X.Tick.Marker = roundTicks(p.X.Max, 5, plainLabel)
	p.Y.Min, p.Y.Max = 0, spec.Y.Max
	p.Y.Tick.Marker = roundTicks(spec.Y.Max, 5, format.PercentTick)
	p.Add(gridLines{vertical: true})
	for i := range spec.Lines {
		l := &spec.Lines[i]
		line := &plotter.Line{LineStyle: styleOf(l.Kind, l.Index).line}
		for k, share := range spec.At {
			line.XYs = append(line.XYs, plotter.XY{X: l.Values[k] / scale, Y: share})
		}
		p.Add(line)
	}
	return p
}
