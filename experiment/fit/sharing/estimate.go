package sharing

import (
	"maps"
	"math"
	"slices"
)

// Interval is a 95 % confidence interval. High is +Inf if the log sets no upper bound.
type Interval struct{ Low, High float64 }

// Estimate is what a log says of the capacity of its server.
type Estimate struct {
	Law // the simplest one that agrees with the log: it shares nothing if the log does not show otherwise

	// Identifiable says whether the log shows how requests share the server. If not, only the lower bound of the cores
	// means something.
	Identifiable bool
	Reason       string // why not; "" if it is

	Most       int // executions at a time
	Busy       int // executions at a time when the busiest hundredth of the compared requests ended, at least
	Executions int // whose demands were compared: of a long log, those of the part in which their number varies most

	Cores, Contention Interval
	// Throughput is how much demand is served at a time when Busy requests execute, in cores.
	Throughput Interval
	// BusyDemandRatio is the ratio of the geometric means of demands of requests that began when the server was busy, and when
	// each had a core; 1 if demands do not depend on it. Spreads are the standard deviations of their logarithms, within kinds.
	// All are 0 if the capacity is unknown, or if there are too few of either.
	BusyDemandRatio, SpreadIdle, SpreadBusy float64

	// Delays is the part of the executions of some kinds, in ns, that does not depend on how busy the server is, +Inf if none of it
	// does: the requests wait for something else than the processors of the server, such as a webhook or etcd.
	Delays map[int]float64
	// Inflation is how much more the log varies than the model, by which the intervals are wider; 1 if it does not.
	Inflation float64

	// DemandRatio is how many times as long as when a law that is given was measured the requests of that kind take alone, if that is so different that they are
	// other requests, or the server is another one; otherwise 0.
	DemandRatio float64

	odd    bool // the likelihood's law is rejected by the instrument
	shares bool // that requests share nothing is rejected
}

const (
	quantile     = 4.093  // of F with 1 and 39 degrees of freedom, at 95 %: how much a log varies is known from its blocks
	certain      = 13.82  // of χ² with two degrees, at 99.9 %
	needed       = 10.83  // of χ² with one degree, at 99.9 %
	widest       = 1.5    // ratio of the bounds of the throughput beyond which the log does not say what it is
	fewest       = 200    // executions
	enough       = 20_000 // executions, of more of which only a part is compared
	coarse, fine = 0.03, 0.001
)

// New estimates the capacity of a server from all its executions of some time, in the order of their arrival. With several
// logs, each is all executions of another time, or of another server that is like it. Kinds are the same in all logs.
func New(logs ...[]Execution) *Estimate {
	e := &Estimate{Law: none(), Cores: Interval{1, math.Inf(1)}, Contention: Interval{0, math.Inf(1)},
		Throughput: Interval{0, math.Inf(1)}, Inflation: 1}
	all := e.join(logs)
	e.fitWithDelays(all)
	if !e.Identifiable {
		e.Delays = nil
	}
	return e
}

// fitWithDelays estimates the law and the delays of all executions.
func (e *Estimate) fitWithDelays(all []Execution) {
	e.fit(all)
	if without := *e; e.shares {
		without.Delays = maps.Clone(e.Delays)
		// A wrong law can look like a server that is slow at times. If it still does, the log does not tell delays apart.
		if e.findDelays(all) {
			if e.fit(all); e.odd {
				*e = without
			}
		}
	}
}

// fit estimates the law of all executions but those of kinds that it finds to share nothing.
func (e *Estimate) fit(all []Execution) {
	for {
		e.Law, e.Identifiable, e.Reason, e.Executions, e.shares, e.odd = none(), false, "", 0, false, false
		m := newModel(e.shared(all))
		e.Busy = m.busy()
		for _, k := range m.kinds {
			e.Executions += len(k)
		}
		switch {
		case e.Executions < fewest:
			e.Reason = "the log has too few executions"
			return
		case m.mostAtOnce < 2:
			e.Reason = "no two requests execute at a time"
			return
		}
		s := newSearch(m)
		best := s.best(coarse)
		for range 2 {
			s.smooth(best)
			best = s.climb(best, fine, 0, 1)
		}
		kind, ok := e.decide(s, best)
		if !ok {
			return
		}
		e.setDelay(kind, math.Inf(1))
	}
}

func (e *Estimate) setDelay(kind int, ns float64) {
	if e.Delays == nil {
		e.Delays = map[int]float64{}
	}
	e.Delays[kind] = ns
}

// DelayNs returns how much of an execution of a kind, which takes so long, does not depend on how busy the server is.
func (e *Estimate) DelayNs(kind int, tookNs int64) int64 {
	switch ns := e.Delays[kind]; {
	case math.IsInf(ns, 1):
		return tookNs
	default:
		return min(int64(ns), tookNs-1)
	}
}

// shared returns the executions without their delays, which are at their ends.
func (e *Estimate) shared(all []Execution) []Execution {
	if e.Delays == nil {
		return all
	}
	shared := make([]Execution, 0, len(all))
	for _, x := range all {
		if x.EndNs -= e.DelayNs(x.Kind, x.EndNs-x.BeginNs); x.EndNs > x.BeginNs {
			shared = append(shared, x)
		}
	}
	return shared
}

// delayShares are the delays that are tried first, as parts of an execution that is shorter than 99 of 100.
var delayShares = []float64{0.2, 0.4, 0.6, 0.8, 0.9, 0.95}

// findDelays looks for kinds of which a constant part of the executions is a delay: with it, the law makes the log more likely, by
// more than it makes it so if requests share nothing. That is so if short and long executions are slowed down differently. It
// returns whether there is one.
func (e *Estimate) findDelays(all []Execution) (found bool) {
	m := newModel(e.shared(all))
	byKind := map[int][]float64{}
	for _, kind := range m.kinds {
		if len(kind) < fewest {
			continue
		}
		k := m.executions[kind[0]].Kind
		for _, i := range kind {
			byKind[k] = append(byKind[k], float64(m.executions[i].EndNs-m.executions[i].BeginNs))
		}
	}
	gain := func() float64 { // of cores or contention
		s := newSearch(newModel(e.shared(all)))
		p := s.lower
		for k := range p {
			if q := s.climb(s.start(k), coarse, k); s.trialAt(q).total > s.trialAt(p).total {
				p = q
			}
		}
		nothing := s.trialAt(s.lower).total
		s.smooth(p)
		return s.trialAt(p).total - nothing
	}
	without := gain()
	for _, k := range slices.Sorted(maps.Keys(byKind)) {
		took := byKind[k]
		slices.Sort(took)
		shortest := took[len(took)/100]
		best, most := 0.0, without+needed/2*e.Inflation
		try := func(share float64) bool {
			if share <= 0 || share >= 1 {
				return false
			}
			e.setDelay(k, share*shortest)
			x := gain()
			if x <= most {
				return false
			}
			best, most = share, x
			return true
		}
		for _, share := range delayShares {
			try(share)
		}
		for step := 0.05; best > 0 && step > 0.002; step /= 2 {
			if !try(best + step) {
				try(best - step)
			}
		}
		if delete(e.Delays, k); best > 0 {
			e.setDelay(k, best*shortest)
			without, found = most, true
		}
	}
	return found
}

// join puts logs one after the other in time, each without what is more than its share of what is compared.
func (e *Estimate) join(logs [][]Execution) (all []Execution) {
	const pauseNs = 1_000_000_000 // between logs
	lastNs := int64(0)
	for _, log := range logs {
		if len(log) == 0 {
			continue
		}
		t := newTimeline(log)
		e.Most = max(e.Most, t.mostAtOnce)
		part := t.varied(max(fewest, enough/len(logs)))
		byNs := int64(math.MinInt64)
		for _, x := range part {
			byNs = max(byNs, lastNs+pauseNs-x.BeginNs) // a request that arrived later may have begun before
		}
		for _, x := range part {
			x.BeginNs += byNs
			x.EndNs += byNs
			lastNs = max(lastNs, x.EndNs)
			all = append(all, x)
		}
	}
	return all
}

// varied returns so many executions of a part of the log in which their number varies most, or all if there are no more.
func (t *timeline) varied(enough int) []Execution {
	if len(t.executions) <= enough {
		return t.executions
	}
	best, most := 0, -1.0
	for from := 0; from+enough <= len(t.executions); from += enough / 4 {
		sum, sum2 := 0.0, 0.0
		for i := from; i < from+enough; i++ {
			n := float64(t.n[t.begin[i]])
			sum += n
			sum2 += n * n
		}
		if v := sum2 - sum*sum/float64(enough); v > most {
			best, most = from, v
		}
	}
	return t.executions[best : best+enough]
}

// best returns the point with the greatest likelihood that is reached from cores or contention alone.
func (s *search) best(finest float64) point {
	best := s.lower
	for k := range s.alone {
		s.alone[k] = s.start(k)
		if p := s.climb(s.alone[k], finest, 0, 1); s.trialAt(p).total > s.trialAt(best).total {
			best = p
		}
	}
	return best
}

// decide sets the intervals, and decides what the log shows. If that is that a kind shares nothing, ok is true.
func (e *Estimate) decide(s *search, best point) (kind int, ok bool) {
	top := s.trialAt(best).total
	around := s.simplest(best, top-quantile/2) // two laws can be one: with one core, or with contention 1
	bounds, trials := s.bounds(around, top, quantile/2, func(k, _ int) float64 { return max(around[k]/20, 4*s.least[k]) })
	if e.Inflation = inflation(s.trialAt(best), trials); e.Inflation > 1 {
		before := bounds
		bounds, _ = s.bounds(around, top, quantile/2*e.Inflation, func(k, side int) float64 {
			return max(s.least[k], math.Abs(before[k][side]-around[k])*math.Sqrt(e.Inflation))
		})
	}
	e.Cores = Interval{s.cores(bounds[0][1]), s.cores(bounds[0][0])}
	e.Contention = Interval{bounds[1][0], bounds[1][1]}
	fall := quantile / 2 * e.Inflation
	e.Throughput = Interval{math.Inf(1), 0}
	for _, p := range s.order {
		if top-s.trialAt(p).total <= 1.1*fall { // the precision of bounds
			x := s.law(p).Throughput(e.Busy)
			e.Throughput.Low, e.Throughput.High = min(e.Throughput.Low, x), max(e.Throughput.High, x)
		}
	}
	law := s.simplest(best, top-needed/2*e.Inflation)
	if e.shares = top-s.trialAt(s.lower).total > certain/2*e.Inflation; e.shares {
		if kind, ok := s.disagrees(law, certain/2*e.Inflation); ok {
			return kind, true
		}
	}
	p := s.law(law)
	e.odd = math.Abs(s.model.dependence(p)) > student || p.Throughput(e.Busy) < 1
	if p.Contention == 0 || e.odd {
		p = e.coresAlone(s)
	}
	switch {
	case !e.shares:
		e.Reason = "the log shows no busy moment"
	case e.Throughput.High > widest*e.Throughput.Low:
		e.Reason = "the log shows too few busy moments"
	default:
		e.Identifiable, e.Law = true, p
		e.BusyDemandRatio, e.SpreadIdle, e.SpreadBusy = s.model.compare(e.Law)
	}
	return 0, false
}

// coresAlone returns the law with cores alone that the instrument gives, and sets the intervals. If some requests are slow for another reason than
// how many execute, others arrive while they execute, which has an effect on the log like that of contention. So the likelihood bounds neither.
func (e *Estimate) coresAlone(s *search) Law {
	x, low, high := s.instrument(s.climb(s.alone[0], fine, 0)[0])
	e.Cores, e.Contention.Low = Interval{s.cores(high), s.cores(low)}, 0
	e.Throughput = Interval{s.law(point{high}).Throughput(e.Busy), s.law(point{low}).Throughput(e.Busy)}
	return s.law(point{x})
}

// disagrees returns the kind whose executions a point makes less likely than a law that shares nothing, by more than a limit and by more than
// those of any other.
func (s *search) disagrees(p point, limit float64) (kind int, ok bool) {
	shared, nothing := s.trialAt(p), s.trialAt(s.lower)
	for k, executions := range s.model.kinds {
		if loss := nothing.kinds[k] - shared.kinds[k]; loss > limit {
			limit, kind, ok = loss, s.model.executions[executions[0]].Kind, true
		}
	}
	return kind, ok
}

// bounds returns the least and the greatest value of each coordinate, around those of a point, with which the greatest
// log-likelihood is less than the top by at most fall, and the trials there. First says how far away they may be.
func (s *search) bounds(around point, top, fall float64, first func(k, side int) float64) (bounds [2][2]float64, trials []*trial) {
	for k := range bounds {
		for side, limit := range []float64{s.lower[k], greatest[k]} {
			bounds[k][side] = limit
			if around[k] == limit {
				continue
			}
			p := s.bound(around, k, limit, first(k, side), top, fall)
			bounds[k][side] = p[k]
			trials = append(trials, s.trialAt(p))
		}
	}
	return bounds, trials
}

// simplest returns the simplest point whose likelihood is great enough: with cores or contention alone, if there is one.
func (s *search) simplest(best point, least float64) point {
	for k := range s.alone {
		if p := s.climb(s.alone[k], fine, k); s.trialAt(p).total >= least {
			return p
		}
	}
	return best
}
