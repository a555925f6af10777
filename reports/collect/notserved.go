package collect

import (
	"apfsim/core/queueset"
	"apfsim/reports/judge"
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
		c.inGroupAt(r.Workload, c.refused, int(r.Server)).Responses.Add(int(r.Status), 1)
		return
	}
	if c.servers != nil {
		c.inGroupOf(r, c.flowOf(r)).Responses.Add(int(r.Status), 1)
	}
	if how == deadline {
		c.inGroupOf(r, c.flowOf(r)).TooLate.Record(nowNs - r.ArrivalNs)
	}
	if how != nil {
		c.countingOf(r, c.flowOf(r)).fail(r, how)
		c.evidence.fail(nowNs, r, how)
	}
}

// endOpen counts the requests that are open at the end of the run: how long those had waited that were queued, and
// those that are unfinished.
func (c *Collector) endOpen(servers []*server.Server) {
	for _, s := range servers {
		s.InFlight(func(r *server.Request) {
			c.openAtEnd(r)
			if !isOpen(r) || !c.counts(r) {
				return
			}
			f := c.flowOf(r)
			p := c.inGroupOf(r, f)
			if r.DispatchNs < 0 {
				p.Queued.Record(c.toNs - r.ArrivalNs)
				f.queuedAtEnd(c.toNs - r.ArrivalNs)
			}
			if isUnfinished(c.toNs, s, r, c.usualNs(r, f.level)) {
				counting{&p.Counted, f}.count(unfinished, 1)
			}
		})
	}
}

// isUnfinished says whether a request that is open at the end of the run was not served. The run has to end somewhere, so
// that one which waits briefly, or executes for as long as its execution takes, is no failure: it must have been queued
// for as long as a wait p99 that is harm, or execute for longer than by itself, by as much as a freeze that is harm.
// Requests that run long have no end of their own. usualNs is how long an execution takes that follows from a store.
func isUnfinished(endNs int64, s *server.Server, r *server.Request, usualNs int64) bool {
	if r.DispatchNs < 0 {
		return endNs-r.ArrivalNs >= judge.HarmWaitNs
	}
	if r.Attributes.LongRunning() {
		return false
	}
	ownNs := max(givenNs(r), usualNs)
	if d := r.Details; d != nil {
		ownNs += d.DelayNs + r.Spent(endNs).CallsNs - s.CallLateNs(endNs, r)
	}
	return endNs-r.DispatchNs-ownNs >= judge.HarmStallNs
}

// usualNs returns the threshold from which on an execution of the request's kind is late, if the store determines
// executions. It is 0 if the scenario gives the execution, or if too little is known.
func (c *Collector) usualNs(r *server.Request, l *level) int64 {
	if c.kinds == nil || givenNs(r) > 0 {
		return 0
	}
	kind := &l.ofKind(c.kinds.kindOf(r)).kindUsage
	if kind.measured < lateFrom {
		return 0
	}
	return int64(lateAfter * kind.serveNs / float64(kind.measured))
}

// endFreezes ends the freezes that last until the end of the run.
func (c *Collector) endFreezes() {
	for i := range c.noAnswers {
		c.noAnswers[i].end(c.toNs, c.fromNs)
	}
	for _, l := range c.levels {
		l.noAnswer.end(c.toNs, c.fromNs)
	}
}
