package collect

import (
	"math"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

const (
	batches     = 20          // equal ones, of the window
	fifth       = batches / 5 // of the batches
	leastTested = 200         // requests that must have arrived at a level for a verdict on its state

	// trendZ is the Mann–Kendall statistic beyond which a trend is significant, of the waits and of the backlog. Independent
	// batches exceed it with a probability of 0.001; those of queues depend on each other more than the correction
	// for autocorrelation knows.
	trendZ = 3.29
	// leastGrowth is the ratio between the last and the first fifth below which a trend is not worth a note.
	leastGrowth = 1.5

	// growthZ is the Mann–Kendall statistic beyond which waits or backlog grow, p < 0.01 on both sides.
	growthZ = 2.576
	// leastBacklog is the share of what a level dispatched in the window that must wait at the end for a note.
	leastBacklog = 0.05
)

// batch sums the work of a priority level in a part of the window.
type batch struct {
	seconds float64
	waiting float64 // request-seconds in the queues
	limit   float64 // seat-seconds
	arrived int64

	dispatched int64
}

func (b *batch) add(other *batch) {
	b.seconds, b.waiting, b.limit = b.seconds+other.seconds, b.waiting+other.waiting, b.limit+other.limit
	b.arrived, b.dispatched = b.arrived+other.arrived, b.dispatched+other.dispatched
}

// backlog returns the mean number of queued requests.
func (b *batch) backlog() float64 { return b.waiting / b.seconds }

// waitNs returns the mean wait by Little's law, L = λW.
func (b *batch) waitNs() float64 { return b.waiting / float64(max(b.arrived, 1)) * 1e9 }

// batched divides the points of the level in the window into batches of as many points each. Points at the beginning that
// are too many are left out; it returns nil if there are too few.
func (l *level) batched() []batch {
	points := l.points
	for len(points) > 0 && points[0].StartNs < l.fromNs {
		points = points[1:]
	}
	each := len(points) / batches
	if each == 0 {
		return nil
	}
	points = points[len(points)-each*batches:]
	all := make([]batch, batches)
	for i := range points {
		p := &points[i]
		seconds := p.Seconds()
		all[i/each].add(&batch{seconds, p.WaitingRequests * seconds, p.CurrentLimit * seconds, p.Arrived, p.Dispatched})
	}
	return all
}

func sumOf(some []batch) (sum batch) {
	for i := range some {
		sum.add(&some[i])
	}
	return sum
}

// addUnsteady adds the reasons to doubt that the levels were in steady state, or that the window begins late enough, and
// says of each level whether its waits or its backlog grew.
func (c *Collector) addUnsteady(s *result.Summary) {
	scripted := changesByScript(&c.scenario.Spec)
	if doubt := c.scenario.Spec.Warmup.Doubt; doubt != "" {
		s.AddTrust(result.ShortWarmupID, doubt)
	}
	for _, l := range c.levels {
		if !c.settles(l) {
			continue
		}
		all := l.batched()
		for i := range s.PriorityLevels {
			if s.PriorityLevels[i].Name == l.name {
				s.PriorityLevels[i].Growth = growthOf(all)
			}
		}
		if u := l.unsteady(all); u != nil {
			u.FromNs, u.ToNs, u.Level, u.Scripted = c.fromNs, c.toNs, l.name, scripted
			s.TrustUnsteady(u)
		} else if !scripted && !c.scenario.Spec.Warmup.Auto {
			if short := l.shortWarmup(c.fromNs, c.toNs, c.intervalNs); short != nil {
				s.TrustShortWarmup(short)
			}
		}
	}
}

// unsteady returns why the level was not in steady state, from its batches; nil if nothing is known against it.
func (l *level) unsteady(all []batch) *result.Unsteady {
	total := sumOf(all)
	if total.arrived < leastTested || total.waiting == 0 {
		return nil
	}
	demand := 0.0 // seat-seconds of the requests of the window
	for _, f := range l.flows {
		demand += f.demand / 1e9
	}
	before, last := sumOf(all[:batches-fifth]), sumOf(all[batches-fifth:])
	u := &result.Unsteady{Waits: [2]float64{before.waitNs(), last.waitNs()}, Backlogs: [2]float64{before.backlog(), last.backlog()}}
	u.Load = demand / total.limit // without a limit, +Inf
	if l.backlogged(&total, u.Load) {
		u.Waiting = int64(l.waiting.value)
		u.ServedIn = total.seconds * float64(u.Waiting) / float64(total.dispatched)
	}
	if u.Load >= 1 {
		u.Kind = result.Load1
		return u
	}
	inWindow := u.Load
	if last.limit > 0 {
		u.Load = demand / float64(total.arrived) * float64(last.arrived) / last.limit
	}
	if u.Load >= 1 && overtakes(all) {
		u.Kind = result.Drift
		return u
	}
	u.Load = inWindow
	var waits, backlogs []float64
	for i := range all {
		waits, backlogs = append(waits, all[i].waitNs()), append(backlogs, all[i].backlog())
	}
	first := sumOf(all[:fifth])
	u.Waits[0], u.Backlogs[0] = first.waitNs(), first.backlog()
	if significant(waits) && significant(backlogs) && (u.Backlogs[1] >= leastGrowth*u.Backlogs[0] || u.Backlogs[0] >= leastGrowth*u.Backlogs[1]) {
		u.Kind = result.NotSteady
		return u
	}
	if u.Waiting > 0 {
		u.Kind = result.Backlog
		return u
	}
	return nil
}

// backlogged says whether more requests wait at the end than the level dispatched in a twentieth of the window, and more
// than wait in one of ten thousand moments if arrivals and executions are exponential and the load is the same. There, so
// many or more wait with a probability below loadⁿ.
func (l *level) backlogged(total *batch, load float64) bool {
	const rare = 1e-4
	n := float64(l.waiting.value)
	return n >= leastBacklog*float64(total.dispatched) && n > 0 && (load >= 1 || n > math.Log(rare)/math.Log(load))
}

// growthOf returns whether waits and backlog grew; nil if neither did, or the backlog is not much greater at the end.
func growthOf(all []batch) *result.Growth {
	if sum := sumOf(all); sum.arrived < leastTested || sum.waiting == 0 {
		return nil
	}
	first, last := sumOf(all[:fifth]), sumOf(all[batches-fifth:])
	if last.backlog() < leastGrowth*first.backlog() {
		return nil
	}
	var waits, backlogs []float64
	for i := range all {
		waits, backlogs = append(waits, all[i].waitNs()), append(backlogs, all[i].backlog())
	}
	wait, backlog := measure.MannKendall(waits), measure.MannKendall(backlogs)
	g := &result.Growth{Waits: wait.Z() > growthZ, Backlog: backlog.Z() > growthZ}
	if !g.Waits && !g.Backlog {
		return nil
	}
	return g
}

// overtakes says whether the backlog was greater in each batch of the last fifth than in any batch before.
func overtakes(all []batch) bool {
	most, least := 0.0, math.Inf(1)
	for i := range all {
		if i < batches-fifth {
			most = max(most, all[i].backlog())
		} else {
			least = min(least, all[i].backlog())
		}
	}
	return least > most
}

func significant(values []float64) bool {
	t := measure.MannKendall(values)
	return math.Abs(t.Z()) > trendZ
}

// changesByScript says whether the scenario itself makes the run change: by events, or by workloads that change their rate,
// come in bursts, replay a log, begin in the window or stop before its end.
func changesByScript(spec *scenario.Spec) bool {
	if len(spec.Events) > 0 {
		return true
	}
	for i := range spec.Workload {
		w := &spec.Workload[i]
		a := &w.Arrivals
		if a.Ramping != nil || a.Burst != nil || a.Trace != nil || w.Start > spec.Warmup.Duration || w.Stop > 0 && w.Stop < spec.Duration {
			return true
		}
	}
	return false
}
