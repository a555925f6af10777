package fit

import (
	"apfsim/experiment/fit/retries"
	"apfsim/experiment/fit/shape"
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
	backoff  *retries.Chains // of clients that retry otherwise; nil if they do not
	attempts bool            // whether the log says which requests are retries
	observed *shape.Observations
	tally    Tally   // recorded, as that of a run
	sender   *sender // of this and other kinds of requests; nil if there are none
}

// collect takes note of a request in the second pass.
func (f *fitter) collect(e *Entry) {
	s := f.stream(e)
	if s == nil { // the requests have changed since the first pass
		return
	}
	if s.leftOut {
		if f.law != nil { // it shared the server with the others
			f.collectExecution(&f.others, e)
		}
		return
	}
	w := s.workload
	key := f.withName(e.Name)
	retry := w.retries && f.retries.Match(key, e.ArrivalNs, w.rule) || w.backoff != nil && w.backoff.Arrive(key, e.ArrivalNs)
	// The attempt in the log of a simulated server is certain. Other logs have neither a Retry-After nor more
	// than a guess at the attempt.
	if w.followed.Asked > 0 && e.Attempt > 0 {
		retry, w.attempts = e.Attempt > 1, true
	}
	f.record(w, s.level, e)
	end := e.EndNs()
	if f.real { // the client had the response before the log says so
		end = max(e.ArrivalNs, end-min(max(0, e.WaitNs), int64(f.recorded.WaitErrors.Mean())))
	}
	switch e.Outcome {
	case trace.Rejected:
		w.observed.Rejected++
		switch {
		case w.backoff != nil:
			w.backoff.Reject(key, e.EndNs(), e.ArrivalNs)
			end += int64(w.backoff.Backoff.LowNs)
		case w.retries:
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
		f.collectExecution(w, e)
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
func (w *workload) addWatch(e *Entry, lastNs, durationNs int64) {
	ns := float64(e.WatchNs)
	if end := e.EndNs(); end >= lastNs && end <= max(lastNs, durationNs)+1e9 {
		ns = -ns
	}
	w.observed.Lifetimes.Add(ns)
}

const (
	realWaitMarginNs = 3_000_000 // what has been measured at the 99th percentile
	fewestErrors     = 30        // fewer waits do not say what the error is
)

// record takes note of a request in the statistics.
func (f *fitter) record(w *workload, level string, e *Entry) {
	if e.ArrivalNs < f.report.WarmupNs {
		return
	}
	r := &f.recorded
	r.Outcomes = f.decided
	if f.real && r.WaitErrors.N < fewestErrors {
		r.WaitMarginNs = realWaitMarginNs
	}
	tallies := []*Tally{&r.Total, &w.tally}
	if w.sender != nil {
		tallies = append(tallies, &w.sender.tally)
	}
	for _, t := range tallies {
		if t.Arrivals == nil {
			t.Arrivals = shape.NewCounts(f.report.WarmupNs, f.report.DurationNs)
			t.Latencies = shape.NewLatencies(f.report.WarmupNs, f.report.DurationNs)
		}
		t.Arrivals.Add(e.ArrivalNs)
		if e.Outcome == trace.Executed && e.WaitNs >= 0 && e.Verb != "watch" {
			t.Latencies.Begin(e.ArrivalNs, e.WaitNs+e.TookNs())
		}
	}
	if level != "" {
		if r.Levels == nil {
			r.Levels = map[string]*Tally{}
		}
		if r.Levels[level] == nil {
			r.Levels[level] = &Tally{}
		}
		tallies = append(tallies, r.Levels[level])
	}
	if f.real && e.Verb == "watch" {
		known := *e
		known.WaitNs = -1 // a log has only those of slow watches
		e = &known
	}
	for _, t := range tallies {
		t.Add(e, f.decided)
	}
}
