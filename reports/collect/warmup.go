package collect

import (
	"math"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// Occupancy is how many requests waited or executed at a priority level, in each interval of the series.
type Occupancy struct {
	Level   string
	Arrived int64     // requests, in the whole run
	Mean    []float64 // time-weighted, by interval

	waiting float64 // how much of the sum of Mean waited
}

// Settled returns how many requests must have arrived at a level so that its series says when it settles.
const Settled = leastTested

// Occupancies returns the series of the levels that settle, those of the exempt levels not among them. The run has ended.
func (c *Collector) Occupancies() (all []Occupancy) {
	c.interval(c.toNs)
	for _, l := range c.levels {
		if c.settles(l) {
			all = append(all, l.occupancy())
		}
	}
	return all
}

// settles says whether requests wait for the seats of the level, or, without priority levels, for those of the server.
func (c *Collector) settles(l *level) bool {
	if c.scenario.Spec.Servers.FlowControl != server.PriorityAndFairness {
		return l.name == ""
	}
	return l.known && !l.exempt()
}

func (l *level) occupancy() Occupancy {
	o := Occupancy{Level: l.name}
	for i := range l.points {
		p := &l.points[i]
		o.Arrived += p.Arrived
		o.Mean = append(o.Mean, p.WaitingRequests+p.ExecutingRequests)
		o.waiting += p.WaitingRequests
	}
	return o
}

const (
	// leastWaiting is the share of the time at a level that requests must wait, so that the beginning matters for waits.
	leastWaiting = 0.05
	// leastBias is the share of the mean that the beginning of the window must change to be worth a note.
	leastBias = 0.02
	// What MSER-5 would leave out of the window, and the first intervals of that, must differ from the mean of the rest by so
	// many standard deviations of its intervals, and change the mean of the window by such a share, to be worth a note.
	beginning       = 5
	leastDeviation  = 6
	leastDifference = 0.05
	// relaxations is how many relaxation times are enough: less than 2 % of the beginning is left after them.
	relaxations = 4
)

// shortWarmup returns why the given warm-up of a level that is in steady state is too short; nil if nothing is known
// against it. There are two signs. The beginning differs much from the rest, as after a storm: then MSER-5 leaves out more
// than the warm-up. Or the level, which begins empty, fills slowly against the warm-up: it needs about the time in which
// its autocorrelation falls to 1/e. A single run cannot show this in its beginning, because a level in steady state is
// often nearly empty, too.
func (l *level) shortWarmup(fromNs, toNs, intervalNs int64) *result.ShortWarmup {
	o := l.occupancy()
	n := len(o.Mean)
	if n < measure.LeastMSER5 || o.Arrived < Settled || o.waiting < leastWaiting*sumOfValues(o.Mean) {
		return nil
	}
	at := func(interval float64) int64 { return int64(math.Ceil(interval)) * intervalNs }
	short := &result.ShortWarmup{Level: l.name, WarmupNs: fromNs}
	from := int((fromNs + intervalNs - 1) / intervalNs)
	if leave, _ := measure.MSER5(o.Mean); leave > from {
		rest, deviation := meanAndDeviation(o.Mean[leave:])
		early, _ := meanAndDeviation(o.Mean[from:leave])
		share := math.Abs(early-rest) * float64(leave-from) / float64(n-from)
		begin, _ := meanAndDeviation(o.Mean[from:min(leave, from+beginning)]) // it may be chance if values differ only later
		if rest > 0 && min(math.Abs(begin-rest), math.Abs(early-rest)) >= leastDeviation*deviation && share >= leastDifference*rest {
			short.EnoughNs, short.Early, short.Rest = at(float64(leave)), early, rest
			return short
		}
	}
	relaxation := measure.RelaxationLag(o.Mean) * float64(intervalNs)
	warmup := float64(fromNs)
	if 2*warmup >= relaxation || relaxation*math.Exp(-warmup/relaxation) < leastBias*float64(toNs-fromNs) {
		return nil
	}
	short.RelaxationNs, short.EnoughNs = relaxation, at(relaxations*relaxation/float64(intervalNs))
	return short
}

func sumOfValues(values []float64) (sum float64) {
	for _, v := range values {
		sum += v
	}
	return sum
}

func meanAndDeviation(values []float64) (mean, deviation float64) {
	mean = sumOfValues(values) / float64(len(values))
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(deviation)
}
