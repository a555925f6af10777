package record

import (
	"slices"
	"strings"

	"apfsim/core/rules"

	dto "github.com/prometheus/client_model/go"
)

// families are all metrics of a run, with the names, labels and buckets that k8s.io/apiserver of a
// release has (util/flowcontrol/metrics and endpoints/metrics).
type families struct {
	all        []*family // those that the release has, which are written
	deprecated []*family // those that the release has, but hides
	begin      int       // number of the samples up to the begin of the process
	end        int       // number of the samples up to the end of the process; set when the series are written

	rejected, dispatched, heldBack, epochs                  *family
	inQueueRequests, inQueueSeats                           *family
	executingRequests, executingSeats                       *family
	nominalLimit, lowerLimit, upperLimit, currentLimit      *family
	demandHigh, demandAverage, demandDeviation              *family
	demandSmoothed, target, fairFraction                    *family
	currentR, dispatchR                                     *family
	latestS, nextS, nextDiscountedS                         *family
	wait, execution, queueLength, estimatedSeats, watchers  *family
	seatUtilization, requestUtilization, demand, readsWrite *family
	inQueueByKind                                           *family
	answers, terminations                                   *family
	limit, inUse                                            *family // of 1.18 to 1.31
}

// metricLifetimes are the releases that have a metric of the group flowcontrol: from since on, and not from
// until on. From hidden on, a server reports them only with --show-hidden-metrics-for-version: the release after their
// DeprecatedVersion (shouldHide of k8s.io/component-base/metrics). Metrics that are not listed are in all releases. The metrics *_samples and *_watermarks
// of 1.19 to 1.24, which a server samples each millisecond, are not recorded.
var metricLifetimes = map[string]struct{ since, until, hidden string }{
	"request_concurrency_limit":               {"", "1.37", "1.31"},
	"request_concurrency_in_use":              {"1.22", "1.37", "1.32"},
	"current_r":                               {since: "1.22"},
	"dispatch_r":                              {since: "1.22"},
	"latest_s":                                {since: "1.22"},
	"next_s_bounds":                           {since: "1.22"},
	"next_discounted_s_bounds":                {since: "1.22"},
	"watch_count_samples":                     {since: "1.23"},
	"epoch_advance_total":                     {since: "1.23"},
	"work_estimated_seats":                    {since: "1.24"},
	"request_dispatch_no_accommodation_total": {since: "1.24"},
	"priority_level_seat_utilization":         {since: "1.25"},
	"priority_level_request_utilization":      {since: "1.25"},
	"read_vs_write_current_requests":          {since: "1.25"},
	"nominal_limit_seats":                     {since: "1.26"},
	"lower_limit_seats":                       {since: "1.26"},
	"upper_limit_seats":                       {since: "1.26"},
	"current_limit_seats":                     {since: "1.26"},
	"demand_seats":                            {since: "1.26"},
	"demand_seats_high_watermark":             {since: "1.26"},
	"demand_seats_average":                    {since: "1.26"},
	"demand_seats_stdev":                      {since: "1.26"},
	"demand_seats_smoothed":                   {since: "1.26"},
	"target_seats":                            {since: "1.26"},
	"seat_fair_frac":                          {since: "1.26"},
	"current_executing_seats":                 {since: "1.28"},
	"current_inqueue_seats":                   {since: "1.28.5"},
}

var (
	durationBuckets    = []float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30} // seconds
	lengthBuckets      = []float64{0, 10, 25, 50, 100, 250, 500, 1000}
	seatBuckets        = []float64{1, 2, 4, 8, 16, 32, 64, 100}
	watcherBuckets     = []float64{0, 1, 10, 100, 1000, 10000}
	utilizationBuckets = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
	requestBuckets     = []float64{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1}
	demandBuckets      = []float64{0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6}
	readWriteBuckets   = []float64{0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
)

func newFamilies(r *rules.Rules) *families {
	f := &families{}
	add := func(kind dto.MetricType, name, help string, buckets []float64, labels ...string) *family {
		added := &family{name: "apiserver_" + name, kind: kind, help: help, labels: labels, buckets: buckets}
		switch in := metricLifetimes[strings.TrimPrefix(name, "flowcontrol_")]; {
		case !r.Within(in.since, in.until):
		case in.hidden != "" && r.Within(in.hidden, ""):
			f.deprecated = append(f.deprecated, added)
		default:
			f.all = append(f.all, added)
		}
		return added
	}
	counter := func(name, help string, labels ...string) *family {
		return add(dto.MetricType_COUNTER, "flowcontrol_"+name, help, nil, labels...)
	}
	gauge := func(name, help string, labels ...string) *family {
		return add(dto.MetricType_GAUGE, "flowcontrol_"+name, help, nil, labels...)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *family {
		return add(dto.MetricType_HISTOGRAM, "flowcontrol_"+name, help, buckets, labels...)
	}
	level, schema := "priority_level", "flow_schema"
	if r.Within("", "1.20") {
		level, schema = "priorityLevel", "flowSchema"
	}
	durations, seats := durationBuckets, seatBuckets
	if r.Within("", "1.28") {
		durations = slices.DeleteFunc(slices.Clone(durations), func(s float64) bool { return s == 15 })
	}
	if r.Within("", "1.34") {
		seats = []float64{1, 2, 4, 10}
	}
	executed := []string{level, schema, "type"}
	if r.Within("", "1.24") {
		executed = executed[:2]
	}
	f.rejected = counter("rejected_requests_total", "Requests rejected, by reason", level, schema, "reason")
	f.dispatched = counter("dispatched_requests_total", "Requests dispatched", level, schema)
	f.heldBack = counter("request_dispatch_no_accommodation_total", "Number of times that a request was next to be dispatched, but needed more seats than were free", level, schema)
	f.epochs = counter("epoch_advance_total", "Number of times that the progress meter R was reset to a lower value", level, "success")

	f.inQueueRequests = gauge("current_inqueue_requests", "Requests waiting in queues", level, schema)
	f.inQueueSeats = gauge("current_inqueue_seats", "Seats that the requests waiting in queues need", level, schema)
	f.executingRequests = gauge("current_executing_requests", "Requests executing; watches count until they are initialised", level, schema)
	f.executingSeats = gauge("current_executing_seats", "Seats in use, including those in additional latency", level, schema)

	f.limit = gauge("request_concurrency_limit", "Nominal concurrency limit", level)
	f.inUse = gauge("request_concurrency_in_use", "Seats in use, including those in additional latency", level, schema)

	f.nominalLimit = gauge("nominal_limit_seats", "Nominal concurrency limit", level)
	f.lowerLimit = gauge("lower_limit_seats", "Concurrency limit when the level has lent all its lendable seats", level)
	f.upperLimit = gauge("upper_limit_seats", "Concurrency limit when the level has borrowed as many seats as it may", level)
	f.currentLimit = gauge("current_limit_seats", "Concurrency limit in force", level)
	f.demandHigh = gauge("demand_seats_high_watermark", "Highest seat demand of the last adjustment period", level)
	f.demandAverage = gauge("demand_seats_average", "Time-weighted mean of the seat demand over the last adjustment period", level)
	f.demandDeviation = gauge("demand_seats_stdev", "Time-weighted standard deviation of the seat demand over the last adjustment period", level)
	f.demandSmoothed = gauge("demand_seats_smoothed", "Seat demand of the last adjustment, smoothed so that it decreases slowly", level)
	f.target = gauge("target_seats", "Target of the last adjustment, in seats", level)
	f.fairFraction = gauge("seat_fair_frac", "Fraction of its target that each priority level received at the last adjustment, before its bounds are applied")
	f.currentR = gauge("current_r", "Progress meter R, in seat-seconds, when it last advanced", level)
	f.dispatchR = gauge("dispatch_r", "Progress meter R, in seat-seconds, when a request was last dispatched from a queue", level)
	f.latestS = gauge("latest_s", "Value of R, in seat-seconds, at which the request that was last dispatched from a queue was due to start", level)
	f.nextS = gauge("next_s_bounds", "Minimum and maximum over the queues of the value of R, in seat-seconds, at which the oldest request was due to start, when a request was last dispatched from a queue", level, "bound")
	f.nextDiscountedS = gauge("next_discounted_s_bounds", "The same minus the work in progress of the queue, assumed to be 0.003 seat-seconds for each seat in use; about 1.8e11 if the result is negative", level, "bound")

	f.wait = histogram("request_wait_duration_seconds", "Time from the arrival of a request to its dispatch or rejection", durations, level, schema, "execute")
	f.execution = histogram("request_execution_seconds", "Time from dispatch to the end of execution; for watches, to the end of their initialisation", durations, executed...)
	f.queueLength = histogram("request_queue_length_after_enqueue", "Length of the queue after a request was added to it", lengthBuckets, level, schema)
	f.estimatedSeats = histogram("work_estimated_seats", "Estimated seats of requests, the maximum of both phases", seats, level, schema)
	f.watchers = histogram("watch_count_samples", "Number of watches that receive the event of a mutating request", watcherBuckets, level, schema)
	f.seatUtilization = histogram("priority_level_seat_utilization", "Seats in use divided by the current limit, at the end of every nanosecond", utilizationBuckets, level, "phase")
	f.requestUtilization = histogram("priority_level_request_utilization", "Requests divided by the capacity for them, at the end of every nanosecond", requestBuckets, "phase", level)
	f.demand = histogram("demand_seats", "Seat demand divided by the current limit, at the end of every nanosecond", demandBuckets, level)
	f.readsWrite = histogram("read_vs_write_current_requests", "Requests of all priority levels divided by the capacity for them, at the end of every nanosecond", readWriteBuckets, "phase", "request_kind")

	answered := []string{"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code"}
	f.answers = add(dto.MetricType_COUNTER, "request_total", "Requests answered, by HTTP code", nil, answered...)
	f.terminations = add(dto.MetricType_COUNTER, "request_terminations_total", "Requests that the server rejected or timed out to defend itself", nil, slices.Concat(answered[:1], answered[2:])...)
	f.inQueueByKind = add(dto.MetricType_GAUGE, "current_inqueue_requests", "Maximum number of requests waiting in queues during the last whole second", nil, "request_kind")
	return f
}
