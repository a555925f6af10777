package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/replicate"
	"apfsim/reports/result"
	"apfsim/reports/statistics"
	"apfsim/sim/metric"
)

// StatisticsFirst is how many of all statistics a page has at first.
const StatisticsFirst = 50

func (g *EstimateTable) Table(r *replicate.Replications, byName map[string]*replicate.Estimate) *Table {
	t := &Table{Name: g.Tag, Caption: g.Title, Columns: []Column{{Title: format.Capitalized(g.Head), Left: true}}}
	for _, c := range g.Columns {
		t.Columns = append(t.Columns, Column{Title: format.Capitalized(c.Title), Term: c.term})
	}
	g.Each(r, byName, func(name string, estimates []*replicate.Estimate) {
		row := []Cell{Word(name)}
		for _, e := range estimates {
			row = append(row, EstimateCell(e))
		}
		t.Rows = append(t.Rows, row)
	})
	return t
}

func EstimateCell(e *replicate.Estimate) Cell {
	if e == nil {
		return absent
	}
	text, margin, suffix := EstimateParts(e)
	c := Figure(e.Mean, text+suffix)
	if e.Merged != nil {
		c.Value = *e.Merged
	}
	if margin != "" {
		c.Text, c.Margin = text, "± "+margin+suffix
	}
	return c
}

func Statistics(r *replicate.Replications) *Table {
	t := &Table{Name: "statistics", Caption: "Statistics by name, as thresholds call them", First: StatisticsFirst,
		Columns: []Column{{Title: "Statistic", Left: true}, {Title: "Runs"}, {Title: "Mean", Term: "interval"}, {Title: "Least"}, {Title: "Most"}, {Title: "Merged", Term: "merged"}}}
	for i := range r.Statistics {
		if len(t.Rows) == FlowsMost {
			t.Missing = fmt.Sprintf("Left out: %s, all in replications.json.", format.Counted(len(r.Statistics)-FlowsMost, "statistic"))
			break
		}
		e := &r.Statistics[i]
		share := statistics.IsShare(statistics.IDOf(e.Name))
		value := func(x float64) Cell { return Figure(x, format.ValueText(x, e.Unit, share)) }
		low, high := math.Inf(1), math.Inf(-1)
		for _, x := range e.Values.Present() {
			low, high = min(low, x), max(high, x)
		}
		merged := absent
		if e.Merged != nil {
			merged = value(*e.Merged)
		}
		t.Rows = append(t.Rows, []Cell{{Text: e.Name, Code: true}, countCell(int64(e.N)), EstimateCell(OfMean(e)), value(low), value(high), merged})
	}
	return t
}

// EstimateTable is the groups of a tag, a row each, with some of their statistics.
type EstimateTable struct {
	Tag, Title, Head string
	Sent             string // what a group does with requests
	Columns          []estimateColumn
}

// estimateColumn is a statistic in a table of groups; it lacks the group's tag.
type estimateColumn struct {
	Title, term string // and its key in the glossary
	of          metric.Name
}

var EstimateTables = []EstimateTable{
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

// RanReplications says in a few words what was simulated.
func RanReplications(r *replicate.Replications) string {
	text := format.Window(r.DurationNs, r.WarmupNs, r.FlowControl)
	if phases := r.AdjustmentPhasesNs; phases != nil {
		first, last := slices.Min(phases), slices.Max(phases)
		if first == last {
			text += ", adjustment phase " + format.Duration(float64(first))
		} else {
			text += fmt.Sprintf(", adjustment phases from %s to %s", format.Duration(float64(first)), format.Duration(float64(last)))
		}
	}
	return fmt.Sprintf("%d runs of %s, seeds %d to %d", len(r.Seeds), text, r.Seeds[0], r.Seeds[len(r.Seeds)-1])
}

// Each calls visit with each group that requests arrived at and what stands in its columns.
func (g *EstimateTable) Each(r *replicate.Replications, byName map[string]*replicate.Estimate, visit func(name string, estimates []*replicate.Estimate)) {
	arrived := metric.Name{Metric: "arrived", Stat: "count"}
	for _, name := range Names(r, g.Tag) {
		if byName[statistics.Named(arrived, g.Tag, name)].Mean == 0 {
			continue
		}
		estimates := make([]*replicate.Estimate, len(g.Columns))
		for i, c := range g.Columns {
			estimates[i] = byName[statistics.Named(c.of, g.Tag, name)]
		}
		visit(name, estimates)
	}
}

// EstimatesByName returns the statistics by their names.
func EstimatesByName(r *replicate.Replications) map[string]*replicate.Estimate {
	all := map[string]*replicate.Estimate{}
	for i := range r.Statistics {
		all[r.Statistics[i].Name] = &r.Statistics[i]
	}
	return all
}

// Names returns the groups of a tag.
func Names(r *replicate.Replications, tagName string) []string {
	var names []string
	for i := range r.Statistics {
		id := statistics.IDOf(r.Statistics[i].Name)
		if id.Metric == "arrived" && id.Stat == "count" && len(id.Tags) == 1 && id.Tags[0].Name == tagName {
			names = append(names, id.Tags[0].Value)
		}
	}
	return names
}

// EstimateParts writes the estimate as it is shown: a percentile of all runs' requests, else the
// mean; the half-width of the interval, "" for none; and what both are counted in.
func EstimateParts(e *replicate.Estimate) (figure, margin, suffix string) {
	value, half := e.Mean, e.Half()
	if e.Merged != nil {
		value, half = *e.Merged, 0
		if e.MergedHalf != nil {
			half = *e.MergedHalf
		}
	}
	share := statistics.IsShare(statistics.IDOf(e.Name))
	scale, suffix := format.ScaleOf(max(math.Abs(value), half), e.Unit, share)
	switch {
	case value == 0 && half == 0 && !share:
		return "0", "", ""
	case half == 0:
		return format.Digits(value / scale), "", suffix
	}
	figure, margin = format.Rounded(value/scale, half/scale)
	return figure, margin, suffix
}

// OfMean returns the estimate of the mean of the runs, which the interval is that of, and
// not the percentile of all requests.
func OfMean(e *replicate.Estimate) *replicate.Estimate {
	mean := *e
	mean.Merged, mean.MergedHalf = nil, nil
	return &mean
}

func EstimateText(e *replicate.Estimate) string {
	figure, margin, suffix := EstimateParts(e)
	if margin != "" {
		figure += " ±" + margin
	}
	return figure + suffix
}

// ReplicatedFound writes the least and the greatest value, and the runs that failed.
func ReplicatedFound(v *replicate.ReplicatedVerdict) string {
	text := result.NoSamples
	if present := v.Values.Present(); len(present) > 0 {
		share := format.InPercent(v.Expression)
		low, high := format.BesideLimit(slices.Min(present), v.Limit, v.Unit, share), format.BesideLimit(slices.Max(present), v.Limit, v.Unit, share)
		if text = low; low != high {
			text += " to " + high
		}
	}
	if v.Passed {
		return text
	}
	const most = 5
	seeds := make([]string, 0, most)
	for _, seed := range v.FailedSeeds[:min(most, len(v.FailedSeeds))] {
		seeds = append(seeds, strconv.FormatUint(seed, 10))
	}
	text += "; fails with " + format.Plural(len(v.FailedSeeds), "seed") + " " + strings.Join(seeds, ", ")
	if more := len(v.FailedSeeds) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func PrecisionTitle(r *replicate.Replications) string {
	text, but := "reached", ""
	if !r.Precision.Met {
		text, but = "not reached", ", the most there may be"
	}
	// All digits that were asked for, so that what was reached never reads as what was not.
	return fmt.Sprintf("Precision of %s %% %s with %d runs%s", format.Significant(r.Precision.Wanted*100, 15), text, len(r.Seeds), but)
}

// PrecisionReached writes how precise a statistic is.
func PrecisionReached(p *replicate.Precision, s *replicate.PrecisionResult) string {
	if s.Reached == nil {
		return "–"
	}
	return format.BesideLimit(*s.Reached, p.Wanted, "", true)
}
