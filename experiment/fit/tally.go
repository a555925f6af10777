package fit

import (
	"apfsim/experiment/fit/shape"
	"apfsim/reports/measure"
	"apfsim/sim/metric"
	"apfsim/sim/trace"
)

// Statistics is the statistics of the recorded requests that arrived after the warm-up, as those of a run.
type RecordedStatistics struct {
	Total     Tally
	Levels    map[string]*Tally // by priority level, if it is known
	Workloads []*Tally          // in the order of the report
	Outcomes  bool              // whether it is known what became of the requests

	// WaitErrors is how much the recorded waits are too long: those of a real server are differences of other times,
	// and contain what it does between them. They are the waits of requests that never wait, those of the
	// level exempt.
	WaitErrors shape.Sample
	// WaitMarginNs is how much the recorded waits can be too long if this is unknown.
	WaitMarginNs int64
}

// Tally counts and times requests.
type Tally struct {
	metric.Counts
	Wait, Execution measure.Histogram
	Arrivals        *shape.Counts    // by windows; nil without arrivals, and of priority levels
	Latencies       *shape.Latencies // by windows, of requests but watches whose wait is known; nil as Arrivals
}

// Merge adds the requests of another tally.
func (t *Tally) Merge(u *Tally) {
	t.Wait.Precision, t.Execution.Precision = measure.FinePrecision, measure.FinePrecision
	t.Arrived += u.Arrived
	t.Executed += u.Executed
	t.Rejected += u.Rejected
	t.Waiting += u.Waiting
	t.Executing += u.Executing
	t.Wait.Merge(&u.Wait)
	t.Execution.Merge(&u.Execution)
}

// Add adds a request. Decided says that the log has outcomes, so that a request without one has not ended.
func (t *Tally) Add(e *Entry, decided bool) {
	t.Wait.Precision, t.Execution.Precision = measure.FinePrecision, measure.FinePrecision
	t.Arrived++
	switch {
	case e.Outcome == trace.Rejected:
		t.Rejected++
		return
	case e.Outcome == trace.Waiting:
		t.Waiting++
		return
	case e.Outcome == trace.Executing, e.Outcome == "" && decided:
		t.Executing++
	default:
		t.Executed++
		t.Execution.Record(e.TookNs())
	}
	if e.WaitNs >= 0 {
		t.Wait.Record(e.WaitNs)
	}
}
