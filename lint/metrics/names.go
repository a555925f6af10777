package metrics

// FlowControl is what the names of the metrics of flow control begin with.
const FlowControl = "apiserver_flowcontrol_"

// The metrics of flow control that are read (k8s.io/apiserver, util/flowcontrol/metrics). Histograms have several names.
const (
	DispatchedTotal    = FlowControl + "dispatched_requests_total"
	RejectedTotal      = FlowControl + "rejected_requests_total"
	WaitSeconds        = FlowControl + "request_wait_duration_seconds"
	ExecutionSeconds   = FlowControl + "request_execution_seconds"
	QueueLength        = FlowControl + "request_queue_length_after_enqueue"
	EstimatedSeats     = FlowControl + "work_estimated_seats"
	NoAccommodation    = FlowControl + "request_dispatch_no_accommodation_total"
	SeatUtilization    = FlowControl + "priority_level_seat_utilization"
	RequestUtilization = FlowControl + "priority_level_request_utilization"
	DemandSeats        = FlowControl + "demand_seats"
	NominalLimit       = FlowControl + "nominal_limit_seats"
	ConcurrencyLimit   = FlowControl + "request_concurrency_limit"
	LowerLimit         = FlowControl + "lower_limit_seats"
	UpperLimit         = FlowControl + "upper_limit_seats"
	CurrentLimit       = FlowControl + "current_limit_seats"
	DemandAverage      = FlowControl + "demand_seats_average"
	DemandHigh         = FlowControl + "demand_seats_high_watermark"
	DemandSmoothed     = FlowControl + "demand_seats_smoothed"
	ExecutingSeats     = FlowControl + "current_executing_seats"
	ConcurrencyInUse   = FlowControl + "request_concurrency_in_use"
	ExecutingRequests  = FlowControl + "current_executing_requests"
	InQueue            = FlowControl + "current_inqueue_requests"
	InQueueSeats       = FlowControl + "current_inqueue_seats"
)

// ProcessStart is a metric of every process: the second since 1970 at which it started. It tells whether two scrapes are of one.
const ProcessStart = "process_start_time_seconds"
