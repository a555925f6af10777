package reports

import (
	"fmt"

	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// WindowedThresholds evaluates the thresholds of a scenario that must hold in every window
// of a length. It implements server.Observer.
//
// The time from the end of the warm-up on is divided into consecutive windows; what is left
// at the end and is shorter than a window is in none. A request belongs to the window that
// it arrives in, with all that becomes of it. Kept are the windows from the first one that has
// requests which still wait or execute: memory grows with how many windows the longest wait
// and execution span, not with the length of the run.
type WindowedThresholds []*windowedThreshold

// windowedThreshold is the evaluation of one threshold.
type windowedThreshold struct {
	threshold *metric.Threshold
	index     int   // among the scenario's thresholds
	fromNs    int64 // where the first window begins
	lengthNs  int64
	windows   int64
	timing    timing
	timed     bool // whether the metric is the timing, not a count
	workload  int  // that requests must come from; noWorkload: any
	flows     []match
	met       bool // whether any request was one of those in question

	open   []*arrivalWindow // from the first that is not judged on; nil where nothing has arrived so far
	judged int64            // windows
	found  Windows
	worst  *float64 // nil before the first, and when it had no samples
	note   string   // why the worst has no value
}

// arrivalWindow is the requests that arrived in one window.
type arrivalWindow struct {
	measures[uint64]
	undecided int     // requests that wait or execute
	latest    []int64 // durations that are not yet in the histogram, which few do not need
}

// match says whether the requests of a flow are those in question.
type match uint8

const (
	unknown match = iota
	matches
	differs
)

// NewWindowedThresholds returns the evaluation of those thresholds of sc that are over
// windows, nil when there is none.
func NewWindowedThresholds(sc *scenario.Scenario) WindowedThresholds {
	var all WindowedThresholds
	for i := range sc.Spec.Thresholds {
		t := &sc.Spec.Thresholds[i]
		if t.Over == 0 {
			continue
		}
		w := &windowedThreshold{threshold: t, index: i, fromNs: int64(sc.Spec.Warmup), lengthNs: int64(t.Over),
			windows: int64((sc.Spec.Duration - sc.Spec.Warmup) / t.Over), workload: noWorkload}
		w.timing, w.timed = timingOf(t.Metric)
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

// timingOf returns the durations that a metric is about, if it is about any.
func timingOf(metricName string) (timing, bool) {
	switch metricName {
	case "wait":
		return wait, true
	case "execution":
		return execution, true
	case "latency":
		return latency, true
	case "rejectedWait":
		return rejectedWait, true
	}
	return 0, false
}

// Arrived implements server.Observer.
func (ws WindowedThresholds) Arrived(_ int64, r *server.Request) {
	for _, w := range ws {
		if in := w.enter(r); in != nil {
			in.arrive(r)
			in.undecided++
		}
	}
}

// Dispatched implements server.Observer.
func (ws WindowedThresholds) Dispatched(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.dispatched++
			w.time(in, wait, nowNs-r.ArrivalNs)
		}
	}
}

// Rejected implements server.Observer.
func (ws WindowedThresholds) Rejected(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.rejected[r.Rejection]++
			in.undecided--
			w.time(in, rejectedWait, nowNs-r.ArrivalNs)
			w.judge(nowNs)
		}
	}
}

// Executed implements server.Observer.
func (ws WindowedThresholds) Executed(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.executed++
			in.undecided--
			w.time(in, execution, nowNs-r.DispatchNs)
			w.time(in, latency, nowNs-r.ArrivalNs)
			w.judge(nowNs)
		}
	}
}

// Queued implements server.Observer.
func (WindowedThresholds) Queued(int64, *server.Request) {}

// Released implements server.Observer.
func (WindowedThresholds) Released(int64, *server.Request) {}

// Adjusted implements server.Observer.
func (WindowedThresholds) Adjusted(int64) {}

// Tick implements server.Observer.
func (WindowedThresholds) Tick(int64) int64 { return 0 }

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
	for int64(len(w.open)) <= at-w.judged {
		w.open = append(w.open, nil)
	}
	in := &w.open[at-w.judged]
	if *in == nil {
		*in = &arrivalWindow{measures: *newMeasures[uint64](finePrecision)}
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
	return w.open[at-w.judged]
}

func (w *windowedThreshold) place(r *server.Request) (at int64, within bool) {
	at = (r.ArrivalNs - w.fromNs) / w.lengthNs
	return at, r.ArrivalNs >= w.fromNs && at < w.windows
}

// about says whether the threshold is about a request.
func (w *windowedThreshold) about(r *server.Request) bool {
	if w.workload != noWorkload && r.Workload != w.workload {
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
		if tagged(t, "flow", r.Flow.Name()) && tagged(t, "flowSchema", r.Flow.Schema.Name) && tagged(t, "priorityLevel", r.Flow.Level) {
			*m = matches
		}
	}
	return *m == matches
}

// manyInWindow is how many durations a window keeps before they are counted.
const manyInWindow = 128

func (w *windowedThreshold) time(in *arrivalWindow, t timing, ns int64) {
	if !w.timed || t != w.timing {
		return
	}
	if len(in.latest) == manyInWindow {
		in.count(t)
	}
	in.latest = append(in.latest, ns)
}

// count brings the histogram up to date.
func (in *arrivalWindow) count(t timing) {
	for _, ns := range in.latest {
		in.timed[t].record(ns)
	}
	in.latest = in.latest[:0]
}

// judge judges the windows that are over by now, up to the first of which a request is
// undecided.
func (w *windowedThreshold) judge(nowNs int64) {
	for len(w.open) > 0 && w.fromNs+(w.judged+1)*w.lengthNs <= nowNs {
		if in := w.open[0]; in != nil && in.undecided > 0 {
			return
		}
		w.judgeNext(w.open[0])
		w.open = w.open[1:]
	}
}

var nothing = &arrivalWindow{measures: *newMeasures[uint64](finePrecision)}

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
	if in.arrived == 0 && t.Metric != "arrived" || t.Metric == "rejectedWait" && t.Stat != "count" && in.rejectedTotal() == 0 {
		w.found.Empty++
		return
	}
	value, note := requestsValue(&in.measures, t, float64(w.lengthNs)/1e9)
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
	if w.note == "" && (w.worst == nil || worse(t, value, *w.worst)) {
		w.worst, w.found.WorstFromNs = &value, &fromNs
	}
}

// worse says whether the value a is further than b from what the threshold wants.
func worse(t *metric.Threshold, a, b float64) bool {
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
func (ws WindowedThresholds) Judge(s *Summary) {
	for _, w := range ws {
		s.Thresholds[w.index] = w.verdict()
	}
	s.Passed = true
	for i := range s.Thresholds {
		s.Passed = s.Passed && s.Thresholds[i].Passed
	}
}

// verdict judges what is left, and returns what has come out.
func (w *windowedThreshold) verdict() Verdict {
	for _, in := range w.open {
		w.judgeNext(in)
	}
	w.open = nil
	for w.judged < w.windows {
		w.judgeNext(nil)
	}
	v := newVerdict(w.threshold)
	v.Value, v.Note, v.Windows = w.worst, w.note, &w.found
	switch {
	case w.threshold.Tag("flow") != "" && !w.met:
		v.Value, v.Note, v.Windows = nil, noSuchFlow, nil
	case w.found.Judged == 0:
		v.Note = noSamples
	default:
		v.Passed = w.found.Failed == 0
	}
	return v
}

// text says of which windows a verdict tells.
func (w *Windows) text() string {
	if w.WorstFromNs == nil {
		return "in any window"
	}
	which := "the only window"
	if w.Judged > 1 {
		which = fmt.Sprintf("the worst of %d windows", w.Judged)
	}
	text := fmt.Sprintf("in %s, from %s", which, duration(float64(*w.WorstFromNs)))
	if w.Failed > 0 {
		text += fmt.Sprintf("; %d failed", w.Failed)
	}
	return text
}
