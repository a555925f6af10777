package collect

import (
	"apfsim/reports/measure"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Phase is a part of a run with a rollout.
type Phase uint8

// The phases. A request belongs to the phase in which it arrives, with everything that happens to it later.
const (
	BeforeRollout Phase = iota // from the end of the warm-up
	DuringRollout              // from when the first server is told to stop until the last one is ready again
	AfterRollout

	PhaseCount = iota
)

// Phases counts the requests of a run before, during and after its rollouts, by workload. One that arrives after the rollouts
// and is open at the end is not unfinished: the end of the run says nothing about the servers.
type Phases struct {
	StartNs int64 // when the first rollout begins
	EndNs   int64 // when all servers have been restarted and are ready; -1 if they were not before the end of the run
	// StopNs is the longest time from when a server was told to stop until its process had ended.
	StopNs int64
	// Schemas are the numbers of requests before the rollout, by FlowSchema.
	Schemas map[string]int64
	// NotServed are the numbers of requests in each second of the run that turned out not to be served, by workload.
	NotServed [][]int64

	fromNs, durationNs int64
	measures           [PhaseCount][]measure.Measures // by workload
	stops              []restart                      // by server
}

// restart is how far a server is in the rollout.
type restart struct {
	stopNs int64 // when it was told to stop; -1 before
	over   bool
}

// secondNs is the length of the intervals of Phases.NotServed.
const secondNs = 1_000_000_000

// NewPhases returns the phases of a run; nil if its scenario has no rollout.
func NewPhases(sc *scenario.Scenario) *Phases {
	p := &Phases{StartNs: -1, EndNs: -1, Schemas: map[string]int64{}, fromNs: int64(sc.Spec.Warmup.Duration), durationNs: int64(sc.Spec.Duration)}
	for i := range sc.Spec.Events {
		if e := &sc.Spec.Events[i]; e.Rollout != nil && (p.StartNs < 0 || int64(e.At) < p.StartNs) {
			p.StartNs = int64(e.At)
		}
	}
	if p.StartNs < 0 {
		return nil
	}
	for phase := range p.measures {
		for range sc.Spec.Workload {
			p.measures[phase] = append(p.measures[phase], *measure.New(measure.FinePrecision))
		}
	}
	for range sc.Spec.Workload {
		p.NotServed = append(p.NotServed, make([]int64, (p.durationNs+secondNs-1)/secondNs))
	}
	for range sc.Spec.Servers.Replicas {
		p.stops = append(p.stops, restart{stopNs: -1})
	}
	return p
}

// Measures returns what was measured of the requests of a workload in a phase.
func (p *Phases) Measures(phase Phase, workload int) *measure.Measures {
	return &p.measures[phase][workload]
}

// LengthsNs returns how long the phases lasted within the window of the statistics. A rollout that was not over lasted until the
// end of the run.
func (p *Phases) LengthsNs() (all [PhaseCount]int64) {
	endNs := p.EndNs
	if endNs < 0 {
		endNs = p.durationNs
	}
	startNs := max(p.StartNs, p.fromNs)
	all[BeforeRollout], all[DuringRollout], all[AfterRollout] = startNs-p.fromNs, endNs-startNs, p.durationNs-endNs
	return all
}

// Observer returns what the phases observe of a run.
func (p *Phases) Observer() server.Observer {
	return server.Observer{
		Arrived:    p.arrived,
		Dispatched: p.dispatched,
		Rejected:   p.rejected,
		Executed:   p.executed,
		Refused:    p.refused,
		GivenUp:    p.givenUp,
		Answered:   p.answered,
		Changed:    p.changed,
		Tick:       p.tick,
	}
}

// measuresOf returns the measures for a request by its phase and workload; nil if it arrived during the warm-up.
func (p *Phases) measuresOf(r *server.Request) *measure.Measures {
	if r.ArrivalNs < p.fromNs {
		return nil
	}
	phase := BeforeRollout
	switch {
	case p.EndNs >= 0 && r.ArrivalNs > p.EndNs:
		phase = AfterRollout
	case r.ArrivalNs >= p.StartNs:
		phase = DuringRollout
	}
	return &p.measures[phase][r.Workload]
}

// failed adds a request that was not served to the series.
func (p *Phases) failed(nowNs int64, r *server.Request) {
	series := p.NotServed[r.Workload]
	series[min(int(nowNs/secondNs), len(series)-1)]++
}

func (p *Phases) arrived(_ int64, r *server.Request) {
	m := p.measuresOf(r)
	if m == nil {
		return
	}
	counting{in: &m.Counted}.arrive(r.Attempt > 1)
	if r.ArrivalNs < p.StartNs && r.Flow != nil {
		p.Schemas[r.Flow.Schema.Name]++
	}
}

func (p *Phases) dispatched(nowNs int64, r *server.Request) {
	if m := p.measuresOf(r); m != nil {
		counting{in: &m.Counted}.dispatch()
		m.Timed[measure.Wait].Record(nowNs - r.ArrivalNs)
	}
}

func (p *Phases) rejected(nowNs int64, r *server.Request) {
	p.failed(nowNs, r)
	if m := p.measuresOf(r); m != nil {
		counting{in: &m.Counted}.reject(r.Rejection)
	}
}

func (p *Phases) executed(nowNs int64, r *server.Request) {
	if m := p.measuresOf(r); m != nil {
		counting{in: &m.Counted}.execute(r.Answered())
		m.Timed[measure.Latency].Record(nowNs - r.ArrivalNs)
	}
}

func (p *Phases) refused(nowNs int64, r *server.Request) {
	p.failed(nowNs, r)
	if m := p.measuresOf(r); m != nil {
		counting{in: &m.Counted}.refuse(r)
	}
}

func (p *Phases) givenUp(nowNs int64, r *server.Request) {
	if !r.InFlight() {
		return
	}
	if r.Lost && !r.Answered() {
		p.failed(nowNs, r)
	}
	if m := p.measuresOf(r); m != nil {
		to := counting{in: &m.Counted}
		to.giveUp(r)
		if r.Lost && r.Answered() {
			to.withdraw(deadline)
		}
	}
}

func (p *Phases) answered(nowNs int64, r *server.Request) {
	how := failureOf(r)
	if how == nil {
		return
	}
	p.failed(nowNs, r)
	if m := p.measuresOf(r); m != nil {
		counting{in: &m.Counted}.fail(r, how)
	}
}

// changed follows the restarts of the servers.
func (p *Phases) changed(nowNs int64, s *server.Server) {
	r := &p.stops[s.Index()]
	if nowNs < p.StartNs || r.over {
		return
	}
	switch stage := s.Stage(); {
	case stage == server.Off && r.stopNs >= 0:
		p.StopNs = max(p.StopNs, nowNs-r.stopNs)
	case stage > server.Ready && r.stopNs < 0:
		r.stopNs = nowNs
	case stage == server.Ready && r.stopNs >= 0:
		r.over = true
		for _, other := range p.stops {
			if !other.over {
				return
			}
		}
		p.EndNs = nowNs
	}
}

// tick counts, at the end of the run, the requests that are unfinished.
func (p *Phases) tick(nowNs int64, servers []*server.Server) int64 {
	if nowNs < p.durationNs {
		return p.durationNs
	}
	for _, s := range servers {
		s.InFlight(func(r *server.Request) {
			m, late := p.measuresOf(r), p.EndNs >= 0 && r.ArrivalNs > p.EndNs
			if m != nil && !late && isOpen(r) && isUnfinished(p.durationNs, s, r, 0) {
				counting{in: &m.Counted}.count(unfinished, 1)
			}
		})
	}
	return 0
}
