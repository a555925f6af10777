package csvfile

import (
	"encoding/csv"
	"io"

	"apfsim/reports/collisions"
	"apfsim/reports/compare"
	"apfsim/reports/replicate"
	"apfsim/reports/scrape"
	"apfsim/reports/tables"
)

// WriteReplications writes a row for each statistic of several runs.
func WriteReplications(w io.Writer, r *replicate.Replications) error {
	return write(w, tables.EstimateColumns, r.Statistics)
}

// WriteComparison writes a row for each statistic that both sides have.
func WriteComparison(w io.Writer, c *compare.Comparison) error {
	return write(w, tables.ChangeColumns, c.Changes)
}

// WriteValues writes a row for each value and statistic that the base and the value have.
func WriteValues(w io.Writer, v *compare.Values) error {
	return write(w, tables.ValueColumns, tables.ValueChanges(v))
}

// WriteServer writes a row for each statistic of a run beside a server.
func WriteServer(w io.Writer, c *scrape.Comparison) error {
	return write(w, tables.ServerColumns, c.Statistics)
}

// WriteCollisions writes a row for each deck; probabilities have all their digits.
func WriteCollisions(w io.Writer, c *collisions.Collisions) error {
	return write(w, tables.CollisionColumns(c), tables.CollisionRows(c))
}

func write[R any](w io.Writer, columns tables.Definition[R], rows []R) error {
	out := csv.NewWriter(w)
	out.Write(columns.Head()) // Error returns the first error of all writes
	for i := range rows {
		out.Write(columns.Record(&rows[i]))
	}
	out.Flush()
	return out.Error()
}
