package output

import (
	"io"

	"apfsim/reports/compare"
	"apfsim/reports/csvfile"
	"apfsim/reports/format"
	"apfsim/reports/text"
)

// CompareFormats are the formats of WriteComparisonAs.
var CompareFormats = []string{"text", "markdown", "json", "csv"}

// WriteComparisonAs writes the comparison in one of CompareFormats. all also lists the statistics that did not
// change, which json and csv always contain.
func WriteComparisonAs(c *compare.Comparison, w io.Writer, as string, all bool, options format.TextOptions) error {
	switch as {
	case "text":
		return text.WriteComparison(w, c, all, options)
	case "markdown":
		return text.WriteMarkdown(w, c, all)
	case "json":
		return format.WriteJSON(w, c)
	case "csv":
		return csvfile.WriteComparison(w, c)
	}
	panic("output: unknown format " + as)
}
