// Package measure counts and times the requests of any group: a workload, a FlowSchema, a flow or
// a window.
package measure

import (
	"apfsim/core/queueset"
	"apfsim/reports/histogram"
	"apfsim/sim/server"
)

// Tally counts the requests that arrived within the window by what has become of them.
type Tally struct {
	Arrived, Dispatched, Executed, Retries int64
	Rejected                               [queueset.Rejections]int64 // by reason; that of none stays 0
}

func (t *Tally) RejectedTotal() int64 {
	total := int64(0)
	for _, n := range t.Rejected {
		total += n
	}
	return total
}

func (t *Tally) Waiting() int64   { return t.Arrived - t.Dispatched - t.RejectedTotal() }
func (t *Tally) Executing() int64 { return t.Dispatched - t.Executed }

func (t *Tally) Merge(other *Tally) {
	t.Arrived += other.Arrived
	t.Dispatched += other.Dispatched
	t.Executed += other.Executed
	t.Retries += other.Retries
	for i, n := range other.Rejected {
		t.Rejected[i] += n
	}
}

// Measures is what is counted and timed of any group of requests.
type Measures[C histogram.Count] struct {
	Tally
	Timed [Timings]histogram.Histogram[C]
}

// Timing is one of the durations that a request is timed for.
type Timing uint8

const (
	Wait         Timing = iota // arrival to dispatch
	Execution                  // dispatch to the end of execution
	Latency                    // arrival to the end of execution
	RejectedWait               // arrival to rejection

	Timings = iota
)

func New[C histogram.Count](precision uint8) *Measures[C] {
	m := &Measures[C]{}
	for t := range m.Timed {
		m.Timed[t].Precision = precision
	}
	return m
}

// Reset forgets all that was counted, but keeps the memory for it.
func (m *Measures[C]) Reset() {
	m.Tally = Tally{}
	for t := range m.Timed {
		m.Timed[t].Reset()
	}
}

func (t *Tally) Arrive(r *server.Request) {
	t.Arrived++
	if r.Attempt > 1 {
		t.Retries++
	}
}

func (m *Measures[C]) Merge(other *Measures[C]) {
	m.Tally.Merge(&other.Tally)
	for d := range m.Timed {
		m.Timed[d].Merge(&other.Timed[d])
	}
}

// Part is the requests of one workload that belong to one FlowSchema and priority level.
type Part struct {
	Workload, Schema, Level string
	Timed                   [Timings]histogram.Histogram[uint64]
}

// TimingOf returns the durations that a metric is about, if it is about any.
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
