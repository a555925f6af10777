package text

import (
	"fmt"
	"io"

	"apfsim/reports/format"
	"apfsim/reports/sweep"
	"apfsim/reports/tables"
)

// WriteSweep writes the statistics that are shown for people to read: a table of each, with
// the values of the last parameter side by side if there are several parameters.
func WriteSweep(t *sweep.SweepTables, w io.Writer, options format.TextOptions) error {
	text := newTextWriter(options)
	ran := fmt.Sprintf("%s, %s each, seeds %d to %d", format.Counted(t.Points(), "point"), format.Counted(t.Replications, "run"), t.Seed, t.Seed+uint64(t.Replications-1))
	if t.Replications == 1 {
		ran = fmt.Sprintf("%s, seed %d", format.Counted(t.Points(), "point"), t.Seed)
	}
	text.head(t.Scenario, ran, "")
	for i := range t.Shown {
		write(&t.Shown[i], &text, t.Sweep)
	}
	if t.Replications > 1 {
		fmt.Fprintln(text, text.paint(Dim, "  Means of the runs ± half of their 95 % intervals."))
	}
	_, err := w.Write(text.Bytes())
	return err
}

func write(of *sweep.ShownStatistic, t *textWriter, s *sweep.Sweep) {
	t.heading(format.Printable(of.Name))
	cell := func(point int) string {
		if e := of.Points[point]; e != nil {
			return tables.EstimateText(e)
		}
		return "–"
	}
	paths := s.Paths()
	left := len(paths)
	last := []string{""}
	if left > 1 {
		left--
		last = s.Parameters[left].Values
	}
	tb := &format.TextTable{Left: left}
	var head []string
	short := sweep.ShortPaths(paths)
	for i := range left {
		head = append(head, format.Squeeze(format.Printable(short[i]), 40))
	}
	for _, value := range last {
		if value != "" {
			value = format.Squeeze(format.Printable(short[left]+"="+value), 40)
		}
		head = append(head, value)
	}
	tb.Row(head...)
	for point := 0; point < s.Points(); point += len(last) {
		row := append([]string(nil), s.Point(point)[:left]...)
		for i := range row {
			row[i] = format.Squeeze(format.Printable(row[i]), 40)
		}
		for i := range last {
			row = append(row, cell(point+i))
		}
		tb.Row(row...)
	}
	t.table(tb)
}
