package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/config"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// How many flows the page has: at first, and at most, so that it opens at once.
const (
	flowsFirst = 50
	FlowsMost  = 5000
)

func Word(text string) Cell                  { return Cell{Text: text} }
func Figure(value float64, text string) Cell { return Cell{Text: text, Value: value, Number: true} }

// absent is the cell of a statistic without samples.
var absent = Word("–")

func countCell(n int64) Cell { return Figure(float64(n), format.Quantity(n)) }

func shareCell(part, whole int64) Cell {
	if whole == 0 {
		return absent
	}
	return Figure(float64(part)/float64(whole), format.ShareOf(part, whole))
}

func durationCell(ns int64) Cell { return Figure(float64(ns), format.Duration(float64(ns))) }

func seatSecondsCell(x float64) Cell { return Figure(x, format.Number(x)) }

// Groups is a table of groups of requests, and below them that of all.
func Groups(name, of string, groups []result.Group, total *result.Group) *Table {
	t := &Table{Name: name, Caption: of + "s: requests, waits and latencies", Columns: []Column{{Title: of, Left: true},
		{Title: "Arrived", Term: "arrived"}, {Title: "Executed", Term: "executed"}, {Title: "Rejected", Term: "rejected"},
		{Title: "Wait, median", Term: "wait"}, {Title: "99th", Term: "percentile"}, {Title: "longest"},
		{Title: "Random moment, 99th", Term: "virtualWait"}, {Title: "Stall", Term: "stall"},
		{Title: "Latency, median", Term: "latency"}, {Title: "99th", Term: "percentile"}, {Title: "longest"}}}
	withStalls := slices.ContainsFunc(groups, func(g result.Group) bool { return g.Stall != nil })
	if !withStalls { // of FlowSchemas
		t.Columns = slices.DeleteFunc(t.Columns, func(c Column) bool { return c.Term == "virtualWait" || c.Term == "stall" })
	}
	for i := range groups {
		t.Rows = append(t.Rows, groupRow(&groups[i], groups[i].Name, withStalls))
	}
	if total != nil && len(groups) > 1 {
		t.Rows, t.Last = append(t.Rows, groupRow(total, "all", withStalls)), 1
	}
	return t
}

func groupRow(g *result.Group, name string, withStalls bool) []Cell {
	row := []Cell{Word(name), countCell(g.Arrived), shareCell(g.Executed, g.Arrived), shareCell(g.Rejected, g.Arrived)}
	row = append(row, durationCells(g.Wait)...)
	virtual, stall := absent, absent
	if v := g.VirtualWait; v != nil && v.Wait != nil {
		virtual = durationCell(v.Wait.P99Ns)
	}
	if g.Stall != nil && g.Arrived > 0 {
		stall = durationCell(g.Stall.MaxNs)
	}
	if withStalls {
		row = append(row, virtual, stall)
	}
	return append(row, durationCells(g.Latency)...)
}

// durationCells are the median, the 99th percentile and the longest of durations.
func durationCells(d *result.Distribution) []Cell {
	if d == nil {
		return []Cell{absent, absent, absent}
	}
	return []Cell{durationCell(d.P50Ns), durationCell(d.P99Ns), durationCell(d.MaxNs)}
}

// Levels has the levels that requests came to; those that none came to are named below.
func Levels(s *result.Summary) *Table {
	t := &Table{Name: "levels", Caption: "Priority levels; limits and peak in seats", Columns: []Column{{Title: "Level", Left: true},
		{Title: "Nominal", Term: "nominal"}, {Title: "Bounds", Term: "bounds"}, {Title: "Peak", Term: "peak"},
		{Title: "In use", Term: "utilisation"}, {Title: "Saturated", Term: "saturated"}, {Title: "Waiting", Term: "waiting"},
		{Title: "Arrived", Term: "arrived"}, {Title: "Rejected", Term: "rejected"}, {Title: "Wait, 99th", Term: "percentile"},
		{Title: "Flows", Term: "flow"}, {Title: "Fairness", Term: "jain"}, {Title: "Starved", Term: "starved"}}}
	var quiet []string
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		if l.Idle() {
			quiet = append(quiet, l.Name)
			continue
		}
		t.Rows = append(t.Rows, levelRow(l))
	}
	if len(quiet) > 0 {
		t.Missing = "No requests: " + strings.Join(quiet, ", ") + "."
	}
	return t
}

func levelRow(l *result.Level) []Cell {
	row := []Cell{Word(l.Name), absent, absent, Figure(float64(l.PeakSeats), strconv.Itoa(l.PeakSeats)), absent, absent,
		Figure(l.MeanWaiting, format.Digits(l.MeanWaiting)), countCell(l.Arrived), shareCell(l.Rejected, l.Arrived), absent, absent, absent, absent}
	if l.Type != config.TypeExempt {
		row[1] = Figure(float64(l.Limits.Nominal), strconv.Itoa(l.Limits.Nominal))
		row[2] = Figure(float64(l.Limits.Upper), fmt.Sprintf("%d–%d", l.Limits.Lower, l.Limits.Upper))
	}
	if u := l.Utilisation; u != nil {
		if u.Mean != nil {
			row[4] = Figure(*u.Mean, format.Percent(*u.Mean))
		}
		row[5] = Figure(u.Saturated, format.Percent(u.Saturated))
	}
	if l.Wait != nil {
		row[9] = durationCell(l.Wait.P99Ns)
	}
	if f := l.Fairness; f != nil {
		row[10], row[11] = Figure(float64(f.Flows), strconv.Itoa(f.Flows)), Figure(f.Jain, fmt.Sprintf("%.3f", f.Jain))
	}
	if l.Starvation != nil {
		row[12] = durationCell(l.Starvation.MaxNs)
	}
	return row
}

// Flows has the flows: the underserved ones first, then by demand.
func Flows(s *result.Summary) *Table {
	t := &Table{Name: "flows", Caption: "Flows, underserved ones first; demand, fair share and service in seat-seconds",
		First: flowsFirst, Columns: []Column{{Title: "Flow", Term: "flow", Left: true}, {Title: "Level", Left: true},
			{Title: "Of fair share", Term: "ratio"}, {Title: "Arrived", Term: "arrived"}, {Title: "Rejected", Term: "rejected"},
			{Title: "Wait, median", Term: "wait"}, {Title: "99th", Term: "percentile"}, {Title: "Starved", Term: "starved"},
			{Title: "Demand", Term: "demand"}, {Title: "Fair share", Term: "share"}, {Title: "Service", Term: "service"},
			{Title: "Hand", Term: "hand", Left: true}}}
	flows := judge.Worst(s, len(s.Flows))
	isWorst := map[*result.Flow]bool{}
	for _, f := range flows {
		isWorst[f] = true
	}
	hurt := len(flows)
	for i := range s.Flows {
		if f := &s.Flows[i]; !isWorst[f] {
			flows = append(flows, f)
		}
	}
	slices.SortStableFunc(flows[hurt:], func(a, b *result.Flow) int { return -cmp.Compare(a.DemandSeatSeconds, b.DemandSeatSeconds) })
	if len(flows) > FlowsMost {
		t.Missing = fmt.Sprintf("Left out: %s, all in summary.json.", format.Counted(len(flows)-FlowsMost, "flow"))
		flows = flows[:FlowsMost]
	}
	most := 0.0
	for _, f := range flows {
		if f.Ratio != nil {
			most = max(most, *f.Ratio)
		}
	}
	for _, f := range flows {
		t.Rows = append(t.Rows, flowRow(f, most))
	}
	return t
}

func flowRow(f *result.Flow, mostRatio float64) []Cell {
	row := []Cell{Word(f.Name), Word(f.PriorityLevel), absent, countCell(f.Arrived), shareCell(f.Rejected, f.Arrived), absent, absent,
		durationCell(f.StarvationNs), seatSecondsCell(f.DemandSeatSeconds), seatSecondsCell(f.FairShareSeatSeconds),
		seatSecondsCell(f.ServiceSeatSeconds), absent}
	if f.Ratio != nil {
		row[2] = Figure(*f.Ratio, judge.OfShare(*f.Ratio))
		row[2].Bar = &Bar{Value: *f.Ratio / max(1, mostRatio), Mark: 1 / max(1, mostRatio)}
	}
	if f.Wait != nil {
		row[5], row[6] = durationCell(f.Wait.P50Ns), durationCell(f.Wait.P99Ns)
	}
	if len(f.Hand) > 0 {
		queues := slices.Sorted(slices.Values(f.Hand))
		row[11] = Word(strings.Trim(strings.Join(strings.Fields(fmt.Sprint(queues)), ", "), "[]"))
	}
	return row
}
