package playground

import (
	"cmp"
	"fmt"
	"slices"

	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/sim"
	"apfsim/sim/server"
)

// Window says which part of a run is recorded.
type Window struct {
	Server   int   `json:"server"`   // index
	FromNs   int64 `json:"fromNs"`   // what is in flight then is recorded, too
	Requests int   `json:"requests"` // how many at most; 0: nothing is recorded
}

// MaxRecorded is how many requests a recording can have. The page then has about ten megabytes of it.
const MaxRecorded = 100_000

func (w *Window) check() error {
	switch {
	case w.Requests < 0 || w.Requests > MaxRecorded:
		return fmt.Errorf("recording.requests: %d: want from 0 to %d", w.Requests, MaxRecorded)
	case w.FromNs < 0:
		return fmt.Errorf("recording.fromNs: %d: is negative", w.FromNs)
	case w.Server < 0:
		return fmt.Errorf("recording.server: %d: is negative", w.Server)
	}
	return nil
}

// Recording is what happened at the priority levels of one server in a part of a run. The state at any time between FromNs
// and ToNs follows from it: a request waits in its queue from its arrival until it is dispatched or leaves, and
// holds its seats from its dispatch until its end.
type Recording struct {
	FromNs int64 `json:"fromNs"`
	// ToNs is up to when the recording is complete: the end of the run, or the arrival of the first request for which there
	// was no room.
	ToNs   int64           `json:"toNs"`
	Levels []RecordedLevel `json:"levels"`
	Flows  []RecordedFlow  `json:"flows"`
	// Workloads are the names of the workloads.
	Workloads []string `json:"workloads"`
	// Requests is how many there are. The fields below are columns with a value for each, in the order of their arrivals.
	Requests   int     `json:"requests"`
	Number     []int64 `json:"number"`   // of the arrival in the run, from 1
	Workload   []int   `json:"workload"` // index; -1 for none
	Flow       []int   `json:"flow"`     // index
	Queue      []int   `json:"queue"`    // -1 for none
	Seats      []int   `json:"seats"`
	ArrivalNs  []int64 `json:"arrivalNs"`
	DispatchNs []int64 `json:"dispatchNs"` // -1 until then
	EndNs      []int64 `json:"endNs"`      // when it left the level; -1 if it was still there at the end of the run
	Left       []int   `json:"left"`       // how, see Left
}

// Left says how a request left its priority level.
type Left uint8

// How requests leave. The page names them in the same order.
const (
	Present  Left = iota // it was still there at the end of the run
	Served               // its seats are free again
	Rejected             // at its arrival, or from its queue
	TimedOut             // its wait was too long
	GivenUp              // its server ended
)

// RecordedLevel is a priority level that has been seen in the recording.
type RecordedLevel struct {
	Name             string        `json:"name"`
	Queues           int           `json:"queues"` // 0 if it does not queue
	HandSize         int           `json:"handSize"`
	QueueLengthLimit int           `json:"queueLengthLimit"`
	Limits           []TimedNumber `json:"limits"` // the seats, and since when
}

// TimedNumber is a number that holds from a time on.
type TimedNumber struct {
	AtNs  int64 `json:"atNs"`
	Value int   `json:"value"`
}

// RecordedFlow is a flow that has been seen in the recording.
type RecordedFlow struct {
	Name   string `json:"name"` // the distinguisher, or the FlowSchema without one
	Schema string `json:"schema"`
	Level  int    `json:"level"` // index
	Hand   []int  `json:"hand"`  // indices of queues; empty without queues
}

// recorded is a request as it is recorded.
type recorded struct {
	number, arrivalNs, dispatchNs, endNs int64
	workload, flow, queue, seats         int
	left                                 Left
}

// recorder records a window of a run. What it keeps is bounded by the window and by what is in flight.
type recorder struct {
	window    Window
	recording Recording
	server    *server.Server
	levels    map[string]int      // index of a level, by name; -1 for the exempt level
	flows     map[int]int         // index of a flow, by server.Flow.Index
	inFlight  map[int64]*recorded // by number
	kept      []*recorded         // that have left
	last      int64               // the number of the last request that is recorded
	full      bool                // no more will be
}

func newRecorder(w Window, run *sim.Run) *recorder {
	servers := run.Servers()
	r := &recorder{window: w, levels: map[string]int{}, flows: map[int]int{}, inFlight: map[int64]*recorded{}}
	r.server = servers[min(w.Server, len(servers)-1)]
	r.window.Server = r.server.Index()
	r.recording.FromNs, r.recording.ToNs = w.FromNs, int64(run.Scenario.Spec.Duration)
	for i := range run.Scenario.Spec.Workload {
		r.recording.Workloads = append(r.recording.Workloads, run.Scenario.Spec.Workload[i].Name)
	}
	return r
}

func (r *recorder) observer() server.Observer {
	if r.window.Requests == 0 {
		return server.Observer{}
	}
	leaves := func(left Left) func(int64, *server.Request) {
		return func(nowNs int64, q *server.Request) {
			if e := r.entry(nowNs, q); e != nil {
				r.leave(nowNs, e, left)
			}
		}
	}
	return server.Observer{
		Queued: func(nowNs int64, q *server.Request) { r.entry(nowNs, q) },
		Dispatched: func(nowNs int64, q *server.Request) {
			if e := r.entry(nowNs, q); e != nil {
				e.dispatchNs, e.queue, e.seats = nowNs, q.QueueIndex(), q.SeatsHeld()
			}
		},
		Rejected: func(nowNs int64, q *server.Request) {
			left := Rejected
			if q.Rejection == queueset.TimedOut {
				left = TimedOut
			}
			leaves(left)(nowNs, q)
		},
		Released: leaves(Served),
		GivenUp:  leaves(GivenUp),
		Adjusted: func(nowNs int64, s *server.Server) {
			if s != r.server {
				return
			}
			for _, l := range s.Levels() {
				r.limit(nowNs, l)
			}
		},
	}
}

// entry returns the record of a request, which it begins if there is room; nil for a request that is not recorded.
func (r *recorder) entry(nowNs int64, q *server.Request) *recorded {
	if q.Flow == nil || int(q.Server) != r.window.Server || r.full && q.Number > r.last {
		return nil
	}
	if e := r.inFlight[q.Number]; e != nil || r.full || q.ArrivalNs < nowNs {
		return e
	}
	if nowNs >= r.window.FromNs && len(r.kept)+len(r.inFlight) >= r.window.Requests {
		r.full, r.recording.ToNs = true, nowNs
		return nil
	}
	flow := r.flow(q)
	if flow < 0 {
		return nil
	}
	e := &recorded{number: q.Number, arrivalNs: nowNs, dispatchNs: -1, endNs: -1, workload: q.Workload, flow: flow, queue: q.QueueIndex(), seats: q.SeatsWanted()}
	r.inFlight[q.Number], r.last = e, q.Number
	return e
}

// leave ends a record. It is kept if it was still there when the window began.
func (r *recorder) leave(nowNs int64, e *recorded, left Left) {
	delete(r.inFlight, e.number)
	if nowNs >= r.window.FromNs {
		e.endNs, e.left = nowNs, left
		r.kept = append(r.kept, e)
	}
}

// flow returns the index of the flow of a request; -1 if its level is exempt.
func (r *recorder) flow(q *server.Request) int {
	f := q.Flow
	index, ok := r.flows[f.Index]
	if ok {
		return index
	}
	index = -1
	if level, ok := r.levels[f.Level]; ok && level >= 0 {
		index = len(r.recording.Flows)
		name := f.Distinguisher
		if name == "" {
			name = f.Schema.Name
		}
		flow := RecordedFlow{Name: name, Schema: f.Schema.Name, Level: level, Hand: append([]int{}, f.Hand...)}
		r.recording.Flows = append(r.recording.Flows, flow)
	}
	r.flows[f.Index] = index
	return index
}

// limit notes the limit of a level if it is another one than before.
func (r *recorder) limit(nowNs int64, l *flowcontrol.Level) {
	index, ok := r.levels[l.Name()]
	if !ok {
		index = -1
		if spec := l.Spec(); spec.Type != config.TypeExempt {
			index = len(r.recording.Levels)
			level := RecordedLevel{Name: l.Name()}
			if q := spec.Queuing(); q != nil {
				level.Queues, level.HandSize, level.QueueLengthLimit = l.Queues().Len(), int(q.HandSize), int(q.QueueLengthLimit)
			}
			r.recording.Levels = append(r.recording.Levels, level)
		}
		r.levels[l.Name()] = index
	}
	if index < 0 {
		return
	}
	level := &r.recording.Levels[index]
	if n := len(level.Limits); n == 0 || level.Limits[n-1].Value != l.CurrentLimit() {
		level.Limits = append(level.Limits, TimedNumber{nowNs, l.CurrentLimit()})
	}
}

// result returns the recording of a run that has ended; nil if nothing was to be recorded.
func (r *recorder) result() *Recording {
	if r.window.Requests == 0 {
		return nil
	}
	all := r.kept
	for _, e := range r.inFlight { // sorted below
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b *recorded) int { return cmp.Compare(a.number, b.number) })
	to := &r.recording
	n := len(all)
	to.Requests = n
	to.Number, to.ArrivalNs, to.DispatchNs, to.EndNs = make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	to.Workload, to.Flow, to.Queue, to.Seats, to.Left = make([]int, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	for i, e := range all {
		to.Number[i], to.ArrivalNs[i], to.DispatchNs[i], to.EndNs[i] = e.number, e.arrivalNs, e.dispatchNs, e.endNs
		to.Workload[i], to.Flow[i], to.Queue[i], to.Seats[i], to.Left[i] = e.workload, e.flow, e.queue, e.seats, int(e.left)
	}
	return to
}
