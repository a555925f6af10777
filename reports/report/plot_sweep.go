package report

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"apfsim/reports/format"
)

// Grid holds the means of a statistic over two parameters.
type Grid struct {
	X, Y  Axis       // a tick for each value, at 0, 1, 2, ...
	Cells []GridCell // row by row, from the lower left
}

// GridCell is one point of a grid: the mean of its runs, NaN for none, and its 95 % interval in words, "" for
// none.
type GridCell struct {
	Mean     float64
	Text     string // the mean
	Interval string // as "± 3" or "0 to 5"
}

// sweepPictures returns a picture of each statistic that is shown and has samples: a line if one parameter varies, a grid
// if two do. There are no pictures of more than two dimensions. The sentences say what there is no picture of.
func sweepPictures(t *SweepTables) (_ iter.Seq[*Picture], missing []string) {
	varied, names := t.Varied(), t.ChartNames()
	switch n := len(varied); {
	case n == 0:
		return nil, []string{"no charts: no parameter has more than one value"}
	case n > 2:
		return nil, []string{fmt.Sprintf("no charts: %d parameters have more than one value; want at most 2", n)}
	}
	var all []func() *Picture
	for i := range t.Shown {
		s := &t.Shown[i]
		if s.Empty() {
			missing = append(missing, s.Name+": no chart: there are no samples at any point")
			continue
		}
		all = append(all, func() *Picture { return sweepPicture(names[i], s, varied) })
	}
	return pictures(all...), missing
}

func sweepPicture(name string, s *ShownStatistic, varied []*Parameter) *Picture {
	scale, unit := s.Scale()
	p := &Picture{Name: name, Title: s.Title(unit)}
	if len(varied) == 1 {
		p.Panels = []*Plot{sweepLine(s, scale, varied[0])}
	} else {
		p.Grid = sweepGrid(s, scale, varied[0], varied[1])
	}
	return p
}

// sweepLine has the means over one parameter, with their 95 % intervals.
func sweepLine(s *ShownStatistic, scale float64, over *Parameter) *Plot {
	places, logarithmic := over.Positions()
	p := &Plot{X: Axis{Label: format.Shorten(format.Printable(over.Path), 80), Log: logarithmic}}
	for i, x := range places {
		p.X.Ticks = append(p.X.Ticks, plotTick{At: x, Label: over.Label(i)})
	}
	least, most := slices.Min(places), slices.Max(places)
	p.X.Min, p.X.Max = least-0.05*(most-least), most+0.05*(most-least)
	if logarithmic {
		margin := math.Pow(most/least, 0.05)
		p.X.Min, p.X.Max = least/margin, most*margin
	}
	var points []int // those with samples, in ascending order of their places
	for i, e := range s.Points {
		if e != nil {
			points = append(points, i)
		}
	}
	slices.SortStableFunc(points, func(a, b int) int {
		switch {
		case places[a] < places[b]:
			return -1
		case places[a] > places[b]:
			return 1
		}
		return 0
	})
	line := Line{Name: s.Name}
	for _, i := range points {
		mean, low, high := s.Points[i].Printed()
		p.At = append(p.At, places[i])
		line.Values = append(line.Values, mean/scale)
		line.Low, line.High = append(line.Low, low/scale), append(line.High, high/scale)
		p.Y.Max = max(p.Y.Max, high/scale)
	}
	p.Lines = []Line{line}
	if p.Y.Max == 0 {
		p.Y.Max = 1
	}
	p.Y.Max *= 1.05 // and from 0, as no statistic is negative
	return p
}

// sweepGrid has the means over two parameters.
func sweepGrid(s *ShownStatistic, scale float64, up, right *Parameter) *Grid {
	axis := func(parameter *Parameter, length int) Axis {
		a := Axis{Label: format.Shorten(format.Printable(parameter.Path), length), Min: -0.5, Max: float64(len(parameter.Values)) - 0.5}
		for i := range parameter.Values {
			a.Ticks = append(a.Ticks, plotTick{At: float64(i), Label: parameter.Label(i)})
		}
		return a
	}
	g := &Grid{X: axis(right, 80), Y: axis(up, 60)}
	for _, e := range s.Points {
		cell := GridCell{Mean: math.NaN()}
		if e != nil {
			value, low, high := e.Printed()
			cell.Mean = value / scale
			text, margin, interval := IntervalText(value/scale, low/scale, high/scale, "", false)
			if margin != "" {
				interval = "± " + margin
			}
			cell.Text, cell.Interval = text, interval
		}
		g.Cells = append(g.Cells, cell)
	}
	return g
}
