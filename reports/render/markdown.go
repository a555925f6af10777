package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Markdown writes a document as GitHub's Markdown has it.
func Markdown(w io.Writer, d *report.Document, _ format.TextOptions) error {
	d = texts(d.In(report.Markdown), markdown)
	var b bytes.Buffer
	block := func(write func()) { // blocks have an empty line between them
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		write()
	}
	line := func(template string, args ...any) { block(func() { fmt.Fprintf(&b, template+"\n", args...) }) }
	if d.Headline != "" {
		line("### %s", d.Headline)
	}
	if len(d.Sides) > 0 {
		block(func() {
			markdownRow(&b, "", "", "")
			markdownRow(&b, "---", "---", "---")
			for _, s := range d.Sides {
				markdownRow(&b, s.Name, s.Label, s.Ran)
			}
		})
	} else if d.Ran != "" {
		line("%s", d.Ran)
	}
	if a := d.Answer; a != nil {
		if d.Headline == "" {
			line("**%s** %s", a.Status, a.Sentence)
		}
		if a.Decided != "" {
			line("%s", a.Decided)
		}
		if len(a.Why) > 0 {
			block(func() {
				for _, why := range a.Why {
					fmt.Fprintf(&b, "- %s\n", why)
				}
			})
		}
	}
	if d.Replay != nil {
		line("%s", d.Replay.Text())
	}
	if len(d.How) > 0 {
		line("%s", strings.Join(d.How, " "))
	}
	for _, s := range d.Sections {
		for _, p := range s.Parts {
			if t := p.Table; t != nil {
				if t.Title != "" {
					line("### %s", t.Title)
				}
				if len(t.Rows) > 0 || t.Missing == "" {
					block(func() { markdownTable(&b, t) })
				}
				if t.Missing != "" {
					line("%s", t.Missing)
				}
			}
			for _, text := range []string{p.Note, p.Markdown} {
				if text != "" {
					line("%s", text)
				}
			}
		}
	}
	for _, warning := range d.Warnings {
		line("> Note: %s.", warning)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// markdownTable writes a table as GitHub's Markdown has it.
func markdownTable(b *bytes.Buffer, table *report.Table) {
	if table.Compact {
		compactTable(b, table)
		return
	}
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
		}
		markdownRow(b, cells...)
	}
}

// compactTable writes a table as the documentation of Kubernetes has it.
func compactTable(b *bytes.Buffer, table *report.Table) {
	var head []string
	for _, column := range table.Columns {
		head = append(head, column.Title)
	}
	markdownRow(b, head...)
	b.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, row := range table.Rows {
		var cells []string
		for i := range row {
			cells = append(cells, row[i].Text)
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
