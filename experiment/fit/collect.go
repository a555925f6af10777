package fit

import (
	"apfsim/experiment/fit/recorded"
	"apfsim/experiment/fit/retries"
	"apfsim/experiment/fit/shape"
	"apfsim/reports/histogram"
	"apfsim/reports/result"
	"apfsim/sim/trace"
)

// workload is a workload of the scenario: its streams, and what the second pass collects of them.
type workload struct {
	name     string
	members  []member
	word     string // in place of the words of the members; "" if there is one member
	index    string // in place of their tokens
	numbered int    // the number of clients, if their indexes are the numbers of the members; else 0
	renamed  bool   // the clients do not have the names of the users
	joined   bool   // the members are not alike
	followed retries.Followed
	retries  bool // whether clients retry as client-go does
	rule     retries.Rule
	observed *shape.Observations
	tally    Tally   // recorded, as that of a run
	sender   *sender // of this and other kinds of requests; nil if there are none
}

// collect takes note of a request in the second pass.
func (f *fitter) collect(e *recorded.Entry) {
	s := f.stream(e)
	if s == nil || s.leftOut { // nil if the requests have changed since the first pass
		return
	}
	w := s.workload
	key := f.withName(e.Name)
	retry := w.retries && f.retries.Match(key, e.ArrivalNs, w.rule)
	// The attempt in the log of a simulated server is certain. Other logs have neither a Retry-After nor more
	// than a guess at the attempt.
	if w.followed.Asked > 0 && e.Attempt > 0 {
		retry = e.Attempt > 1
	}
	f.record(w, s.level, e)
	end := e.EndNs()
	if f.real { // the client had the response before the log says so
		end = max(e.ArrivalNs, end-min(max(0, e.WaitNs), int64(f.recorded.WaitErrors.Mean())))
	}
	switch e.Outcome {
	case trace.Rejected:
		w.observed.Rejected++
		if w.retries {
			after := e.RetryAfterSeconds * retries.Second
			f.retries.Reject(string(key), e.EndNs(), after, e.ArrivalNs)
			end += max(after, retries.Second) // while the client waits to send it again
		}
	case trace.Waiting:
		end = shape.Never
	case "":
		if f.decided { // the log has no end of it
			end = shape.Never
			break
		}
		fallthrough
	default:
		w.observed.Execution.Add(float64(e.ExecutionNs))
		if e.Verb == "watch" {
			w.addWatch(e, f.lastNs, f.report.DurationNs)
		}
	}
	if retry {
		f.report.Retries++
		w.observed.AddRetry(s.client, e.ArrivalNs, end)
		if w.sender != nil {
			w.sender.observed.AddRetry(s.client, e.ArrivalNs, end)
		}
		return
	}
	w.observed.AddFirst(s.client, e.ArrivalNs, end)
	if w.sender != nil {
		w.sender.observed.AddFirst(s.client, e.ArrivalNs, end)
	}
}

// addWatch takes note of how long a watch lasted. One that ends with the log was cut off there.
func (w *workload) addWatch(e *recorded.Entry, lastNs, durationNs int64) {
	ns := float64(e.WatchNs)
	if end := e.EndNs(); end >= lastNs && end <= max(lastNs, durationNs)+1e9 {
		ns = -ns
	}
	w.observed.Lifetimes.Add(ns)
}

// Recorded is the statistics of the recorded requests that arrived after the warm-up, as those of a run.
type Recorded struct {
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

const (
	realWaitMarginNs = 3_000_000 // what has been measured at the 99th percentile
	fewestErrors     = 30        // fewer waits do not say what the error is
)

// Tally counts and times requests.
type Tally struct {
	result.Counts
	Wait, Execution histogram.Histogram
}

// Merge adds the requests of another tally.
func (t *Tally) Merge(u *Tally) {
	t.Wait.Precision, t.Execution.Precision = histogram.FinePrecision, histogram.FinePrecision
	t.Arrived += u.Arrived
	t.Executed += u.Executed
	t.Rejected += u.Rejected
	t.Waiting += u.Waiting
	t.Executing += u.Executing
	t.Wait.Merge(&u.Wait)
	t.Execution.Merge(&u.Execution)
}

// record takes note of a request in the statistics.
func (f *fitter) record(w *workload, level string, e *recorded.Entry) {
	if e.ArrivalNs < f.report.WarmupNs {
		return
	}
	r := &f.recorded
	r.Outcomes = f.decided
	if f.real && r.WaitErrors.N < fewestErrors {
		r.WaitMarginNs = realWaitMarginNs
	}
	tallies := []*Tally{&r.Total, &w.tally}
	if level != "" {
		if r.Levels == nil {
			r.Levels = map[string]*Tally{}
		}
		if r.Levels[level] == nil {
			r.Levels[level] = &Tally{}
		}
		tallies = append(tallies, r.Levels[level])
	}
	if w.sender != nil {
		tallies = append(tallies, &w.sender.tally)
	}
	if f.real && e.Verb == "watch" {
		known := *e
		known.WaitNs = -1 // a log has only those of slow watches
		e = &known
	}
	for _, t := range tallies {
		t.add(e, f.decided)
	}
}

// add adds a request. Decided says that the log has outcomes, so that a request without one has not ended.
func (t *Tally) add(e *recorded.Entry, decided bool) {
	t.Wait.Precision, t.Execution.Precision = histogram.FinePrecision, histogram.FinePrecision
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
		t.Execution.Record(e.ExecutionNs)
	}
	if e.WaitNs >= 0 {
		t.Wait.Record(e.WaitNs)
	}
}
