// Package measure computes numbers of requests: [Measures] have the counts of those of a workload, a FlowSchema, a flow or
// a window, which sim/metric declares, and a [Histogram] of each of their durations; a [Divider] divides the service of a
// priority level fairly among its flows. Package collect fills them while a run happens.
package measure

import (
	"slices"

	"apfsim/sim/metric"
)

// Responses are numbers of requests that were answered, in ascending order of the status.
type Responses []Response

// Response is the number of requests that were answered with a status.
type Response struct {
	Status int   `json:"status"` // of HTTP; 0: the client has received no answer
	Count  int64 `json:"count"`
}

// Add counts requests that were answered with a status.
func (all *Responses) Add(status int, n int64) {
	at := 0
	for at < len(*all) && (*all)[at].Status < status {
		at++
	}
	if at == len(*all) || (*all)[at].Status != status {
		*all = slices.Insert(*all, at, Response{Status: status})
	}
	(*all)[at].Count += n
}

// Measures are the counts and the durations of a group of requests.
type Measures struct {
	metric.Counted
	Responses Responses
	Timed     [Timings]Histogram
	Queued    Histogram // how long those that were still queued at the end had waited
	TooLate   Histogram // from arrival until an answer 504, or until the client gave up

	waited Histogram // memory of Waited
}

// Waited returns the waits of the requests that were dispatched and, so far, of those that were still queued. It is valid until the
// next call.
func (m *Measures) Waited() *Histogram {
	m.waited.Reset()
	m.waited.Precision = m.Queued.Precision
	m.waited.Merge(&m.Timed[Wait])
	m.waited.Merge(&m.Queued)
	return &m.waited
}

// Timing is one of the durations that are measured for a request.
type Timing uint8

const (
	Wait         Timing = iota // arrival to dispatch
	Execution                  // dispatch to the end of execution
	Latency                    // arrival to the end of execution
	RejectedWait               // arrival to rejection

	Timings = iota
)

// New returns empty measures whose histograms have the precision.
func New(precision uint8) *Measures {
	m := &Measures{}
	for t := range m.Timed {
		m.Timed[t].Precision = precision
	}
	m.Queued.Precision, m.TooLate.Precision = precision, precision
	return m
}

// Reset removes all counts and durations and keeps the memory.
func (m *Measures) Reset() {
	m.Counted, m.Responses = metric.Counted{}, nil
	for t := range m.Timed {
		m.Timed[t].Reset()
	}
	m.Queued.Reset()
	m.TooLate.Reset()
}

// Merge adds other measures of the same precision.
func (m *Measures) Merge(other *Measures) {
	m.Counted.Merge(&other.Counted)
	for _, r := range other.Responses {
		m.Responses.Add(r.Status, r.Count)
	}
	for d := range m.Timed {
		m.Timed[d].Merge(&other.Timed[d])
	}
	m.Queued.Merge(&other.Queued)
	m.TooLate.Merge(&other.TooLate)
}

// Part is the requests of one workload that belong to one FlowSchema and priority level, at one server.
type Part struct {
	Workload, Schema, Level string
	Server                  int
	Timed                   [Timings]Histogram
	Batches                 [Timings]Batches // of the same values
}

// TimingOf returns the duration that a metric is about, if it is about one.
func TimingOf(metricName string) (Timing, bool) {
	switch metricName {
	case "wait":
		return Wait, true
	case "execution":
		return Execution, true
	case "latency":
		return Latency, true
	case "rejectedWait":
		return RejectedWait, true
	}
	return 0, false
}
