package collect

import (
	"strconv"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Windowed evaluates the thresholds of a scenario that must hold in every window of a length. It
// implements server.Observer.
//
// The time from the end of the warm-up is divided into consecutive windows; a remainder at the end
// that is shorter than a window belongs to none. A request belongs to the window in which it arrives,
// with everything that happens to it later. The windows are kept from the first one that has waiting or
// executing requests: memory grows with the number of windows that the longest wait and execution
// span, not with the length of the run.
type Windowed []*windowedThreshold

// windowedThreshold is the evaluation of one threshold.
type windowedThreshold struct {
	threshold *metric.Threshold
	name      metric.Name // of the threshold's number
	index     int         // among the scenario's thresholds
	fromNs    int64       // start of the first window
	lengthNs  int64
	windows   int64
	timing    measure.Timing
	timed     bool    // whether the metric is that timing and not a count
	workload  int     // that sent the requests; NoWorkload for any
	server    int16   // that they were sent to; anyServer for any
	flows     []match // by index: whether the threshold is about their requests
	seen      bool    // whether any request was selected

	open   []*arrivalWindow // from the first one that is not judged; nil if no request has arrived in it yet
	judged int64            // windows
	found  result.Windows
	worst  *float64 // value in the worst window; nil before the first one and if it has no samples
	note   string   // why the worst window has no value
	few    int64    // least number of samples in a window with too few for the percentile; 0: there is none
}

// arrivalWindow is the requests that arrived in one window.
type arrivalWindow struct {
	measure.Measures
	undecided int     // requests that wait or execute
	latest    []int64 // durations that are not yet in the histogram; a window with few needs none
}

// counting returns the counters for a request of the window.
func (in *arrivalWindow) counting() counting { return counting{in: &in.Counted} }

const anyServer = -1

// match caches whether the threshold applies to the requests of a flow.
type match uint8

const (
	undecidedMatch match = iota
	matches
	differs
)

// NewWindowed returns the evaluation of the thresholds of sc that are over windows; nil if there are
// none.
func NewWindowed(sc *scenario.Scenario) Windowed {
	var all Windowed
	for i := range sc.Spec.Thresholds {
		t := &sc.Spec.Thresholds[i]
		if t.Over == 0 {
			continue
		}
		w := &windowedThreshold{threshold: t, name: t.Name(), index: i, fromNs: int64(sc.Spec.Warmup.Duration), lengthNs: int64(t.Over),
			windows: int64((sc.Spec.Duration - sc.Spec.Warmup.Duration) / t.Over), workload: server.NoWorkload, server: anyServer}
		if at, err := strconv.Atoi(t.Tag(metric.TagServer)); err == nil {
			w.server = int16(at)
		}
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

// Observer returns what the thresholds observe of a run.
func (ws Windowed) Observer() server.Observer {
	return server.Observer{
		Arrived:    ws.arrived,
		Dispatched: ws.dispatched,
		Rejected:   ws.rejected,
		Executed:   ws.executed,
		Refused:    ws.refused,
		GivenUp:    ws.givenUp,
	}
}

func (ws Windowed) arrived(_ int64, r *server.Request) {
	for _, w := range ws {
		if in := w.enter(r); in != nil {
			in.counting().arrive(r.Attempt > 1)
			in.undecided++
		}
	}
}

func (ws Windowed) dispatched(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.counting().dispatch()
			w.time(in, measure.Wait, nowNs-r.ArrivalNs)
		}
	}
}

func (ws Windowed) rejected(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.counting().reject(r.Rejection)
			in.undecided--
			w.time(in, measure.RejectedWait, nowNs-r.ArrivalNs)
			w.judge(nowNs)
		}
	}
}

func (ws Windowed) executed(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if in := w.windowOf(r); in != nil {
			in.counting().execute(false) // windows have no thresholds on failures
			in.undecided--
			w.time(in, measure.Execution, nowNs-r.DispatchNs)
			w.time(in, measure.Latency, nowNs-r.ArrivalNs)
			w.judge(nowNs)
		}
	}
}

func (ws Windowed) refused(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if !w.aboutRefused(r) {
			continue
		}
		if in := w.windowEntered(r); in != nil {
			in.counting().refuse(r)
			w.judge(nowNs)
		}
	}
}

func (ws Windowed) givenUp(nowNs int64, r *server.Request) {
	for _, w := range ws {
		if !r.Lost { // it was decided when it had executed or was rejected
			continue
		}
		if in := w.windowOf(r); in != nil {
			in.counting().giveUp(r)
			in.undecided--
			w.judge(nowNs)
		}
	}
}

// enter returns the window that an arriving request belongs to, nil if there is none or the
// threshold is not about the request.
func (w *windowedThreshold) enter(r *server.Request) *arrivalWindow {
	if !w.about(r) {
		return nil
	}
	return w.windowEntered(r)
}

// windowEntered is enter for a request that the threshold is about.
func (w *windowedThreshold) windowEntered(r *server.Request) *arrivalWindow {
	w.seen = true
	at, within := w.windowAt(r)
	if !within {
		return nil
	}
	for int64(len(w.open)) <= at-w.judged {
		w.open = append(w.open, nil)
	}
	in := &w.open[at-w.judged]
	if *in == nil {
		*in = &arrivalWindow{Measures: *measure.New(measure.FinePrecision)}
	}
	return *in
}

// windowOf returns the window that a request belongs to, nil if there is none. It is not judged yet,
// because the request was undecided.
func (w *windowedThreshold) windowOf(r *server.Request) *arrivalWindow {
	at, within := w.windowAt(r)
	if !within || !w.about(r) {
		return nil
	}
	return w.open[at-w.judged]
}

// windowAt returns the index of the window in which a request arrived, and whether there is one.
func (w *windowedThreshold) windowAt(r *server.Request) (at int64, within bool) {
	at = (r.ArrivalNs - w.fromNs) / w.lengthNs
	return at, r.ArrivalNs >= w.fromNs && at < w.windows
}

// about says whether the threshold applies to a request.
func (w *windowedThreshold) about(r *server.Request) bool {
	if w.workload != server.NoWorkload && r.Workload != w.workload || w.server != anyServer && r.Server != w.server {
		return false
	}
	t := w.threshold
	if r.Flow == nil {
		return w.ofNoFlow()
	}
	for len(w.flows) <= r.Flow.Index {
		w.flows = append(w.flows, undecidedMatch)
	}
	m := &w.flows[r.Flow.Index]
	if *m == undecidedMatch {
		*m = differs
		if Tagged(t, "flow", r.Flow.Name()) && Tagged(t, "flowSchema", r.Flow.Schema.Name) && Tagged(t, "priorityLevel", r.Flow.Level) {
			*m = matches
		}
	}
	return *m == matches
}

// aboutRefused is about for a request that did not reach flow control, so that it has no flow.
func (w *windowedThreshold) aboutRefused(r *server.Request) bool {
	return (w.workload == server.NoWorkload || r.Workload == w.workload) && (w.server == anyServer || r.Server == w.server) && w.ofNoFlow()
}

// ofNoFlow says whether the threshold applies to requests without a flow.
func (w *windowedThreshold) ofNoFlow() bool {
	t := w.threshold
	return t.Tag("flow") == "" && t.Tag("flowSchema") == "" && t.Tag("priorityLevel") == ""
}

// maxLatest is how many durations a window keeps before they go into the histogram.
const maxLatest = 128

func (w *windowedThreshold) time(in *arrivalWindow, t measure.Timing, ns int64) {
	if !w.timed || t != w.timing {
		return
	}
	if len(in.latest) == maxLatest {
		in.count(t)
	}
	in.latest = append(in.latest, ns)
}

// count moves the latest durations into the histogram.
func (in *arrivalWindow) count(t measure.Timing) {
	for _, ns := range in.latest {
		in.Timed[t].Record(ns)
	}
	in.latest = in.latest[:0]
}

// judge judges the windows that have ended, up to the first one that has an undecided request.
func (w *windowedThreshold) judge(nowNs int64) {
	for len(w.open) > 0 && w.fromNs+(w.judged+1)*w.lengthNs <= nowNs {
		if in := w.open[0]; in != nil && in.undecided > 0 {
			return
		}
		w.judgeNext(w.open[0])
		w.open = w.open[1:]
	}
}

var emptyWindow = &arrivalWindow{Measures: *measure.New(measure.FinePrecision)}

// judgeNext judges the first window that is not judged yet; in is nil if no request arrived in it.
func (w *windowedThreshold) judgeNext(in *arrivalWindow) {
	fromNs := w.fromNs + w.judged*w.lengthNs
	w.judged++
	t := w.threshold
	if in == nil {
		in = emptyWindow
	} else if w.timed {
		in.count(w.timing)
	}
	if in.Arrived == 0 && t.Metric != "arrived" || t.Metric == "rejectedWait" && t.Stat != "count" && in.Final().Rejected == 0 {
		w.found.Empty++
		return
	}
	value, note := thresholdValue(&in.Measures, &w.name, float64(w.lengthNs)/1e9)
	if n := result.FewOf(&w.name, in.Timed[w.timing].N); n > 0 && (w.few == 0 || n < w.few) {
		w.few = n
	}
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

// Worse says whether the value a violates the threshold more than b does, or is closer to violating it.
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

// Judge sets the verdicts in the summary of the run, which has ended.
func (ws Windowed) Judge(s *result.Summary) {
	for _, w := range ws {
		s.Thresholds[w.index] = w.verdict()
	}
	s.Passed = true
	for i := range s.Thresholds {
		s.Passed = s.Passed && s.Thresholds[i].Passed
	}
}

// verdict judges the remaining windows and returns the verdict.
func (w *windowedThreshold) verdict() result.Verdict {
	for _, in := range w.open {
		w.judgeNext(in)
	}
	w.open = nil
	for w.judged < w.windows {
		w.judgeNext(nil)
	}
	v := NewVerdict(w.threshold)
	v.Value, v.Note, v.Windows, v.Few = w.worst, w.note, &w.found, w.few
	switch {
	case w.threshold.Tag("flow") != "" && !w.seen:
		v.Value, v.Note, v.Windows = nil, result.NoSuchFlow, nil
	case w.found.Judged == 0:
		v.Note = metric.NoSamples
	default:
		v.Passed = w.found.Failed == 0
	}
	return v
}
