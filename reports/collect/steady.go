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
)

// batch is what a priority level did in a part of the window.
type batch struct {
	seconds float64
	waiting float64 // request-seconds in the queues
	limit   float64 // seat-seconds
	arrived int64
}

func (b *batch) add(other *batch) {
	b.seconds, b.waiting, b.limit = b.seconds+other.seconds, b.waiting+other.waiting, b.limit+other.limit
	b.arrived += other.arrived
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
		all[i/each].add(&batch{seconds, p.WaitingRequests * seconds, p.CurrentLimit * seconds, p.Arrived})
	}
	return all
}

func sumOf(some []batch) (sum batch) {
	for i := range some {
		sum.add(&some[i])
	}
	return sum
}

// addUnsteady adds the reasons to doubt that the levels were in steady state.
func (c *Collector) addUnsteady(s *result.Summary) {
	scripted := changesByScript(&c.scenario.Spec)
	for _, l := range c.levels {
		if !l.known || l.exempt() {
			continue
		}
		if u := l.unsteady(); u != nil {
			u.FromNs, u.ToNs, u.Level, u.Scripted = c.fromNs, c.toNs, l.name, scripted
			s.TrustUnsteady(u)
		}
	}
}

// unsteady returns why the level was not in steady state; nil if nothing is known against it.
func (l *level) unsteady() *result.Unsteady {
	all := l.batched()
	total := sumOf(all)
	if total.arrived < leastTested || total.waiting == 0 || total.limit == 0 {
		return nil
	}
	demand := 0.0 // seat-seconds of the requests of the window
	for _, f := range l.flows {
		demand += f.demand / 1e9
	}
	before, last := sumOf(all[:batches-fifth]), sumOf(all[batches-fifth:])
	u := &result.Unsteady{Waits: [2]float64{before.waitNs(), last.waitNs()}, Backlogs: [2]float64{before.backlog(), last.backlog()}}
	if u.Load = demand / total.limit; u.Load >= 1 {
		u.Kind = result.Load1
		return u
	}
	if last.limit > 0 {
		u.Load = demand / float64(total.arrived) * float64(last.arrived) / last.limit
	}
	if u.Load >= 1 && overtakes(all) {
		u.Kind = result.Drift
		return u
	}
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
	return nil
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
		if a.Ramping != nil || a.Burst != nil || a.Trace != nil || w.Start > spec.Warmup || w.Stop > 0 && w.Stop < spec.Duration {
			return true
		}
	}
	return false
}
