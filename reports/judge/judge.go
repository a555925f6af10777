// Package judge decides which results are good and which are bad, and why. It contains one table of
// criteria, which docs/reference/statistics.md shows. Group and Level apply it to the workloads and
// priority levels of a run, Replications to those of several runs together. Underserved and
// OverDemanding classify the flows of a run.
//
// Verdict computes the verdict on a run as a whole: StatusOf has its rules. The causes of harm at a priority level come from a
// queue of a fluid (cause_level.go), those of requests that failed otherwise from how their executions spent their time
// (cause.go); remedy.go has what may help. Runs combines the verdicts of several runs.
package judge

import (
	"math"

	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// Judgement is the mark of a finding, a cell of a table or a verdict. Its text is the class that
// report.css colours.
type Judgement string

// The judgements. Neutral is neither good nor bad, or not judged.
const (
	Neutral Judgement = ""
	Good    Judgement = "good"
	Bad     Judgement = "bad"
)

// figures are the numbers that a group of requests is judged by; NaN where there is no such number.
// Durations are in nanoseconds, shares between 0 and 1.
type figures struct {
	undispatched    float64 // 1 if requests arrived and none was dispatched, else 0
	notServed       float64 // share of the requests that arrived, see result.NotServed
	waiting         float64 // share of the requests that arrived and were still queued at the end
	waitP99         float64 // of these with what they had waited, see result.StillQueued
	waitMax         float64
	virtualP99      float64 // workloads only
	virtualRejected float64 // workloads only: share of the random moments
	stall           float64 // the longest stall of a workload, or the longest freeze
	starvation      float64 // the longest starvation of a flow; levels only
	shortfall       float64 // 1 − lowest service/fair share of a flow; only levels in which requests waited or were rejected
	noSeats         float64 // how long the limit was 0; levels only
}

// criterion is one row of the table from figures to judgements: a group is good if no figure exceeds
// good, and bad if one reaches bad. Each row is in docs/reference/statistics.md.
type criterion struct {
	figure    string
	good, bad float64
	unit      string // ns, or empty for a share
	value     func(*figures) float64
}

// criteria is the table. 1 s is Kubernetes' objective for the latency of reads and writes of single
// objects, 10 s the time between two adjustments of the limits.
var criteria = []criterion{
	{"none dispatched", 0, 1, "", func(f *figures) float64 { return f.undispatched }},
	{"not served", 0, 0.001, "", func(f *figures) float64 { return f.notServed }},
	{"still queued at the end", 0.01, 0.1, "", func(f *figures) float64 { return f.waiting }},
	{"wait p99", 100e6, 1e9, "ns", func(f *figures) float64 { return f.waitP99 }},
	{"wait max", 1e9, 10e9, "ns", func(f *figures) float64 { return f.waitMax }},
	{"virtual wait p99", 100e6, 1e9, "ns", func(f *figures) float64 { return f.virtualP99 }},
	{"rejected at a random moment", 0, 0.01, "", func(f *figures) float64 { return f.virtualRejected }},
	{"longest stall or freeze", 1e9, 5e9, "ns", func(f *figures) float64 { return f.stall }},
	{"longest starvation of a flow", 1e9, 5e9, "ns", func(f *figures) float64 { return f.starvation }},
	{"least service of a flow below its fair share", 0.05, 0.5, "", func(f *figures) float64 { return f.shortfall }},
	{"limit of 0 seats", 0, 1e9, "ns", func(f *figures) float64 { return f.noSeats }},
}

// judgement returns Bad if one of the figures is bad, Good if all are good, else Neutral. A figure
// of NaN is not judged.
func (f *figures) judgement() Judgement {
	j := Good
	for i := range criteria {
		c := &criteria[i]
		switch x := c.value(f); {
		case x >= c.bad:
			return Bad
		case x > c.good:
			j = Neutral
		}
	}
	return j
}

// noFigures returns figures of which none is judged.
func noFigures() figures {
	nan := math.NaN()
	return figures{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}
}

// figuresOf returns the figures of a group in which requests arrived.
func figuresOf(g *result.Group) figures {
	f := noFigures()
	share := func(n int64) float64 { return float64(n) / float64(g.Arrived) }
	f.notServed, f.waiting, f.undispatched = share(g.NotServedTotal()), share(g.Waiting), 1
	if g.Wait != nil {
		f.undispatched = 0
	}
	if ns, n, ok := g.WaitP99Ns(); ok && measure.Enough(99, n) {
		f.waitP99 = float64(ns)
	}
	if ns, ok := g.WaitMaxNs(); ok {
		f.waitMax = float64(ns)
	}
	if v := g.VirtualWait; v != nil {
		f.virtualRejected = v.RejectedRate()
		if v.Wait != nil && measure.Enough(99, v.Wait.Count) {
			f.virtualP99 = float64(v.Wait.P99Ns)
		}
	}
	if g.Stall != nil {
		f.stall = float64(g.Stall.MaxNs)
	}
	if g.Freeze != nil && !(float64(g.Freeze.MaxNs) <= f.stall) {
		f.stall = float64(g.Freeze.MaxNs)
	}
	return f
}

// Group returns the judgement of a group, Neutral if no request arrived.
func Group(g *result.Group) Judgement {
	if g.Arrived == 0 {
		return Neutral
	}
	f := figuresOf(g)
	return f.judgement()
}

// Level returns the judgement of a priority level, Neutral if no request arrived.
func Level(l *result.Level) Judgement {
	if l.Arrived == 0 {
		return Neutral
	}
	f := figuresOf(&l.Group)
	if l.Starvation != nil {
		f.starvation = float64(l.Starvation.MaxNs)
	}
	// If no request waited or was rejected, a service below the fair share only means that requests
	// were still executing when the window ended.
	if l.Fairness != nil && (l.Rejected > 0 || Waited(&l.Group)) {
		f.shortfall = 1 - l.Fairness.LeastRatio
	}
	if l.NoSeats != nil {
		f.noSeats = float64(l.NoSeats.TotalNs)
	}
	return f.judgement()
}
