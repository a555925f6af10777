package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// Styles of ANSI terminals: attributes, and colours of the user's palette.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// flowsShown is how many underserved flows are listed.
const flowsShown = 8

// momentsShown is how many moments of the timeline are listed.
const momentsShown = 24

// kindsShown is how many rows of what happened to clients, and of kinds of requests, are listed.
const kindsShown = 30

// leastName is how many characters of a name are always printed, however narrow the terminal is.
const leastName = 15

// TextRun writes a run's summary: what was run, workloads, priority levels, servers, stalls, underserved
// flows, thresholds, warnings and the fingerprint.
func TextRun(w io.Writer, s *result.Summary, options format.TextOptions) error {
	t := newTextWriter(options)
	disagrees := t.disagreement(s.Replay)
	t.head(s.Name, result.Ran(s), s.Description)
	if s.Replay != nil {
		if !disagrees {
			t.sentences("", report.ReplaySentences(s.Replay))
		}
		t.table(report.ReplayTable(s.Replay))
	}
	t.table(report.WorkloadTable(s))
	if levels := report.LevelTable(s); len(levels.Rows) > 0 {
		t.table(levels)
	}
	if len(s.Servers) > 0 {
		t.table(report.ServerTable(s))
		if len(s.Timeline) > 0 {
			t.table(report.TimelineTable(s).FirstOf(momentsShown))
		}
		t.found("What happened", report.ServerFindings(s))
	}
	for _, table := range []*report.Table{report.ClientTable(s), report.CacheTable(s), report.RequestKindTable(s)} {
		if len(table.Rows) > 0 {
			t.table(table.FirstOf(kindsShown))
		}
	}
	t.found("What happened to clients", report.StoredFindings(s))
	if len(s.AggregatedServers) > 0 {
		t.table(report.AggregatedServerTable(s))
	}
	t.stalls(s)
	if flows := report.WorstFlowTable(s, flowsShown); len(flows.Rows) > 0 {
		t.table(flows)
		t.note("Demand, share, service in seat-seconds; starved: the longest time with requests waiting, none dispatched.")
	}
	if len(s.Thresholds) > 0 {
		t.table(report.ThresholdTable(s))
	}
	t.warnings(s.Warnings)
	if s.Fingerprint != "" {
		fmt.Fprintf(t, "\n%s\n", t.paint(dim, "Fingerprint "+s.Fingerprint))
	}
	_, err := w.Write(t.Bytes())
	return err
}

// disagreement writes, before anything else, that a replay does not agree with its log and why it may not. It reports
// whether that is so.
func (t *textWriter) disagreement(r *result.Replay) bool {
	if !r.Disagrees() {
		return false
	}
	t.sentences(red, report.ReplaySentences(r))
	return true
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
}

func newTextWriter(options format.TextOptions) textWriter {
	if options.Width == 0 {
		options.Width = 110
	}
	return textWriter{new(bytes.Buffer), options}
}

func (t *textWriter) paint(style, text string) string {
	if !t.options.Colour || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (t *textWriter) heading(text string) { fmt.Fprintf(t, "\n%s\n", t.paint(bold, text)) }

// note writes a sentence about the table above it.
func (t *textWriter) note(text string) { fmt.Fprintln(t, t.paint(dim, "  "+text)) }

func (t *textWriter) head(name, ran, description string) {
	fmt.Fprintf(t, "%s  %s\n", t.paint(bold, format.Printable(name)), t.paint(dim, ran))
	for _, line := range format.Wrap(format.Printable(strings.Join(strings.Fields(description), " ")), t.options.Width) {
		fmt.Fprintln(t, line)
	}
}

// table writes a table under its title: the heads of the columns, the rows, coloured by
// the judgement that one of their cells states; and what is left out.
func (t *textWriter) table(table *report.Table) {
	t.heading(table.Title)
	t.rows(table)
	if table.Missing != "" {
		for _, line := range format.Wrap(table.Missing, t.options.Width-2) {
			t.note(line)
		}
	}
}

func (t *textWriter) rows(table *report.Table) {
	table = table.In(report.Terminal)
	var out aligned
	var head []string
	for _, c := range table.Columns {
		head = append(head, c.Short)
		out.left = append(out.left, c.Left)
	}
	above := 0 // lines above the first row
	if !table.NoHead {
		out.row(head...)
		above = 1
	}
	for _, row := range table.Rows {
		cells := make([]string, len(row))
		for i := range row {
			cells[i] = format.Printable(row[i].Line())
			switch width := table.Columns[i].Width; {
			case i == 0 && table.Reserved > 0:
				cells[i] = format.Squeeze(cells[i], max(leastName, t.options.Width-table.Reserved))
			case width > 0:
				cells[i] = format.Shorten(cells[i], width)
			}
		}
		out.row(cells...)
	}
	out.write(t, func(n int, line string) string {
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
}

// rowStyle returns the style of the judgement in a row, "" for none.
func rowStyle(row []report.Cell) string {
	for i := range row {
		switch row[i].Judgement {
		case judge.Good:
			return green
		case judge.Bad:
			return red
		}
	}
	return ""
}

// stalls writes the findings on stalls. The percentiles of waits may not show these, as clients
// that wait send nothing.
func (t *textWriter) stalls(s *result.Summary) {
	t.found("Stalls", report.StallFindings(s))
}

// found writes findings under a heading.
func (t *textWriter) found(heading string, all []report.Finding) {
	if len(all) == 0 {
		return
	}
	t.heading(heading)
	for _, f := range all {
		t.marked("", f.Subject+": "+f.Text)
	}
}

func (t *textWriter) warnings(warnings []string) {
	if len(warnings) == 0 {
		return
	}
	t.heading("Warnings")
	for _, warning := range warnings {
		t.marked(yellow, warning)
	}
}

// marked writes a paragraph behind an exclamation mark.
func (t *textWriter) marked(style, text string) {
	mark := "! "
	for _, line := range format.Wrap(format.Printable(text), t.options.Width-4) {
		fmt.Fprintln(t, t.paint(style, "  "+mark+line))
		mark = "  "
	}
}
