package sharing

import (
	"cmp"
	"math"
	"slices"
)

// Turn is what a log says of the turns that its server gives to requests (package machine), when its capacity is known.
type Turn struct {
	Ns            int64 // the turn that agrees best with the log; 0 if the log does not show turns
	LowNs, HighNs int64 // the shortest and the longest of those tried with which the log agrees at 95 %; 0 if Ns is
	Requests      int   // short ones that were compared; 0 if there are too few

	// Rejected is by how many standard deviations short requests are slower on the busy server than without turns.
	Rejected float64

	short map[int]bool // kinds whose demands are shorter than those of the requests that they wait for
}

const (
	turnSamples = 16   // runs from which it is known how long requests execute
	unlikely    = 3.56 // quantile of Student's distribution with 39 degrees of freedom, at 99.9 % of both sides
)

// turnsTried are the turns that a server may have, in ns.
var turnsTried = []int64{0, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000}

// Short says whether the demand of a kind is known from those requests only that begin when a place is free. With a turn, the
// others wait for one, and the log does not say how long.
func (t *Turn) Short(kind int) bool { return t.Ns > 0 && t.short[kind] }

// places returns how many requests progress at a time if they take turns.
func (l Law) places() int { return int(math.Ceil(l.Cores)) }

// turn estimates the turn under a known law: it is that with which the short requests of the log are as slow on the busy
// server, in comparison with the idle one, as in runs. In a run, requests begin when those of the log do, and have demands drawn from those of their
// kind. With
//
//	x_i = how much longer request i executes with turns of 5 ms than with none, as a mean of ln over runs
//	T_i = ln of how long it executes with a turn, as a mean over other runs
//
// the sum of x_i·(ln of the execution in the log − T_i) is zero under the right turn, both centred within each kind. Its variance is seen in
// blocks of time. x does not depend on how long requests executed in the log. So a server that is slow at times, and busy therefore, does not look like
// one with turns.
func (m *model) turn(l Law) *Turn {
	t := &Turn{short: map[int]bool{}}
	if math.IsInf(l.Cores, 1) || m.most <= l.places() {
		return t
	}
	order := m.order()
	short := m.short(l, order)
	t.add(m, short)
	if len(short) == 0 {
		return t
	}
	executed := func(turnNs int64, seed uint64) []float64 {
		return m.executed(l.capacity(turnNs), m.pools(l, turnNs, order, short), order, turnSamples, seed)
	}
	none, some := executed(0, 1), executed(5_000_000, 1)
	x := make([]float64, len(none))
	for _, kind := range short {
		mean := 0.0
		for _, i := range kind {
			mean += (some[i] - none[i]) / float64(len(kind))
		}
		for _, i := range kind {
			x[i] = some[i] - none[i] - mean
		}
	}
	closest := math.Inf(1)
	for _, turnNs := range turnsTried {
		took := executed(turnNs, 2)
		var sums [blocks]float64
		for _, kind := range short {
			mean := 0.0
			for _, i := range kind {
				took[i] = math.Log(float64(m.executions[i].EndNs-m.executions[i].BeginNs)) - took[i]
				mean += took[i] / float64(len(kind))
			}
			for _, i := range kind {
				sums[m.block[i]] += x[i] * (took[i] - mean)
			}
		}
		sum, variance := spread(&sums)
		deviations := 0.0
		if variance > 0 {
			deviations = sum / math.Sqrt(variance)
		}
		if turnNs == 0 {
			if t.Rejected = deviations; deviations < unlikely {
				return t
			}
			continue
		}
		if math.Abs(deviations) < closest {
			t.Ns, closest = turnNs, math.Abs(deviations)
		}
		if math.Abs(deviations) < student {
			if t.LowNs == 0 {
				t.LowNs = turnNs
			}
			t.HighNs = turnNs
		}
	}
	if t.LowNs == 0 {
		t.LowNs, t.HighNs = t.Ns, t.Ns
	}
	return t
}

// givenTurn returns a turn that is known.
func (m *model) givenTurn(l Law, turnNs int64) *Turn {
	t := &Turn{Ns: turnNs, short: map[int]bool{}}
	if turnNs > 0 {
		t.add(m, m.short(l, m.order()))
	}
	return t
}

// add takes note of short kinds.
func (t *Turn) add(m *model, short [][]int) {
	for _, kind := range short {
		t.short[m.executions[kind[0]].Kind] = true
		t.Requests += len(kind)
	}
}

// order returns the executions in the order in which they begin.
func (m *model) order() []int {
	order := make([]int, len(m.executions))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.executions[a].BeginNs, m.executions[b].BeginNs) })
	return order
}

// demandsOf returns the demands under a law and with a turn, and which requests began when a place was free.
func (m *model) demandsOf(l Law, turnNs int64, order []int) (demands []float64, free []bool) {
	demands, free = make([]float64, len(m.executions)), make([]bool, len(m.executions))
	meter := NewMeter(l, turnNs, func(tag any, ns float64, placed bool) { demands[tag.(int)], free[tag.(int)] = max(1, ns), placed })
	for _, i := range order {
		meter.Add(m.executions[i].BeginNs, m.executions[i].BeginNs, m.executions[i].EndNs, i)
	}
	meter.Close()
	return demands, free
}

// short returns the kinds of short requests. They have less than half the demand of the one that a request finds executing, which is the mean
// weighted with the demand itself.
func (m *model) short(l Law, order []int) (short [][]int) {
	demands, free := m.demandsOf(l, 0, order)
	sum, sum2 := 0.0, 0.0
	for _, d := range demands {
		sum += d
		sum2 += d * d
	}
	for _, kind := range m.kinds {
		mean, placed := 0.0, 0
		for _, i := range kind {
			mean += demands[i] / float64(len(kind))
			if free[i] {
				placed++
			}
		}
		if mean < sum2/sum/2 && placed >= fewestOfKind {
			short = append(short, kind)
		}
	}
	return short
}

// pools returns the demands under a law and with a turn from which those of each execution are drawn: those of its kind, of short kinds only
// of requests that began when a place was free.
func (m *model) pools(l Law, turnNs int64, order []int, short [][]int) [][]float64 {
	demands, free := m.demandsOf(l, turnNs, order)
	pools := make([][]float64, len(m.executions))
	for i := range pools {
		pools[i] = demands[i : i+1] // of a rare kind
	}
	pool := func(kind []int, all bool) {
		var of []float64
		for _, i := range kind {
			if all || free[i] {
				of = append(of, demands[i])
			}
		}
		for _, i := range kind {
			pools[i] = of
		}
	}
	for _, kind := range m.kinds {
		pool(kind, true)
	}
	for _, kind := range short {
		pool(kind, false)
	}
	return pools
}
