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
	wait, execution, latency histogram[C]
	rejectedWait             [queueset.Rejections]histogram[C] // by reason
}

func newMeasures[C count](precision uint8) measures[C] {
	h := histogram[C]{precision: precision}
	m := measures[C]{wait: h, execution: h, latency: h}
	for i := range m.rejectedWait {
		m.rejectedWait[i] = h
	}
	return m
}

func (m *measures[C]) arrive(r *server.Request) {
	m.arrived++
	if r.Attempt > 1 {
		m.retries++
	}
}

func (m *measures[C]) dispatch(nowNs int64, r *server.Request) {
	m.dispatched++
	m.wait.record(nowNs - r.ArrivalNs)
}

func (m *measures[C]) reject(nowNs int64, r *server.Request) {
	m.rejected[r.Rejection]++
	m.rejectedWait[r.Rejection].record(nowNs - r.ArrivalNs)
}

func (m *measures[C]) execute(nowNs int64, r *server.Request) {
	m.executed++
	m.execution.record(nowNs - r.DispatchNs)
	m.latency.record(nowNs - r.ArrivalNs)
}

func (m *measures[C]) merge(other *measures[C]) {
	m.tally.merge(&other.tally)
	m.wait.merge(&other.wait)
	m.execution.merge(&other.execution)
	m.latency.merge(&other.latency)
	for i := range m.rejectedWait {
		m.rejectedWait[i].merge(&other.rejectedWait[i])
	}
}

// rejectedWaits returns the waits of the rejected requests, for whatever reason.
func (m *measures[C]) rejectedWaits() histogram[C] {
	all := histogram[C]{precision: m.wait.precision}
	for i := range m.rejectedWait {
		all.merge(&m.rejectedWait[i])
	}
	return all
}
