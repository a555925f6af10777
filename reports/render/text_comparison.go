package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/report"
)

// TextComparison writes a comparison: both sides, how they were compared, the changes, and the
// verdicts on limits. With all, it lists the statistics that did not change as well.
func TextComparison(w io.Writer, c *compare.Comparison, all bool, options format.TextOptions) error {
	t := newTextWriter(options)
	sides := aligned{left: []bool{true, true, true}}
	sides.row(t.paint(bold, "base"), format.Printable(c.Base.Label), compare.SideText(&c.Base))
	sides.row(t.paint(bold, "head"), format.Printable(c.Head.Label), compare.SideText(&c.Head))
	sides.write(t, func(_ int, line string) string { return strings.TrimPrefix(line, "  ") })
	for _, text := range []string{compare.ComparedHow(c), compare.ComparedTests(c), compare.ComparedScope(c)} {
		if text != "" {
			fmt.Fprintln(t, t.paint(dim, text))
		}
	}
	changes, title := compare.ListedChanges(c, all)
	t.heading(title)
	if len(changes) > 0 {
		t.rows(report.ChangeTable(changes))
	}
	if text := compare.FoldedChanges(c, "~ "); text != "" && !all {
		t.note(text)
	}
	if len(c.Limits) > 0 {
		t.table(report.LimitTable(c))
	}
	t.warnings(c.Warnings)
	fmt.Fprintln(t)
	_, err := w.Write(t.Bytes())
	return err
}

// MarkdownComparison writes a comparison as Markdown; all is as for TextComparison.
func MarkdownComparison(w io.Writer, c *compare.Comparison, all bool) error {
	var b bytes.Buffer
	changes, title := compare.ListedChanges(c, all)
	fmt.Fprintf(&b, "### %s\n\n", title)
	markdownRow(&b, "", "", "")
	markdownRow(&b, "---", "---", "---")
	markdownRow(&b, "base", code(c.Base.Label), compare.SideText(&c.Base))
	markdownRow(&b, "head", code(c.Head.Label), compare.SideText(&c.Head))
	fmt.Fprintf(&b, "\n%s\n\n", strings.TrimSpace(compare.ComparedHow(c)+" "+compare.ComparedTests(c)+" "+compare.ComparedScope(c)))
	if len(changes) > 0 {
		writeMarkdownTable(&b, report.ChangeTable(changes))
		b.WriteString("\n")
	}
	if text := compare.FoldedChanges(c, "~ "); text != "" && !all {
		fmt.Fprintf(&b, "%s\n\n", text)
	}
	if len(c.Limits) > 0 {
		limits := report.LimitTable(c)
		fmt.Fprintf(&b, "### %s\n\n", limits.Title)
		writeMarkdownTable(&b, limits)
		b.WriteString("\n")
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "> Note: %s.\n\n", format.Printable(warning))
	}
	_, err := w.Write(append(bytes.TrimRight(b.Bytes(), "\n"), '\n'))
	return err
}
