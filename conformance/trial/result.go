package trial

import "cmp"

// Result is what one side made of a trial.
type Result struct {
	Decisions []Decision // one a request, in the trial's order
	Snapshots []Snapshot // one a sample

	// Rejections counts the rejected requests by priority level, FlowSchema and reason, with
	// slashes between: by upstream's metric apiserver_flowcontrol_rejected_requests_total.
	Rejections map[string]int
}

// Decision is what became of a request. Times are nanoseconds since the start.
type Decision struct {
	FlowSchema        string // "" for a request that passes by flow control
	PriorityLevel     string
	Rejected          bool
	DispatchNs        int64 // -1 for a rejected request
	EndNs             int64 // of the execution (for a watch, of its initialisation), or of the wait
	Seats             int   // as estimated
	FinalSeats        int
	AdditionalNs      int64
	RetryAfterSeconds int
}

// Outcome returns what became of the request in a few words.
func (d *Decision) Outcome(arrivalNs int64) string {
	switch {
	case d.FlowSchema == "":
		return "passed by"
	case d.Rejected && d.EndNs == arrivalNs:
		return "rejected on arrival"
	case d.Rejected:
		return "timed out"
	case d.DispatchNs == arrivalNs:
		return "dispatched on arrival"
	}
	return "dispatched after a wait"
}

// Snapshot is the state of all levels at a moment, by name.
type Snapshot struct {
	AtNs   int64
	Levels []Level
}

// Level is a priority level as its server's debug dumps show it.
type Level struct {
	Name      string
	Limit     int // current concurrency limit, in seats
	Idle      bool
	Quiescing bool // no longer configured, but not yet idle
	Waiting   int
	Executing int
	Queues    []Queue
	Requests  []Request // in the order of Request.Compare
}

// Queue is a queue as dump_queues shows it.
type Queue struct {
	Pending         int
	Executing       int
	SeatsInUse      int
	NextDispatchR   string
	InitialSeatsSum int
	MaxSeatsSum     int
	TotalWorkSum    string
}

// Request is a request that waits or executes, as dump_requests shows it.
type Request struct {
	Queue        int // -1 for none
	Position     int // in the queue, -1 while it executes
	ArrivalNs    int64
	FlowSchema   string
	Flow         string // distinguisher
	Seats        int
	FinalSeats   int // after the dispatch may have reshaped them
	AdditionalNs int64
}

// Compare orders the requests of a level as Level.Requests has them.
func (r Request) Compare(other Request) int {
	return cmp.Or(cmp.Compare(r.Queue, other.Queue), cmp.Compare(other.Position, r.Position), cmp.Compare(r.ArrivalNs, other.ArrivalNs))
}
