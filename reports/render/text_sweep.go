package render

import (
	"io"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// TextSweep writes a table for each statistic that the sweep shows.
func TextSweep(w io.Writer, s *report.SweepTables, options format.TextOptions) error {
	t := newTextWriter(options)
	t.head(s.Scenario, s.Sweep.Ran(), "")
	for i := range s.Shown {
		t.table(report.SweepTable(s.Sweep, &s.Shown[i]))
	}
	if s.Replications > 1 {
		t.note("Means of the runs ± half of their 95 % intervals.")
	}
	_, err := w.Write(t.Bytes())
	return err
}
