package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/sim/metric"
)

// Table returns the table of the groups that requests arrived at.
func (g *estimateTable) Table(r *compare.Replications, byName map[string]*compare.Estimate) *Table {
	t := &Table{Name: g.Tag, Title: g.Title, Caption: g.Title, Reserved: 100,
		Columns: []Column{{Title: capitalized(g.Head), Short: g.Head, Left: true}}}
	for _, c := range g.Columns {
		t.Columns = append(t.Columns, Column{Title: capitalized(c.Title), Short: c.Title, Term: c.term})
	}
	g.Each(r, byName, func(name string, estimates []*compare.Estimate) {
		row := []Cell{Word(name)}
		for _, e := range estimates {
			row = append(row, estimateCell(e))
		}
		t.Rows = append(t.Rows, row)
	})
	return t
}

// capitalized returns text with its first letter, of ASCII, in upper case.
func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// estimateCell is the cell of an estimate; nil is one without samples.
func estimateCell(e *compare.Estimate) Cell {
	if e == nil {
		return noValue
	}
	value, low, high := e.Printed()
	c := figure(value, "")
	c.Text, c.Margin, c.Interval = IntervalText(value, low, high, e.Unit, e.ID.PrintPercent())
	c.Few = e.Few
	if !e.HasInterval() && !compare.Negligible(e.Most-e.Least, e.Most) {
		c.Text, c.Range = runsText(value, e.Least, e.Most, e.Unit, e.ID.PrintPercent())
	}
	return c
}

// estimateColumns are the columns of the statistics of several runs.
var estimateColumns = Definition[compare.Estimate]{
	{Column: Column{Title: "Statistic", Left: true}, Cell: func(e *compare.Estimate) Cell { return Cell{Text: e.Name, Code: true} },
		CSV: "statistic", Value: func(e *compare.Estimate) string { return e.Name }},
	{CSV: "unit", Value: func(e *compare.Estimate) string { return e.Unit }},
	{CSV: "better", Value: func(e *compare.Estimate) string { return string(e.Better) }},
	{Column: Column{Title: "Runs"}, Cell: func(e *compare.Estimate) Cell { return countCell(int64(e.N)) },
		CSV: "n", Value: func(e *compare.Estimate) string { return strconv.Itoa(e.N) }},
	{Column: Column{Title: "Mean", Term: "interval"}, Cell: func(e *compare.Estimate) Cell { return estimateCell(e.OfMean()) },
		CSV: "mean", Value: func(e *compare.Estimate) string { return format.AllDigits(&e.Mean) }},
	{CSV: "stddev", Value: func(e *compare.Estimate) string { return format.AllDigits(e.StdDev) }},
	{CSV: "low", Value: func(e *compare.Estimate) string { return format.AllDigits(e.Low) }},
	{CSV: "high", Value: func(e *compare.Estimate) string { return format.AllDigits(e.High) }},
	{Column: Column{Title: "Least"}, Cell: func(e *compare.Estimate) Cell { return extremeCell(e, slices.Min) }},
	{Column: Column{Title: "Most"}, Cell: func(e *compare.Estimate) Cell { return extremeCell(e, slices.Max) }},
	{Column: Column{Title: "Merged", Term: "merged"}, Cell: mergedCell,
		CSV: "merged", Value: func(e *compare.Estimate) string { return format.AllDigits(e.Merged) }},
	{CSV: "mergedHalf", Value: func(e *compare.Estimate) string { return format.AllDigits(e.MergedHalf) }},
	{CSV: "mergedLow", Value: func(e *compare.Estimate) string { return format.AllDigits(e.MergedLow) }},
	{CSV: "mergedHigh", Value: func(e *compare.Estimate) string { return format.AllDigits(e.MergedHigh) }},
}

func valueCell(e *compare.Estimate, x float64) Cell {
	return figure(x, format.ValueText(x, e.Unit, e.ID.PrintPercent()))
}

// extremeCell is the least or the greatest value of all runs.
func extremeCell(e *compare.Estimate, extreme func([]float64) float64) Cell {
	present := e.Values.Present()
	if len(present) == 0 {
		return noValue
	}
	return valueCell(e, extreme(present))
}

func mergedCell(e *compare.Estimate) Cell {
	if e.Merged == nil {
		return noValue
	}
	return valueCell(e, *e.Merged)
}

// statisticsTable is the table of all statistics of several runs.
func statisticsTable(r *compare.Replications) *Table {
	t := &Table{Name: "statistics", Caption: "Statistics by name, as thresholds call them", First: firstRows, Columns: estimateColumns.Columns()}
	shown := r.Statistics[:min(mostRows, len(r.Statistics))]
	for i := range shown {
		t.Rows = append(t.Rows, estimateColumns.Row(&shown[i]))
	}
	if more := len(r.Statistics) - len(shown); more > 0 {
		t.Missing = fmt.Sprintf("Left out: %s, all in replications.json.", format.Counted(more, "statistic"))
	}
	return t
}

// precisionTable is the table of the precision that each statistic of --precision reached.
func precisionTable(r *compare.Replications, byName map[string]*compare.Estimate) *Table {
	t := &Table{Title: r.PrecisionTitle(), NoHead: true, Columns: []Column{{Left: true}, {}, {}}}
	for i := range r.Precision.Statistics {
		s := &r.Precision.Statistics[i]
		estimate := Word(metric.NoSamples)
		if e := byName[s.Name]; e != nil {
			estimate = estimateCell(e)
		}
		t.Rows = append(t.Rows, []Cell{Word(s.Name), estimate, Word(r.Precision.ReachedText(s))})
	}
	return t
}

// estimateTable defines a table of groups of requests: a row for each value of a tag, and a column
// for each of some statistics.
type estimateTable struct {
	Tag     string // workload or priorityLevel
	Title   string
	Head    string // of the column with the groups' names
	Sent    string // the verb for what a group does with requests: sent or got
	Columns []estimateColumn
}

// estimateColumn is a statistic in a table of groups.
type estimateColumn struct {
	Title     string
	term      string      // its key in the glossary
	statistic metric.Name // without the group's tag
}

// estimateTables are the tables of the workloads and of the priority levels.
var estimateTables = []estimateTable{
	{"workload", "Workloads", "workload", "sent", []estimateColumn{
		{"arrived/s", "arrived", metric.Name{Metric: "arrived", Stat: "perSecond"}},
		{"executed", "executed", metric.Name{Metric: "executed", Stat: "rate"}},
		{"rejected", "rejected", metric.Name{Metric: "rejected", Stat: "rate"}},
		{"wait p50", "wait", metric.Name{Metric: "wait", Stat: "med"}},
		{"wait p99", "percentile", metric.Name{Metric: "wait", Stat: "p", Percentile: 99}},
		{"latency p50", "latency", metric.Name{Metric: "latency", Stat: "med"}},
		{"latency p99", "percentile", metric.Name{Metric: "latency", Stat: "p", Percentile: 99}},
	}},
	{"priorityLevel", "Priority levels", "priority level", "got", []estimateColumn{
		{"in use", "utilisation", metric.Name{Metric: "utilisation", Stat: "mean"}},
		{"saturated", "saturated", metric.Name{Metric: "utilisation", Stat: "saturated"}},
		{"rejected", "rejected", metric.Name{Metric: "rejected", Stat: "rate"}},
		{"wait p99", "percentile", metric.Name{Metric: "wait", Stat: "p", Percentile: 99}},
		{"fairness", "jain", metric.Name{Metric: "fairness", Stat: "jain"}},
		{"starved", "starved", metric.Name{Metric: "starvation", Stat: "max"}},
	}},
}

// Each calls row with each group that requests arrived at, and with the estimates of its columns; an
// estimate without samples is nil.
func (g *estimateTable) Each(r *compare.Replications, byName map[string]*compare.Estimate, row func(name string, estimates []*compare.Estimate)) {
	arrived := metric.Name{Metric: "arrived", Stat: "count"}
	for _, name := range r.Names(g.Tag) {
		if byName[arrived.With(g.Tag, name).String()].Mean == 0 {
			continue
		}
		estimates := make([]*compare.Estimate, len(g.Columns))
		for i, c := range g.Columns {
			estimates[i] = byName[c.statistic.With(g.Tag, name).String()]
		}
		row(name, estimates)
	}
}

// IntervalText writes a value and its interval with one unit: the longer half of the interval as the margin if it is
// nearly symmetric, otherwise the interval from end to end. Of a value without an interval, margin and interval are empty, and the text has the unit.
func IntervalText(value, low, high float64, unit string, share bool) (text, margin, interval string) {
	half := max(high-value, value-low)
	scale, suffix := format.ScaleOf(max(math.Abs(value), half), unit, share)
	switch {
	case value == 0 && half == 0 && !share:
		return "0", "", ""
	case half == 0:
		return format.Digits(value/scale) + suffix, "", ""
	}
	text, margin = format.Rounded(value/scale, half/scale)
	if nearlySymmetric(value, low, high) {
		return text, margin + suffix, ""
	}
	from := "0"
	if low != 0 {
		from, _ = format.Rounded(low/scale, half/scale)
	}
	to, _ := format.Rounded(high/scale, half/scale)
	return text, "", from + " to " + to + suffix
}

// nearlySymmetric says whether the longer half of an interval can stand for both: it is at most twice as long as the other, and
// leads no further than 0, nor than 1 where the value is near it.
func nearlySymmetric(value, low, high float64) bool {
	down, up := value-low, high-value
	if down > up {
		return down <= 2*up && (high > 1 || value+down <= 1)
	}
	return up <= 2*down && value-up >= 0 || compare.Negligible(up-down, max(math.Abs(value), up))
}

// runsText writes a value and the least and the greatest of the runs with one unit.
func runsText(value, least, most float64, unit string, share bool) (text, ofRuns string) {
	scale, suffix := format.ScaleOf(max(value, most), unit, share)
	return format.Digits(value / scale), format.Digits(least/scale) + " to " + format.Digits(most/scale) + suffix
}

// estimateText writes an estimate in one line, as "12 ±3 ms" or "2 (0 to 5 ms)".
func estimateText(e *compare.Estimate) string {
	c := estimateCell(e)
	return c.Line()
}
