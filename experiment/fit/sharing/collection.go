package sharing

import (
	"math"

	"apfsim/sim/machine"
	"apfsim/sim/quantity"
)

// Collection is what a log shows of garbage collections (package machine).
type Collection struct {
	EveryNs int64 // demand that is served from the beginning of one to that of the next
	LastsNs int64 // how long one lasts

	demands map[int]*stretch // of kinds
}

// capacity returns collections as those of a machine.
func (c *Collection) capacity() *machine.Collection {
	return &machine.Collection{Every: quantity.Duration(c.EveryNs), Lasts: quantity.Duration(c.LastsNs)}
}

// collect estimates the collections of a server that is slow at times, and its cores with them, of a law with cores alone. They are those with which
// runs are as busy as the log, and have pairs that are as much alike at the distance of the period (collecting). It returns nil if the log does not show any.
func (m *model) collect(l Law) (found *Collection, law Law, cores Interval) {
	c := newCollecting(m, l, nil)
	if !c.findPeriod() {
		return nil, l, cores
	}
	p, ok := c.search()
	if !ok {
		return nil, l, cores
	}
	r := c.run(p)
	found = &Collection{EveryNs: int64(r.everyNs), LastsNs: int64(p.lastsNs), demands: r.demands}
	law = l
	law.Cores = p.cores
	cores = Interval{0, math.Inf(1)}
	if x, ok := c.cores(p, student); ok {
		cores.Low = x
	}
	if x, ok := c.cores(p, -student); ok {
		cores.High = x
	}
	return found, law, cores
}

// collected are a number of cores, and how long collections last.
type collected struct{ cores, lastsNs float64 }

// search returns the cores and the duration of collections of the log.
func (c *collecting) search() (best collected, ok bool) {
	const step = 1.6 // of durations that are tried
	type point struct {
		collected
		alike float64
	}
	at := func(lastsNs, cores float64) (p point, ok bool) {
		p.lastsNs = lastsNs
		if p.cores, ok = c.cores(collected{cores, lastsNs}, 0); ok {
			p.alike = c.run(p.collected).alike
		}
		return p, ok
	}
	below, ok := at(c.scale, c.law.Cores)
	var above point
	for ok && above.lastsNs == 0 {
		p, found := at(step*below.lastsNs, below.cores)
		switch ok = found && p.lastsNs < c.everyNs; {
		case p.alike > 0:
			above = p
		default:
			below = p
		}
	}
	for range 3 {
		if !ok {
			return best, false
		}
		part := -below.alike / (above.alike - below.alike) // of the way between them, on a logarithmic scale
		p, found := at(below.lastsNs*math.Pow(above.lastsNs/below.lastsNs, min(0.9, max(0.1, part))), below.cores)
		if best, ok = p.collected, found; p.alike > 0 {
			above = p
		} else {
			below = p
		}
	}
	return best, ok
}

// cores returns the number of cores with which runs are busier than the log by so many standard deviations. It is near those of p. Collections last
// as long as in p.
func (c *collecting) cores(p collected, deviations float64) (cores float64, ok bool) {
	const precise = 0.1 // standard deviations
	at := func(cores float64) float64 {
		p.cores = cores
		return c.run(p).busier - deviations
	}
	x, y := p.cores, at(p.cores)
	low, high := 0.0, math.Inf(1)
	slope := -4 / c.law.Cores // of y, to begin with
	for range 12 {
		if math.Abs(y) < precise {
			return x, true
		}
		if y > 0 {
			low = max(low, x)
		} else {
			high = min(high, x)
		}
		next := min(1.3*x, max(x/1.3, x-y/slope))
		if next <= low || next >= high {
			next = (low + high) / 2
		}
		if next > 3*c.law.Cores || next < c.law.Cores/3 {
			return 0, false
		}
		z := at(next)
		if s := (z - y) / (next - x); s < 0 {
			slope = s
		}
		x, y = next, z
	}
	return x, math.Abs(y) < 5*precise
}

// compared is what runs with collections are like.
type compared struct {
	busier  float64 // than the log, in standard deviations of its busyness
	alike   float64 // by which part pairs at the distance of the period are more alike than in the log
	everyNs float64 // the period without the effect of collections
	demands map[int]*stretch
	means   map[int]float64 // of the demands of kinds
	scores  [blocks]float64
}

// total returns the sum of the scores.
func (r *compared) total() (sum float64) {
	for _, x := range r.scores {
		sum += x
	}
	return sum
}

// better returns by how many standard deviations the scores are less than others.
func (r *compared) better(than *compared) (deviations float64) {
	var less [blocks]float64
	for b := range less {
		less[b] = than.scores[b] - r.scores[b]
	}
	sum, variance := spread(&less)
	if variance == 0 {
		return 0
	}
	return sum / math.Sqrt(variance)
}

// stretched returns the kinds whose demands are those with which they execute as long as in the log: not short ones, with turns.
func (c *collecting) stretched() [][]int {
	if c.turns == nil {
		return c.model.kinds
	}
	return c.turns.long
}

// affected returns the demands under a law, which contain the effects of collections and turns.
func (c *collecting) affected(l Law) []float64 {
	if c.turns == nil {
		return c.model.demandsOf(l)
	}
	return c.turns.demandsOf(l)
}

// run compares runs with the log. Their demands are those with which requests of each kind execute as long as in the log.
func (c *collecting) run(p collected) (r compared) {
	const matchings, matchRuns, compareRuns = 6, 3, 8
	m := c.model
	law := c.law
	law.Cores = p.cores
	capacity := c.turns.capacity(law)
	affected := c.affected(law)
	pools := make([][]float64, len(affected))
	for i := range pools {
		if pools[i] = affected[i : i+1]; c.turns != nil {
			pools[i] = c.turns.pools[i]
		}
	}
	r.demands, r.means = map[int]*stretch{}, map[int]float64{}
	for _, kind := range c.stretched() {
		r.demands[m.executions[kind[0]].Kind] = newStretch(affected, kind)
	}
	for matched := 0; ; matched++ {
		before, after := 0.0, 0.0
		for _, kind := range c.stretched() {
			s := r.demands[m.executions[kind[0]].Kind]
			pool := make([]float64, len(kind))
			for k, i := range kind {
				pool[k] = s.of(affected[i])
				before += c.weight[i]
				after += pool[k]
			}
			for _, i := range kind {
				pools[i] = pool
			}
			r.means[m.executions[kind[0]].Kind] = mean(pool)
		}
		if p.lastsNs > 0 {
			if r.everyNs = c.everyNs; m.collection == nil {
				r.everyNs *= after / before
			}
			capacity.Collection = (&Collection{EveryNs: int64(r.everyNs), LastsNs: int64(p.lastsNs)}).capacity()
		}
		if matched == matchings {
			break
		}
		times := make([][]float64, len(affected))
		m.runs(capacity, pools, c.turns.times(), c.order, matchRuns, 3, func(i int, ns float64) { times[i] = append(times[i], ns) })
		for _, kind := range c.stretched() {
			r.demands[m.executions[kind[0]].Kind].match(m, kind, times)
		}
	}
	took := make([]float64, len(affected))
	samples := make([][]float64, len(affected))
	n, busy, alike := 0, 0.0, 0.0
	m.runs(capacity, pools, c.turns.times(), c.order, compareRuns, 2, func(i int, ns float64) {
		took[i] = math.Log(ns)
		samples[i] = append(samples[i], took[i])
		if n++; n%len(took) > 0 {
			return
		}
		residuals := c.residuals(took)
		for _, x := range c.busyness(residuals) {
			busy += x / compareRuns
		}
		for _, sums := range c.pairs(residuals, c.from, c.to+1) {
			for _, x := range sums {
				alike += x / compareRuns
			}
		}
	})
	for _, kind := range m.kinds {
		for _, i := range kind {
			r.scores[m.block[i]] += score(samples[i], m.lnTook(i))
		}
	}
	inLog := 0.0
	for _, x := range c.alike[c.from : c.to+1] {
		inLog += x
	}
	r.busier, r.alike = (busy-c.busy)/c.busyDeviation, alike/inLog-1
	return r
}
