package metric

import "slices"

var (
	requestTags  = []string{TagWorkload, TagFlowSchema, TagPriorityLevel, TagFlow, TagServer}
	flowTags     = []string{TagFlowSchema, TagPriorityLevel, TagFlow}
	levelTags    = []string{TagPriorityLevel}
	useTags      = []string{TagPriorityLevel, TagServer}
	workloadTags = []string{TagWorkload}
)

// durations returns the statistics of a time that requests take, which the summary has in a field. The help completes
// "of"; counted says what the count counts, which is in another field.
func durations(field, measured string, better Better, counted, count string, more Better) []Statistic {
	statistic := func(name, what, part string) Statistic {
		return Statistic{Name: name, Help: what + " " + measured + ".", Unit: Nanoseconds, Better: better, Field: field + part}
	}
	average := statistic("avg", "Mean", "")
	average.Alias = "mean"
	return []Statistic{
		statistic("mean", "Mean", ".meanNs"), average, statistic("min", "Shortest", ".minNs"), statistic("med", "Median", ".p50Ns"),
		statistic("max", "Longest", ".maxNs"), statistic("p", "N-th percentile of the", ""),
		{Name: "count", Help: "Number of " + counted + ".", Unit: Requests, Better: more, Field: count},
	}
}

// counts returns the statistics of a part of the requests that arrived.
func counts(field, counted string, better Better) []Statistic {
	return []Statistic{
		{Name: "count", Help: "Number of " + counted + ".", Unit: Requests, Better: better, Field: field},
		{Name: "rate", Help: "Number of " + counted + " as a share of those that arrived.", Better: better, Fraction: true, Percent: true, PrintPercent: true,
			Field: field, Per: "arrived"},
	}
}

// registry has the metrics in the order of messages.
var registry = slices.Concat(requestMetrics, machineMetrics, clientMetrics, serverMetrics)

// requestMetrics are those of requests, priority levels and servers.
var requestMetrics = []Metric{
	{
		Name: "wait", Help: "The time from a request's arrival to its dispatch; a rejected request has none.",
		Statistics: durations("wait", "wait", Lower, "requests that were dispatched", "executed + executing + lostExecuted", Neither),
		Section:    SectionTimings, Tags: requestTags, Example: "p(99) < 100ms",
	}, {
		Name: "execution", Help: "The time from a request's dispatch to the end of its execution.",
		Statistics: durations("execution", "execution", Neither, "requests that were executed", "", Higher),
		Section:    SectionTimings, Tags: requestTags, Example: "p(99) < 100ms",
	}, {
		Name: "latency", Help: "The time from a request's arrival to the end of its execution; a rejected request has none.",
		Statistics: durations("latency", "latency", Lower, "requests that were executed", "", Higher),
		ByClient:   true, Section: SectionTimings, Tags: requestTags, Example: "p(99) < 1s",
	}, {
		Name: "rejectedWait", Help: "The time from a request's arrival to its rejection.",
		Statistics: durations("rejectedWait", "wait of rejected requests", Lower, "requests that were rejected", "", Lower),
		ByClient:   true, Section: SectionTimings, Tags: requestTags, Example: "max < 1s",
	}, {
		Name: "arrived", Help: "Requests that arrived in the window; each attempt of a client that retries is one.",
		Statistics: []Statistic{
			{Name: "count", Help: "Number of requests that arrived.", Unit: Requests, Field: "arrived"},
			{Name: "perSecond", Help: "Number of requests that arrived, divided by the length of the window.", Unit: RequestsPerSecond, Field: "arrived", Per: PerSecond},
		},
		Source: FromGroup, ByClient: true, Tags: requestTags, Example: "perSecond > 100",
	}, {
		Name: "executed", Help: "Requests that were dispatched and whose execution ended before the run did.",
		Statistics: append(counts("executed", "requests that were executed", Higher),
			Statistic{Name: "perSecond", Help: "Throughput: number of requests that were executed, divided by the length of the window.", Unit: RequestsPerSecond, Better: Higher, Field: "executed", Per: PerSecond}),
		ByClient: true, Tags: requestTags, Example: "rate > 0.99",
	}, {
		Name: "rejected", Help: "Requests that were rejected because the queue was full, because no seat was free at a level that does not queue, or because they timed out in the queue.",
		Statistics: counts("rejected", "requests that were rejected", Lower),
		ByClient:   true, Tags: append(slices.Clone(requestTags), TagReason), Reasons: rejections(), Example: "rate == 0",
	}, {
		Name: "notServed", Help: "Requests that were rejected, refused or lost, that were answered 504 or another 5xx, or 429 by a handler, whose client gave up, or that were unfinished.",
		Details:    "A request is unfinished if it is open at the end and older than the 99th percentile of the latencies of its workload, or than 10 s without one.",
		Statistics: counts("notServed", "requests that were not served", Lower),
		Tags:       requestTags, Example: "rate == 0", WholeRun: true,
	}, {
		Name: "timedOut", Help: "Requests that were rejected because they timed out in the queue.",
		Statistics: counts("timedOut", "requests that timed out in the queue", Lower),
		Tags:       requestTags, Example: "rate == 0",
	}, {
		Name: "retries", Help: "Requests that are the second or a later attempt.",
		Statistics: []Statistic{
			{Name: "count", Help: "Number of requests that are retries.", Unit: Requests, Better: Lower, Field: "retries"},
			{Name: "rate", Help: "Number of retries as a share of the requests that arrived.", Better: Lower, Percent: true, Field: "retries", Per: "arrived"},
		},
		ByClient: true, Tags: requestTags, Example: "count < 100",
	}, {
		Name: "waiting", Help: "Requests that were still queued when the run ended.",
		Statistics: counts("waiting", "requests that were still queued at the end", Lower),
		Tags:       requestTags, Example: "count < 100",
	}, {
		Name: "waiting", Help: "Requests that are queued at a priority level.",
		Statistics: []Statistic{{Name: "mean", Help: "Number of queued requests, averaged over time.", Unit: Requests, Better: Lower, Field: "meanWaiting"}},
		Source:     FromLevel, Section: SectionLevels, Tags: useTags, Required: TagPriorityLevel, Example: "mean < 1", FlowControl: true, WholeRun: true,
	}, {
		Name: "waiting", Help: "Requests that were still queued when the run ended.",
		Statistics: []Statistic{{Name: "max", Help: "Longest time for which a request that was still queued at the end had been queued, 0 without one.", Unit: Nanoseconds, Better: Lower, Field: "stillQueued.maxNs", Zero: true}},
		Tags:       requestTags, Example: "max < 1s", WholeRun: true,
	}, {
		Name: "executing", Help: "Requests that were still executing when the run ended.",
		Statistics: counts("executing", "requests that were still executing at the end", Neither),
		Tags:       requestTags, Example: "count < 100",
	}, {
		Name: "refused", Help: "Requests that arrived and did not reach flow control, because their server did not listen, was stopping or not ready, or the connection to it broke. They belong to no FlowSchema, priority level or flow.",
		Statistics: counts("refused", "requests that were refused", Lower),
		Tags:       []string{TagWorkload, TagServer, TagReason}, Reasons: refusals(), ByServer: true, Example: "rate < 0.001",
	}, {
		Name: "lost", Help: "Requests that were queued or executing when their server ended.",
		Statistics: counts("lost", "requests that were lost with their server", Lower),
		Tags:       requestTags, Example: "count == 0", ByServer: true,
	}, {
		Name: "responses", Help: "Requests that were answered, or of which the client knows that there will be no answer.",
		Statistics: counts("responses", "requests that were answered", Neither),
		Tags:       []string{TagWorkload, TagFlowSchema, TagPriorityLevel, TagServer, TagStatus}, Example: "count < 100", ByServer: true, WholeRun: true,
	}, {
		Name: "ready", Help: "How long a server was ready.",
		Statistics: []Statistic{{Name: "share", Help: "Share of the window in which the server was ready.", Better: Higher, Fraction: true, Percent: true, PrintPercent: true, Field: "readyShare"}},
		Source:     FromServer, ByServer: true, Tags: []string{TagServer}, Required: TagServer, Example: "share > 0.9", WholeRun: true,
	}, {
		Name: "tooLate", Help: "The time from a request's arrival until it was answered 504, or until its client gave up.",
		Statistics: durations("tooLate", "time until an answer 504", Neither, "requests that were answered 504, or whose clients gave up", "tooLate.count", Lower),
		ByName:     true, Tags: requestTags, Example: "max < 61s", WholeRun: true,
	}, {
		Name: "crashes", Help: "Times at which the process of a server ended before it was told to stop, because it needed more memory than there is or because of an event.",
		Statistics: []Statistic{{Name: "count", Help: "Number of times at which the server crashed within the window.", Unit: Times, Better: Lower, Field: "crashes", Zero: true}},
		Source:     FromServer, ByName: true, Tags: []string{TagServer}, Required: TagServer, Example: "count == 0", WholeRun: true,
	}, {
		Name: "limit", Help: "The concurrency limit of a priority level at a server.",
		Statistics: []Statistic{{Name: "nominal", Help: "Nominal limit when the run ended, in all servers together without the tag server.", Unit: Seats, Field: "limits.nominal"}},
		Source:     FromLevel, ByName: true, Tags: useTags, Required: TagPriorityLevel, Example: "nominal > 50", FlowControl: true, WholeRun: true,
	}, {
		Name: "stall", Help: "Times during which requests of a workload were queued and none was dispatched.",
		Statistics: []Statistic{
			{Name: "max", Help: "Longest time during which requests of the workload were queued and none was dispatched.", Unit: Nanoseconds, Better: Lower, Field: "stall.maxNs"},
			{Name: "count", Help: "Number of stalls of at least 1 s.", Unit: Stalls, Better: Lower, Field: "stall.count"},
			{Name: "share", Help: "Share of the window that these stalls take up.", Better: Lower, Fraction: true, Percent: true, Field: "stall.share"},
		},
		Section: SectionStalls, Tags: workloadTags, Required: TagWorkload, Example: "max < 1s", WholeRun: true,
	}, {
		Name: "freeze", Help: "Times during which requests of a workload or a priority level were open, at least one of them was late, and none was served.",
		Details:    "A request is late after ten times the mean time that requests of its kind have taken.",
		Statistics: []Statistic{{Name: "max", Help: "Longest time during which requests were late and none was served, 0 if that is less than 1 s.", Unit: Nanoseconds, Better: Lower, Field: "freeze.maxNs"}},
		Section:    SectionStalls, Tags: []string{TagWorkload, TagPriorityLevel}, Example: "max < 1s", WholeRun: true,
	}, {
		Name: "virtualWait", Help: "The wait that a request would have had if it had been sent at a random moment of the window.",
		Details: "It is measured with 1000 probes for each workload, which change no decision. A client that waits for a response sends nothing meanwhile, " +
			"so the waits of the requests that were sent can be shorter.",
		Statistics: durations("virtualWait.wait", "wait at a random moment", Lower, "probes that would have been dispatched", "virtualWait.probes - virtualWait.rejected - virtualWait.refused", Neither),
		Source:     FromGroup, Section: SectionProbes,
		Tags: workloadTags, Required: TagWorkload, Example: "p(99) < 1s", WholeRun: true,
	}, {
		Name: "virtualRejected", Help: "Whether a request would have been rejected if it had been sent at a random moment of the window.",
		Statistics: []Statistic{{Name: "rate", Help: "Share of the probes that would have been rejected.", Better: Lower, Fraction: true, Percent: true, PrintPercent: true,
			Field: "virtualWait.rejected + virtualWait.refused", Per: "virtualWait.probes"}},
		Source: FromGroup, Section: SectionRejectedProbes, Tags: workloadTags, Required: TagWorkload, Example: "rate < 0.01", WholeRun: true,
	}, {
		Name: "fairness", Help: "How evenly the flows of a priority level got their fair shares.",
		Statistics: []Statistic{
			{Name: "jain", Help: "Jain's index of service divided by fair share: 1 if the ratio of all flows is the same, 1/n if one of n flows got all the service.",
				Better: Higher, Fraction: true, Percent: true, Field: "fairness.jain"},
			{Name: "maxMinError", Help: "Largest relative difference of a flow's service from its fair share.", Better: Lower, Field: "fairness.maxMinError"},
			{Name: "leastRatio", Help: "Least ratio of a flow's service to its fair share.", Better: Higher, Field: "fairness.leastRatio"},
			{Name: "flows", Help: "Number of flows with demand.", Unit: Flows, Field: "fairness.flows"},
		},
		Source: FromLevel, Section: SectionLevels, Tags: levelTags, Required: TagPriorityLevel, Example: "jain > 0.95", FlowControl: true, WholeRun: true,
	}, {
		Name: "utilisation", Help: "Seats in use at a priority level.",
		Statistics: []Statistic{
			{Name: "mean", Help: "Seats in use divided by the current limit, averaged over time.",
				Details: "It may exceed 100 %, because a limit can fall below the number of seats in use.", Percent: true, PrintPercent: true,
				Field: "utilisation.mean", Section: SectionUse},
			{Name: "peak", Help: "Largest number of seats in use at one time.", Unit: Seats, Field: "peakSeats"},
			{Name: "saturated", Help: "Share of the window during which requests were queued or all seats were in use.", Fraction: true, Percent: true, PrintPercent: true,
				Field: "utilisation.saturated", Section: SectionUse},
		},
		Source: FromLevel, Section: SectionLevels, Absent: NoLimit, Tags: useTags, Required: TagPriorityLevel, Example: "mean < 0.9", FlowControl: true, WholeRun: true,
	}, {
		Name: "seats", Help: "Seats in use at all priority levels together, the exempt one included.",
		Statistics: []Statistic{
			{Name: "mean", Help: "Number of seats in use at all levels, averaged over time.", Unit: Seats, Field: "seats.mean"},
			{Name: "peak", Help: "Largest number of seats in use at one time at all levels.", Unit: Seats, Field: "seats.peak"},
			{Name: "share", Help: "Mean as a share of the seats of the server, or of all servers: maxRequestsInflight and maxMutatingRequestsInflight of each.",
				Details: "Requests of the exempt level take seats that are not limited, and the limits of levels are rounded up, so that it may exceed 100 %.",
				Percent: true, PrintPercent: true, Field: "seats.share"},
		},
		Source: FromGroup, ByName: true, Tags: []string{TagServer}, Example: "share < 0.9", FlowControl: true, WholeRun: true,
	}, {
		Name: "starvation", Help: "Times during which a flow had requests queued and none was dispatched.",
		Statistics: []Statistic{{Name: "max", Help: "Longest time during which a flow had requests queued and none was dispatched.", Unit: Nanoseconds, Better: Lower, Field: "starvationNs"}},
		Source:     FromFlows, Section: SectionFlows, Tags: flowTags, Example: "max < 1s", FlowControl: true, WholeRun: true,
	}, {
		Name: "service", Help: "The seats that the requests of flows held.",
		Statistics: []Statistic{{Name: "seatSeconds", Help: "Seats that the requests of a flow held, integrated over the window.", Unit: SeatSeconds, Field: "serviceSeatSeconds"}},
		Source:     FromFlows, Section: SectionFlows, Tags: flowTags, Example: "seatSeconds > 10", FlowControl: true, WholeRun: true,
	}, {
		Name: "demand", Help: "The seats that the requests of flows would have held, rejected ones included.",
		Statistics: []Statistic{{Name: "seatSeconds", Help: "Seat-seconds that the requests of a flow that arrived in the window would have held, rejected ones included.", Unit: SeatSeconds, Field: "demandSeatSeconds"}},
		Source:     FromFlows, Section: SectionFlows, Tags: flowTags, Example: "seatSeconds > 10", FlowControl: true, WholeRun: true,
	}, {
		Name: "fairShare", Help: "What max-min fairness gives flows of the service of their priority level.",
		Statistics: []Statistic{
			{Name: "seatSeconds", Help: "What max-min fairness gives a flow of the service of its priority level.",
				Details: "No flow gets more than its demand, and a flow that gets less than its demand gets at least as much as every other flow.", Unit: SeatSeconds, Field: "fairShareSeatSeconds"},
			{Name: "ratio", Help: "Service divided by fair share.",
				Details: "It differs a little from 100 % even if no request waits, because some requests are served across the ends of the window.", Percent: true, Field: "ratio"},
		},
		Source: FromFlows, Section: SectionFlows, Tags: flowTags, Example: "ratio > 0.9", FlowControl: true, WholeRun: true,
	},
}
