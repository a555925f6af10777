package render

import (
	"bytes"
	"fmt"
	"io"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/report"
)

// valuesShown is how many statistics are listed unless all are asked for. Each has a line for each
// value.
const valuesShown = 12

// TextValues writes a comparison of several values of a parameter: how many statistics changed at
// each value, the statistics with the largest changes, and the verdicts on limits. With all, it lists
// all statistics.
func TextValues(w io.Writer, v *compare.Values, all bool, options format.TextOptions) error {
	t := newTextWriter(options)
	fmt.Fprintf(t, "%s  %s\n", t.paint(bold, format.Printable(v.BaseSide().Scenario)), t.paint(dim, v.Ran()))
	for _, line := range format.Wrap(format.Printable(compare.ValuesHow(v)), t.options.Width) {
		fmt.Fprintln(t, t.paint(dim, line))
	}
	t.table(report.ValueCountTable(v))
	rows, title := compare.ListedValues(v, valuesShown, all)
	t.heading(title)
	if len(rows) > 0 {
		t.rows(report.ValueListTable(v, rows))
	}
	for _, limits := range valueLimits(v) {
		t.table(limits)
	}
	t.warnings(compare.ValuesWarnings(v))
	fmt.Fprintln(t)
	_, err := w.Write(t.Bytes())
	return err
}

// MarkdownValues writes a comparison of several values as Markdown; all is as for TextValues.
func MarkdownValues(w io.Writer, v *compare.Values, all bool) error {
	var b bytes.Buffer
	rows, title := compare.ListedValues(v, valuesShown, all)
	fmt.Fprintf(&b, "### %s\n\n%s\n\n%s\n\n", title, v.Ran(), format.Printable(compare.ValuesHow(v)))
	writeMarkdownTable(&b, report.ValueCountTable(v))
	if len(rows) > 0 {
		b.WriteString("\n")
		writeMarkdownTable(&b, report.ValueTable(v, "", "", rows))
	}
	for _, limits := range valueLimits(v) {
		fmt.Fprintf(&b, "\n### %s\n\n", limits.Title)
		writeMarkdownTable(&b, limits)
	}
	for _, warning := range compare.ValuesWarnings(v) {
		fmt.Fprintf(&b, "\n> Note: %s.\n", format.Printable(warning))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// valueLimits returns the tables of the verdicts on limits, one for each value.
func valueLimits(v *compare.Values) (all []*report.Table) {
	for _, c := range v.Comparisons {
		if len(c.Limits) > 0 {
			limits := report.LimitTable(c)
			limits.Title = c.Head.Label + ": " + limits.Title
			all = append(all, limits)
		}
	}
	return all
}
