package report

import (
	"fmt"
	"math"
	"slices"

	"apfsim/reports/compare"
	"apfsim/sim/metric"
)

// tailShares are the percentiles that are drawn, with the share of requests above each.
var tailShares = []struct {
	share     float64
	statistic metric.Name
}{
	{0.5, metric.Name{Stat: "med"}}, {0.1, metric.Name{Stat: "p", Percentile: 90}},
	{0.05, metric.Name{Stat: "p", Percentile: 95}}, {0.01, metric.Name{Stat: "p", Percentile: 99}},
	{0.001, metric.Name{Stat: "p", Percentile: 99.9}},
}

// plottedDurations are the titles and time axes of the distributions of durations, by metric.
var plottedDurations = map[string]struct{ title, axis string }{
	"wait":    {"How long requests waited", "waited longer than"},
	"latency": {"How long requests took", "took longer than"},
}

// percentilesCaption explains what a plot of percentiles shows; the argument is what has a line.
const percentilesCaption = "For each %s, the share of requests above a given time. Lower and further left is better. The points are the median, p90, p95, p99 and p99.9 of the requests of all runs together, with their 95 %% intervals."

// PercentilePlot returns for each workload the percentiles of a metric, wait or latency, with their 95 %
// intervals; nil if all are 0 or absent. A comparison has two sides, which names tell apart.
func PercentilePlot(metricName string, sides []*compare.Replications, names []string) *Plot {
	p := newPercentilePlot(metricName, metricName, plottedDurations[metricName].title, "workload")
	workload := 0
	number := map[string]int{}
	for side, r := range sides {
		byName := r.ByName()
		for _, name := range r.Names("workload") {
			line, positive := percentileLine(metricName, name, byName)
			if !positive {
				continue
			}
			if names[side] != "" {
				line.Name += ", " + names[side]
			}
			if _, known := number[name]; !known {
				number[name] = workload
				workload++
			}
			if len(sides) > 1 && side == 0 {
				line.Kind = KindBasePercentile
			}
			line.Index = number[name]
			p.Lines = append(p.Lines, line)
		}
	}
	if len(p.Lines) == 0 {
		return nil
	}
	return p
}

// valuePercentilePlots returns a plot for each workload, with the percentiles of a metric, wait or
// latency, at each value of a parameter. The values are labels, one for each of the runs. Workloads
// whose percentiles are all 0 or absent have no plot.
func valuePercentilePlots(metricName string, runs []*compare.Replications, parameter string, values []string) (plots []*Plot) {
	byName := make([]map[string]*compare.Estimate, len(runs))
	var workloads []string
	for i, r := range runs {
		byName[i] = r.ByName()
		for _, name := range r.Names("workload") {
			if !slices.Contains(workloads, name) {
				workloads = append(workloads, name)
			}
		}
	}
	for _, name := range workloads {
		p := newPercentilePlot(fmt.Sprintf("%s-%d", metricName, len(plots)), metricName,
			fmt.Sprintf("%s: %s", plottedDurations[metricName].title, name), "value of "+parameter)
		for i := range runs {
			if line, positive := percentileLine(metricName, name, byName[i]); positive {
				line.Name, line.Index = values[i], i
				p.Lines = append(p.Lines, line)
			}
		}
		if len(p.Lines) > 0 {
			plots = append(plots, p)
		}
	}
	return plots
}

// newPercentilePlot returns a plot without lines.
func newPercentilePlot(name, metricName, title, lines string) *Plot {
	p := &Plot{Name: name, Title: title, Caption: fmt.Sprintf(percentilesCaption, lines), Transposed: true,
		X: Axis{Label: plottedDurations[metricName].axis, Unit: "ns", Log: true}, Y: Axis{Label: "share of requests", Unit: "share", Log: true}}
	for _, tail := range slices.Backward(tailShares) {
		p.At = append(p.At, tail.share)
	}
	return p
}

// percentileLine returns the percentiles of a workload, and whether one of them is more than 0.
func percentileLine(metricName, workload string, byName map[string]*compare.Estimate) (line Line, positive bool) {
	line = Line{Name: workload, Kind: KindPercentile}
	for _, tail := range slices.Backward(tailShares) {
		statistic := tail.statistic
		statistic.Metric = metricName
		value, low, high := math.NaN(), math.NaN(), math.NaN()
		if e := byName[statistic.With("workload", workload).String()]; e != nil {
			value, low, high = e.Printed()
			positive = positive || value > 0
		}
		line.Values, line.Low, line.High = append(line.Values, value), append(line.Low, low), append(line.High, high)
	}
	return line, positive
}
