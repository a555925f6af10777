package sharing

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

// student is the quantile of Student's distribution with 39 degrees of freedom, at 95 % of both sides.
const student = 2.023

// demandsOf returns the demands under a law, at least 1 ns.
func (m *model) demandsOf(l Law) []float64 {
	m.timeline.served(l.Speed, m.served)
	demands := make([]float64, len(m.executions))
	for i := range demands {
		demands[i] = max(1, m.served[m.end[i]]-m.served[m.begin[i]])
	}
	return demands
}

// meanDemands returns for each execution the mean demand of its kind, or its own if the kind is rare.
func (m *model) meanDemands(l Law) []float64 {
	demands := m.demandsOf(l)
	for _, kind := range m.kinds {
		mean := 0.0
		for _, i := range kind {
			mean += demands[i] / float64(len(kind))
		}
		for _, i := range kind {
			demands[i] = mean
		}
	}
	return demands
}

// predict returns how long requests with these demands execute under a law if they begin when those of the log do.
func (m *model) predict(l Law, demands []float64) []float64 {
	order := make([]int, len(m.executions))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(m.executions[a].BeginNs, m.executions[b].BeginNs), a-b)
	})
	took := make([]float64, len(demands))
	var running ends
	now, served := 0.0, 0.0
	end := func() {
		first := running[0]
		now += (first.served - served) / l.Speed(len(running))
		served = first.served
		took[first.index] = max(1, now-float64(m.executions[first.index].BeginNs))
		heap.Pop(&running)
	}
	for _, i := range order {
		begin := float64(m.executions[i].BeginNs)
		for len(running) > 0 && now+(running[0].served-served)/l.Speed(len(running)) <= begin {
			end()
		}
		if len(running) > 0 {
			served += (begin - now) * l.Speed(len(running))
		}
		now = begin
		heap.Push(&running, ending{served + demands[i], i})
	}
	for len(running) > 0 {
		end()
	}
	return took
}

// dependence returns by how many standard deviations the demands under a law increase with how busy the server would have
// been without chance:
//
//	Σ x_i · (rank of d_i),  x_i = log(predicted execution of i / its demand)
//
// divided by its standard deviation, which is seen in blocks of time. Both factors are centred within each kind, and kinds have
// weights by their part of the demand, which is what limits the server.
func (m *model) dependence(l Law) float64 {
	demands := m.meanDemands(l)
	predicted := m.predict(l, demands)
	var sums [blocks]float64
	for _, kind := range m.kinds {
		mean, weight := 0.0, 0.0
		for _, i := range kind {
			mean += math.Log(predicted[i]/demands[i]) / float64(len(kind))
			weight += demands[i]
		}
		for j, rank := range ranks(m.demands(kind)) {
			i := kind[j]
			sums[m.block[i]] += weight * (math.Log(predicted[i]/demands[i]) - mean) * rank
		}
	}
	sum, variance := spread(&sums)
	if variance == 0 {
		return 0
	}
	return sum / math.Sqrt(variance)
}

// ranks returns which part of the values are less than each, minus one half.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(values[a], values[b]), a-b) })
	all := make([]float64, len(values))
	for rank, i := range order {
		all[i] = (float64(rank)+0.5)/float64(len(values)) - 0.5
	}
	return all
}

// spread returns the sum of all blocks, and its variance.
func spread(sums *[blocks]float64) (sum, variance float64) {
	for _, x := range sums {
		sum += x
	}
	for _, x := range sums {
		variance += (x - sum/blocks) * (x - sum/blocks) * blocks / (blocks - 1)
	}
	return sum, variance
}

// instrument returns the 1/c with which demands do not depend on how busy the server would have been, near a value, and its bounds. The likelihood
// assumes that the number of executions is the cause of their speed. If the server is slow at times, the number is a consequence as well: requests
// pile up because they are slow, and the server seems to have fewer cores than it has. When requests begin is no consequence, or hardly, so that
// what is predicted from that alone is an instrument.
func (s *search) instrument(near float64) (x, low, high float64) {
	least, greatest := s.lower[0], greatest[0]
	// zero returns where the dependence falls below z. It decreases with contention: the more the executions share, the
	// smaller are the demands that they have in busy moments.
	zero := func(z float64) float64 {
		above := func(x float64) bool { return s.model.dependence(s.law(point{x})) > z }
		const step = 1.05
		x := min(greatest, max(least, near))
		for x < greatest && above(x) {
			x = min(greatest, x*step)
		}
		for x > least && !above(x) {
			x = max(least, x/step)
		}
		if !above(x) {
			return x
		}
		low, high := x, min(greatest, x*step)
		for high-low > fine*high {
			if x := (low + high) / 2; above(x) {
				low = x
			} else {
				high = x
			}
		}
		return (low + high) / 2
	}
	return zero(0), zero(student), zero(-student)
}

// ending is an execution that ends when each execution has been served a certain demand.
type ending struct {
	served float64
	index  int
}

// ends is a heap.
type ends []ending

func (e ends) Len() int { return len(e) }
func (e ends) Less(i, j int) bool {
	return e[i].served < e[j].served || e[i].served == e[j].served && e[i].index < e[j].index
}
func (e ends) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)   { *e = append(*e, x.(ending)) }
func (e *ends) Pop() any {
	last := len(*e) - 1
	x := (*e)[last]
	*e = (*e)[:last]
	return x
}
