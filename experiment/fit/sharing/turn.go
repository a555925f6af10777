package sharing

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"apfsim/sim/machine"
)

// Turn is what a log says of the turns that its server gives to requests (package machine).
type Turn struct {
	Ns            int64 // the turn that agrees best with the log; 0 if the log does not show turns
	LowNs, HighNs int64 // the shortest and the longest of those tried with which the log agrees at 95 %; 0 if Ns is, or if it is given
	Requests      int   // short ones that were compared; 0 if there are too few

	// Rejected is by how many standard deviations short requests are slower on the busy server than without turns, and Expected by how many they
	// would be with usual turns and two visits.
	Rejected, Expected float64
	// Unknown are the short kinds of which the log does not say whether they wait for turns. Without any, it says that there are none, or what they are.
	Unknown []int

	takes  float64           // cores that short requests take, on average
	visits map[int]int       // of short kinds
	alone  map[int][]float64 // of short kinds, the demands that are known
}

const (
	turnSamples = 16    // runs from which it is known how long requests execute
	besideRuns  = 8     // and beside others that execute as in the log
	unlikely    = 2.708 // quantile of Student's distribution with 39 degrees of freedom, at 99 % of both sides
	oneSide     = 1.685 // its quantile at 95 % of one side
)

var (
	turnsTried  = []int64{1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000} // ns
	visitsTried = []int{1, 2, 3, 4, 6, 8, 12, 16, 24, 32}
)

// UsualTurnNs is the turn of programs in Go, which make a goroutine give way that has run for so long (runtime/proc.go, forcePreemptNS). UsualVisits is
// how often a short request is taken to come to the machine if the log does not say.
const (
	UsualTurnNs = 10_000_000
	UsualVisits = 2
)

// Visits returns how often requests of a kind visit the machine, 0 if it is not short. With turns, the demand of a short kind is known from
// those requests only that execute while there is a place for everybody. The others wait for one, and the log does not say how long.
func (t *Turn) Visits(kind int) int {
	if t.Ns == 0 {
		return 0
	}
	return t.visits[kind]
}

// String says what was found, without the demands.
func (t *Turn) String() string {
	if t == nil {
		return "no turns"
	}
	return fmt.Sprintf("turns of %v (%v to %v), visits %v, rejected by %.2f of %.2f, unknown %v", time.Duration(t.Ns), time.Duration(t.LowNs), time.Duration(t.HighNs), t.visits, t.Rejected, t.Expected, t.Unknown)
}

// none says whether the log excludes at 95 % that short requests wait half as long as with usual turns.
func (t *Turn) none() bool { return t.Rejected+oneSide < t.Expected/2 }

// Demands returns the known demands of a short kind, in ns, of all logs.
func (t *Turn) Demands(kind int) []float64 { return t.alone[kind] }

// others returns the executions of kinds that are not short.
func (t *Turn) others(all []Execution) []Execution {
	others := make([]Execution, 0, len(all))
	for _, x := range all {
		if t.Visits(x.Kind) == 0 {
			others = append(others, x)
		}
	}
	return others
}

// turned is a turn with the cores under which it was found.
type turned struct {
	Turn
	cores    float64
	most     float64 // that the places can have
	above    float64 // how many more cores the log has by its busyness: more than places
	lastsNs  float64 // of collections, 0 without
	interval Interval
	runs     compared
}

// estimateCores estimates the cores with which runs are as busy as the log, at most the places. If that takes more with collections, there are
// none. It returns whether there are such cores.
func (t *turned) estimateCores(c *collecting, places int) (ok bool) {
	most := float64(places)
	cores, ok := c.cores(collected{t.cores, t.lastsNs}, 0)
	if ok && cores > most && t.lastsNs > 0 {
		t.lastsNs = 0
		cores, ok = c.cores(collected{t.cores, 0}, 0)
	}
	t.cores = min(cores, most)
	t.above = cores - t.cores
	return ok
}

// turn estimates the turn, and how often each short kind visits the machine. Cores near those of a law are estimated with it, unless they are given, and
// so are collections that last for a time, if they do and are not known. A turn that is given is not estimated. It returns nil if there are no short kinds whose demands are known.
//
//  1. The log rejects that there are no turns if short requests are too slow then (rejects).
//  2. For each turn that is tried, the visits of short requests are those with the least score beside other requests that execute as in
//     the log (beside), and the cores those with which runs are as busy as the log (collecting), at most the places.
//  3. The turn is the one with the least score of such runs, if that is significantly less than without turns.
//
// Scores are those of the logarithms of how long requests execute (score).
func (m *model) turn(l Law, lastsNs float64, coresGiven bool, givenNs *int64) *turned {
	t := m.newTurning(l, coresGiven)
	if t == nil {
		return nil
	}
	l = t.law
	found := &turned{Turn: Turn{takes: t.takes, alone: t.alone, visits: map[int]int{}}, cores: l.Cores}
	for _, kind := range t.short {
		found.Requests += len(kind)
	}
	t.set(0, nil)
	c := newCollecting(m, l, t)
	switch {
	case m.collection != nil:
		lastsNs = float64(m.collection.LastsNs)
	case lastsNs > 0 && !c.findPeriod(true):
		lastsNs = 0
	}
	tries := append([]int64{0}, turnsTried...)
	if givenNs != nil {
		tries = []int64{*givenNs}
	} else if found.Rejected, found.Expected = t.rejects(); found.Rejected < unlikely {
		if !found.none() {
			found.Unknown = m.kindsOf(t.short)
		}
		return found
	}
	var all []*turned
	best := -1
	for _, turnNs := range tries {
		x := *found
		x.Ns, x.visits = turnNs, map[int]int{}
		if turnNs > 0 {
			visits, _ := t.least(turnNs, visitsTried)
			for k, kind := range t.short {
				x.visits[m.executions[kind[0]].Kind] = visits[k]
			}
		}
		t.set(turnNs, x.visits)
		x.lastsNs = lastsNs
		if !coresGiven && !x.estimateCores(c, t.places) {
			continue
		}
		x.runs = c.run(collected{x.cores, x.lastsNs})
		if all = append(all, &x); best < 0 || x.runs.total() < all[best].runs.total() {
			best = len(all) - 1
		}
	}
	if best < 0 {
		found.Unknown = m.kindsOf(t.short)
		return found
	}
	if givenNs != nil {
		return all[best]
	}
	for _, x := range all {
		if x.Ns == 0 && all[best].runs.better(&x.runs) < unlikely {
			if !found.none() { // they do wait, though not as with these turns
				found.Unknown = m.kindsOf(t.short)
			}
			return found
		}
	}
	found = all[best]
	found.LowNs, found.HighNs = found.Ns, found.Ns
	for _, x := range all {
		if found.runs.better(&x.runs) <= student {
			found.LowNs, found.HighNs = min(found.LowNs, x.Ns), max(found.HighNs, x.Ns)
		}
	}
	found.most = float64(t.places) + machine.Small
	found.interval = Interval{0, found.most}
	if !coresGiven {
		t.set(found.Ns, found.visits)
		if x, ok := c.cores(collected{found.cores, found.lastsNs}, student); ok {
			found.interval.Low = min(x-found.above, found.cores) // as far below the estimate
		}
		if x, ok := c.cores(collected{found.cores, found.lastsNs}, -student); ok {
			found.interval.High = min(x, found.interval.High)
		}
	}
	return found
}

// turning is a model whose server has turns. Its short requests have known demands, and come to the machine several times.
type turning struct {
	model       *model
	order       []int
	law         Law
	long, short [][]int // the kinds
	places      int
	pools       [][]float64       // from which the demands of each execution are drawn: those of its kind
	alone       map[int][]float64 // of short kinds, the executions for which there was a place all the time
	takes       float64           // cores that short requests take, on average

	rest *model // of the executions that are not short
	at   []int  // where each of these is

	turnNs int64
	visits []int32 // of each execution
}

// newTurning returns nil if there are no short kinds whose demands are known, or no others. If the cores are not given, the law is that of the
// others, and there are as many places as both have cores, or one less or more.
func (m *model) newTurning(l Law, coresGiven bool) *turning {
	if math.IsInf(l.Cores, 1) {
		return nil
	}
	places := machine.Places(l.Cores)
	if coresGiven {
		return m.turningOn(places, l)
	}
	if t := m.turningOn(places, l); t != nil {
		l.Cores += t.takes
		places = machine.Places(l.Cores)
	}
	var best *turning
	least := math.Inf(1)
	for p := max(1, places-1); p <= places+1; p++ {
		near := l
		near.Cores = min(float64(p)+machine.Small, max(float64(p)-0.5, l.Cores))
		if t := m.turningOn(p, near); t != nil {
			if _, x := t.least(UsualTurnNs, []int{2, 8}); x < least {
				best, least = t, x
			}
		}
	}
	return best
}

// turningOn returns a model with so many places, which the law has.
func (m *model) turningOn(places int, l Law) *turning {
	if m.most <= places {
		return nil
	}
	t := &turning{model: m, order: m.order(), law: l, places: places, pools: make([][]float64, len(m.executions)), alone: map[int][]float64{}}
	short := m.shortKinds()
	free := m.free(places)
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i, e := range m.executions {
		first, last = min(first, e.BeginNs), max(last, e.EndNs)
		t.pools[i] = []float64{float64(max(1, e.EndNs-e.BeginNs))} // of a rare kind
		if short[e.Kind] && free[i] {
			t.alone[e.Kind] = append(t.alone[e.Kind], t.pools[i][0])
		}
	}
	for _, kind := range m.kinds {
		pool := t.alone[m.executions[kind[0]].Kind]
		if len(pool) < fewestOfKind {
			delete(t.alone, m.executions[kind[0]].Kind)
			t.long = append(t.long, kind)
			continue
		}
		t.short = append(t.short, kind)
		t.takes += mean(pool) * float64(len(kind)) / float64(last-first)
		for _, i := range kind {
			t.pools[i] = pool
		}
	}
	if len(t.short) == 0 || len(t.long) == 0 || t.takes > l.Cores/2 {
		return nil
	}
	var others []Execution
	for i, e := range m.executions {
		if t.alone[e.Kind] == nil {
			others, t.at = append(others, e), append(t.at, i)
		}
	}
	t.rest = newModel(others)
	demands := t.demandsOf(l)
	for _, kind := range t.long {
		pool := make([]float64, len(kind))
		for k, i := range kind {
			pool[k] = demands[i]
		}
		for _, i := range kind {
			t.pools[i] = pool
		}
	}
	return t
}

// set sets the turn, and the visits of short kinds, which are one if they are nil.
func (t *turning) set(turnNs int64, visits map[int]int) {
	t.turnNs, t.visits = turnNs, make([]int32, len(t.model.executions))
	for i, e := range t.model.executions {
		t.visits[i] = int32(max(1, visits[e.Kind]))
	}
}

// demandsOf returns the demands of long requests under a law without turns, of which short ones take their part, and 0 for short ones.
func (t *turning) demandsOf(l Law) []float64 {
	demands := make([]float64, len(t.model.executions))
	l.Cores -= t.takes
	for k, ns := range t.rest.demandsOf(l) {
		demands[t.at[k]] = ns
	}
	return demands
}

// shortTurn returns a turn with which only the short kinds are known.
func (m *model) shortTurn() *Turn {
	t := &Turn{Ns: 1, visits: map[int]int{}}
	for kind, short := range m.shortKinds() {
		if short {
			t.visits[kind] = 1
		}
	}
	return t
}

// unknown returns a turn of which the log says nothing, with the short kinds of this one.
func (t *Turn) unknown() *Turn { return &Turn{Unknown: slices.Sorted(maps.Keys(t.visits))} }

// kindsOf returns the kinds of groups of executions, in their order.
func (m *model) kindsOf(groups [][]int) (kinds []int) {
	for _, g := range groups {
		kinds = append(kinds, m.executions[g[0]].Kind)
	}
	slices.Sort(kinds)
	return kinds
}

// shortKinds returns which kinds have requests that are usually less than half as long as the one that a request finds executing, which is the mean
// weighted with its length. A quarter of the requests of a kind is shorter than usual: those that did not wait.
func (m *model) shortKinds() map[int]bool {
	usual := make([]float64, len(m.kinds))
	sum, squares := 0.0, 0.0
	for k, kind := range m.kinds {
		var took []float64
		for _, i := range kind {
			took = append(took, float64(m.executions[i].EndNs-m.executions[i].BeginNs))
		}
		slices.Sort(took)
		usual[k] = quantileOf(took, 0.25)
		sum += usual[k] * float64(len(kind))
		squares += usual[k] * usual[k] * float64(len(kind))
	}
	short := map[int]bool{}
	for k, kind := range m.kinds {
		short[m.executions[kind[0]].Kind] = usual[k] < squares/sum/2
	}
	return short
}

// free returns which requests executed while there was a place for everybody.
func (t *timeline) free(places int) []bool {
	crowded := make([]int, len(t.n)) // intervals so far in which there was none
	for k := 1; k < len(t.n); k++ {
		if crowded[k] = crowded[k-1]; t.n[k] > places && t.ns[k] > 0 {
			crowded[k]++
		}
	}
	free := make([]bool, len(t.executions))
	for i := range free {
		free[i] = crowded[t.end[i]] == crowded[t.begin[i]]
	}
	return free
}

// rejects returns by how many standard deviations the log rejects that there are no turns. With
//
//	x_i = how much longer short request i executes with turns and two visits than without, as a mean of ln over runs
//	y_i = ln of how long it executes in the log − the same beside other requests that execute as in the log, without turns
//
// both centred within each kind, Σ x_i·y_i is zero if there are none, and Σ x_i·x_i is expected with them. Its variance is seen in blocks of time. x does not
// depend on how long requests executed in the log. So a server that is slow at times, and busy therefore, does not look like one with turns.
func (t *turning) rejects() (deviations, expected float64) {
	t.set(0, nil)
	without := t.model.executed(t.law.capacity(), t.pools, nil, t.order, turnSamples, 1)
	beside := t.beside(2)
	two := map[int]int{}
	for _, kind := range t.short {
		two[t.model.executions[kind[0]].Kind] = UsualVisits
	}
	t.set(UsualTurnNs, two)
	with := t.model.executed(t.capacity(t.law), t.pools, t.visits, t.order, turnSamples, 1)
	var sums [blocks]float64
	for _, kind := range t.short {
		var x, y []float64
		for _, i := range kind {
			x = append(x, with[i]-without[i])
			y = append(y, t.model.lnTook(i)-mean(beside[i]))
		}
		meanX, meanY := mean(x), mean(y)
		for k, i := range kind {
			sums[t.model.block[i]] += (x[k] - meanX) * (y[k] - meanY)
			expected += (x[k] - meanX) * (x[k] - meanX)
		}
	}
	sum, variance := spread(&sums)
	if variance == 0 {
		return 0, 0
	}
	return sum / math.Sqrt(variance), expected / math.Sqrt(variance)
}

// least returns the visits of each short kind, of those that are tried, with the least score beside other requests that execute as in the log, and the
// sum of these scores.
func (t *turning) least(turnNs int64, tries []int) (visits []int, sum float64) {
	visits, scores := make([]int, len(t.short)), make([]float64, len(t.short))
	for _, tried := range tries {
		all := map[int]int{}
		for _, kind := range t.short {
			all[t.model.executions[kind[0]].Kind] = tried
		}
		t.set(turnNs, all)
		took := t.beside(2)
		for k, kind := range t.short {
			sum := 0.0
			for _, i := range kind {
				sum += score(took[i], t.model.lnTook(i))
			}
			if visits[k] == 0 || sum < scores[k] {
				visits[k], scores[k] = tried, sum
			}
		}
	}
	for _, x := range scores {
		sum += x
	}
	return visits, sum
}

// score returns the continuous ranked probability score of samples and of what has happened, which is least on average if the samples have its
// distribution (Gneiting and Raftery, "Strictly Proper Scoring Rules", 2007). It sorts the samples.
func score(samples []float64, x float64) (score float64) {
	slices.Sort(samples)
	n := float64(len(samples))
	for k, s := range samples {
		score += math.Abs(s-x)/n - s*(2*float64(k)+1-n)/(n*(n-1))
	}
	return score
}
