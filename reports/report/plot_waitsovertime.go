package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"apfsim/reports/format"
	"apfsim/reports/result"
)

// maxWaitPlots limits the workloads whose waits over time are drawn.
const maxWaitPlots = 12

// waitPlots returns a plot for each workload whose requests waited, in the order of the scenario;
// of too many, those with the longest waits. The last caption says which workloads are left out.
func waitPlots(r *result.Result) (plots []*Plot) {
	drawn, leftOut := drawnWorkloads(r)
	t := timelineOf(r.Summary)
	for i, s := range drawn {
		subject := format.Shorten(format.Printable(s.Workload), 60)
		p := t.plot("waits-"+strconv.Itoa(i), "Wait over time: "+subject, Axis{Label: "wait", Unit: "ns"},
			t.places(len(s.Points), func(i int) (int64, int64) { return s.Points[i].StartNs, s.Points[i].EndNs }))
		p.Subject, p.Steps = subject, true
		p.Caption = "Median and 99th percentile of the waits of the requests that arrived in an interval, and the time that the oldest request in the queues has waited at the end of the interval. " +
			"Intervals of " + format.Duration(float64(s.Points[0].EndNs-s.Points[0].StartNs)) + ". " +
			"Solid vertical lines mark events of the scenario; dashed ones mark adjustments that moved the limit of a priority level of the workload by 5 % or more."
		p.Lines = []Line{
			{Name: "oldest waiting request", Kind: KindOldestWait, Values: stepValues(s.Points, (*result.WorkloadPoint).OldestWait)},
			{Name: "99th percentile", Kind: KindWaitP99, Values: stepValues(s.Points, (*result.WorkloadPoint).P99)},
			{Name: "median", Kind: KindWaitMedian, Values: stepValues(s.Points, (*result.WorkloadPoint).P50)},
		}
		if len(r.Summary.Timeline) > 0 {
			p.Caption += " They also mark what happens to servers: solid ones that they stop, end, become ready or have another speed, dashed ones the other steps."
		}
		p.Marks = t.marks(s.Marks)
		plots = append(plots, p)
	}
	if len(plots) > 0 {
		plots[len(plots)-1].Caption += leftOut
	}
	return plots
}

func waitsPicture(r *result.Result) *Picture {
	panels := waitPlots(r)
	if len(panels) == 0 {
		return nil
	}
	p := &Picture{Name: "wait-over-time", Title: "Waits over time", Panels: panels}
	for i := len(panels[0].Lines) - 1; i >= 0; i-- {
		l := &panels[0].Lines[i]
		p.Legend = append(p.Legend, legendEntry{Name: l.Name, Kind: l.Kind})
	}
	p.Legend = append(p.Legend, legendEntry{Name: "event", Kind: KindEvent}, legendEntry{Name: "limit moved by 5 % or more", Kind: KindAdjustment})
	return p
}

// drawnWorkloads returns the workloads that have a plot. The text counts the others.
func drawnWorkloads(r *result.Result) (drawn []*result.WorkloadSeries, leftOut string) {
	for _, s := range r.WorkloadSeries {
		if s.Waited() {
			drawn = append(drawn, s)
		}
	}
	idle := len(r.WorkloadSeries) - len(drawn)
	if n := len(drawn); n > maxWaitPlots {
		longest := slices.Clone(drawn)
		slices.SortStableFunc(longest, func(a, b *result.WorkloadSeries) int { return -cmp.Compare(a.LongestNs(), b.LongestNs()) })
		drawn = slices.DeleteFunc(drawn, func(s *result.WorkloadSeries) bool { return !slices.Contains(longest[:maxWaitPlots], s) })
		leftOut = fmt.Sprintf(" Workloads with waits: %d; drawn: the %d with the longest waits.", n, maxWaitPlots)
	}
	if idle > 0 && len(drawn) > 0 {
		leftOut += fmt.Sprintf(" Workloads without waits, not drawn: %d.", idle)
	}
	return drawn, leftOut
}
