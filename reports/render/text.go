package render

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Styles of ANSI terminals: attributes, and colours of the user's palette.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// What begins and ends dim text within a line that has a colour: the end of the other styles ends that as well.
const (
	dimBegin = "\x1b[2m"
	dimEnd   = "\x1b[22m"
)

// leastName is how many characters of a name are always printed, however narrow the terminal is.
const leastName = 15

// Text writes a document for a terminal.
func Text(w io.Writer, d *report.Document, options format.TextOptions) error {
	d = texts(d, printable)
	if options.Brief {
		return brief(w, d, options)
	}
	t := newTextWriter(options)
	d = d.In(report.Terminal)
	t.head(d)
	t.answer(d)
	described := false
	for _, s := range d.Sections {
		if !s.Screen && !described { // below what is seen first
			t.description(d)
			described = true
		}
		for i := range s.Parts {
			p := s.Parts[i]
			if s.Screen && p.Table != nil && t.narrow {
				p.Table = p.Table.Narrow()
			}
			if s.Screen && p.Table == nil && p.Note != "" {
				t.separate()
			}
			t.part(&p)
		}
	}
	if !described {
		t.description(d)
	}
	t.warnings(d.Warnings)
	if d.Fingerprint != "" {
		fmt.Fprintf(t, "\n%s\n", t.paint(dim, "Fingerprint "+d.Fingerprint))
	}
	if len(d.How) > 0 { // a comparison ends with an empty line
		fmt.Fprintln(t)
	}
	t.next(d)
	_, err := w.Write(t.Bytes())
	return err
}

// head writes what was simulated or compared, and how.
func (t *textWriter) head(d *report.Document) {
	if len(d.Sides) > 0 && t.narrow {
		for _, s := range d.Sides {
			fmt.Fprintf(t, "%s  %s\n", t.paint(bold, s.Name), s.Label)
			for _, line := range format.Wrap(s.Ran, t.options.Width-6) {
				fmt.Fprintln(t, t.paint(dim, "      "+line))
			}
		}
	} else if len(d.Sides) > 0 {
		sides := aligned{left: []bool{true, true, true}}
		for _, s := range d.Sides {
			sides.row(t.paint(bold, s.Name), s.Label, s.Ran)
		}
		sides.write(t, func(_ int, line string) string { return strings.TrimPrefix(line, "  ") })
	} else if d.Name != "" {
		name, ran := d.Name, d.Ran
		if room := t.options.Width - shownWidth(name) - 2; t.narrow && shownWidth(ran) > room {
			indent := shownWidth(name) + 2
			if room < leastAnswer { // below the name
				name, indent, room = name+"\n", 2, t.options.Width-4
			}
			ran = strings.Join(format.Wrap(ran, room), "\n"+strings.Repeat(" ", indent))
		}
		fmt.Fprintf(t, "%s  %s\n", t.paint(bold, name), t.paint(dim, ran))
	}
}

// next writes the command to type next.
func (t *textWriter) next(d *report.Document) {
	if d.Next != "" {
		fmt.Fprintf(t, "\nNext: %s\n", d.Next)
	}
}

// answer writes the verdict on the result, whether a replay agrees with its log, and why.
func (t *textWriter) answer(d *report.Document) {
	if a := d.Answer; a != nil {
		style := map[report.Judgement]string{report.Bad: red, report.Good: green, report.Neutral: yellow}[a.Judgement]
		t.sentences(style, []string{a.Status + "  " + a.Sentence})
	}
	if d.Replay != nil {
		style := ""
		if d.Replay.Judgement == report.Bad {
			style = red
		}
		t.sentences(style, d.Replay.Sentences)
	}
	if a := d.Answer; a != nil {
		t.sentences("", []string{a.Decided})
		for _, why := range a.Why {
			t.marked("- ", "", why)
		}
	}
}

// description writes the paragraphs about what was simulated, or how it was compared.
func (t *textWriter) description(d *report.Document) {
	if len(d.How) > 0 {
		if d.Answer != nil {
			t.separate()
		}
		for _, how := range d.How {
			for _, line := range format.Wrap(how, t.options.Width) {
				fmt.Fprintln(t, t.paint(dim, line))
			}
		}
		return
	}
	if strings.TrimSpace(strings.Join(d.Description, "")) == "" {
		return
	}
	if d.Answer != nil {
		t.separate()
	}
	if d.Answer != nil {
		fmt.Fprintln(t, t.paint(bold, "Scenario"))
	}
	for _, text := range d.Description {
		for _, line := range format.Wrap(strings.Join(strings.Fields(text), " "), t.options.Width) {
			fmt.Fprintln(t, line)
		}
	}
}

// part writes a part of a section.
func (t *textWriter) part(p *report.Part) {
	if p.Table != nil {
		t.table(p.Table, p.Tight)
	}
	t.found(p.Heading, p.Findings)
	if p.Paragraph != "" {
		if !p.Tight {
			t.separate()
		}
		fmt.Fprintln(t, p.Paragraph)
	}
	t.list(p.Heading, p.List)
	t.items(p)
	if p.Note != "" {
		t.note(p.Note)
	}
}

// sentences writes a paragraph for each of them, the first in a style.
func (t *textWriter) sentences(style string, all []string) {
	for i, sentence := range all {
		for _, line := range format.Wrap(sentence, t.options.Width) {
			if i == 0 {
				line = t.paint(style, line)
			}
			fmt.Fprintln(t, line)
		}
	}
}

// textWriter collects what is written to a terminal.
type textWriter struct {
	*bytes.Buffer
	options format.TextOptions
	narrow  bool // there is no room for all columns
}

// wide is how many characters a line must have so that all columns of tables have room.
const wide = 100

func newTextWriter(options format.TextOptions) textWriter {
	if options.Width == 0 {
		options.Width = 110
	}
	return textWriter{new(bytes.Buffer), options, options.Width < wide}
}

func (t *textWriter) paint(style, text string) string {
	if !t.options.Colour || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// separate writes an empty line, unless nothing is above it.
func (t *textWriter) separate() {
	if t.Len() > 0 {
		fmt.Fprintln(t)
	}
}

// listWidth is how many characters a line of a list has at most, behind its mark.
const listWidth = 96

// list writes sentences under a heading, each behind a mark.
func (t *textWriter) list(heading string, sentences []string) {
	if len(sentences) == 0 {
		return
	}
	t.heading(heading)
	for _, sentence := range sentences {
		mark := "  - "
		for _, line := range format.Wrap(sentence, min(listWidth, t.options.Width-4)) {
			fmt.Fprintln(t, mark+line)
			mark = "    "
		}
	}
}

// items writes items under a heading, and their details below each.
func (t *textWriter) items(p *report.Part) {
	if len(p.Items) == 0 {
		return
	}
	if p.Heading != "" {
		t.heading(p.Heading)
	}
	for _, line := range format.Wrap(p.Lead, t.options.Width-2) {
		if line != "" {
			fmt.Fprintf(t, "  %s\n", line)
		}
	}
	width := math.MaxInt
	if p.Wrapped {
		width = t.options.Width
	}
	for _, item := range p.Items {
		t.indented("  ", item.Text, width)
		for _, detail := range item.Details {
			t.indented("      ", detail, width)
		}
	}
}

// indented writes a text with spaces before it. If it is wider than width, it is wrapped, with two more spaces before its
// other lines.
func (t *textWriter) indented(spaces, text string, width int) {
	lines, room := []string{text}, max(leastAnswer, width-len(spaces)-2)
	if shownWidth(text) > room {
		lines = format.Wrap(text, room)
	}
	for i, line := range lines {
		if i == 1 {
			spaces += "  "
		}
		fmt.Fprintln(t, spaces+line)
	}
}

func (t *textWriter) heading(text string) { fmt.Fprintf(t, "\n%s\n", t.paint(bold, text)) }

// note writes a sentence about the table above it.
func (t *textWriter) note(text string) {
	for _, line := range format.Wrap(text, t.options.Width-2) {
		fmt.Fprintln(t, t.paint(dim, "  "+line))
	}
}

// table writes a table under its title: the heads of the columns, the rows, coloured by
// the judgement that one of their cells states; and what is left out.
func (t *textWriter) table(table *report.Table, tight bool) {
	if table.Title != "" {
		t.heading(table.Title)
	} else if !tight {
		t.separate()
	}
	if len(table.Columns) == 0 {
		return
	}
	if more := len(table.Rows) - table.Brief; table.Brief > 0 && more > 0 {
		brief := *table
		brief.Rows, brief.Missing = table.Rows[:table.Brief], fmt.Sprintf("%d more in the report and in summary.json.", more)
		table = &brief
	}
	t.rows(table)
	if table.Missing != "" {
		t.note(table.Missing)
	}
}

func (t *textWriter) rows(table *report.Table) {
	if table.Flush && table.NoHead {
		t.pairs(table)
		return
	}
	var lines [][]string
	if !table.NoHead {
		var head []string
		for _, c := range table.Columns {
			head = append(head, c.Short)
		}
		lines = append(lines, head)
	}
	above := len(lines) // lines above the first row
	for _, row := range table.Rows {
		cells := make([]string, len(row))
		for i := range row {
			cells[i] = row[i].Line()
			if row[i].Few > 0 && t.options.Colour {
				cells[i] = dimBegin + cells[i] + dimEnd
			}
			if width := table.Columns[i].Width; width > 0 && !(i == 0 && table.Reserved > 0) {
				cells[i] = format.Shorten(cells[i], width)
			}
		}
		lines = append(lines, cells)
	}
	shown, used := t.fit(table, lines)
	if table.Reserved > 0 {
		shortenNames(lines[above:], max(leastName, t.options.Width-used))
	} else if table.NoHead && t.narrow {
		shortenWidest(lines, t.options.Width)
	}
	var out aligned
	for _, c := range table.Columns {
		out.left = append(out.left, c.Left)
	}
	for _, line := range lines {
		out.row(line[:shown]...)
	}
	out.write(t, func(n int, line string) string {
		if table.Flush {
			line = strings.TrimPrefix(line, "  ")
		}
		if n < above {
			return t.paint(dim, line)
		}
		row := table.Rows[n-above]
		line = t.paint(rowStyle(row), line)
		if also := row[0].Also; also != "" {
			line += "\n" + t.paint(dim, "    "+format.Squeeze("also: "+also, max(30, t.options.Width-4)))
		}
		return line
	})
	if shown < len(table.Columns) {
		var left []string
		for _, c := range table.Columns[shown:] {
			left = append(left, c.Short)
		}
		t.note("Left out, as the terminal is narrow: " + strings.Join(left, ", ") + ".")
	}
}

// pairs writes the rows of a table of two columns, questions and answers, without heads. Answers are wrapped.
func (t *textWriter) pairs(table *report.Table) {
	first := 0
	for _, row := range table.Rows {
		first = max(first, shownWidth(row[0].Text))
	}
	for _, row := range table.Rows {
		name := row[0].Text
		for _, line := range format.Wrap(row[1].Text, max(leastAnswer, t.options.Width-first-2)) {
			fmt.Fprintf(t, "%s%s  %s\n", name, strings.Repeat(" ", first-shownWidth(name)), line)
			name = ""
		}
	}
}

// leastAnswer is how wide answers are at least.
const leastAnswer = 40

// fit returns how many columns have room in a line, all unless the terminal is narrow, and how many characters those after
// the first need.
func (t *textWriter) fit(table *report.Table, lines [][]string) (shown, used int) {
	widths := make([]int, len(table.Columns))
	for _, line := range lines {
		for i, text := range line {
			widths[i] = max(widths[i], shownWidth(text))
		}
	}
	first := widths[0]
	if table.Reserved > 0 {
		first = min(first, leastName)
	}
	used = 2
	for i := 1; i < len(widths); i++ {
		if t.narrow && !table.NoHead && first+used+2+widths[i] > t.options.Width {
			return i, used
		}
		used += 2 + widths[i]
	}
	return len(widths), used
}

// shortenNames shortens the names that lines begin with in their middle, unless two would have the same text.
func shortenNames(lines [][]string, width int) {
	names := map[string]map[string]bool{} // by short name
	for _, line := range lines {
		short := format.Squeeze(line[0], width)
		if names[short] == nil {
			names[short] = map[string]bool{}
		}
		names[short][line[0]] = true
	}
	for _, line := range lines {
		if short := format.Squeeze(line[0], width); len(names[short]) == 1 {
			line[0] = short
		}
	}
}

// shortenWidest shortens the texts of the widest columns until lines have at most width characters, or there is nothing left
// to shorten.
func shortenWidest(lines [][]string, width int) {
	for {
		widest, most, sum := 0, 0, 0
		for i := range lines[0] {
			column := 0
			for _, line := range lines {
				column = max(column, shownWidth(line[i]))
			}
			if sum += 2 + column; column > most {
				widest, most = i, column
			}
		}
		if sum <= width || most <= leastName {
			return
		}
		for _, line := range lines {
			line[widest] = format.Shorten(line[widest], max(most-(sum-width), most/2, leastName))
		}
	}
}

// rowStyle returns the style of the judgement in a row, "" for none.
func rowStyle(row []report.Cell) string {
	for i := range row {
		switch row[i].Judgement {
		case report.Good:
			return green
		case report.Bad:
			return red
		}
	}
	return ""
}

// found writes findings under a heading.
func (t *textWriter) found(heading string, all []report.Finding) {
	if len(all) == 0 {
		return
	}
	t.heading(heading)
	for _, f := range all {
		t.marked("! ", "", f.Subject+": "+f.Text)
	}
}

func (t *textWriter) warnings(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	t.heading("Warnings")
	for _, warning := range warnings {
		t.marked("! ", yellow, warning)
	}
}

// marked writes a paragraph behind a mark.
func (t *textWriter) marked(mark, style, text string) {
	for _, line := range format.Wrap(text, t.options.Width-4) {
		fmt.Fprintln(t, t.paint(style, "  "+mark+line))
		mark = "  "
	}
}
