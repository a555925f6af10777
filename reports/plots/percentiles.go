package plots

import (
	"math"

	"apfsim/reports/replicate"
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

// durations are the titles and time axes of the distributions of durations, by metric.
var durations = map[string]struct{ title, axis string }{
	"wait":    {"How long requests waited", "waited longer than"},
	"latency": {"How long requests took", "took longer than"},
}

// Percentiles returns for each workload the percentiles of a metric, wait or latency, with their 95 %
// intervals; nil if all are 0 or absent. A comparison has two sides, which names tell apart.
func Percentiles(metricName string, sides []*replicate.Replications, names []string) *Plot {
	p := &Plot{Name: metricName, Title: durations[metricName].title,
		Caption:    "For each workload, the share of its requests above a given time. Lower and further left is better. The points are the median, p90, p95, p99 and p99.9: means of the runs, with their 95 % intervals.",
		Transposed: true, X: Axis{Label: durations[metricName].axis, Unit: "ns", Log: true}, Y: Axis{Label: "share of requests", Unit: "share", Log: true}}
	for i := len(tailShares) - 1; i >= 0; i-- {
		p.At = append(p.At, tailShares[i].share)
	}
	workload := 0
	number := map[string]int{}
	for side, r := range sides {
		byName := r.ByName()
		for _, name := range r.Names("workload") {
			line := Line{Name: name, Kind: Percentile}
			if names[side] != "" {
				line.Name += ", " + names[side]
			}
			positive := false
			for i := len(tailShares) - 1; i >= 0; i-- {
				statistic := tailShares[i].statistic
				statistic.Metric = metricName
				mean, low, high := math.NaN(), math.NaN(), math.NaN()
				if e := byName[statistic.With("workload", name).String()]; e != nil {
					mean, low, high = e.Mean, e.Mean, e.Mean
					if e.High != nil {
						low, high = max(*e.Low, 0), *e.High
					}
					positive = positive || mean > 0
				}
				line.Values, line.Low, line.High = append(line.Values, mean), append(line.Low, low), append(line.High, high)
			}
			if !positive {
				continue
			}
			if _, known := number[name]; !known {
				number[name] = workload
				workload++
			}
			if len(sides) > 1 && side == 0 {
				line.Kind = BasePercentile
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
