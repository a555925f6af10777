package render

import (
	"encoding/csv"
	"io"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// clientColumns are the columns of clients.csv.
var clientColumns = []string{"metric", "startSeconds", "endSeconds", "count", "meanSeconds", "maxSeconds"}

// CSVClients writes the series of what happened to clients that behave as CSV: a row for each metric and interval
// in which it happened. Metrics without times have none.
func CSVClients(w io.Writer, all []*result.ClientSeries) error {
	out := csv.NewWriter(w)
	out.Write(clientColumns) // Error returns the first error of all writes
	for _, s := range all {
		for i := range s.Points {
			p := &s.Points[i]
			if p.Count == 0 {
				continue
			}
			row := []string{s.Metric, secondsField(p.StartNs), secondsField(p.EndNs), countField(p.Count), "", ""}
			if s.Timed {
				row[4], row[5] = format.Decimal(float64(p.MeanNs)/1e9), format.Decimal(float64(p.MaxNs)/1e9)
			}
			out.Write(row)
		}
	}
	out.Flush()
	return out.Error()
}
