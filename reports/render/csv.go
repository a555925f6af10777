package render

import (
	"encoding/csv"
	"errors"
	"io"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// CSV writes the records of a document that has a single table.
func CSV(w io.Writer, d *report.Document, _ format.TextOptions) error {
	if len(d.Records) != 1 {
		return errors.New("the result is no single table")
	}
	return CSVRecords(w, d.Records[0])
}

// CSVRecords writes a table for programs.
func CSVRecords(w io.Writer, t *report.Records) error {
	out := csv.NewWriter(w)
	out.Write(t.Head) // Error returns the first error of all writes
	for record := range t.Rows {
		if out.Write(record) != nil {
			break
		}
	}
	out.Flush()
	return out.Error()
}
