package sharing

import (
	"math"
	"math/rand/v2"

	"apfsim/sim/machine"
)

// executed returns the mean logarithm of how long requests execute in runs of a machine that begin in an order, with demands drawn from pools.
func (m *model) executed(law *machine.Capacity, pools [][]float64, order []int, samples int, seed uint64) []float64 {
	means := make([]float64, len(m.executions))
	m.runs(law, pools, order, samples, seed, func(i int, ns float64) { means[i] += math.Log(ns) / float64(samples) })
	return means
}

// runs executes the requests several times.
func (m *model) runs(law *machine.Capacity, pools [][]float64, order []int, n int, seed uint64, took func(i int, ns float64)) {
	source := rand.New(rand.NewPCG(seed, 0))
	for range n {
		m.run(law, pools, order, source, took)
	}
}

// run executes the requests once. They begin when those of the log do, and have demands drawn from pools. Took is told how long each takes, once.
func (m *model) run(law *machine.Capacity, pools [][]float64, order []int, source *rand.Rand, took func(i int, ns float64)) {
	server := machine.New(law)
	nowNs := int64(0)
	var requests []int // by slots
	until := func(ns int64) {
		for {
			slot, atNs, ok := server.Next(nowNs)
			if !ok || atNs > ns {
				nowNs = ns
				return
			}
			if nowNs = atNs; slot == machine.Step {
				server.Advance(nowNs)
				continue
			}
			server.End(nowNs, slot)
			took(requests[slot], float64(max(1, nowNs-m.executions[requests[slot]].BeginNs)))
		}
	}
	for _, i := range order {
		until(m.executions[i].BeginNs)
		slot := server.Begin(nowNs, int64(pools[i][source.IntN(len(pools[i]))]))
		for int(slot) >= len(requests) {
			requests = append(requests, 0)
		}
		requests[slot] = i
	}
	until(math.MaxInt64)
}
