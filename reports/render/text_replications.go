package render

import (
	"io"

	"apfsim/reports/format"
	"apfsim/reports/replicate"
	"apfsim/reports/report"
)

// TextReplications writes what several runs say together: estimates for workloads and priority
// levels, the verdicts on thresholds, and the precision if one was asked for.
func TextReplications(w io.Writer, r *replicate.Replications, options format.TextOptions) error {
	t := newTextWriter(options)
	byName := r.ByName()
	disagrees := t.disagreement(r.Replay)
	t.head(r.Name, r.Ran(), r.Description)
	if r.Replay != nil && !disagrees {
		t.sentences("", report.ReplaySentences(r.Replay))
	}
	for i := range report.EstimateTables {
		if table := report.EstimateTables[i].Table(r, byName); len(table.Rows) > 0 {
			t.table(table)
		}
	}
	t.note("Means of the runs, and percentiles of all runs' requests together, ± half of their 95 % intervals.")
	if len(r.Thresholds) > 0 {
		t.table(report.ReplicatedThresholdTable(r))
	}
	if r.Precision != nil {
		t.table(report.PrecisionTable(r, byName))
	}
	t.warnings(r.Warnings)
	_, err := w.Write(t.Bytes())
	return err
}
