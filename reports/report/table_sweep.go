package report

import (
	"cmp"

	"apfsim/reports/format"
)

// sweepWidth is how many characters a parameter's name or value may have.
const sweepWidth = 40

// sweepTable is the table of one statistic at the points of a sweep. If there are several parameters, the
// values of the last one have a column each; else each value has a row.
func sweepTable(s *Sweep, shown *ShownStatistic) *Table {
	squeezed := func(text string) string { return format.Squeeze(format.Printable(text), sweepWidth) }
	t := &Table{Title: shown.Name, Caption: shown.Name}
	names := shortPaths(s.Paths())
	rowParameters := len(names)
	across := []string{""} // the heads of the columns with values, which the titles of tables name
	if rowParameters > 1 {
		rowParameters--
		across = nil
		for _, value := range s.Parameters[rowParameters].Values {
			across = append(across, squeezed(names[rowParameters]+"="+value))
		}
	}
	for _, name := range names[:rowParameters] {
		t.Columns = append(t.Columns, Column{Title: squeezed(name), Short: squeezed(name), Left: true})
	}
	for _, head := range across {
		t.Columns = append(t.Columns, Column{Title: cmp.Or(head, "Value"), Short: head})
	}
	for point := 0; point < s.Points(); point += len(across) {
		var row []Cell
		for _, value := range s.Point(point)[:rowParameters] {
			row = append(row, Word(squeezed(value)))
		}
		for i := range across {
			row = append(row, estimateCell(shown.Points[point+i]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
