package judge

import "apfsim/sim/metric"

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
// means of its statistics, and of the longest stall of all runs. statistic returns the mean of the group's
// statistic and its greatest value, not ok if it has no samples.
func Replications(statistic func(metric.Name) (mean, most float64, ok bool)) Judgement {
	f := noFigures()
	f.undispatched = 1
	for _, s := range []struct {
		name metric.Name
		to   *float64
	}{{WaitP99, &f.waitP99}, {WaitMax, &f.waitMax}, {Rejected, &f.rejected}, {Waiting, &f.waiting}, {virtualP99, &f.virtualP99},
		{virtualRejected, &f.virtualRejected}, {starvationMax, &f.starvation}} {
		if mean, _, ok := statistic(s.name); ok {
			*s.to = mean
		}
	}
	if _, _, ok := statistic(WaitP99); ok {
		f.undispatched = 0
	}
	// As in Level: the shortfall counts only if requests waited or were rejected.
	if least, _, ok := statistic(leastRatio); ok && (f.rejected > 0 || f.waitMax > 0) {
		f.shortfall = 1 - least
	}
	if _, stall, ok := statistic(StallMax); ok {
		f.stall = stall
	}
	return f.judgement()
}
