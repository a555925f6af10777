package judge

import "apfsim/sim/metric"

// The statistics that reports show of workloads and priority levels, without the tag.
var (
	WaitP99   = metric.Name{Metric: "wait", Stat: "p", Percentile: 99, Unit: metric.Nanoseconds}
	Rejected  = metric.Name{Metric: "rejected", Stat: "rate"}
	NotServed = metric.Name{Metric: "notServed", Stat: "rate"}
	Waiting   = metric.Name{Metric: "waiting", Stat: "rate"}
	StallMax  = metric.Name{Metric: "stall", Stat: "max"}
)
