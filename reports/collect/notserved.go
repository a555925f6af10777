package collect

import (
	"apfsim/core/queueset"
	"apfsim/reports/measure"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// answered counts the answer to a request, which is a failure or not.
func (c *Collector) answered(nowNs int64, r *server.Request) {
	how := failureOf(r)
	if how != nil {
		c.workloads.Failed(r)
	}
	if c.kinds != nil && r.Refusal == metric.NotRefused && !r.Opened {
		served := how == nil && !r.Lost && r.Rejection == queueset.NotRejected
		c.closed(nowNs, r, c.flowOf(r).level, served)
	}
	if !c.counts(r) {
		return
	}
	if r.Refusal != metric.NotRefused {
		c.partAt(r.Workload, c.refused, int(r.Server)).Responses.Add(int(r.Status), 1)
		return
	}
	if c.servers != nil {
		c.partOf(r, c.flowOf(r)).Responses.Add(int(r.Status), 1)
	}
	if how == deadline {
		c.partOf(r, c.flowOf(r)).TooLate.Record(nowNs - r.ArrivalNs)
	}
	if how != nil {
		c.countingOf(r, c.flowOf(r)).fail(r, how)
		c.evidence.fail(nowNs, r, how)
	}
}

// endOpen counts the requests that are open at the end of the run: how long those had waited that were queued, and
// those that are unfinished.
func (c *Collector) endOpen(servers []*server.Server) {
	oldNs := make([]int64, len(c.scenario.Spec.Workload)) // from this age on; 0 if not known yet
	for _, s := range servers {
		s.InFlight(func(r *server.Request) {
			c.openAtEnd(r)
			if !isOpen(r) || !c.counts(r) {
				return
			}
			f, ageNs := c.flowOf(r), c.toNs-r.ArrivalNs
			p := c.partOf(r, f)
			if r.DispatchNs < 0 {
				p.Queued.Record(ageNs)
				f.queuedAtEnd(ageNs)
			}
			old := &oldNs[r.Workload]
			if *old == 0 {
				*old = c.unfinishedAgeNs(r.Workload)
			}
			session := r.Attributes.LongRunning() && r.Attributes.Verb != "watch" // which lasts as long as its client likes
			if ageNs > *old && !session {
				counting{&p.Counted, f}.count(unfinished, 1)
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
		return metric.UnfinishedNs
	}
	return m.Timed[measure.Latency].PercentileNs(99)
}
