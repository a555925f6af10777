package csvfile

import (
	"encoding/csv"
	"io"
	"strconv"

	"apfsim/reports/format"
	"apfsim/reports/replicate"
)

// WriteReplications writes a row for each statistic. What it does not have is empty.
func WriteReplications(r *replicate.Replications, w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"statistic", "unit", "better", "n", "mean", "stddev", "low", "high", "merged", "mergedHalf"})
	for i := range r.Statistics {
		e := &r.Statistics[i]
		out.Write([]string{e.Name, e.Unit, string(e.Better), strconv.Itoa(e.N), format.AllDigits(&e.Mean),
			format.AllDigits(e.StdDev), format.AllDigits(e.Low), format.AllDigits(e.High), format.AllDigits(e.Merged), format.AllDigits(e.MergedHalf)})
	}
	out.Flush()
	return out.Error()
}
