package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// screenLines is how many workloads have a line of their own in the picture of the first screen.
const screenLines = 5

// screenPlots returns the picture of the first screen, two plots over the same time: the requests of each workload that were
// not served, and its waits. What did not happen has no plot; if nothing did, the picture is of the arrivals.
func screenPlots(r *result.Result) []*Plot {
	if len(r.WorkloadSeries) == 0 || len(r.WorkloadSeries[0].Points) == 0 {
		return nil
	}
	interval := format.Duration(float64(r.WorkloadSeries[0].Points[0].EndNs - r.WorkloadSeries[0].Points[0].StartNs))
	perSecond := func(count func(*result.WorkloadPoint) int64) func(*result.WorkloadPoint) float64 {
		return func(p *result.WorkloadPoint) float64 { return float64(count(p)) * 1e9 / float64(p.EndNs-p.StartNs) }
	}
	sum := func(a, b float64) float64 { return a + b }
	longest := func(a, b float64) float64 {
		if math.IsNaN(a) || b > a {
			return b
		}
		return a
	}
	var plots []*Plot
	add := func(name, title, unit string, value func(*result.WorkloadPoint) float64, combine func(a, b float64) float64) {
		if p := screenPlot(r, name, title, unit, value, combine); p != nil {
			plots = append(plots, p)
		}
	}
	add("screen-not-served", "Not served per second", "", perSecond(func(p *result.WorkloadPoint) int64 {
		n := p.Refused + p.Failed
		for _, rejected := range p.Rejected {
			n += rejected
		}
		return n
	}), sum)
	waits := ""
	if most := longestP99(r); most >= leastWaitNs {
		add("screen-waits", "Wait p99 of each "+interval, "ns", (*result.WorkloadPoint).P99, longest)
	} else if most > 0 {
		waits = "Wait p99 was at most " + format.Duration(float64(most)) + " in each " + interval + ". "
	}
	if len(plots) == 0 {
		add("screen-arrived", "Requests per second", "", perSecond(func(p *result.WorkloadPoint) int64 { return p.Arrived }), sum)
	}
	if len(plots) > 0 {
		plots[len(plots)-1].Caption = waits + screenCaption(r)
	}
	return plots
}

// leastWaitNs is how long waits must be to have a plot on the first screen.
const leastWaitNs = 10_000_000

// longestP99 returns the longest 99th percentile of the waits of a workload in an interval.
func longestP99(r *result.Result) (ns int64) {
	for _, s := range r.WorkloadSeries {
		for i := range s.Points {
			ns = max(ns, s.Points[i].WaitP99Ns)
		}
	}
	return ns
}

// screenPlot returns a plot with a line for each of the workloads that have most of a value, and one for the others; nil if
// no workload has any.
func screenPlot(r *result.Result, name, title, unit string, value func(*result.WorkloadPoint) float64, combine func(a, b float64) float64) *Plot {
	var lines []Line
	for i, s := range r.WorkloadSeries {
		lines = append(lines, Line{Name: format.Printable(s.Workload), Kind: KindCategory, Index: i, Values: stepValues(s.Points, value)})
	}
	if lines = mostLines(lines, combine); len(lines) == 0 {
		return nil
	}
	t := timelineOf(r.Summary)
	points := r.WorkloadSeries[0].Points
	p := t.plot(name, title+", by workload", Axis{Unit: unit}, t.places(len(points), func(i int) (int64, int64) { return points[i].StartNs, points[i].EndNs }))
	p.Steps, p.Lines = true, lines
	p.Marks = screenMarks(r, t)
	if n := adjustments(p.Marks); n > adjustmentsDrawn {
		p.Marks = slices.DeleteFunc(p.Marks, func(m Mark) bool { return m.Kind == KindAdjustment })
	}
	return p
}

// mostLines returns the lines with most of a value, and one for the others; none of those without any.
func mostLines(all []Line, combine func(a, b float64) float64) (lines []Line) {
	totals := map[*float64]float64{}
	all = slices.DeleteFunc(all, func(l Line) bool {
		total := 0.0
		for _, x := range l.Values[:len(l.Values)-1] { // the last one is there twice
			if x > 0 { // NaN without requests
				total += x
			}
		}
		totals[&l.Values[0]] = total
		return total == 0
	})
	slices.SortStableFunc(all, func(a, b Line) int { return -cmp.Compare(totals[&a.Values[0]], totals[&b.Values[0]]) })
	for i := range all {
		switch {
		case i < screenLines || len(all) == screenLines+1:
			lines = append(lines, all[i])
		case i == screenLines:
			lines = append(lines, Line{Name: fmt.Sprintf("%d others", len(all)-screenLines), Kind: KindOldestWait, Values: slices.Clone(all[i].Values)})
		default:
			others := lines[screenLines].Values
			for k, x := range all[i].Values {
				others[k] = combine(others[k], x)
			}
		}
	}
	return lines
}

// Counts are how many requests of a client there were in each interval of a log.
type Counts struct {
	Client string
	Counts []int64
}

// RatePlot returns a plot of the requests per second of those clients that have most, over the time of a log; nil if there are
// none. The clock is the time of day at which the log begins.
func RatePlot(name, title string, clock format.Clock, durationNs, intervalNs int64, clients []Counts) *Plot {
	var lines []Line
	places := 0
	for i := range clients {
		c := &clients[i]
		values := make([]float64, 0, len(c.Counts)+1)
		for k, n := range c.Counts {
			fromNs, toNs := int64(k)*intervalNs, min(int64(k+1)*intervalNs, durationNs)
			values = append(values, float64(n)*1e9/float64(toNs-fromNs))
		}
		lines, places = append(lines, Line{Name: format.Printable(c.Client), Kind: KindCategory, Index: i, Values: append(values, values[len(values)-1])}), len(c.Counts)
	}
	if lines = mostLines(lines, func(a, b float64) float64 { return a + b }); len(lines) == 0 {
		return nil
	}
	t := timelineOf(&result.Summary{DurationNs: durationNs, StartNs: clock})
	p := t.plot(name, title, Axis{}, t.places(places, func(i int) (int64, int64) { return int64(i) * intervalNs, min(int64(i+1)*intervalNs, durationNs) }))
	p.Steps, p.Lines = true, lines
	return p
}

// screenMarks returns the marks of all workloads, each once.
func screenMarks(r *result.Result, t timeline) []Mark {
	var all []result.Mark
	for _, s := range r.WorkloadSeries {
		for _, m := range s.Marks {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b result.Mark) int { return cmp.Compare(a.AtNs, b.AtNs) })
	return t.marks(all)
}

// adjustmentsDrawn is how many adjustments the picture of the first screen marks. More of them would hide the lines.
const adjustmentsDrawn = 12

func adjustments(marks []Mark) (n int) {
	for _, m := range marks {
		if m.Kind == KindAdjustment {
			n++
		}
	}
	return n
}

// marksNamed is how many events the picture of the first screen names.
const marksNamed = 3

// screenCaption says what the marks of the picture are.
func screenCaption(r *result.Result) string {
	t := timelineOf(r.Summary)
	events := 0
	var texts []string
	marks := screenMarks(r, t)
	for _, m := range marks {
		if m.Kind != KindEvent {
			continue
		}
		if events++; events <= marksNamed {
			texts = append(texts, t.axis.Moment(m.At)+": "+format.Printable(m.Text))
		}
	}
	if more := events - marksNamed; more > 0 {
		texts = append(texts, format.Counted(more, "other event"))
	}
	if n := adjustments(marks); n > 0 {
		how := "dashed"
		if n > adjustmentsDrawn {
			how = "too many to be drawn"
		}
		texts = append(texts, format.Counted(n, "adjustment")+" that moved a limit by 5 % or more ("+how+")")
	}
	if len(texts) == 0 {
		return ""
	}
	return "Marks: " + strings.Join(texts, "; ") + "."
}
