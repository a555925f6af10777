package csvfile

import (
	"encoding/csv"
	"io"

	"apfsim/reports/compare"
	"apfsim/reports/replicate"
	"apfsim/reports/tables"
)

// WriteReplications writes a row for each statistic of several runs. What it does not have is empty.
func WriteReplications(w io.Writer, r *replicate.Replications) error {
	return write(w, tables.EstimateColumns, r.Statistics)
}

// WriteComparison writes a row for each statistic that both sides have.
func WriteComparison(w io.Writer, c *compare.Comparison) error {
	return write(w, tables.ChangeColumns, c.Changes)
}

func write[R any](w io.Writer, columns tables.Definition[R], rows []R) error {
	out := csv.NewWriter(w)
	out.Write(columns.Head()) // the writer keeps its first error for Error
	for i := range rows {
		out.Write(columns.Record(&rows[i]))
	}
	out.Flush()
	return out.Error()
}
