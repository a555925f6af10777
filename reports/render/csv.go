package render

import (
	"encoding/csv"
	"io"

	"apfsim/reports/advice"
	"apfsim/reports/compare"
	"apfsim/reports/replicate"
	"apfsim/reports/report"
	"apfsim/reports/scrape"
)

// CSVReplications writes a row for each statistic of several runs.
func CSVReplications(w io.Writer, r *replicate.Replications) error {
	return csvTable(w, report.EstimateColumns, r.Statistics)
}

// CSVComparison writes a row for each statistic that both sides have.
func CSVComparison(w io.Writer, c *compare.Comparison) error {
	return csvTable(w, report.ChangeColumns, c.Changes)
}

// CSVValues writes a row for each value and statistic that the base and the value have.
func CSVValues(w io.Writer, v *compare.Values) error {
	return csvTable(w, report.ValueColumns, report.ValueChanges(v))
}

// CSVServer writes a row for each statistic of a run beside a server.
func CSVServer(w io.Writer, c *scrape.Comparison) error {
	return csvTable(w, report.ServerColumns, c.Statistics)
}

// CSVCollisions writes a row for each deck; probabilities have all their digits.
func CSVCollisions(w io.Writer, c *advice.Collisions) error {
	return csvTable(w, report.CollisionColumns(c), report.CollisionRows(c))
}

func csvTable[R any](w io.Writer, columns report.Definition[R], rows []R) error {
	out := csv.NewWriter(w)
	out.Write(columns.Head()) // Error returns the first error of all writes
	for i := range rows {
		out.Write(columns.Record(&rows[i]))
	}
	out.Flush()
	return out.Error()
}
