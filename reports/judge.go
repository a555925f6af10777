package reports

import "math"

// figuresJudged is what a group of requests is judged by, NaN for what there is not. Durations are in
// nanoseconds, parts between 0 and 1.
type figuresJudged struct {
	undispatched    float64 // 1 when requests arrived and none was dispatched, else 0
	rejected        float64 // part of the requests that arrived
	waiting         float64 // part of the requests that arrived and were still queued at the end
	waitP99         float64
	waitMax         float64
	virtualP99      float64 // of a workload
	virtualRejected float64 // of a workload: part of the random moments
	stall           float64 // the longest
	starvation      float64 // of a level: the longest of a flow
	shortfall       float64 // of a level where requests waited: 1 − least service/fair share of a flow
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
	{"none dispatched", 0, 1, "", func(f *figuresJudged) float64 { return f.undispatched }},
	{"rejected", 0, 0.001, "", func(f *figuresJudged) float64 { return f.rejected }},
	{"still queued at the end", 0.01, 0.1, "", func(f *figuresJudged) float64 { return f.waiting }},
	{"wait p99", 100e6, 1e9, "ns", func(f *figuresJudged) float64 { return f.waitP99 }},
	{"wait max", 1e9, 10e9, "ns", func(f *figuresJudged) float64 { return f.waitMax }},
	{"virtual wait p99", 100e6, 1e9, "ns", func(f *figuresJudged) float64 { return f.virtualP99 }},
	{"rejected at a random moment", 0, 0.01, "", func(f *figuresJudged) float64 { return f.virtualRejected }},
	{"longest stall", 1e9, 5e9, "ns", func(f *figuresJudged) float64 { return f.stall }},
	{"longest starvation of a flow", 1e9, 5e9, "ns", func(f *figuresJudged) float64 { return f.starvation }},
	{"least service of a flow below its fair share", 0.05, 0.5, "", func(f *figuresJudged) float64 { return f.shortfall }},
	{"limit of 0 seats", 0, 1e9, "ns", func(f *figuresJudged) float64 { return f.noSeats }},
}

// judge returns Bad if one of the figures is, Good if all are, else Neutral.
func (f *figuresJudged) judge() Mood {
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

// noFigures judges nothing.
func noFigures() figuresJudged {
	return figuresJudged{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan}
}

// figures returns what the group is judged by. Some requests must have arrived.
func (g *Group) figures() figuresJudged {
	f := noFigures()
	part := func(n int64) float64 { return float64(n) / float64(g.Arrived) }
	f.rejected, f.waiting, f.undispatched = part(g.Rejected), part(g.Waiting), float64(boolean(g.Wait == nil))
	if g.Wait != nil {
		f.waitP99, f.waitMax = float64(g.Wait.P99Ns), float64(g.Wait.MaxNs)
	}
	if v := g.VirtualWait; v != nil {
		f.virtualRejected = v.rejectedRate()
		if v.Wait != nil {
			f.virtualP99 = float64(v.Wait.P99Ns)
		}
	}
	if g.Stall != nil {
		f.stall = float64(g.Stall.MaxNs)
	}
	return f
}

// mood is the verdict on a group: none where no request arrived.
func (g *Group) mood() Mood {
	if g.Arrived == 0 {
		return Neutral
	}
	f := g.figures()
	return f.judge()
}

// mood is the verdict on a priority level.
func (l *Level) mood() Mood {
	if l.Arrived == 0 {
		return Neutral
	}
	f := l.figures()
	if l.Starvation != nil {
		f.starvation = float64(l.Starvation.MaxNs)
	}
	// Where nobody waited or was rejected, what flows lack of their shares lies beyond the window.
	if l.Fairness != nil && (l.Rejected > 0 || l.waited()) {
		f.shortfall = 1 - l.Fairness.LeastRatio
	}
	if l.NoSeats != nil {
		f.noSeats = float64(l.NoSeats.TotalNs)
	}
	return f.judge()
}
