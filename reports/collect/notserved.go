package collect

import (
	"apfsim/core/queueset"
	"apfsim/reports/measure"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// answered counts the answer to a request, which is a failure or not.
func (c *Collector) answered(nowNs int64, r *server.Request) {
	how := measure.FailureOf(r)
	if c.kinds != nil && r.Refusal == metric.NotRefused && !r.Opened {
		served := how == measure.NoFailure && !r.Lost && r.Rejection == queueset.NotRejected
		c.closed(nowNs, r, c.flowOf(r).level, served)
	}
	if !c.counts(r) {
		return
	}
	if r.Refusal != metric.NotRefused {
		c.partAt(r.Workload, c.refused, int(r.Server)).Answer(r)
		return
	}
	if c.servers != nil {
		c.partOf(r, c.flowOf(r)).Answer(r)
	}
	if how != measure.NoFailure {
		f := c.flowOf(r)
		c.partOf(r, f).Fail(r, how)
		f.rarely().failures.Fail(r, how)
	}
}

// withdraw takes back the failure of a request that was answered while it executed, and is lost now.
func (c *Collector) withdraw(f *flow, r *server.Request) {
	if r.Lost && r.Answered() {
		c.partOf(r, f).Withdraw(measure.Deadline)
		f.rarely().failures.Withdraw(measure.Deadline)
	}
}

// endOpen counts the requests that are open at the end of the run: how long those had waited that were queued, and
// those that are unfinished.
func (c *Collector) endOpen(servers []*server.Server) {
	oldNs := make([]int64, len(c.scenario.Spec.Workload)) // from this age on; 0 if not known yet
	for _, s := range servers {
		s.InFlight(func(r *server.Request) {
			c.openAtEnd(r)
			if !measure.IsOpen(r) || !c.counts(r) {
				return
			}
			f, ageNs := c.flowOf(r), c.toNs-r.ArrivalNs
			p := c.partOf(r, f)
			if r.DispatchNs < 0 {
				p.Queued.Record(ageNs)
				f.rarely().queued = append(f.rarely().queued, ageNs)
			}
			old := &oldNs[r.Workload]
			if *old == 0 {
				*old = c.unfinishedAgeNs(r.Workload)
			}
			if ageNs > *old {
				p.Failed[measure.Unfinished]++
				f.rarely().failures.Failed[measure.Unfinished]++
			}
		})
	}
}

// endFreezes ends the freezes that last until the end of the run.
func (c *Collector) endFreezes() {
	for i := range c.freezes {
		c.freezes[i].end(c.toNs, c.fromNs)
	}
	for _, l := range c.levels {
		l.freeze.end(c.toNs, c.fromNs)
	}
}

// unfinishedAgeNs returns the age from which on requests of a workload are unfinished that are open at the end of the
// run: the latency p99.
func (c *Collector) unfinishedAgeNs(workload int) int64 {
	m := c.merged(func(p *part) bool { return p.workload == workload })
	if m.Timed[measure.Latency].N == 0 {
		return measure.UnfinishedNs
	}
	return m.Timed[measure.Latency].PercentileNs(99)
}
