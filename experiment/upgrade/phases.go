package upgrade

import (
	"maps"

	"apfsim/reports/collect"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// Rollout is what happened to the requests of a workload before, during and after the servers were restarted, in all runs
// together.
type Rollout struct {
	Before Phase `json:"before"` // from the end of the warm-up
	During Phase `json:"during"` // from when the first server is told to stop until the last one is ready again
	After  Phase `json:"after"`  // until the end of the run
	Runs   int   `json:"runs"`
	StopNs int64 `json:"stopNs"` // the longest time from when a server was told to stop until its process had ended

	first *collect.Phases  // of the first run
	used  map[string]int64 // requests before the rollout, by FlowSchema
}

// Phase is a part of all runs. A request belongs to the part in which it arrives. Sent = Served + NotServed + Open.
type Phase struct {
	Seconds   float64          `json:"seconds"` // mean length
	Sent      int64            `json:"sent"`
	Served    int64            `json:"served"`
	NotServed result.NotServed `json:"notServed"`
	Open      int64            `json:"open"` // at the end of the run
	WaitP99Ns *int64           `json:"waitP99Ns"`
	Workloads []PhaseWorkload  `json:"workloads"`

	runs int
}

// PhaseWorkload is the requests of one workload in a phase.
type PhaseWorkload struct {
	Name      string           `json:"name"`
	Sent      int64            `json:"sent"`
	NotServed result.NotServed `json:"notServed"`
	WaitP99Ns *int64           `json:"waitP99Ns"` // null if too few were dispatched for the percentile

	waits measure.Histogram
}

// share returns the part of the requests that were not served.
func (p *Phase) share() float64 {
	if p.Sent == 0 {
		return 0
	}
	return float64(p.NotServed.Total()) / float64(p.Sent)
}

// perSecond returns how many requests were sent a second, in the mean.
func (p *Phase) perSecond() float64 {
	if p.Seconds == 0 {
		return 0
	}
	return float64(p.Sent) / p.Seconds / float64(p.runs)
}

// add adds a run.
func (r *Rollout) add(sc *scenario.Scenario, run *collect.Phases) {
	if r.first == nil {
		r.first, r.used = run, map[string]int64{}
	}
	for name, n := range maps.All(run.Schemas) { // in any order, as they are sums
		r.used[name] += n
	}
	r.Runs++
	r.StopNs = max(r.StopNs, run.StopNs)
	lengths := run.LengthsNs()
	for phase, to := range []*Phase{&r.Before, &r.During, &r.After} {
		to.Seconds += (float64(lengths[phase])/1e9 - to.Seconds) / float64(r.Runs)
		to.add(sc, run, collect.Phase(phase))
	}
}

// add adds a phase of a run.
func (p *Phase) add(sc *scenario.Scenario, run *collect.Phases, phase collect.Phase) {
	p.runs++
	all := measure.Histogram{Precision: measure.FinePrecision}
	for i := range sc.Spec.Workload {
		if len(p.Workloads) == i {
			p.Workloads = append(p.Workloads, PhaseWorkload{Name: sc.Spec.Workload[i].Name, waits: measure.Histogram{Precision: measure.FinePrecision}})
		}
		w, m := &p.Workloads[i], run.Measures(phase, i)
		c := m.Final()
		not := result.NotServed{Rejected: c.Rejected, Refused: c.Refused, Lost: c.Lost, Failures: m.Failures}
		w.Sent += c.Arrived
		w.NotServed.Add(&not)
		w.waits.Merge(&m.Timed[measure.Wait])
		w.WaitP99Ns = p99(&w.waits)
		p.Sent += c.Arrived
		p.NotServed.Add(&not)
		p.Open += m.Open()
		all.Merge(&w.waits)
	}
	p.Served = p.Sent - p.NotServed.Total() - p.Open
	p.WaitP99Ns = p99(&all)
}

// p99 returns the 99th percentile, nil if there are too few values for it.
func p99(h *measure.Histogram) *int64 {
	if !measure.Enough(99, h.N) {
		return nil
	}
	ns := h.PercentileNs(99)
	return &ns
}
