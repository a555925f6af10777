package output

import (
	"io"

	"apfsim/reports/compare"
	"apfsim/reports/csvfile"
	"apfsim/reports/format"
	"apfsim/reports/scrape"
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

// WriteValuesAs writes the comparison of several values of a parameter in one of CompareFormats. all is as for
// WriteComparisonAs.
func WriteValuesAs(v *compare.Values, w io.Writer, as string, all bool, options format.TextOptions) error {
	switch as {
	case "text":
		return text.WriteValues(w, v, all, options)
	case "markdown":
		return text.WriteValuesMarkdown(w, v, all)
	case "json":
		return format.WriteJSON(w, v)
	case "csv":
		return csvfile.WriteValues(w, v)
	}
	panic("output: unknown format " + as)
}

// WriteServerAs writes runs beside a server in one of CompareFormats. all also lists the priority levels without
// requests and all FlowSchemas, which json and csv always contain.
func WriteServerAs(c *scrape.Comparison, w io.Writer, as string, all bool, options format.TextOptions) error {
	switch as {
	case "text":
		return text.WriteServer(w, c, all, options)
	case "markdown":
		return text.WriteServerMarkdown(w, c, all)
	case "json":
		return format.WriteJSON(w, c)
	case "csv":
		return csvfile.WriteServer(w, c)
	}
	panic("output: unknown format " + as)
}
