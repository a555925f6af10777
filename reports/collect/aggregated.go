package collect

import (
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/calls"
)

// aggregated are the measures of the aggregated servers of a run, by index.
type aggregated struct {
	fromNs  int64 // of the window
	names   []string
	measure []*measure.Measures
}

// newAggregated returns the measures of the aggregated servers of a run, which has none if its servers call
// nobody.
func newAggregated(run *sim.Run, fromNs int64) *aggregated {
	a := &aggregated{fromNs: fromNs}
	c := run.Calls()
	if c == nil {
		return a
	}
	a.names = c.AggregatedServers()
	for range a.names {
		a.measure = append(a.measure, measure.New(measure.FinePrecision))
	}
	if len(a.names) > 0 {
		run.OnAggregatedEvent(a.passed)
	}
	return a
}

// passed measures what happens to a request.
func (a *aggregated) passed(nowNs int64, p calls.AggregatedEvent) {
	if p.ArrivalNs < a.fromNs {
		return
	}
	m := a.measure[p.Server]
	to := counting{in: &m.Counted}
	switch p.What {
	case calls.PassedArrived:
		to.arrive(p.Again)
	case calls.PassedDispatched:
		to.dispatch()
		m.Timed[measure.Wait].Record(nowNs - p.ArrivalNs)
	case calls.PassedRejected:
		to.reject(p.Rejection)
		m.Timed[measure.RejectedWait].Record(nowNs - p.ArrivalNs)
	case calls.PassedExecuted:
		to.execute(false)
		m.Timed[measure.Execution].Record(nowNs - p.DispatchNs)
		m.Timed[measure.Latency].Record(nowNs - p.ArrivalNs)
	}
}

// summary returns the statistics of the aggregated servers.
func (a *aggregated) summary() (all []result.Group) {
	for i, name := range a.names {
		all = append(all, result.NewGroup(name, a.measure[i]))
	}
	return all
}
