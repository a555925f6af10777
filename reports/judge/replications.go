package judge

import "apfsim/sim/metric"

// The statistics that replications are judged by, besides the tag of a workload or a priority level.
var (
	WaitP99    = metric.Name{Metric: "wait", Stat: "p", Percentile: 99}
	WaitMax    = metric.Name{Metric: "wait", Stat: "max"}
	Rejected   = metric.Name{Metric: "rejected", Stat: "rate"}
	NotServed  = metric.Name{Metric: "notServed", Stat: "rate"}
	Waiting    = metric.Name{Metric: "waiting", Stat: "rate"}
	FreezeMax  = metric.Name{Metric: "freeze", Stat: "max"}
	StallMax   = metric.Name{Metric: "stall", Stat: "max"}
	virtualP99 = metric.Name{Metric: "virtualWait", Stat: "p", Percentile: 99}
	leastRatio = metric.Name{Metric: "fairness", Stat: "leastRatio"}

	queuedMax       = metric.Name{Metric: "waiting", Stat: "max"}
	virtualRejected = metric.Name{Metric: "virtualRejected", Stat: "rate"}
	starvationMax   = metric.Name{Metric: "starvation", Stat: "max"}
)

// Replications returns the judgement of a workload or a priority level over several runs: of the
// means of its statistics, and of the longest stall and freeze of all runs. statistic returns the mean of the group's
// statistic and its greatest value, not ok if it has no samples, and NaN for a percentile of too few. Results that were written before NotServed was counted
// have the rejected requests only.
func Replications(statistic func(metric.Name) (mean, most float64, ok bool)) Judgement {
	f := noFigures()
	f.undispatched = 1
	for _, s := range []struct {
		name metric.Name
		to   *float64
	}{{WaitP99, &f.waitP99}, {WaitMax, &f.waitMax}, {Rejected, &f.notServed}, {NotServed, &f.notServed}, {Waiting, &f.waiting}, {virtualP99, &f.virtualP99},
		{virtualRejected, &f.virtualRejected}, {starvationMax, &f.starvation}} {
		if mean, _, ok := statistic(s.name); ok {
			*s.to = mean
		}
	}
	if _, _, ok := statistic(WaitP99); ok {
		f.undispatched = 0
	}
	if queued, _, ok := statistic(queuedMax); ok && !(queued <= f.waitMax) {
		f.waitMax = queued
	}
	// As in Level: the shortfall counts only if requests waited or were not served.
	if least, _, ok := statistic(leastRatio); ok && (f.notServed > 0 || f.waitMax > 0) {
		f.shortfall = 1 - least
	}
	if _, stall, ok := statistic(StallMax); ok {
		f.stall = stall
	}
	if _, freeze, ok := statistic(FreezeMax); ok && !(freeze <= f.stall) {
		f.stall = freeze
	}
	return f.judgement()
}
