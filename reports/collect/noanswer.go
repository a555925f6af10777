package collect

import (
	"apfsim/core/filter"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// noAnswer tracks the times in which requests are open and none is served, of a workload or of a level. It matters where
// executions take as long as servers make them take: clients in a closed loop send nothing meanwhile, wait in no queue, and
// are served a few slow requests in the end, of which percentiles know little.
type noAnswer struct {
	open    int
	sinceNs int64 // since when requests are open and none has been served

	lateNs int64 // the earliest time from which on a request is late that is open at the end; 0 without one

	count     int64
	longestNs int64 // within the window
	fromNs    int64 // when the longest began
}

const (
	lateAfter = 10 // times the mean time of its kind, a request is late
	lateFrom  = 10 // as many requests of the kind must have been executed
)

// servedUsual says whether a request is one of those that freezes are about: not one that runs long.
func servedUsual(r *server.Request) bool {
	return r.IsWatch() || r.Kind().TimeLimitNs() < filter.NoLimitNs
}

func (z *noAnswer) enter(nowNs int64) {
	if z.open == 0 {
		z.sinceNs = nowNs
	}
	z.open++
}

// leave removes a request that is not open any more. One that was served, and was late from a time on, ends a freeze.
func (z *noAnswer) leave(nowNs, lateNs, windowNs int64, served bool) {
	z.open--
	if served {
		z.record(nowNs, lateNs, windowNs)
		z.sinceNs = nowNs
	}
}

func (z *noAnswer) record(nowNs, lateNs, windowNs int64) {
	fromNs := max(z.sinceNs, lateNs, windowNs)
	if ns := nowNs - fromNs; ns >= result.StallNs {
		z.count++
		if ns > z.longestNs {
			z.longestNs, z.fromNs = ns, fromNs
		}
	}
}

// waitsNs notes that a request that is open at the end of the run is late from a time on.
func (z *noAnswer) waitsNs(lateNs int64) {
	if z.lateNs == 0 || lateNs < z.lateNs {
		z.lateNs = lateNs
	}
}

func (z *noAnswer) end(nowNs, windowNs int64) {
	if z.lateNs > 0 {
		z.record(nowNs, z.lateNs, windowNs)
	}
}

func (z *noAnswer) summary() *result.Freeze {
	return &result.Freeze{MaxNs: z.longestNs, FromNs: z.fromNs, Count: z.count}
}

// lateNs returns from when on a request is late.
func (c *Collector) lateNs(r *server.Request, l *level) int64 {
	kind := l.ofKind(c.kinds.kindOf(r)).kindUsage
	if r.FinishNs >= 0 && c.counts(r) { // all but itself
		kind.measured, kind.serveNs = kind.measured-1, kind.serveNs-float64(r.FinishNs-r.ArrivalNs)
	}
	if kind.measured < lateFrom {
		return c.toNs
	}
	ns := int64(lateAfter * kind.serveNs / float64(kind.measured))
	if d := r.Details; d == nil || d.Answer.Status == 0 { // else a store has executed it
		ownNs := givenNs(r)
		if d != nil {
			ownNs += d.DelayNs
		}
		ns = max(ns, ownNs)
	}
	return r.ArrivalNs + ns
}

// opened counts a request that is open from now on.
func (c *Collector) opened(nowNs int64, r *server.Request, l *level) {
	if c.kinds != nil && servedUsual(r) {
		c.noAnswers[r.Workload].enter(nowNs)
		l.noAnswer.enter(nowNs)
	}
}

// closed counts a request that is not open any more.
func (c *Collector) closed(nowNs int64, r *server.Request, l *level, served bool) {
	if c.kinds != nil && servedUsual(r) {
		lateNs := c.lateNs(r, l)
		c.noAnswers[r.Workload].leave(nowNs, lateNs, c.fromNs, served)
		l.noAnswer.leave(nowNs, lateNs, c.fromNs, served)
	}
}

// openAtEnd notes a request that is in flight at the end of the run, if its client waits for the answer: also for one
// that is lost, as long as the client does not know that.
func (c *Collector) openAtEnd(r *server.Request) {
	if c.kinds == nil || !servedUsual(r) || r.Answered() || r.Opened {
		return
	}
	l := c.flowOf(r).level
	lateNs := c.lateNs(r, l)
	c.noAnswers[r.Workload].waitsNs(lateNs)
	l.noAnswer.waitsNs(lateNs)
}
