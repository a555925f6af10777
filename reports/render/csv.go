package render

import (
	"encoding/csv"
	"errors"
	"io"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// CSV writes the records of a document.
func CSV(w io.Writer, d *report.Document, _ format.TextOptions) error {
	if d.Records == nil {
		return errors.New("the result is no single table")
	}
	out := csv.NewWriter(w)
	out.Write(d.Records.Head) // Error returns the first error of all writes
	for record := range d.Records.Rows {
		out.Write(record)
	}
	out.Flush()
	return out.Error()
}
