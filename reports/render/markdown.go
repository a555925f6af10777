package render

import (
	"bytes"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// writeMarkdownTable writes a table as GitHub's Markdown has it.
func writeMarkdownTable(b *bytes.Buffer, table *report.Table) {
	table = table.In(report.Markdown)
	var head, rule []string
	for _, c := range table.Columns {
		head = append(head, c.Short)
		if c.Left {
			rule = append(rule, "---")
		} else {
			rule = append(rule, "---:")
		}
	}
	markdownRow(b, head...)
	markdownRow(b, rule...)
	for _, row := range table.Rows {
		cells := make([]string, len(row))
		for i := range row {
			cells[i] = row[i].Line()
			if row[i].Code && cells[i] != "" {
				cells[i] = code(cells[i])
			}
		}
		markdownRow(b, cells...)
	}
}

func markdownRow(b *bytes.Buffer, cells ...string) {
	for _, cell := range cells {
		b.WriteString("| " + strings.ReplaceAll(cell, "|", "\\|") + " ")
	}
	b.WriteString("|\n")
}

// code writes text as Markdown code, fenced by more backquotes than the text has in a row.
func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + format.Printable(text) + " " + fence
	}
	return fence + format.Printable(text) + fence
}
