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

// servedUsual says whether a request counts for freezes. Long-running requests do not, except watches, which are served
// once they are initialised.
func servedUsual(r *server.Request) bool {
	return r.IsWatch() || r.Kind().TimeLimitNs() < filter.NoLimitNs
}

func (z *noAnswer) enter(nowNs int64) {
	if z.open == 0 {
		z.sinceNs = nowNs
	}
	z.open++
}

// leave removes a request that is no longer open. If it was served, this ends a freeze; lateNs is the time from which
// on it was late.
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

// waitsNs records that a request is open at the end of the run and late from lateNs on.
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

// lateNs returns the time from which on a request is late: lateAfter times the mean of its kind after its arrival, or
// the time that the scenario gives it if that is longer. It is the end of the run if too few of the kind were executed.
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

// opened counts a request that becomes open.
func (c *Collector) opened(nowNs int64, r *server.Request, l *level) {
	if c.kinds != nil && servedUsual(r) {
		c.noAnswers[r.Workload].enter(nowNs)
		l.noAnswer.enter(nowNs)
	}
}

// closed counts a request that is no longer open.
func (c *Collector) closed(nowNs int64, r *server.Request, l *level, served bool) {
	if c.kinds != nil && servedUsual(r) {
		w := &c.noAnswers[r.Workload]
		lateNs := nowNs // when no time without an answer could be long enough to be recorded
		if nowNs-min(w.sinceNs, l.noAnswer.sinceNs) >= result.StallNs {
			lateNs = c.lateNs(r, l)
		}
		w.leave(nowNs, lateNs, c.fromNs, served)
		l.noAnswer.leave(nowNs, lateNs, c.fromNs, served)
	}
}

// openAtEnd records a request whose client still waits for the answer at the end of the run. A lost request is included
// as long as its client does not know that it is lost.
func (c *Collector) openAtEnd(r *server.Request) {
	if c.kinds == nil || !servedUsual(r) || r.Answered() || r.Opened {
		return
	}
	l := c.flowOf(r).level
	lateNs := c.lateNs(r, l)
	c.noAnswers[r.Workload].waitsNs(lateNs)
	l.noAnswer.waitsNs(lateNs)
}
