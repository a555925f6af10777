package text

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/reports/tables"
)

func WriteComparison(c *compare.Comparison, w io.Writer, all bool, options format.TextOptions) error {
	t := newTextWriter(options)
	sides := &format.TextTable{Left: 3}
	sides.Row(t.paint(Bold, "base"), format.Printable(c.Base.Label), tables.SideText(&c.Base))
	sides.Row(t.paint(Bold, "head"), format.Printable(c.Head.Label), tables.SideText(&c.Head))
	sides.Write(t, func(_ int, line string) string { return strings.TrimPrefix(line, "  ") })
	for _, text := range []string{tables.ComparedHow(c), tables.ComparedTests(c), tables.ComparedScope(c)} {
		if text != "" {
			fmt.Fprintln(t, t.paint(Dim, text))
		}
	}
	changes, title := tables.ListedChanges(c, all)
	t.heading(title)
	if len(changes) > 0 {
		tb := &format.TextTable{Left: 1}
		tb.Row(tables.ChangeHead...)
		for i := range changes {
			cells := tables.ChangeCells(&changes[i])
			cells[0] = t.name(cells[0], 56)
			tb.Row(cells...)
		}
		tb.Write(t, func(row int, line string) string {
			if row == 0 {
				return t.paint(Dim, line)
			}
			ch := &changes[row-1]
			switch ch.Mood {
			case judge.Good:
				line = t.paint(Green, line)
			case judge.Bad:
				line = t.paint(Red, line)
			}
			if also := tables.ChangeAlso(ch, tables.AlsoShown); also != "" {
				line += "\n" + t.paint(Dim, "    "+format.Squeeze("also: "+also, max(30, t.options.Width-4)))
			}
			return line
		})
	}
	if text := tables.FoldedChanges(c, "~ "); text != "" && !all {
		fmt.Fprintln(t, t.paint(Dim, "  "+text))
	}
	if len(c.Limits) > 0 {
		t.heading(tables.LimitsTitle(c))
		tb := &format.TextTable{Left: 3}
		for i := range c.Limits {
			v := &c.Limits[i]
			tb.Row(tables.LimitMark(v), format.Printable(v.Expression), tables.LimitText(v))
		}
		t.judged(tb, func(row int) bool { return c.Limits[row].Passed })
	}
	t.warnings(&result.Summary{Warnings: c.Warnings})
	fmt.Fprintln(t)
	_, err := w.Write(t.Bytes())
	return err
}

func WriteMarkdown(c *compare.Comparison, w io.Writer, all bool) error {
	var b bytes.Buffer
	row := func(cells ...string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", "\\|") + " ")
		}
		b.WriteString("|\n")
	}
	changes, title := tables.ListedChanges(c, all)
	fmt.Fprintf(&b, "### %s\n\n", title)
	row("", "", "")
	row("---", "---", "---")
	row("base", code(c.Base.Label), tables.SideText(&c.Base))
	row("head", code(c.Head.Label), tables.SideText(&c.Head))
	fmt.Fprintf(&b, "\n%s\n\n", strings.TrimSpace(tables.ComparedHow(c)+" "+tables.ComparedTests(c)+" "+tables.ComparedScope(c)))
	if len(changes) > 0 {
		row(append(slices.Clone(tables.ChangeHead), "also")...)
		row("---", "---:", "---:", "---:", "---", "---")
		for i := range changes {
			cells := append(tables.ChangeCells(&changes[i]), "")
			cells[0] = code(cells[0])
			if also := tables.ChangeAlso(&changes[i], tables.AlsoShown); also != "" {
				cells[len(cells)-1] = code(also)
			}
			row(cells...)
		}
		b.WriteString("\n")
	}
	if text := tables.FoldedChanges(c, "~ "); text != "" && !all {
		fmt.Fprintf(&b, "%s\n\n", text)
	}
	if len(c.Limits) > 0 {
		fmt.Fprintf(&b, "### %s\n\n", tables.LimitsTitle(c))
		row("", "limit", "change")
		row("---", "---", "---:")
		for i := range c.Limits {
			v := &c.Limits[i]
			row(tables.LimitMark(v), code(v.Expression), tables.LimitText(v))
		}
		b.WriteString("\n")
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&b, "> Note: %s.\n\n", format.Printable(warning))
	}
	_, err := w.Write(append(bytes.TrimRight(b.Bytes(), "\n"), '\n'))
	return err
}

// code writes text as Markdown code.
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
