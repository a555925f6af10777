package openmetrics

import (
	dto "github.com/prometheus/client_model/go"
)

// families are all metrics of a run, with the names, labels and buckets of k8s.io/apiserver
// (util/flowcontrol/metrics and endpoints/metrics).
type families struct {
	all []*family

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

func newFamilies() *families {
	f := &families{}
	add := func(kind dto.MetricType, name, help string, buckets []float64, labels ...string) *family {
		added := &family{name: "apiserver_" + name, kind: kind, help: help, labels: labels, buckets: buckets}
		f.all = append(f.all, added)
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
	const level, schema = "priority_level", "flow_schema"
	f.rejected = counter("rejected_requests_total", "Requests rejected, by reason", level, schema, "reason")
	f.dispatched = counter("dispatched_requests_total", "Requests dispatched", level, schema)
	f.heldBack = counter("request_dispatch_no_accommodation_total", "Number of times that a request was next to be dispatched, but needed more seats than were free", level, schema)
	f.epochs = counter("epoch_advance_total", "Number of times that the progress meter R was reset to a lower value", level, "success")

	f.inQueueRequests = gauge("current_inqueue_requests", "Requests waiting in queues", level, schema)
	f.inQueueSeats = gauge("current_inqueue_seats", "Seats that the requests waiting in queues need", level, schema)
	f.executingRequests = gauge("current_executing_requests", "Requests executing; watches count until they are initialised", level, schema)
	f.executingSeats = gauge("current_executing_seats", "Seats in use, including those in additional latency", level, schema)

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

	f.wait = histogram("request_wait_duration_seconds", "Time from the arrival of a request to its dispatch or rejection", durationBuckets, level, schema, "execute")
	f.execution = histogram("request_execution_seconds", "Time from dispatch to the end of execution; for watches, to the end of their initialisation", durationBuckets, level, schema, "type")
	f.queueLength = histogram("request_queue_length_after_enqueue", "Length of the queue after a request was added to it", lengthBuckets, level, schema)
	f.estimatedSeats = histogram("work_estimated_seats", "Estimated seats of requests, the maximum of both phases", seatBuckets, level, schema)
	f.watchers = histogram("watch_count_samples", "Number of watches that receive the event of a mutating request", watcherBuckets, level, schema)
	f.seatUtilization = histogram("priority_level_seat_utilization", "Seats in use divided by the current limit, at the end of every nanosecond", utilizationBuckets, level, "phase")
	f.requestUtilization = histogram("priority_level_request_utilization", "Requests divided by the capacity for them, at the end of every nanosecond", requestBuckets, "phase", level)
	f.demand = histogram("demand_seats", "Seat demand divided by the current limit, at the end of every nanosecond", demandBuckets, level)
	f.readsWrite = histogram("read_vs_write_current_requests", "Requests of all priority levels divided by the capacity for them, at the end of every nanosecond", readWriteBuckets, "phase", "request_kind")

	f.inQueueByKind = add(dto.MetricType_GAUGE, "current_inqueue_requests", "Maximum number of requests waiting in queues during the last whole second", nil, "request_kind")
	return f
}
