package report

import (
	"slices"
	"time"

	"apfsim/lab/live/compare"
	"apfsim/reports/report"
)

// waited is the least 90th percentile of the waits for which a kind has a plot.
const waited = 20 * time.Millisecond

// picture returns the chart of the waits: a plot for each kind of requests that waited, with the share of its
// executed requests that waited no longer than the time along x. There is a line for each live run that is not void, one
// for its replay, and one for the prediction.
func (r *Results) picture() *report.Picture {
	var plots []*report.Plot
	for i := range r.Cases {
		c := &r.Cases[i]
		valid := c.valid()
		if len(valid) == 0 {
			continue
		}
		for _, kind := range valid[0].Live {
			if kind.WaitP90 < waited {
				continue
			}
			p := &report.Plot{Subject: c.Name + ": " + kind.Kind, Transposed: true,
				X: report.Axis{Label: "wait", Unit: "ns"}, Y: report.Axis{Label: "executed requests", Unit: "share", Max: 1}}
			for percent := range shownPercents {
				p.At = append(p.At, float64(percent)/100)
			}
			add := func(name string, line report.PlotKind, all []*compare.Stats) {
				if waits := compare.Find(all, kind.Level, kind.Kind).Waits; len(waits) > 0 {
					p.Lines = append(p.Lines, report.Line{Name: name, Kind: line, Values: nanoseconds(waits[:shownPercents])})
				}
			}
			for _, run := range valid {
				add("live", report.KindMeasured, run.Live)
				add("replay of the measured times", report.KindReplayed, run.Replay)
			}
			add("prediction", report.KindPredicted, c.Prediction)
			plots = append(plots, p)
		}
	}
	const columns = 2
	return report.TilesPicture(chartName, "Waits of executed requests", columns, plots)
}

// shownPercents is how many of the percentiles from 0 on have a place in the chart: the longest waits are chance.
const shownPercents = 100

func nanoseconds(all []time.Duration) []float64 {
	return slices.Collect(func(yield func(float64) bool) {
		for _, d := range all {
			if !yield(float64(d)) {
				return
			}
		}
	})
}
