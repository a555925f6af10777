package sharing

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"apfsim/sim/machine"
	"apfsim/sim/quantity"
)

// executed returns the mean logarithm of how long requests execute in runs of a machine that begin in an order, with demands drawn from pools.
func (m *model) executed(law *machine.Capacity, pools [][]float64, visits []int32, order []int, samples int, seed uint64) []float64 {
	means := make([]float64, len(m.executions))
	m.runs(law, pools, visits, order, samples, seed, func(i int, ns float64) { means[i] += math.Log(ns) / float64(samples) })
	return means
}

// runs executes the requests several times.
func (m *model) runs(law *machine.Capacity, pools [][]float64, visits []int32, order []int, n int, seed uint64, took func(i int, ns float64)) {
	source := rand.New(rand.NewPCG(seed, 0))
	for range n {
		m.run(law, pools, visits, order, source, took)
	}
}

// run executes the requests once. They begin when those of the log do, have demands drawn from pools, and visit the machine once if visits is
// nil. Took is told how long each takes, once.
func (m *model) run(law *machine.Capacity, pools [][]float64, visits []int32, order []int, source *rand.Rand, took func(i int, ns float64)) {
	r := running{server: machine.New(law), took: func(i int, nowNs int64) { took(i, float64(max(1, nowNs-m.executions[i].BeginNs))) }}
	for _, i := range order {
		r.until(m.executions[i].BeginNs)
		times := int32(1)
		if visits != nil {
			times = visits[i]
		}
		r.begin(i, int64(pools[i][source.IntN(len(pools[i]))]), times)
	}
	r.until(math.MaxInt64)
}

// running is a server in a run.
type running struct {
	server   *machine.Machine
	nowNs    int64
	requests []int // by slots
	took     func(i int, nowNs int64)
}

// until lets it work until a time.
func (r *running) until(ns int64) {
	for {
		slot, atNs, ok := r.server.Next(r.nowNs)
		if !ok || atNs > ns {
			r.nowNs = ns
			return
		}
		if r.nowNs = atNs; slot == machine.Step {
			r.server.Advance(r.nowNs)
			continue
		}
		r.server.End(r.nowNs, slot)
		r.took(r.requests[slot], r.nowNs)
	}
}

// begin begins a request.
func (r *running) begin(i int, demandNs int64, visits int32) (slot int32) {
	slot = r.server.BeginVisits(r.nowNs, demandNs, visits)
	for int(slot) >= len(r.requests) {
		r.requests = append(r.requests, 0)
	}
	r.requests[slot] = i
	return slot
}

// capacity returns a law as that of a machine, with the turns.
func (t *turning) capacity(l Law) *machine.Capacity {
	c := l.capacity()
	if t != nil {
		c.Turn = quantity.Duration(t.turnNs)
	}
	return c
}

// times returns how often each request visits the machine, nil if all do once.
func (t *turning) times() []int32 {
	if t == nil {
		return nil
	}
	return t.visits
}

// beside returns the logarithms of how long short requests execute in runs beside others that execute exactly as long as in the log.
func (t *turning) beside(seed uint64) [][]float64 {
	m := t.model
	capacity := t.capacity(t.law)
	type change struct {
		ns  int64
		i   int
		end bool
	}
	var changes []change
	for i, e := range m.executions {
		changes = append(changes, change{e.BeginNs, i, false})
		if t.alone[e.Kind] == nil {
			changes = append(changes, change{e.EndNs, i, true})
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.ns, b.ns) })
	took := make([][]float64, len(m.executions))
	source := rand.New(rand.NewPCG(seed, 0))
	slots := make([]int32, len(m.executions))
	for range besideRuns {
		r := running{server: machine.New(capacity), took: func(i int, nowNs int64) {
			took[i] = append(took[i], math.Log(float64(max(1, nowNs-m.executions[i].BeginNs))))
		}}
		for _, c := range changes {
			switch r.until(c.ns); {
			case c.end:
				r.server.Cancel(r.nowNs, slots[c.i])
			case t.alone[m.executions[c.i].Kind] == nil:
				slots[c.i] = r.begin(c.i, endless, 1)
			default:
				r.begin(c.i, int64(t.pools[c.i][source.IntN(len(t.pools[c.i]))]), t.visits[c.i])
			}
		}
		r.until(math.MaxInt64)
	}
	return took
}

// lnTook returns the logarithm of how long a request executes in the log.
func (m *model) lnTook(i int) float64 {
	return math.Log(float64(max(1, m.executions[i].EndNs-m.executions[i].BeginNs)))
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

// demandsOf returns the demands under a law, at least 1 ns.
func (m *model) demandsOf(l Law) []float64 {
	m.timeline.served(l.Speed, m.served)
	demands := make([]float64, len(m.executions))
	for i := range demands {
		demands[i] = max(1, m.served[m.end[i]]-m.served[m.begin[i]])
	}
	return demands
}

// pools returns the demands under a law from which those of each execution are drawn: those of its kind.
func (m *model) pools(l Law) [][]float64 {
	demands := m.demandsOf(l)
	pools := make([][]float64, len(m.executions))
	for i := range pools {
		pools[i] = demands[i : i+1] // of a rare kind
	}
	for _, kind := range m.kinds {
		pool := make([]float64, len(kind))
		for k, i := range kind {
			pool[k] = demands[i]
		}
		for _, i := range kind {
			pools[i] = pool
		}
	}
	return pools
}

func mean(all []float64) (mean float64) {
	for k, x := range all {
		mean += (x - mean) / float64(k+1)
	}
	return mean
}
