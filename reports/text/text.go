// Package text prints results on a terminal, and comparisons as Markdown.
package text

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"apfsim/core/config"
	"apfsim/reports/findings"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// Colours of a terminal, the ones that its user has chosen.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// flowsShown is how many of the flows that fared worst are listed.
const flowsShown = 8

// WriteRun writes a summary for people to read: what was run, the workloads, the
// priority levels, the flows that fared worst, thresholds, warnings, and the
// fingerprint.
func WriteRun(w io.Writer, s *result.Summary, options format.TextOptions) error {
	t := newTextWriter(options)
	t.head(s.Name, result.Ran(s), s.Description)
	t.workloads(s)
	t.levels(s)
	t.stalls(s)
	t.worstFlows(s)
	t.thresholds(s)
	t.warnings(s)
	t.fingerprint(s)
	_, err := w.Write(t.Bytes())
	return err
}

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
	if !t.options.Colour || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// name fits a name into the first column of a table with so many columns of numbers.
func (t *textWriter) name(s string, numbers int) string {
	return format.Squeeze(format.Printable(s), max(15, t.options.Width-numbers))
}

func (t *textWriter) table(tb *format.TextTable) {
	tb.Write(t, func(row int, line string) string {
		if row == 0 {
			return t.paint(Dim, line)
		}
		return line
	})
}

// judged writes a table each of whose rows has passed or not.
func (t *textWriter) judged(tb *format.TextTable, passed func(row int) bool) {
	tb.Write(t, func(row int, line string) string {
		if passed(row) {
			return t.paint(Green, line)
		}
		return t.paint(Red, line)
	})
}

func (t *textWriter) heading(text string) { fmt.Fprintf(t, "\n%s\n", t.paint(Bold, text)) }

func (t *textWriter) head(name, ran, description string) {
	fmt.Fprintf(t, "%s  %s\n", t.paint(Bold, format.Printable(name)), t.paint(Dim, ran))
	for _, line := range format.Wrap(format.Printable(strings.Join(strings.Fields(description), " ")), t.options.Width) {
		fmt.Fprintln(t, line)
	}
}

func (t *textWriter) workloads(s *result.Summary) {
	t.heading("Workloads")
	tb := &format.TextTable{Left: 1}
	tb.Row("workload", "arrived", "executed", "rejected", "wait p50", "p99", "max", "latency p50", "p99", "max")
	for i := range s.Workloads {
		tb.Row(t.requests(&s.Workloads[i], s.Workloads[i].Name)...)
	}
	if len(s.Workloads) > 1 {
		tb.Row(t.requests(&s.Total, "all")...)
	}
	t.table(tb)
}

func (t *textWriter) requests(g *result.Group, name string) []string {
	row := []string{t.name(name, 84), format.Quantity(g.Arrived), format.ShareOf(g.Executed, g.Arrived), format.ShareOf(g.Rejected, g.Arrived)}
	for _, d := range []*result.Distribution{g.Wait, g.Latency} {
		if d == nil {
			row = append(row, "–", "–", "–")
			continue
		}
		row = append(row, format.Duration(float64(d.P50Ns)), format.Duration(float64(d.P99Ns)), format.Duration(float64(d.MaxNs)))
	}
	return row
}

func (t *textWriter) levels(s *result.Summary) {
	quiet := []string{}
	tb := &format.TextTable{Left: 1}
	tb.Row("priority level", "limit", "in use", "saturated", "waiting", "arrived", "rejected", "wait p99", "flows", "fairness", "starved")
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		if l.Idle() {
			quiet = append(quiet, format.Printable(l.Name))
			continue
		}
		tb.Row(t.level(l)...)
	}
	if len(tb.Rows) == 1 {
		return
	}
	t.heading("Priority levels")
	t.table(tb)
	if len(quiet) > 0 {
		for _, line := range format.Wrap("No requests: "+strings.Join(quiet, ", ")+".", t.options.Width-2) {
			fmt.Fprintln(t, t.paint(Dim, "  "+line))
		}
	}
}

func (t *textWriter) level(l *result.Level) []string {
	limit, use, saturated := "–", "–", "–"
	if l.Type != config.TypeExempt {
		limit = fmt.Sprint(l.Limits.Nominal)
		if l.Limits.Current != l.Limits.Nominal {
			limit = fmt.Sprintf("%d→%d", l.Limits.Nominal, l.Limits.Current)
		}
	}
	if u := l.Utilisation; u != nil {
		saturated = format.Percent(u.Saturated)
		if u.Mean != nil {
			use = format.Percent(*u.Mean)
		}
	}
	wait, fair, flows, starved := "–", "–", "0", "–"
	if l.Wait != nil {
		wait = format.Duration(float64(l.Wait.P99Ns))
	}
	if l.Fairness != nil {
		fair, flows = fmt.Sprintf("%.3f", l.Fairness.Jain), format.Quantity(int64(l.Fairness.Flows))
	}
	if l.Starvation != nil {
		starved = format.Duration(float64(l.Starvation.MaxNs))
	}
	return []string{t.name(l.Name, 95), limit, use, saturated, format.Digits(l.MeanWaiting), format.Quantity(l.Arrived),
		format.ShareOf(l.Rejected, l.Arrived), wait, flows, fair, starved}
}

// stalls tells of the workloads and levels that stood still, whom the percentiles of the requests
// that were sent may not show.
func (t *textWriter) stalls(s *result.Summary) {
	findings := findings.Stalls(s)
	if len(findings) == 0 {
		return
	}
	t.heading("Stalls")
	for _, f := range findings {
		for i, line := range format.Wrap(format.Printable(f.Subject+": "+f.Text), t.options.Width-4) {
			mark := "! "
			if i > 0 {
				mark = "  "
			}
			fmt.Fprintln(t, "  "+mark+line)
		}
	}
}

func (t *textWriter) worstFlows(s *result.Summary) {
	flows := judge.Worst(s, flowsShown)
	if len(flows) == 0 {
		return
	}
	t.heading("Underserved flows, and others with rejections")
	tb := &format.TextTable{Left: 2}
	tb.Row("flow", "level", "arrived", "rejected", "demand", "share", "service", "of share", "starved")
	for _, f := range flows {
		ratio := "–"
		if f.Ratio != nil {
			ratio = judge.OfShare(*f.Ratio)
		}
		tb.Row(t.name(f.Name, 80), format.Shorten(format.Printable(f.PriorityLevel), 16), format.Quantity(f.Arrived), format.ShareOf(f.Rejected, f.Arrived),
			format.Number(f.DemandSeatSeconds), format.Number(f.FairShareSeatSeconds), format.Number(f.ServiceSeatSeconds), ratio,
			format.Duration(float64(f.StarvationNs)))
	}
	t.table(tb)
	fmt.Fprintln(t, t.paint(Dim, "  Demand, share, service in seat-seconds; starved: the longest time with requests waiting, none dispatched."))
}

func (t *textWriter) thresholds(s *result.Summary) {
	if len(s.Thresholds) == 0 {
		return
	}
	failed := 0
	for _, v := range s.Thresholds {
		if !v.Passed {
			failed++
		}
	}
	title := "Thresholds: all hold"
	if failed > 0 {
		title = fmt.Sprintf("Thresholds: %d of %d failed", failed, len(s.Thresholds))
	}
	t.heading(title)
	widest := 0 // of what is said of windows, which is flush left
	for _, v := range s.Thresholds {
		if v.Windows != nil {
			widest = max(widest, utf8.RuneCountInString(v.Windows.Text()))
		}
	}
	tb := &format.TextTable{Left: 3}
	for _, v := range s.Thresholds {
		mark := "✓"
		if !v.Passed {
			mark = "✗"
		}
		cells := []string{mark, format.Shorten(format.Printable(v.Metric), 50), format.Printable(v.Expression), v.ValueText()}
		if v.Windows != nil {
			cells = append(cells, fmt.Sprintf("%-*s", widest, v.Windows.Text()))
		}
		tb.Row(cells...)
	}
	t.judged(tb, func(row int) bool { return s.Thresholds[row].Passed })
}

func (t *textWriter) fingerprint(s *result.Summary) {
	if s.Fingerprint != "" {
		fmt.Fprintf(t, "\n%s\n", t.paint(Dim, "Fingerprint "+s.Fingerprint))
	}
}

func (t *textWriter) warnings(s *result.Summary) {
	if len(s.Warnings) == 0 {
		return
	}
	t.heading("Warnings")
	for _, warning := range s.Warnings {
		for i, line := range format.Wrap(format.Printable(warning), t.options.Width-4) {
			mark := "! "
			if i > 0 {
				mark = "  "
			}
			fmt.Fprintln(t, t.paint(Yellow, "  "+mark+line))
		}
	}
}
