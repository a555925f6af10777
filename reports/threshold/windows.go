// Package threshold evaluates thresholds on the counts and durations of a run, also in each
// window of a length.
package threshold

import (
	"apfsim/reports/histogram"
	"apfsim/reports/measure"
	"apfsim/reports/observe"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Windowed evaluates the thresholds of a scenario that must hold in every window
// of a length. It implements server.Observer.
//
// The time from the end of the warm-up on is divided into consecutive windows; what is left
// at the end and is shorter than a window is in none. A request belongs to the window that
// it arrives in, with all that becomes of it. Kept are the windows from the first one that has
// requests which still wait or execute: memory grows with how many windows the longest wait
// and execution span, not with the length of the run.
type Windowed []*windowedThreshold

// windowedThreshold is the evaluation of one threshold.
type windowedThreshold struct {
	threshold *metric.Threshold
	name      metric.Name // of the threshold's number
	index     int         // among the scenario's thresholds
	fromNs    int64       // where the first window begins
	lengthNs  int64
	windows   int64
	timing    measure.Timing
	timed     bool // whether the metric is the timing, not a count
	workload  int  // that requests must come from; noWorkload: any
	flows     []match
	met       bool // whether any request was one of those in question

	Open   []*arrivalWindow // from the first that is not judged on; nil where nothing has arrived so far
	judged int64            // windows
	found  result.Windows
	worst  *float64 // nil before the first, and when it had no samples
	note   string   // why the worst has no value
}

// arrivalWindow is the requests that arrived in one window.
type arrivalWindow struct {
	measure.Measures[uint64]
	undecided int     // requests that wait or execute
	Latest    []int64 // durations that are not yet in the histogram, which few do not need
}

// match says whether the requests of a flow are those in question.
type match uint8

const (
	unknown match = iota
	matches
	differs
)

// NewWindowed returns the evaluation of those thresholds of sc that are over
// windows, nil when there is none.
func NewWindowed(sc *scenario.Scenario) Windowed {
	var all Windowed
	for i := range sc.Spec.Thresholds {
		t := &sc.Spec.Thresholds[i]
		if t.Over == 0 {
			continue
		}
		w := &windowedThreshold{threshold: t, name: t.Name(), index: i, fromNs: int64(sc.Spec.Warmup), lengthNs: int64(t.Over),
			windows: int64((sc.Spec.Duration - sc.Spec.Warmup) / t.Over), workload: observe.NoWorkload}
		w.timing, w.timed = measure.TimingOf(w.name.Metric)
		for j := range sc.Spec.Workload {
			if sc.Spec.Workload[j].Name == t.Tag("workload") {
				w.workload = j
			}
		}
		w.found.LengthNs = w.lengthNs
		all = append(all, w)
	}
	return all
}

// Arrived implements server.Observer.
func (ws Windowed) Arrived(_ int64, r *server.Request) {
	for _, w := range ws {
		if in := w.enter(r); in != nil {
			in.Arrive(r)
			in.undecided++
		}
	}
}

// Dispatched implements server.Observer.
func (ws Windowed) Dispatched(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.Dispatched++
			w.time(in, measure.Wait, nowNs-r.ArrivalNs)
		}
	}
}

// Rejected implements server.Observer.
func (ws Windowed) Rejected(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.Rejected[r.Rejection]++
			in.undecided--
			w.time(in, measure.RejectedWait, nowNs-r.ArrivalNs)
			w.judge(nowNs)
		}
	}
}

// Executed implements server.Observer.
func (ws Windowed) Executed(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.Executed++
			in.undecided--
			w.time(in, measure.Execution, nowNs-r.DispatchNs)
			w.time(in, measure.Latency, nowNs-r.ArrivalNs)
			w.judge(nowNs)
		}
	}
}

// Queued implements server.Observer.
func (Windowed) Queued(int64, *server.Request) {}

// Released implements server.Observer.
func (Windowed) Released(int64, *server.Request) {}

// Adjusted implements server.Observer.
func (Windowed) Adjusted(int64) {}

// Tick implements server.Observer.
func (Windowed) Tick(int64) int64 { return 0 }

// enter returns the window that an arriving request belongs to, nil if there is none or the
// threshold is not about the request.
func (w *windowedThreshold) enter(r *server.Request) *arrivalWindow {
	if !w.about(r) {
		return nil
	}
	w.met = true
	at, within := w.place(r)
	if !within {
		return nil
	}
	for int64(len(w.Open)) <= at-w.judged {
		w.Open = append(w.Open, nil)
	}
	in := &w.Open[at-w.judged]
	if *in == nil {
		*in = &arrivalWindow{Measures: *measure.New[uint64](histogram.FinePrecision)}
	}
	return *in
}

// windowOf returns the window that a request has entered, nil if there is none. It is not
// judged yet, since the request was undecided.
func (w *windowedThreshold) windowOf(r *server.Request) *arrivalWindow {
	at, within := w.place(r)
	if !within || !w.about(r) {
		return nil
	}
	return w.Open[at-w.judged]
}

func (w *windowedThreshold) place(r *server.Request) (at int64, within bool) {
	at = (r.ArrivalNs - w.fromNs) / w.lengthNs
	return at, r.ArrivalNs >= w.fromNs && at < w.windows
}

// about says whether the threshold is about a request.
func (w *windowedThreshold) about(r *server.Request) bool {
	if w.workload != observe.NoWorkload && r.Workload != w.workload {
		return false
	}
	t := w.threshold
	if r.Flow == nil {
		return t.Tag("flow") == "" && t.Tag("flowSchema") == "" && t.Tag("priorityLevel") == ""
	}
	for len(w.flows) <= r.Flow.Index {
		w.flows = append(w.flows, unknown)
	}
	m := &w.flows[r.Flow.Index]
	if *m == unknown {
		*m = differs
		if Tagged(t, "flow", r.Flow.Name()) && Tagged(t, "flowSchema", r.Flow.Schema.Name) && Tagged(t, "priorityLevel", r.Flow.Level) {
			*m = matches
		}
	}
	return *m == matches
}

// ManyInWindow is how many durations a window keeps before they are counted.
const ManyInWindow = 128

func (w *windowedThreshold) time(in *arrivalWindow, t measure.Timing, ns int64) {
	if !w.timed || t != w.timing {
		return
	}
	if len(in.Latest) == ManyInWindow {
		in.count(t)
	}
	in.Latest = append(in.Latest, ns)
}

// count brings the histogram up to date.
func (in *arrivalWindow) count(t measure.Timing) {
	for _, ns := range in.Latest {
		in.Timed[t].Record(ns)
	}
	in.Latest = in.Latest[:0]
}

// judge judges the windows that are over by now, up to the first of which a request is
// undecided.
func (w *windowedThreshold) judge(nowNs int64) {
	for len(w.Open) > 0 && w.fromNs+(w.judged+1)*w.lengthNs <= nowNs {
		if in := w.Open[0]; in != nil && in.undecided > 0 {
			return
		}
		w.judgeNext(w.Open[0])
		w.Open = w.Open[1:]
	}
}

var nothing = &arrivalWindow{Measures: *measure.New[uint64](histogram.FinePrecision)}

// judgeNext judges the first window that is not judged yet.
func (w *windowedThreshold) judgeNext(in *arrivalWindow) {
	fromNs := w.fromNs + w.judged*w.lengthNs
	w.judged++
	t := w.threshold
	if in == nil {
		in = nothing
	} else if w.timed {
		in.count(w.timing)
	}
	if in.Arrived == 0 && t.Metric != "arrived" || t.Metric == "rejectedWait" && t.Stat != "count" && in.RejectedTotal() == 0 {
		w.found.Empty++
		return
	}
	value, note := Value(&in.Measures, &w.name, float64(w.lengthNs)/1e9)
	w.found.Judged++
	switch {
	case note != "":
		w.found.Failed++
		if w.note == "" {
			w.worst, w.note, w.found.WorstFromNs = nil, note, &fromNs
		}
		return
	case !t.Holds(value):
		w.found.Failed++
	}
	if w.note == "" && (w.worst == nil || Worse(t, value, *w.worst)) {
		w.worst, w.found.WorstFromNs = &value, &fromNs
	}
}

// Worse says whether the value a is further than b from what the threshold wants.
func Worse(t *metric.Threshold, a, b float64) bool {
	switch t.Op {
	case "<", "<=":
		return a > b
	case ">", ">=":
		return a < b
	case "==":
		return max(a-t.Limit, t.Limit-a) > max(b-t.Limit, t.Limit-b)
	}
	return max(a-t.Limit, t.Limit-a) < max(b-t.Limit, t.Limit-b) // !=
}

// Judge puts the verdicts into the summary of the run, which is over.
func (ws Windowed) Judge(s *result.Summary) {
	for _, w := range ws {
		s.Thresholds[w.index] = w.verdict()
	}
	s.Passed = true
	for i := range s.Thresholds {
		s.Passed = s.Passed && s.Thresholds[i].Passed
	}
}

// verdict judges what is left, and returns what has come out.
func (w *windowedThreshold) verdict() result.Verdict {
	for _, in := range w.Open {
		w.judgeNext(in)
	}
	w.Open = nil
	for w.judged < w.windows {
		w.judgeNext(nil)
	}
	v := NewVerdict(w.threshold)
	v.Value, v.Note, v.Windows = w.worst, w.note, &w.found
	switch {
	case w.threshold.Tag("flow") != "" && !w.met:
		v.Value, v.Note, v.Windows = nil, result.NoSuchFlow, nil
	case w.found.Judged == 0:
		v.Note = result.NoSamples
	default:
		v.Passed = w.found.Failed == 0
	}
	return v
}
