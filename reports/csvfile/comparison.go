package csvfile

import (
	"encoding/csv"
	"io"

	"apfsim/reports/compare"
	"apfsim/reports/format"
)

func WriteComparison(c *compare.Comparison, w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write([]string{"statistic", "unit", "better", "base", "head", "difference", "low", "high", "relative", "p", "outcome", "mood", "sameAs"})
	for i := range c.Changes {
		ch := &c.Changes[i]
		out.Write([]string{ch.Name, ch.Unit, string(ch.Better), format.AllDigits(&ch.Base), format.AllDigits(&ch.Head), format.AllDigits(&ch.Difference),
			format.AllDigits(ch.Low), format.AllDigits(ch.High), format.AllDigits(ch.Relative), format.AllDigits(ch.P), string(ch.Outcome), string(ch.Mood), ch.SameAs})
	}
	out.Flush()
	return out.Error()
}
