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

	LowNs, HighNs int64 // bounds of how long one lasts, at 95 %; with 0, the log does not exclude that there are none

	least, most float64          // throughput with these bounds and the cores of each, in parts of that with LastsNs
	demands     map[int]*stretch // of kinds
}

// capacity returns collections as those of a machine.
func (c *Collection) capacity() *machine.Collection {
	return &machine.Collection{Every: quantity.Duration(c.EveryNs), Lasts: quantity.Duration(c.LastsNs)}
}

// collect estimates the collections of a server that is slow at times, and its cores with them, of a law with cores alone, which have an interval. They are
// those with which runs are as busy as the log, and have pairs that are as much alike at the distance of the period (collecting). It returns nil if the log does
// not show any.
//
// If the server is known to be slow at times, and the log does not show when again, collections have the likeliest period, and last no time if no
// pairs are alike then. If pairs are more alike than with any collections, these are those with which they are the most. Both may be wrong, but a law without
// collections could say that a server that always has something to do does more than it does.
//
// The interval of the cores is for collections that last as long as they are estimated to. It is that of the throughput of a server that always has
// something to do, which is different with longer and shorter collections and the cores of each. If these may be wrong, it also has the cores without.
func (m *model) collect(l Law, cores Interval, slow bool) (*Collection, Law, Interval) {
	c := newCollecting(m, l, nil)
	if !c.findPeriod(slow) {
		return nil, l, cores
	}
	p, ok := c.search(c.scale, 0)
	sure := ok && c.shown
	r := c.run(p)
	shortest, longest := c.durations(p, sure)
	found := &Collection{EveryNs: int64(r.everyNs), LastsNs: int64(p.lastsNs), LowNs: int64(shortest.lastsNs), HighNs: int64(longest.lastsNs), demands: r.demands}
	of := func(p collected) float64 { // in the demands of r
		x := c.run(p)
		return (&Collection{EveryNs: int64(x.everyNs), LastsNs: int64(p.lastsNs)}).throughput(p.cores) / x.demand * r.demand
	}
	short, long, full := of(shortest), of(longest), found.throughput(p.cores)
	found.least, found.most = min(full, short, long)/full, max(full, short, long)/full
	with := Interval{0, math.Inf(1)}
	if x, ok := c.cores(p, student); ok {
		with.Low = x
	}
	if x, ok := c.cores(p, -student); ok {
		with.High = x
	}
	if with = found.widened(p.cores, with); !sure {
		with = Interval{min(with.Low, cores.Low), max(with.High, cores.High)}
	}
	l.Cores = p.cores
	return found, l, with
}

// widened returns the interval of cores for collections of all durations, of that for those that are found.
func (c *Collection) widened(cores float64, i Interval) Interval {
	full := c.throughput(cores)
	if i.Low > 0 {
		i.Low = c.cores(max(0, full-math.Hypot(full-c.throughput(i.Low), full*(1-c.least))))
	}
	if !math.IsInf(i.High, 1) {
		i.High = c.cores(full + math.Hypot(c.throughput(i.High)-full, full*(c.most-1)))
	}
	return i
}

// throughput returns how much demand so many cores serve at a time that always have something to do.
func (c *Collection) throughput(cores float64) float64 { return cores / (1 + cores*c.missing()) }

// cores returns how many cores serve so much demand at a time, +Inf if the server has a collection all the time even with more.
func (c *Collection) cores(throughput float64) float64 {
	left := 1 - throughput*c.missing()
	if left <= 0 {
		return math.Inf(1)
	}
	return throughput / left
}

// missing is for how long half of the cores are missing, by the demand that is served meanwhile.
func (c *Collection) missing() float64 {
	if c.LastsNs == 0 {
		return 0
	}
	return float64(c.LastsNs) / float64(2*c.EveryNs)
}

// collected are a number of cores, and how long collections last.
type collected struct{ cores, lastsNs float64 }

// durations returns the shortest and the longest collections with which the log agrees, and the cores with them. If it is not sure that there are any, the
// shortest last no time.
func (c *collecting) durations(p collected, sure bool) (shortest, longest collected) {
	shortest = collected{cores: c.law.Cores}
	if sure {
		if x, ok := c.search(c.scale, -student); ok && x.lastsNs < p.lastsNs {
			shortest = x
		}
	}
	if longest, _ = c.search(max(c.scale, p.lastsNs), student); longest.lastsNs < p.lastsNs {
		longest = p
	}
	return shortest, longest
}

// search returns the cores and the duration of collections, which is at least the first, with which pairs at the distance of the period are more alike
// than in the log, by so many standard deviations. If there are none, it returns those with which pairs are the most alike, and false.
func (c *collecting) search(firstNs, deviations float64) (best collected, ok bool) {
	const (
		step = 1.6 // of durations that are tried
		long = 8   // mean demands, beyond which more collections make pairs more alike in all runs
	)
	alike, deviates := c.sum(c.from, c.to)
	if alike += deviations * deviates; alike <= 0 {
		return collected{cores: c.law.Cores}, false
	}
	type point struct {
		collected
		alike float64 // more than is searched
	}
	at := func(lastsNs, cores float64) (p point, ok bool) {
		p.lastsNs = lastsNs
		if p.cores, ok = c.cores(collected{cores, lastsNs}, 0); ok {
			p.alike = c.run(p.collected).alike - alike
		}
		return p, ok
	}
	below, ok := at(firstNs, c.law.Cores)
	if !ok {
		return collected{cores: c.law.Cores}, false
	}
	var above point
	for above.lastsNs == 0 {
		p, ok := at(step*below.lastsNs, below.cores)
		switch {
		case !ok || p.lastsNs > c.everyNs || p.lastsNs > long*c.scale && p.alike < below.alike: // the server is hardly ever without one
			return below.collected, false
		case p.alike > 0:
			above = p
		default:
			below = p
		}
	}
	for range 3 {
		part := -below.alike / (above.alike - below.alike) // of the way between them, on a logarithmic scale
		p, ok := at(below.lastsNs*math.Pow(above.lastsNs/below.lastsNs, min(0.9, max(0.1, part))), below.cores)
		if !ok {
			return below.collected, false
		}
		if best = p.collected; p.alike > 0 {
			above = p
		} else {
			below = p
		}
	}
	return best, true
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
	alike   float64 // how alike pairs at the distance of the period are
	demand  float64 // by which factor all demands are different without the effects of collections and turns
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
		r.demand = after / before
		if p.lastsNs > 0 {
			if r.everyNs = c.everyNs; m.collection == nil {
				r.everyNs *= r.demand
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
	r.busier, r.alike = (busy-c.busy)/c.busyDeviation, alike
	return r
}
