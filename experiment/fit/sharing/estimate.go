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

	Cores, Contention, Coherency Interval
	// Throughput is how much demand is served at a time when Busy requests execute, in cores.
	Throughput Interval
	// Busier is the ratio of the geometric means of demands of requests that began when the server was busy, and when
	// each had a core; 1 if demands do not depend on it. Spreads are the standard deviations of their logarithms, within kinds.
	// All are 0 if the capacity is unknown, or if there are too few of either.
	Busier, SpreadIdle, SpreadBusy float64

	// Delays is the part of the executions of some kinds, in ns, that does not depend on how busy the server is, +Inf if none of it
	// does: the requests wait for something else than the processors of the server, such as a webhook or etcd.
	Delays map[int]float64
	// Together is the correlation of the demands of requests that execute together, 0 if it is not significantly more. If it
	// is, the server is slow at times. The law then has one parameter, which is not that of the likelihood, nor is its interval.
	Together float64
	// Collection is what may then make it slow, nil if that is not looked for. It lasts no time if the log does not show any.
	Collection *Collection
	// Turn is what the log says of turns under the law; nil if it shows nothing that is shared.
	Turn *Turn
	// Inflation is how much more the log varies than the model, by which the intervals are wider; 1 if it does not.
	Inflation float64

	// Unlike is how many times as long as when a law that is given was measured the requests of that kind take alone, if that is so different that they are
	// other requests, or the server is another one; otherwise 0.
	Unlike float64

	demands map[int]*stretch // of kinds; nil without turns and collections
	shares  bool             // that requests share nothing is rejected
}

const (
	quantile     = 4.093  // of F with 1 and 39 degrees of freedom, at 95 %: how much a log varies is known from its blocks
	certain      = 16.27  // of χ² with three degrees, at 99.9 %
	needed       = 10.83  // of χ² with one degree, at 99.9 %
	widest       = 1.5    // ratio of the bounds of the throughput beyond which the log does not say what it is
	fewest       = 200    // executions
	enough       = 20_000 // executions, of more of which only a part is compared
	wrong        = 1.4    // ratio of demands on the busy server to others beyond which a law that is given is not that of the server
	coarse, fine = 0.03, 0.001
)

// New estimates the capacity of a server from all its executions of some time, in the order of their arrival. With several
// logs, each is all executions of another time, or of another server that is like it. Kinds are the same in all logs.
func New(logs ...[]Execution) *Estimate {
	e := &Estimate{Law: none(), Cores: Interval{1, math.Inf(1)}, Contention: Interval{0, math.Inf(1)}, Coherency: Interval{0, math.Inf(1)},
		Throughput: Interval{0, math.Inf(1)}, Inflation: 1}
	all := e.join(logs)
	e.fitWithDelays(all)
	if e.shares {
		e.takeTurns(all)
	}
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
			if e.fit(all); e.Together > 0 {
				*e = without
			}
		}
	}
}

// takeTurns replaces the law by that of a server with turns, if the log shows any. Short requests that wait for their turn take up nothing
// meanwhile, and long ones do not progress alike, so that the server seems to have more cores than it has, or contention.
func (e *Estimate) takeTurns(all []Execution) {
	m := newModel(all)
	short := m.shortTurn()
	e.Turn = short.unknown()
	e.Turn.Unknown = slices.DeleteFunc(e.Turn.Unknown, func(kind int) bool { return math.IsInf(e.Delays[kind], 1) })
	if len(short.visits) == 0 {
		return
	}
	x := &Estimate{Law: none(), Inflation: 1, Most: e.Most}
	for kind, ns := range e.Delays {
		if short.visits[kind] == 0 && math.IsInf(ns, 1) { // a part of an execution looks like a delay if there are turns
			x.setDelay(kind, ns)
		}
	}
	if x.fit(short.others(all)); !x.Identifiable || math.IsInf(x.Law.Cores, 1) {
		return
	}
	lastsNs, collection := 0.0, x.Collection
	if collection != nil {
		lastsNs = float64(collection.LastsNs)
	}
	t := newModel(x.shared(all)).turn(Law{Cores: x.Law.Cores}, lastsNs, false, nil)
	switch {
	case t == nil:
		return
	case t.Ns == 0:
		e.Turn = &t.Turn
		return
	}
	if collection != nil {
		collection.EveryNs, collection.LastsNs = int64(t.runs.everyNs), int64(t.lastsNs)
		wide := collection.widened(t.cores, t.interval)
		t.interval = Interval{wide.Low, min(wide.High, t.most)}
	}
	if t.interval.High > widest*t.interval.Low {
		return
	}
	x.Turn, x.Law, x.Cores, x.Throughput, x.demands, x.Collection = &t.Turn, Law{Cores: t.cores}, t.interval, t.interval, t.runs.demands, collection
	x.Busy, x.Executions = m.busy(), e.Executions
	*e = *x
}

// fit estimates the law of all executions but those of kinds that it finds to share nothing.
func (e *Estimate) fit(all []Execution) {
	for {
		e.Law, e.Identifiable, e.Reason, e.Executions, e.shares, e.Together, e.Collection = none(), false, "", 0, false, 0, nil
		e.demands = nil
		m := newModel(e.shared(all))
		e.Busy = m.busy()
		for _, k := range m.kinds {
			e.Executions += len(k)
		}
		switch {
		case e.Executions < fewest:
			e.Reason = "the log has too few executions"
			return
		case m.most < 2:
			e.Reason = "no two requests execute at a time"
			return
		}
		s := newSearch(m)
		best := s.best(coarse)
		for range 2 {
			s.smooth(best)
			best = s.climb(best, fine, 0, 1, 2)
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

// DemandNs returns the demand of a request of a kind, of the one that a Meter returns, which contains the effects of collections and turns.
func (e *Estimate) DemandNs(kind int, ns float64) float64 {
	if s := e.demands[kind]; s != nil {
		return s.of(ns)
	}
	return ns
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
	gain := func() float64 { // of cores, contention or coherency
		s := newSearch(newModel(e.shared(all)))
		p := s.lower
		for k := range p {
			if q := s.climb(s.start(k), coarse, k); s.at(q).total > s.at(p).total {
				p = q
			}
		}
		nothing := s.at(s.lower).total
		s.smooth(p)
		return s.at(p).total - nothing
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
		e.Most = max(e.Most, t.most)
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

// best returns the point with the greatest likelihood that is reached from cores, contention or coherency alone.
func (s *search) best(finest float64) point {
	best := s.lower
	for k := range 3 {
		s.alone[k] = s.start(k)
		if p := s.climb(s.alone[k], finest, 0, 1, 2); s.at(p).total > s.at(best).total {
			best = p
		}
	}
	return best
}

// decide sets the intervals, and decides what the log shows. If that is that a kind shares nothing, ok is true.
func (e *Estimate) decide(s *search, best point) (kind int, ok bool) {
	top := s.at(best).total
	around := s.simplest(best, top-quantile/2) // two laws can be one: with one core, or with contention 1
	bounds, trials := s.bounds(around, top, quantile/2, func(k, _ int) float64 { return max(around[k]/20, 4*s.least[k]) })
	if e.Inflation = inflation(s.at(best), trials); e.Inflation > 1 {
		before := bounds
		bounds, _ = s.bounds(around, top, quantile/2*e.Inflation, func(k, side int) float64 {
			return max(s.least[k], math.Abs(before[k][side]-around[k])*math.Sqrt(e.Inflation))
		})
	}
	e.Cores = Interval{s.cores(bounds[0][1]), s.cores(bounds[0][0])}
	e.Contention = Interval{bounds[1][0], bounds[1][1]}
	e.Coherency = Interval{bounds[2][0], bounds[2][1]}
	fall := quantile / 2 * e.Inflation
	e.Throughput = Interval{math.Inf(1), 0}
	for _, p := range s.order {
		if top-s.at(p).total <= 1.1*fall { // the precision of bounds
			x := s.law(p).Throughput(e.Busy)
			e.Throughput.Low, e.Throughput.High = min(e.Throughput.Low, x), max(e.Throughput.High, x)
		}
	}
	law := s.simplest(best, top-needed/2*e.Inflation)
	if e.shares = top-s.at(s.lower).total > certain/2*e.Inflation; e.shares {
		if kind, ok := s.disagrees(law, certain/2*e.Inflation); ok {
			return kind, true
		}
	}
	switch {
	case !e.shares:
		e.Reason = "the log shows no busy moment"
	case e.Throughput.High > widest*e.Throughput.Low:
		e.Reason = "the log shows too few busy moments"
	default:
		e.Identifiable = true
		e.Law = s.law(law)
		correlation, deviations := s.model.together(e.Law)
		if deviations > apart {
			e.Together = correlation
		}
		if deviations > apart || math.Abs(s.model.dependence(e.Law)) > unlikely || e.Law.Throughput(e.Busy) < 1 {
			if e.correct(s); e.Identifiable && !math.IsInf(e.Law.Cores, 1) {
				e.collect(s.model)
			}
		}
		if e.Identifiable {
			e.Busier, e.SpreadIdle, e.SpreadBusy = s.model.compare(e.Law)
		}
	}
	return 0, false
}

// correct replaces the law by one with cores alone, and another number of them. Some requests are slow for another reason than how many execute, which has
// an effect on the log like that of contention or coherency: others arrive while they execute. So the likelihood bounds none of these.
func (e *Estimate) correct(s *search) {
	q, bounds, ok := s.correct(s.climb(s.alone[0], fine, 0))
	low, high := q, q
	low[0], high[0] = bounds[0], bounds[1]
	e.Cores, e.Contention.Low, e.Coherency.Low = Interval{s.cores(bounds[1]), s.cores(bounds[0])}, 0, 0
	e.Law = s.law(q)
	e.Throughput = Interval{s.law(high).Throughput(e.Busy), s.law(low).Throughput(e.Busy)}
	if !ok || e.Throughput.High > widest*e.Throughput.Low {
		e.Identifiable, e.Law = false, none()
		e.Reason = "some requests are slow for another reason than how many execute, and the log shows too few busy moments beside these"
	}
}

// collect looks for garbage collections on a server that has cores alone and is slow at times.
func (e *Estimate) collect(m *model) {
	found, law, cores := m.collect(e.Law, e.Cores, e.Together > 0)
	if found == nil {
		return
	}
	low, high := law, law
	low.Cores, high.Cores = cores.Low, cores.High
	throughput := Interval{low.Throughput(e.Busy), high.Throughput(e.Busy)}
	if throughput.High > widest*throughput.Low {
		e.Identifiable, e.Law, e.Cores = false, none(), cores
		e.Reason = "the server is slow at times, as if it collected garbage, and the log shows too few busy moments beside these"
		return
	}
	e.Collection, e.Law, e.Cores, e.Throughput = found, law, cores, throughput
	if found.LastsNs > 0 {
		e.demands = found.demands
	}
}

// disagrees returns the kind whose executions a point makes less likely than a law that shares nothing, by more than a limit and by more than
// those of any other.
func (s *search) disagrees(p point, limit float64) (kind int, ok bool) {
	shared, nothing := s.at(p), s.at(s.lower)
	for k, executions := range s.model.kinds {
		if loss := nothing.kinds[k] - shared.kinds[k]; loss > limit {
			limit, kind, ok = loss, s.model.executions[executions[0]].Kind, true
		}
	}
	return kind, ok
}

// bounds returns the least and the greatest value of each coordinate, around those of a point, with which the greatest
// log-likelihood is less than the top by at most fall, and the trials there. First says how far away they may be.
func (s *search) bounds(around point, top, fall float64, first func(k, side int) float64) (bounds [3][2]float64, trials []*trial) {
	for k := range 3 {
		for side, limit := range []float64{s.lower[k], most[k]} {
			bounds[k][side] = limit
			if around[k] == limit {
				continue
			}
			p := s.bound(around, k, limit, first(k, side), top, fall)
			bounds[k][side] = p[k]
			trials = append(trials, s.at(p))
		}
	}
	return bounds, trials
}

// simplest returns the simplest point whose likelihood is great enough: with cores, contention or coherency alone, then
// with cores and one of the others.
func (s *search) simplest(best point, least float64) point {
	for _, free := range [][]int{{0}, {1}, {2}, {0, 1}, {0, 2}} {
		if p := s.climb(s.alone[free[0]], fine, free...); s.at(p).total >= least {
			return p
		}
	}
	return best
}
