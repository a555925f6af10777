package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/config"
)

// How many flows the page has: at first, and at most, so that it opens at once.
const (
	flowsFirst = 50
	flowsMost  = 5000
)

// runPage returns the report of a run.
func runPage(r *Result) Page {
	s := r.Summary
	p := Page{
		Title: s.Name, Description: []string{s.Description}, Ran: ran(s), Verdict: thresholdsVerdict(s),
		Findings: findings(s), Warnings: s.Warnings,
		Footer: "All numbers are in summary.json, their course over time in series.csv.",
	}
	if s.Fingerprint != "" {
		p.Footer += " Fingerprint of what was decided: " + s.Fingerprint
	}
	add := func(name, title string, parts ...Part) {
		if len(parts) > 0 {
			p.Sections = append(p.Sections, Section{Name: name, Title: title, Parts: parts})
		}
	}
	workloads := []Part{{Table: groupsTable("workloads", "Workload", s.Workloads, &s.Total)}}
	if wait := waitPlot(r); wait != nil {
		workloads = append(workloads, Part{Plot: wait})
	}
	add("workloads", "Workloads", workloads...)
	var levels []Part
	if t := levelsTable(s); len(t.Rows) > 0 {
		levels = append(levels, Part{Table: t})
	}
	if len(s.FlowSchemas) > 0 {
		levels = append(levels, Part{Heading: "By FlowSchema", Table: groupsTable("flow-schemas", "FlowSchema", s.FlowSchemas, nil)})
	}
	add("levels", "Priority levels", levels...)
	course := waitPlots(r)
	for i, series := range r.Series {
		if plots := seriesPlots(r, series, strconv.Itoa(i)); len(plots) > 0 {
			course = append(course, Part{Heading: levelTitle(s, series.Level), Plot: plots[0]})
			for _, plot := range plots[1:] {
				course = append(course, Part{Plot: plot})
			}
		}
	}
	add("course", "Over time", course...)
	if len(s.Flows) > 0 {
		add("flows", "Flows", Part{Table: flowsTable(s)})
	}
	return p
}

func thresholdsVerdict(s *Summary) *PageVerdict {
	if len(s.Thresholds) == 0 {
		return nil
	}
	t := &Table{Name: "thresholds", Caption: "Thresholds", Columns: []Column{{Title: "Threshold", Term: "threshold", Left: true},
		{Title: "Verdict", Left: true}, {Title: "Wanted", Left: true}, {Title: "Found"}}}
	failed := 0
	for i := range s.Thresholds {
		v := &s.Thresholds[i]
		found, verdict := word(v.found()), Cell{Text: "✓ holds", Mood: Good}
		if v.Value != nil {
			found = figure(*v.Value, v.found())
		}
		if !v.Passed {
			failed++
			verdict = Cell{Text: "✗ failed", Mood: Bad}
		}
		t.Rows = append(t.Rows, []Cell{{Text: v.Metric, Code: true}, verdict, {Text: v.Expression, Code: true}, found})
	}
	v := &PageVerdict{Mood: passedMood(failed == 0), Table: t}
	switch n := len(s.Thresholds); {
	case failed > 0:
		v.Text = fmt.Sprintf("%d of %s failed", failed, counted(n, "threshold"))
	case n == 1:
		v.Text = "The threshold holds"
	default:
		v.Text = fmt.Sprintf("All %d thresholds hold", n)
	}
	return v
}

func passedMood(passed bool) Mood {
	if passed {
		return Good
	}
	return Bad
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return number(float64(n)) + " " + what + "s"
}

func word(text string) Cell                  { return Cell{Text: text} }
func figure(value float64, text string) Cell { return Cell{Text: text, Value: value, Number: true} }

// absent is the cell of a statistic without samples.
var absent = word("–")

func countCell(n int64) Cell { return figure(float64(n), quantityText(n)) }

func shareCell(part, whole int64) Cell {
	if whole == 0 {
		return absent
	}
	return figure(float64(part)/float64(whole), shareOf(part, whole))
}

func durationCell(ns int64) Cell { return figure(float64(ns), duration(float64(ns))) }

func seatSecondsCell(x float64) Cell { return figure(x, number(x)) }

// groupsTable is a table of groups of requests, and below them that of all.
func groupsTable(name, of string, groups []Group, total *Group) *Table {
	t := &Table{Name: name, Caption: of + "s: requests, waits and latencies", Columns: []Column{{Title: of, Left: true},
		{Title: "Arrived", Term: "arrived"}, {Title: "Executed", Term: "executed"}, {Title: "Rejected", Term: "rejected"},
		{Title: "Wait, median", Term: "wait"}, {Title: "99th", Term: "percentile"}, {Title: "longest"},
		{Title: "Random moment, 99th", Term: "virtualWait"}, {Title: "Stall", Term: "stall"},
		{Title: "Latency, median", Term: "latency"}, {Title: "99th", Term: "percentile"}, {Title: "longest"}}}
	withStalls := slices.ContainsFunc(groups, func(g Group) bool { return g.Stall != nil })
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

func groupRow(g *Group, name string, withStalls bool) []Cell {
	row := []Cell{word(name), countCell(g.Arrived), shareCell(g.Executed, g.Arrived), shareCell(g.Rejected, g.Arrived)}
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
func durationCells(d *Distribution) []Cell {
	if d == nil {
		return []Cell{absent, absent, absent}
	}
	return []Cell{durationCell(d.P50Ns), durationCell(d.P99Ns), durationCell(d.MaxNs)}
}

// levelsTable has the levels that requests came to; those that none came to are named below.
func levelsTable(s *Summary) *Table {
	t := &Table{Name: "levels", Caption: "Priority levels; limits and peak in seats", Columns: []Column{{Title: "Level", Left: true},
		{Title: "Nominal", Term: "nominal"}, {Title: "Bounds", Term: "bounds"}, {Title: "Peak", Term: "peak"},
		{Title: "In use", Term: "utilisation"}, {Title: "Saturated", Term: "saturated"}, {Title: "Waiting", Term: "waiting"},
		{Title: "Arrived", Term: "arrived"}, {Title: "Rejected", Term: "rejected"}, {Title: "Wait, 99th", Term: "percentile"},
		{Title: "Flows", Term: "flow"}, {Title: "Fairness", Term: "jain"}, {Title: "Starved", Term: "starved"}}}
	var quiet []string
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		if l.idle() {
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

func (l *Level) idle() bool { return l.Arrived == 0 && l.PeakSeats == 0 }

func levelRow(l *Level) []Cell {
	row := []Cell{word(l.Name), absent, absent, figure(float64(l.PeakSeats), strconv.Itoa(l.PeakSeats)), absent, absent,
		figure(l.MeanWaiting, digits(l.MeanWaiting)), countCell(l.Arrived), shareCell(l.Rejected, l.Arrived), absent, absent, absent, absent}
	if l.Type != config.TypeExempt {
		row[1] = figure(float64(l.Limits.Nominal), strconv.Itoa(l.Limits.Nominal))
		row[2] = figure(float64(l.Limits.Upper), fmt.Sprintf("%d–%d", l.Limits.Lower, l.Limits.Upper))
	}
	if u := l.Utilisation; u != nil {
		if u.Mean != nil {
			row[4] = figure(*u.Mean, percent(*u.Mean))
		}
		row[5] = figure(u.Saturated, percent(u.Saturated))
	}
	if l.Wait != nil {
		row[9] = durationCell(l.Wait.P99Ns)
	}
	if f := l.Fairness; f != nil {
		row[10], row[11] = figure(float64(f.Flows), strconv.Itoa(f.Flows)), figure(f.Jain, fmt.Sprintf("%.3f", f.Jain))
	}
	if l.Starvation != nil {
		row[12] = durationCell(l.Starvation.MaxNs)
	}
	return row
}

// flowsTable has the flows: the underserved ones first, then by demand.
func flowsTable(s *Summary) *Table {
	t := &Table{Name: "flows", Caption: "Flows, underserved ones first; demand, fair share and service in seat-seconds",
		First: flowsFirst, Columns: []Column{{Title: "Flow", Term: "flow", Left: true}, {Title: "Level", Left: true},
			{Title: "Of fair share", Term: "ratio"}, {Title: "Arrived", Term: "arrived"}, {Title: "Rejected", Term: "rejected"},
			{Title: "Wait, median", Term: "wait"}, {Title: "99th", Term: "percentile"}, {Title: "Starved", Term: "starved"},
			{Title: "Demand", Term: "demand"}, {Title: "Fair share", Term: "share"}, {Title: "Service", Term: "service"},
			{Title: "Hand", Term: "hand", Left: true}}}
	flows := worst(s, len(s.Flows))
	isWorst := map[*Flow]bool{}
	for _, f := range flows {
		isWorst[f] = true
	}
	hurt := len(flows)
	for i := range s.Flows {
		if f := &s.Flows[i]; !isWorst[f] {
			flows = append(flows, f)
		}
	}
	slices.SortStableFunc(flows[hurt:], func(a, b *Flow) int { return -cmp.Compare(a.DemandSeatSeconds, b.DemandSeatSeconds) })
	if len(flows) > flowsMost {
		t.Missing = fmt.Sprintf("Left out: %s, all in summary.json.", counted(len(flows)-flowsMost, "flow"))
		flows = flows[:flowsMost]
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

func flowRow(f *Flow, mostRatio float64) []Cell {
	row := []Cell{word(f.Name), word(f.PriorityLevel), absent, countCell(f.Arrived), shareCell(f.Rejected, f.Arrived), absent, absent,
		durationCell(f.StarvationNs), seatSecondsCell(f.DemandSeatSeconds), seatSecondsCell(f.FairShareSeatSeconds),
		seatSecondsCell(f.ServiceSeatSeconds), absent}
	if f.Ratio != nil {
		row[2] = figure(*f.Ratio, ofShare(*f.Ratio))
		row[2].Bar = &Bar{Value: *f.Ratio / max(1, mostRatio), Mark: 1 / max(1, mostRatio)}
	}
	if f.Wait != nil {
		row[5], row[6] = durationCell(f.Wait.P50Ns), durationCell(f.Wait.P99Ns)
	}
	if len(f.Hand) > 0 {
		queues := slices.Sorted(slices.Values(f.Hand))
		row[11] = word(strings.Trim(strings.Join(strings.Fields(fmt.Sprint(queues)), ", "), "[]"))
	}
	return row
}

// points is how the values of a series come to be those of a line: one for each interval,
// and the last once more where it ends.
func points(s *Series, value func(*Point) float64) figures {
	var values figures
	for i := range s.Points {
		values = append(values, value(&s.Points[i]))
	}
	return append(values, values[len(values)-1])
}

// seriesPlots returns the plots of the course of a run at a level, none where nothing happened.
func seriesPlots(r *Result, s *Series, id string) []*Plot {
	if s.Quiet() {
		return nil
	}
	a := timeAxisOf(r.Summary)
	var at figures
	for i := range s.Points {
		at = append(at, float64(s.Points[i].StartNs)/a.unitNs)
	}
	at = append(at, float64(s.Points[len(s.Points)-1].EndNs)/a.unitNs)
	interval := duration(float64(s.Points[0].EndNs - s.Points[0].StartNs))
	var plots []*Plot
	add := func(name, title, caption string, y Axis, lines ...Line) {
		plots = append(plots, &Plot{Name: name + "-" + id, Title: title, Caption: caption, X: a.axis(), Y: y,
			Linked: true, Steps: true, Shaded: a.warmup, At: at, Lines: lines})
	}
	use := Line{Name: "seats in use", Style: LineStyle{Colour: 1, Filled: true}, Values: points(s, func(p *Point) float64 { return p.SeatsInUse })}
	switch {
	case s.Level == "":
		use.Name = "executing"
		add("seats", "Requests executing", "Mean of intervals of "+interval+".", Axis{Label: "requests"}, use)
	case s.Limited:
		add("seats", "Seats in use and concurrency limits",
			"Means of intervals of "+interval+". The current limit moves as levels lend and borrow seats, the nominal one when the configuration changes.", Axis{Label: "seats"}, use,
			Line{Name: "current limit", Values: points(s, func(p *Point) float64 { return p.CurrentLimit })},
			Line{Name: "nominal limit", Style: LineStyle{Dashed: true}, Values: points(s, func(p *Point) float64 { return p.NominalLimit })})
	default:
		add("seats", "Seats in use", "Mean of intervals of "+interval+".", Axis{Label: "seats"}, use)
	}

	lines := []Line{{Name: "arrived", Style: LineStyle{Filled: true}, Values: points(s, func(p *Point) float64 { return float64(p.Arrived) / p.Seconds() })}}
	for i, of := range rates {
		values := points(s, func(p *Point) float64 { return float64(of.count(p)) / p.Seconds() })
		if slices.Max(values) > 0 {
			lines = append(lines, Line{Name: of.name, Style: lineStyleOf(i), Values: values})
		}
	}
	add("requests", "Requests arriving, dispatched and rejected", "Per second, in intervals of "+interval+".", Axis{Label: "per second", Unit: "/s"}, lines...)

	waiting := points(s, func(p *Point) float64 { return p.WaitingRequests })
	if slices.Max(waiting) > 0 {
		add("waiting", "Requests waiting", "Mean of intervals of "+interval+".", Axis{Label: "requests"},
			Line{Name: "waiting", Style: LineStyle{Colour: 4, Filled: true}, Values: waiting})
	}
	if s.Queued() {
		plots = append(plots, &Plot{Name: "queues-" + id, Title: "Requests waiting in each queue",
			Caption: "Each row is a queue, and its colour how many requests wait in it at the beginning of the interval. A flow that sends more than its share fills the queues of its hand.",
			X:       a.axis(), Y: Axis{Label: "queue"}, Linked: true, Shaded: a.warmup, At: at, Queues: queueMap(r.Summary, s)})
	}
	if jain := points(s, jainOf); slices.ContainsFunc(jain, func(x float64) bool { return !math.IsNaN(x) && x < 1 }) {
		add("fairness", "Fairness", "Jain’s index of intervals of "+interval+", over the flows that had requests in them: 1 is even.", Axis{Label: "Jain’s index"},
			Line{Name: "Jain’s index", Style: LineStyle{Colour: 3}, Values: jain})
	}
	return plots
}

func jainOf(p *Point) float64 {
	if p.Jain == nil {
		return math.NaN()
	}
	return *p.Jain
}

// axis is the time axis as an axis of a plot.
func (a timeAxis) axis() Axis {
	unit := strings.TrimSuffix(strings.TrimPrefix(a.label, "time ("), ")")
	return Axis{Label: "time", Unit: unit}
}

// queueMap is the queues' lengths over time, and whose hands the queues are in.
func queueMap(s *Summary, of *Series) *QueueMap {
	m := &QueueMap{Lengths: of.QueueLengths}
	for _, lengths := range of.QueueLengths {
		m.Queues = max(m.Queues, len(lengths))
	}
	holders := make([][]*Flow, m.Queues)
	for i := range s.Flows {
		f := &s.Flows[i]
		if f.PriorityLevel != of.Level {
			continue
		}
		for _, q := range f.Hand {
			if q < m.Queues {
				holders[q] = append(holders[q], f)
			}
		}
	}
	for _, flows := range holders {
		slices.SortStableFunc(flows, func(a, b *Flow) int { return -cmp.Compare(a.DemandSeatSeconds, b.DemandSeatSeconds) })
		m.DealtTo = append(m.DealtTo, names(flows, 2, ""))
	}
	return m
}

// waitPlot draws for each workload the share of its dispatched requests that waited longer
// than a time, nil when none waited. Both axes are logarithmic, so that the tail is as
// legible as the bulk.
func waitPlot(r *Result) *Plot {
	scale, ok := waitScaleOf(r)
	if !ok {
		return nil
	}
	p := &Plot{Name: "wait", Title: "How long requests waited",
		Caption: "For each workload the share of its dispatched requests that waited longer than a time: lower and further left is better.",
		X:       Axis{Label: "longer than", Unit: "ns", Log: true}, Y: Axis{Label: "share of requests", Unit: "share", Log: true},
		At: scale.places()}
	for i := range r.waits {
		h := &r.waits[i]
		if h.n == 0 {
			continue
		}
		p.Lines = append(p.Lines, Line{Name: printable(r.Summary.Workloads[i].Name), Style: lineStyleOf(i), Values: exceeding(h, p.At, scale.bottom)})
	}
	return p
}

// exceeding returns the share of values above each place, NaN from where it is below bottom.
func exceeding[C count](h *histogram[C], at []float64, bottom float64) figures {
	values := make(figures, len(at))
	above, i := h.n, 0
	note := func(before float64) {
		for ; i < len(at) && at[i] < before; i++ {
			if values[i] = float64(above) / float64(h.n); values[i] < bottom {
				values[i] = math.NaN()
			}
		}
	}
	h.each(func(_, mostNs, n int64) {
		note(float64(min(mostNs, h.mostNs)))
		above -= n
	})
	note(math.Inf(1))
	return values
}
