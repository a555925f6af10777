package report

import (
	"fmt"

	"apfsim/reports/format"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// clientPlots returns the plots over time of what happens to clients that behave; none of what has not happened.
func clientPlots(r *result.Result) (plots []*Plot) {
	if len(r.ClientSeries) == 0 {
		return nil
	}
	t := timelineOf(r.Summary)
	first := r.ClientSeries[0].Points
	interval := format.Duration(float64(first[0].EndNs - first[0].StartNs))
	places := t.places(len(first), func(i int) (int64, int64) { return first[i].StartNs, first[i].EndNs })
	lines := 0 // each has a colour of its own, as one legend is for all plots
	add := func(name, title, caption string, y Axis, timed bool, value func(*result.ClientPoint) float64) {
		p := t.plot("clients-"+name, title, y, places)
		p.Subject, p.Steps, p.Caption = title, true, fmt.Sprintf(caption, interval)
		p.Marks = t.marks(result.TimelineMarks(r.Summary.Timeline))
		for _, m := range metric.Lines(timed) {
			for _, s := range r.ClientSeries {
				if s.Metric == m.Name {
					p.Lines = append(p.Lines, Line{Name: m.Counts(), Kind: KindCategory, Index: lines, Values: stepValues(s.Points, value)})
					lines++
				}
			}
		}
		if len(p.Lines) > 0 {
			plots = append(plots, p)
		}
	}
	add("failures", "Failures of clients", "Failures of all clients that behave, per second, in intervals of %s.", Axis{Label: "per second", Unit: "/s"}, false,
		func(p *result.ClientPoint) float64 { return float64(p.Count) / p.Seconds() })
	add("times", "Longest times of clients", "The longest time of all clients that behave, by the interval of %s in which it ended.", Axis{Label: "longest", Unit: "ns"}, true,
		func(p *result.ClientPoint) float64 { return float64(p.MaxNs) })
	return plots
}

func clientsPicture(r *result.Result) *Picture {
	panels := clientPlots(r)
	if len(panels) == 0 {
		return nil
	}
	p := &Picture{Name: "clients", Title: "Clients over time", Panels: panels}
	for _, panel := range panels {
		for _, l := range panel.Lines {
			p.Legend = append(p.Legend, legendEntry{Name: l.Name, Kind: l.Kind, Index: l.Index})
		}
	}
	return p
}
