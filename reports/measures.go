package reports

import (
	"apfsim/core/queueset"
	"apfsim/sim/server"
)

// tally counts the requests that arrived within the window by what has become of them.
type tally struct {
	arrived, dispatched, executed, retries int64
	rejected                               [queueset.Rejections]int64 // by reason; that of none stays 0
}

func (t *tally) rejectedTotal() int64 {
	total := int64(0)
	for _, n := range t.rejected {
		total += n
	}
	return total
}

func (t *tally) waiting() int64   { return t.arrived - t.dispatched - t.rejectedTotal() }
func (t *tally) executing() int64 { return t.dispatched - t.executed }

func (t *tally) merge(other *tally) {
	t.arrived += other.arrived
	t.dispatched += other.dispatched
	t.executed += other.executed
	t.retries += other.retries
	for i, n := range other.rejected {
		t.rejected[i] += n
	}
}

// measures is what is counted and timed of any group of requests.
type measures[C count] struct {
	tally
	timed [timings]histogram[C]
}

// timing is one of the durations that a request is timed for.
type timing uint8

const (
	wait         timing = iota // arrival to dispatch
	execution                  // dispatch to the end of execution
	latency                    // arrival to the end of execution
	rejectedWait               // arrival to rejection

	timings = iota
)

func newMeasures[C count](precision uint8) *measures[C] {
	m := &measures[C]{}
	for t := range m.timed {
		m.timed[t].precision = precision
	}
	return m
}

// reset forgets all that was counted, but keeps the memory for it.
func (m *measures[C]) reset() {
	m.tally = tally{}
	for t := range m.timed {
		m.timed[t].reset()
	}
}

func (t *tally) arrive(r *server.Request) {
	t.arrived++
	if r.Attempt > 1 {
		t.retries++
	}
}

func (m *measures[C]) merge(other *measures[C]) {
	m.tally.merge(&other.tally)
	for d := range m.timed {
		m.timed[d].merge(&other.timed[d])
	}
}
