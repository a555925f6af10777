package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"apfsim/core/config"
)

// TextOptions say how WriteText writes.
type TextOptions struct {
	Colour bool // with ANSI escape sequences
	Width  int  // columns that names are shortened to fit; 0 is 110
}

// Colours of a terminal, the ones that its user has chosen.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// flowsShown is how many of the flows that fared worst are listed.
const flowsShown = 8

// WriteText writes a summary for people to read: what was run, the workloads, the
// priority levels, the flows that fared worst, thresholds, warnings, and the
// fingerprint.
func WriteText(w io.Writer, s *Summary, options TextOptions) error {
	t := newTextWriter(options)
	t.head(s.Name, ran(s), s.Description)
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
	options TextOptions
}

func newTextWriter(options TextOptions) textWriter {
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
	return squeeze(printable(s), max(15, t.options.Width-numbers))
}

func (t *textWriter) table(tb *table) {
	tb.write(t, func(row int, line string) string {
		if row == 0 {
			return t.paint(dim, line)
		}
		return line
	})
}

// judged writes a table each of whose rows has passed or not.
func (t *textWriter) judged(tb *table, passed func(row int) bool) {
	tb.write(t, func(row int, line string) string {
		if passed(row) {
			return t.paint(green, line)
		}
		return t.paint(red, line)
	})
}

func (t *textWriter) heading(text string) { fmt.Fprintf(t, "\n%s\n", t.paint(bold, text)) }

func (t *textWriter) head(name, ran, description string) {
	fmt.Fprintf(t, "%s  %s\n", t.paint(bold, printable(name)), t.paint(dim, ran))
	for _, line := range wrap(printable(strings.Join(strings.Fields(description), " ")), t.options.Width) {
		fmt.Fprintln(t, line)
	}
}

// ran says in a few words what was simulated.
func ran(s *Summary) string {
	text := window(s.DurationNs, s.WarmupNs, s.FlowControl)
	if s.AdjustmentPhaseNs > 0 {
		text += ", adjustment phase " + duration(float64(s.AdjustmentPhaseNs))
	}
	return fmt.Sprintf("%s, seed %d", text, s.Seed)
}

func window(durationNs, warmupNs int64, flowControl string) string {
	text := duration(float64(durationNs))
	if warmupNs > 0 {
		text += ", the first " + duration(float64(warmupNs)) + " left out"
	}
	switch flowControl {
	case "MaxInFlight":
		text += ", max-in-flight"
	case "None":
		text += ", no flow control"
	}
	return text
}

func (t *textWriter) workloads(s *Summary) {
	t.heading("Workloads")
	tb := &table{left: 1}
	tb.row("workload", "arrived", "executed", "rejected", "wait p50", "p99", "max", "latency p50", "p99", "max")
	for i := range s.Workloads {
		tb.row(t.requests(&s.Workloads[i], s.Workloads[i].Name)...)
	}
	if len(s.Workloads) > 1 {
		tb.row(t.requests(&s.Total, "all")...)
	}
	t.table(tb)
}

func (t *textWriter) requests(g *Group, name string) []string {
	row := []string{t.name(name, 84), quantityText(g.Arrived), shareOf(g.Executed, g.Arrived), shareOf(g.Rejected, g.Arrived)}
	for _, d := range []*Distribution{g.Wait, g.Latency} {
		if d == nil {
			row = append(row, "–", "–", "–")
			continue
		}
		row = append(row, duration(float64(d.P50Ns)), duration(float64(d.P99Ns)), duration(float64(d.MaxNs)))
	}
	return row
}

func shareOf(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return percent(float64(part) / float64(whole))
}

func (t *textWriter) levels(s *Summary) {
	quiet := []string{}
	tb := &table{left: 1}
	tb.row("priority level", "limit", "in use", "saturated", "waiting", "arrived", "rejected", "wait p99", "flows", "fairness", "starved")
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		if l.idle() {
			quiet = append(quiet, printable(l.Name))
			continue
		}
		tb.row(t.level(l)...)
	}
	if len(tb.rows) == 1 {
		return
	}
	t.heading("Priority levels")
	t.table(tb)
	if len(quiet) > 0 {
		for _, line := range wrap("No requests: "+strings.Join(quiet, ", ")+".", t.options.Width-2) {
			fmt.Fprintln(t, t.paint(dim, "  "+line))
		}
	}
}

func (t *textWriter) level(l *Level) []string {
	limit, use, saturated := "–", "–", "–"
	if l.Type != config.TypeExempt {
		limit = fmt.Sprint(l.Limits.Nominal)
		if l.Limits.Current != l.Limits.Nominal {
			limit = fmt.Sprintf("%d→%d", l.Limits.Nominal, l.Limits.Current)
		}
	}
	if u := l.Utilisation; u != nil {
		saturated = percent(u.Saturated)
		if u.Mean != nil {
			use = percent(*u.Mean)
		}
	}
	wait, fair, flows, starved := "–", "–", "0", "–"
	if l.Wait != nil {
		wait = duration(float64(l.Wait.P99Ns))
	}
	if l.Fairness != nil {
		fair, flows = fmt.Sprintf("%.3f", l.Fairness.Jain), quantityText(int64(l.Fairness.Flows))
	}
	if l.Starvation != nil {
		starved = duration(float64(l.Starvation.MaxNs))
	}
	return []string{t.name(l.Name, 95), limit, use, saturated, digits(l.MeanWaiting), quantityText(l.Arrived),
		shareOf(l.Rejected, l.Arrived), wait, flows, fair, starved}
}

// stalls tells of the workloads and levels that stood still, whom the percentiles of the requests
// that were sent may not show.
func (t *textWriter) stalls(s *Summary) {
	findings := stallFindings(s)
	if len(findings) == 0 {
		return
	}
	t.heading("Stalls")
	for _, f := range findings {
		for i, line := range wrap(printable(f.Subject+": "+f.Text), t.options.Width-4) {
			mark := "! "
			if i > 0 {
				mark = "  "
			}
			fmt.Fprintln(t, "  "+mark+line)
		}
	}
}

// worst returns the flows that fared worst: the underserved ones, first by the part that they got of
// their fair share as far as it is below hurtRatio, then by how long they starved; then others with
// rejections.
func worst(s *Summary, most int) []*Flow {
	var flows []*Flow
	for i := range s.Flows {
		if f := &s.Flows[i]; f.hurt() || f.Rejected > 0 {
			flows = append(flows, f)
		}
	}
	slices.SortStableFunc(flows, func(a, b *Flow) int {
		return cmp.Or(-cmp.Compare(boolean(a.hurt()), boolean(b.hurt())), cmp.Compare(min(a.ratio(), hurtRatio), min(b.ratio(), hurtRatio)),
			-cmp.Compare(a.starvedLong(), b.starvedLong()), cmp.Compare(a.ratio(), b.ratio()), -cmp.Compare(a.Rejected, b.Rejected))
	})
	return flows[:min(most, len(flows))]
}

func (t *textWriter) worstFlows(s *Summary) {
	flows := worst(s, flowsShown)
	if len(flows) == 0 {
		return
	}
	t.heading("Underserved flows, and others with rejections")
	tb := &table{left: 2}
	tb.row("flow", "level", "arrived", "rejected", "demand", "share", "service", "of share", "starved")
	for _, f := range flows {
		ratio := "–"
		if f.Ratio != nil {
			ratio = ofShare(*f.Ratio)
		}
		tb.row(t.name(f.Name, 80), shorten(printable(f.PriorityLevel), 16), quantityText(f.Arrived), shareOf(f.Rejected, f.Arrived),
			number(f.DemandSeatSeconds), number(f.FairShareSeatSeconds), number(f.ServiceSeatSeconds), ratio,
			duration(float64(f.StarvationNs)))
	}
	t.table(tb)
	fmt.Fprintln(t, t.paint(dim, "  Demand, share, service in seat-seconds; starved: the longest time with requests waiting, none dispatched."))
}

func (t *textWriter) thresholds(s *Summary) {
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
			widest = max(widest, utf8.RuneCountInString(v.Windows.text()))
		}
	}
	tb := &table{left: 3}
	for _, v := range s.Thresholds {
		mark := "✓"
		if !v.Passed {
			mark = "✗"
		}
		cells := []string{mark, shorten(printable(v.Metric), 50), printable(v.Expression), v.value()}
		if v.Windows != nil {
			cells = append(cells, fmt.Sprintf("%-*s", widest, v.Windows.text()))
		}
		tb.row(cells...)
	}
	t.judged(tb, func(row int) bool { return s.Thresholds[row].Passed })
}

// found writes the value of a threshold, or why it has none.
func (v *Verdict) found() string {
	text := v.value()
	if v.Windows != nil {
		text += " " + v.Windows.text()
	}
	return text
}

func (v *Verdict) value() string {
	if v.Value == nil {
		return v.Note
	}
	return besideLimit(*v.Value, v.Limit, v.Unit, inPercent(v.Expression))
}

// inPercent reports whether a threshold's limit is given in percent, as its value is then shown.
func inPercent(expression string) bool { return strings.Contains(expression, "%") }

func (t *textWriter) fingerprint(s *Summary) {
	if s.Fingerprint != "" {
		fmt.Fprintf(t, "\n%s\n", t.paint(dim, "Fingerprint "+s.Fingerprint))
	}
}

func (t *textWriter) warnings(s *Summary) {
	if len(s.Warnings) == 0 {
		return
	}
	t.heading("Warnings")
	for _, warning := range s.Warnings {
		for i, line := range wrap(printable(warning), t.options.Width-4) {
			mark := "! "
			if i > 0 {
				mark = "  "
			}
			fmt.Fprintln(t, t.paint(yellow, "  "+mark+line))
		}
	}
}

// wrap breaks text at spaces into lines of at most so many columns, where it can.
func wrap(text string, columns int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
