package judge

import (
	"slices"

	"apfsim/reports/replicate"
	"apfsim/sim/metric"
)

// The statistics that replications are judged by, besides the tag of a workload or a priority level.
var (
	WaitP99    = metric.Name{Metric: "wait", Stat: "p", Percentile: 99}
	WaitMax    = metric.Name{Metric: "wait", Stat: "max"}
	Rejected   = metric.Name{Metric: "rejected", Stat: "rate"}
	Waiting    = metric.Name{Metric: "waiting", Stat: "rate"}
	StallMax   = metric.Name{Metric: "stall", Stat: "max"}
	virtualP99 = metric.Name{Metric: "virtualWait", Stat: "p", Percentile: 99}
	leastRatio = metric.Name{Metric: "fairness", Stat: "leastRatio"}

	virtualRejected = metric.Name{Metric: "virtualRejected", Stat: "rate"}
	starvationMax   = metric.Name{Metric: "starvation", Stat: "max"}
)

// Replications returns the judgement of a workload or a priority level over several runs: of the
// means of its statistics, and of the longest stall of all runs. estimate returns the group's
// statistic, nil if it has no samples.
func Replications(estimate func(metric.Name) *replicate.Estimate) Judgement {
	f := noFigures()
	f.undispatched = 1
	for _, s := range []struct {
		name metric.Name
		to   *float64
	}{{WaitP99, &f.waitP99}, {WaitMax, &f.waitMax}, {Rejected, &f.rejected}, {Waiting, &f.waiting}, {virtualP99, &f.virtualP99},
		{virtualRejected, &f.virtualRejected}, {starvationMax, &f.starvation}} {
		if e := estimate(s.name); e != nil {
			*s.to = e.Mean
		}
	}
	if estimate(WaitP99) != nil {
		f.undispatched = 0
	}
	// As in Level: the shortfall counts only if requests waited or were rejected.
	if least := estimate(leastRatio); least != nil && (f.rejected > 0 || f.waitMax > 0) {
		f.shortfall = 1 - least.Mean
	}
	if stall := estimate(StallMax); stall != nil {
		f.stall = slices.Max(stall.Values.Present())
	}
	return f.judgement()
}
