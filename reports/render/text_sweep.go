package render

import (
	"io"

	"apfsim/reports/format"
	"apfsim/reports/sweep"
	"apfsim/reports/tables"
)

// TextSweep writes a table for each statistic that the sweep shows.
func TextSweep(w io.Writer, s *sweep.SweepTables, options format.TextOptions) error {
	t := newTextWriter(options)
	t.head(s.Scenario, s.Sweep.Ran(), "")
	for i := range s.Shown {
		t.table(tables.Sweep(s.Sweep, &s.Shown[i]))
	}
	if s.Replications > 1 {
		t.note("Means of the runs ± half of their 95 % intervals.")
	}
	_, err := w.Write(t.Bytes())
	return err
}
