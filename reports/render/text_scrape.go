package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/report"
	"apfsim/reports/scrape"
)

// TextServer writes runs beside what a server did: both sides, what the outcomes mean, and a table for
// each priority level and FlowSchema. With all, it also writes those that [scrape.Comparison.Listed]
// leaves out.
func TextServer(w io.Writer, c *scrape.Comparison, all bool, options format.TextOptions) error {
	t := newTextWriter(options)
	files, length := c.ServerText()
	sides := aligned{left: []bool{true, true, true}}
	sides.row(t.paint(bold, "run"), format.Printable(c.Run.Label), c.RunText())
	sides.row(t.paint(bold, "server"), format.Printable(files), length)
	sides.write(t, func(_ int, line string) string { return strings.TrimPrefix(line, "  ") })
	for _, line := range format.Wrap(c.How(), t.options.Width) {
		fmt.Fprintln(t, t.paint(dim, line))
	}
	t.heading(c.Title())
	for _, table := range report.BesideServerTables(c, all) {
		t.table(table)
	}
	t.warnings(c.Warnings)
	fmt.Fprintln(t)
	_, err := w.Write(t.Bytes())
	return err
}

// MarkdownServer writes runs beside what a server did as Markdown; all is as for TextServer.
func MarkdownServer(w io.Writer, c *scrape.Comparison, all bool) error {
	var b bytes.Buffer
	files, length := c.ServerText()
	fmt.Fprintf(&b, "### %s\n\n", c.Title())
	markdownRow(&b, "", "", "")
	markdownRow(&b, "---", "---", "---")
	markdownRow(&b, "run", code(c.Run.Label), c.RunText())
	markdownRow(&b, "server", code(files), length)
	fmt.Fprintf(&b, "\n%s\n", c.How())
	for _, table := range report.BesideServerTables(c, all) {
		fmt.Fprintf(&b, "\n### %s\n\n", table.Title)
		writeMarkdownTable(&b, table)
		if table.Missing != "" {
			fmt.Fprintf(&b, "\n%s\n", format.Printable(table.Missing))
		}
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "\n> Note: %s.\n", format.Printable(warning))
	}
	_, err := w.Write(b.Bytes())
	return err
}
