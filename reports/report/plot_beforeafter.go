package report

import (
	"cmp"
	"math"
	"slices"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// comparedLines is how many workloads have lines in a picture of two runs. Each of them has two.
const comparedLines = 3

// ComparedPlots returns the picture of two runs with the same seed, one of them with a change: two plots over the same time
// with a dashed line for each workload without the change, and one without dashes with it. What did not happen in either
// run has no plot; of one run, or if nothing happened, it is the picture of the first run.
func ComparedPlots(before, after *result.Result) []*Plot {
	if after == nil || len(before.WorkloadSeries) == 0 || len(before.WorkloadSeries[0].Points) == 0 {
		return screenPlots(before)
	}
	perSecond := func(p *result.WorkloadPoint) float64 {
		return float64(p.NotServed()) * 1e9 / float64(p.EndNs-p.StartNs)
	}
	interval := before.WorkloadSeries[0].Points[0].EndNs - before.WorkloadSeries[0].Points[0].StartNs
	var plots []*Plot
	add := func(name, title, unit string, value func(*result.WorkloadPoint) float64) {
		if p := comparedPlot(before, after, name, title, unit, value); p != nil {
			plots = append(plots, p)
		}
	}
	add("screen-not-served", "Not served per second", "", perSecond)
	if max(longestP99(before), longestP99(after)) >= leastWaitNs {
		add("screen-waits", "Wait p99 of each "+format.Duration(float64(interval)), "ns", (*result.WorkloadPoint).P99)
	}
	if len(plots) == 0 {
		return screenPlots(before)
	}
	plots[len(plots)-1].Caption = "Dashed: without the change. Both runs have the same seed, and so the same arrivals and executions."
	return plots
}

// comparedPlot returns a plot of those workloads whose value changes most; nil if all are 0 in both runs.
func comparedPlot(before, after *result.Result, name, title, unit string, value func(*result.WorkloadPoint) float64) *Plot {
	type pair struct {
		index         int
		before, after []float64
		change        float64
	}
	var pairs []pair
	for i, s := range before.WorkloadSeries {
		at := slices.IndexFunc(after.WorkloadSeries, func(o *result.WorkloadSeries) bool { return o.Workload == s.Workload })
		if at < 0 || len(after.WorkloadSeries[at].Points) != len(s.Points) {
			continue
		}
		p := pair{index: i, before: stepValues(s.Points, value), after: stepValues(after.WorkloadSeries[at].Points, value)}
		any := false
		for k := range p.before {
			x, y := orZero(p.before[k]), orZero(p.after[k])
			p.change += math.Abs(x - y)
			any = any || x > 0 || y > 0
		}
		if any {
			pairs = append(pairs, p)
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return -cmp.Compare(a.change, b.change) })
	t := timelineOf(before.Summary)
	points := before.WorkloadSeries[0].Points
	left := len(pairs) - comparedLines
	if left > 0 {
		title += ", by those workloads for which it changes most"
	} else {
		title += ", by workload"
	}
	p := t.plot(name, title, Axis{Unit: unit}, t.places(len(points), func(i int) (int64, int64) { return points[i].StartNs, points[i].EndNs }))
	p.Steps = true
	for _, one := range pairs[:min(len(pairs), comparedLines)] {
		workload := format.Printable(before.WorkloadSeries[one.index].Workload)
		p.Lines = append(p.Lines,
			Line{Name: workload + ", now", Kind: KindBasePercentile, Index: one.index, Values: one.before},
			Line{Name: workload + ", changed", Kind: KindPercentile, Index: one.index, Values: one.after})
	}
	p.Marks = slices.DeleteFunc(screenMarks(before, t), func(m Mark) bool { return m.Kind == KindAdjustment })
	return p
}

// orZero returns 0 for NaN, which is the value of an interval without requests.
func orZero(x float64) float64 {
	if math.IsNaN(x) {
		return 0
	}
	return x
}
