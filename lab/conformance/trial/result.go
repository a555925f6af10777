package trial

import "cmp"

// Result is the result of a trial on one side.
type Result struct {
	Decisions []Decision // one for each request, in the order of Trial.Requests
	Snapshots []Snapshot // one for each time in Trial.SamplesNs

	// Rejections counts the rejected requests by "level/FlowSchema/reason", as upstream's metric
	// apiserver_flowcontrol_rejected_requests_total does.
	Rejections map[string]int
}

// Decision holds the decisions about a request. Times are in nanoseconds since the start.
type Decision struct {
	FlowSchema        string // "" for a request that bypasses flow control
	PriorityLevel     string
	Rejected          bool
	DispatchNs        int64 // -1 for a rejected request
	EndNs             int64 // end of the execution, of the initialization of a watch, or of the wait of a rejected request
	Seats             int   // as estimated
	FinalSeats        int
	AdditionalNs      int64
	RetryAfterSeconds int
}

// Outcome names the outcome of a request, for counting.
func (d *Decision) Outcome(arrivalNs int64) string {
	switch {
	case d.FlowSchema == "":
		return "bypassed flow control"
	case d.Rejected && d.EndNs == arrivalNs:
		return "rejected on arrival"
	case d.Rejected:
		return "timed out"
	case d.DispatchNs == arrivalNs:
		return "dispatched on arrival"
	}
	return "dispatched after a wait"
}

// Snapshot is the state of all levels at one time, in the order of their names.
type Snapshot struct {
	AtNs   int64
	Levels []Level
}

// Level is the state of a priority level, as the debug endpoints of a server show it.
type Level struct {
	Name      string
	Limit     int // current concurrency limit, in seats
	Idle      bool
	Quiescing bool // removed from the configuration, but not idle yet
	Waiting   int
	Executing int
	Queues    []Queue
	Requests  []Request // in the order of Request.Compare
}

// Queue is the state of a queue, as the endpoint dump_queues shows it.
type Queue struct {
	Pending         int
	Executing       int
	SeatsInUse      int
	NextDispatchR   string
	InitialSeatsSum int
	MaxSeatsSum     int
	TotalWorkSum    string
}

// Request is the state of a waiting or executing request, as the endpoint dump_requests shows it.
type Request struct {
	Queue        int // -1 if the level has no queues
	Position     int // in the queue; -1 while the request executes
	ArrivalNs    int64
	FlowSchema   string
	Flow         string // distinguisher
	Seats        int
	FinalSeats   int // smaller than estimated if dispatch has reduced them
	AdditionalNs int64
}

// Compare defines the order of Level.Requests.
func (r Request) Compare(other Request) int {
	return cmp.Or(cmp.Compare(r.Queue, other.Queue), cmp.Compare(other.Position, r.Position), cmp.Compare(r.ArrivalNs, other.ArrivalNs))
}

// Answer is what the client of a request receives, and when. To a client that has gone, the status means
// nothing.
type Answer struct {
	AtNs   int64
	Status int
}
