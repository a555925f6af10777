// Package judge decides which results are good or bad, by the limits in
// docs/reference/statistics.md.
package judge

import (
	"math"

	"apfsim/reports/result"
)

func Boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// figuresJudged is what a group of requests is judged by, NaN for what there is not. Durations are in
// nanoseconds, parts between 0 and 1.
type figuresJudged struct {
	Undispatched    float64 // 1 when requests arrived and none was dispatched, else 0
	Rejected        float64 // part of the requests that arrived
	Waiting         float64 // part of the requests that arrived and were still queued at the end
	WaitP99         float64
	WaitMax         float64
	VirtualP99      float64 // of a workload
	VirtualRejected float64 // of a workload: part of the random moments
	Stall           float64 // the longest
	Starvation      float64 // of a level: the longest of a flow
	Shortfall       float64 // of a level where requests waited: 1 − least service/fair share of a flow
	noSeats         float64 // of a level: how long its limit was 0
}

// judgement is one row of the table from figures to verdicts: a group is good if no figure exceeds
// good, and bad if one reaches bad. Each row is in docs/reference/statistics.md.
type judgement struct {
	figure    string
	good, bad float64
	unit      string // ns, or "" for a part
	of        func(*figuresJudged) float64
}

// judgements is the table. A second is Kubernetes' objective for the latency of single reads and
// writes, 10 s the time between adjustments of the limits.
var judgements = []judgement{
	{"none dispatched", 0, 1, "", func(f *figuresJudged) float64 { return f.Undispatched }},
	{"rejected", 0, 0.001, "", func(f *figuresJudged) float64 { return f.Rejected }},
	{"still queued at the end", 0.01, 0.1, "", func(f *figuresJudged) float64 { return f.Waiting }},
	{"wait p99", 100e6, 1e9, "ns", func(f *figuresJudged) float64 { return f.WaitP99 }},
	{"wait max", 1e9, 10e9, "ns", func(f *figuresJudged) float64 { return f.WaitMax }},
	{"virtual wait p99", 100e6, 1e9, "ns", func(f *figuresJudged) float64 { return f.VirtualP99 }},
	{"rejected at a random moment", 0, 0.01, "", func(f *figuresJudged) float64 { return f.VirtualRejected }},
	{"longest stall", 1e9, 5e9, "ns", func(f *figuresJudged) float64 { return f.Stall }},
	{"longest starvation of a flow", 1e9, 5e9, "ns", func(f *figuresJudged) float64 { return f.Starvation }},
	{"least service of a flow below its fair share", 0.05, 0.5, "", func(f *figuresJudged) float64 { return f.Shortfall }},
	{"limit of 0 seats", 0, 1e9, "ns", func(f *figuresJudged) float64 { return f.noSeats }},
}

// Judge returns Bad if one of the figures is, Good if all are, else Neutral.
func (f *figuresJudged) Judge() Judgement {
	mood := Good
	for i := range judgements {
		j := &judgements[i]
		switch x := j.of(f); {
		case x >= j.bad:
			return Bad
		case x > j.good:
			mood = Neutral
		}
	}
	return mood
}

var nan = math.NaN()

// NoFigures judges nothing.
func NoFigures() figuresJudged {
	return figuresJudged{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}
}

// Figures returns what the group is judged by. Some requests must have arrived.
func Figures(g *result.Group) figuresJudged {
	f := NoFigures()
	part := func(n int64) float64 { return float64(n) / float64(g.Arrived) }
	f.Rejected, f.Waiting, f.Undispatched = part(g.Rejected), part(g.Waiting), float64(Boolean(g.Wait == nil))
	if g.Wait != nil {
		f.WaitP99, f.WaitMax = float64(g.Wait.P99Ns), float64(g.Wait.MaxNs)
	}
	if v := g.VirtualWait; v != nil {
		f.VirtualRejected = v.RejectedRate()
		if v.Wait != nil {
			f.VirtualP99 = float64(v.Wait.P99Ns)
		}
	}
	if g.Stall != nil {
		f.Stall = float64(g.Stall.MaxNs)
	}
	return f
}

// Group is the verdict on a group: none where no request arrived.
func Group(g *result.Group) Judgement {
	if g.Arrived == 0 {
		return Neutral
	}
	f := Figures(g)
	return f.Judge()
}

// Level is the verdict on a priority level.
func Level(l *result.Level) Judgement {
	if l.Arrived == 0 {
		return Neutral
	}
	f := Figures(&l.Group)
	if l.Starvation != nil {
		f.Starvation = float64(l.Starvation.MaxNs)
	}
	// Where nobody waited or was rejected, what flows lack of their shares lies beyond the window.
	if l.Fairness != nil && (l.Rejected > 0 || Waited(&l.Group)) {
		f.Shortfall = 1 - l.Fairness.LeastRatio
	}
	if l.NoSeats != nil {
		f.noSeats = float64(l.NoSeats.TotalNs)
	}
	return f.Judge()
}

// Judgement marks what a finding or a cell says: Good, Bad, or neither.
type Judgement string

// The moods.
const (
	Neutral Judgement = ""
	Good    Judgement = "good"
	Bad     Judgement = "bad"
)
