package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// The first screen of a sweep: where the statistics are least and greatest, a picture of the first of them, and a table of
// all points.

// Limits of the first screen of a sweep: charts, sentences, statistics and points in the table.
const (
	sweepPlotted = 2
	sweepColumns = 6
	sweepRows    = 24
)

// sweepVerdict says at which points the first statistics are least and greatest; nil without samples.
func sweepVerdict(s *SweepTables) *Verdict {
	v := &Verdict{}
	for i := range s.Shown[:min(sweepPlotted, len(s.Shown))] {
		shown := &s.Shown[i]
		least, most := -1, -1
		value := func(point int) float64 { x, _, _ := shown.Points[point].Printed(); return x }
		for point, e := range shown.Points {
			if e == nil {
				continue
			}
			if least < 0 || value(point) < value(least) {
				least = point
			}
			if most < 0 || value(point) > value(most) {
				most = point
			}
		}
		name := shown.Name
		at := func(point int) string {
			return estimateText(shown.Points[point]) + " at " + s.Describe(point)
		}
		switch {
		case least < 0:
		case value(least) == value(most):
			v.Sentences = append(v.Sentences, fmt.Sprintf("%s is %s at all points.", name, estimateText(shown.Points[least])))
		default:
			v.Sentences = append(v.Sentences, fmt.Sprintf("%s is from %s to %s.", name, at(least), at(most)))
		}
	}
	if len(v.Sentences) == 0 {
		return nil
	}
	return v
}

func sweepScreen(s *SweepTables) Section {
	screen := Section{Name: "points", Title: "Points", Screen: true, Only: HTML}
	if varied := s.Varied(); len(varied) == 1 || len(varied) == 2 && len(varied[1].Values) <= screenLines {
		for i := range s.Shown {
			shown := &s.Shown[i]
			if shown.Empty() || len(screen.Parts) == sweepPlotted {
				continue
			}
			scale, unit := shown.Scale()
			p := sweepLines(shown, scale, varied)
			p.Name, p.Title = "sweep-"+strconv.Itoa(i), shown.Title(unit)
			screen.Parts = append(screen.Parts, Part{Plot: p})
		}
	}
	screen.Parts = append(screen.Parts, Part{Table: pointTable(s)})
	return screen
}

// pointTable has a row for each point, and a column for each of the first statistics.
func pointTable(s *SweepTables) *Table {
	t := &Table{Name: "points", Title: "Points", Caption: "Statistics at each point", First: sweepRows}
	for _, path := range shortPaths(s.Paths()) {
		t.Columns = append(t.Columns, Column{Title: path, Left: true})
	}
	judged := slices.ContainsFunc(s.Verdicts, func(v *result.Overall) bool { return v != nil })
	if judged {
		t.Columns = append(t.Columns, Column{Title: "Verdict", Left: true})
	}
	shown := s.Shown[:min(sweepColumns, len(s.Shown))]
	for i := range shown {
		t.Columns = append(t.Columns, Column{Title: shown[i].Name})
	}
	for point := range s.Points() {
		var row []Cell
		for _, value := range s.Point(point) {
			row = append(row, Word(value))
		}
		if judged {
			row = append(row, statusCell(s.Verdicts[point]))
		}
		for i := range shown {
			row = append(row, estimateCell(shown[i].Points[point]))
		}
		if len(t.Rows) < mostRows {
			t.Rows = append(t.Rows, row)
		}
	}
	if more := s.Points() - len(t.Rows); more > 0 {
		t.Missing = fmt.Sprintf("Left out: %s, all in summary.csv.", format.Counted(more, "point"))
	}
	return t
}

// statusCell is the status of a verdict, with its sentence as what stands beside it.
func statusCell(v *result.Overall) Cell {
	if v == nil || v.Status == "" {
		return noValue
	}
	c := Word(strings.ToUpper(string(v.Status)))
	c.Whole = v.Sentence
	c.Judgement = map[result.Status]Judgement{result.Harm: judge.Bad, result.OK: judge.Good}[v.Status]
	return c
}

// sweepLines is sweepLine of the first of one or two parameters, with a line for each value of the second.
func sweepLines(s *ShownStatistic, scale float64, over []*Parameter) *Plot {
	if len(over) == 1 {
		return sweepLine(s, scale, over[0])
	}
	var all *Plot
	for k := range over[1].Values {
		part := ShownStatistic{Name: over[1].Path + "=" + over[1].Label(k)}
		for i := range over[0].Values {
			part.Points = append(part.Points, s.Points[i*len(over[1].Values)+k])
		}
		p := sweepLine(&part, scale, over[0])
		line := &p.Lines[0]
		line.Kind, line.Index = KindCategory, k
		switch {
		case all == nil:
			all = p
		case slices.Equal(p.At, all.At): // else the line has no samples at some places
			all.Lines, all.Y.Max = append(all.Lines, *line), max(all.Y.Max, p.Y.Max)
		}
	}
	return all
}
