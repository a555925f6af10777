package output

import (
	"io"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/scrape"
)

// CompareFormats are the formats of WriteComparisonAs.
var CompareFormats = []string{"text", "markdown", "json", "csv"}

// WriteComparisonAs writes the comparison in one of CompareFormats. all also lists the statistics that did not
// change, which json and csv always contain.
func WriteComparisonAs(c *compare.Comparison, w io.Writer, as string, all bool, options format.TextOptions) error {
	switch as {
	case "text":
		return render.TextComparison(w, c, all, options)
	case "markdown":
		return render.MarkdownComparison(w, c, all)
	case "json":
		return format.WriteJSON(w, c)
	case "csv":
		return render.CSVComparison(w, c)
	}
	panic("output: unknown format " + as)
}

// WriteValuesAs writes the comparison of several values of a parameter in one of CompareFormats. all is as for
// WriteComparisonAs.
func WriteValuesAs(v *compare.Values, w io.Writer, as string, all bool, options format.TextOptions) error {
	switch as {
	case "text":
		return render.TextValues(w, v, all, options)
	case "markdown":
		return render.MarkdownValues(w, v, all)
	case "json":
		return format.WriteJSON(w, v)
	case "csv":
		return render.CSVValues(w, v)
	}
	panic("output: unknown format " + as)
}

// WriteServerAs writes runs beside a server in one of CompareFormats. all also lists the priority levels without
// requests and all FlowSchemas, which json and csv always contain.
func WriteServerAs(c *scrape.Comparison, w io.Writer, as string, all bool, options format.TextOptions) error {
	switch as {
	case "text":
		return render.TextServer(w, c, all, options)
	case "markdown":
		return render.MarkdownServer(w, c, all)
	case "json":
		return format.WriteJSON(w, c)
	case "csv":
		return render.CSVServer(w, c)
	}
	panic("output: unknown format " + as)
}
