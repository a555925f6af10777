package sharing

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
)

const (
	student = 2.023 // quantile of the distribution with 39 degrees of freedom, at 95 %
	apart   = 3.3   // standard deviations beyond which requests are slow together
)

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
	order := m.order()
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

// correct replaces the cores of a law by those with which demands do not depend on how busy the server would have been. It also
// returns the bounds of 1/c, and whether there are such cores. The likelihood assumes that the number of executions is the cause of
// their speed. If the server is slow at times, the number is a consequence as well: requests pile up because they are slow, and the
// server seems to have fewer cores than it has. When requests begin is no consequence, or hardly, so that what is predicted from
// that alone is an instrument.
func (s *search) correct(p point) (q point, bounds [2]float64, ok bool) {
	at := func(x float64) float64 {
		q := p
		q[0] = x
		return s.model.dependence(s.law(q))
	}
	// The more the server is thought to be shared, the smaller are the demands of busy moments.
	zero := func(z float64) (x float64, ok bool) {
		low, high := s.lower[0], most[0]
		start := min(high, max(low, p[0]))
		if at(start) > z {
			low = start
			for x := start; ; x = min(high, x*1.1) {
				if at(x) <= z {
					high = x
					break
				}
				if low = x; x == high {
					return x, false
				}
			}
		} else {
			high = start
			for x := start; ; x = max(low, x/1.1) {
				if at(x) > z {
					low = x
					break
				}
				if high = x; x == low {
					return x, false
				}
			}
		}
		for high-low > fine*high {
			if x := (low + high) / 2; at(x) > z {
				low = x
			} else {
				high = x
			}
		}
		return (low + high) / 2, true
	}
	q = p
	if q[0], ok = zero(0); !ok {
		return p, [2]float64{s.lower[0], most[0]}, false
	}
	bounds[0], bounds[1] = s.lower[0], most[0]
	if x, ok := zero(student); ok {
		bounds[0] = x
	}
	if x, ok := zero(-student); ok {
		bounds[1] = x
	}
	return q, bounds, true
}

// together returns the correlation of the demands under a law of requests that execute together, and how many standard
// deviations it is above 0. It is near 0 if demands are those of the requests, and above if the server is slow at times.
func (m *model) together(l Law) (correlation, deviations float64) {
	m.timeline.served(l.Speed, m.served)
	residual := make([]float64, len(m.executions))
	var compared []int
	for _, kind := range m.kinds {
		values := m.demands(kind)
		mean, square := 0.0, 0.0
		for _, x := range values {
			mean += x / float64(len(values))
		}
		for _, x := range values {
			square += (x - mean) * (x - mean) / float64(len(values))
		}
		for j, i := range kind {
			residual[i] = max(-3, min(3, (values[j]-mean)/max(1e-9, math.Sqrt(square)))) // some outliers decide nothing
		}
		compared = append(compared, kind...)
	}
	slices.SortFunc(compared, func(a, b int) int {
		return cmp.Or(cmp.Compare(m.executions[a].BeginNs, m.executions[b].BeginNs), a-b)
	})
	var pairs [][2]int
	var mean [2]float64
	for k := 1; k < len(compared); k++ {
		i, j := compared[k-1], compared[k]
		a, b := m.executions[i], m.executions[j]
		if common := min(a.EndNs, b.EndNs) - b.BeginNs; 2*common > min(a.EndNs-a.BeginNs, b.EndNs-b.BeginNs) {
			pairs = append(pairs, [2]int{i, j})
			mean[0] += residual[i]
			mean[1] += residual[j]
		}
	}
	var sums [blocks]float64
	var square [2]float64
	for _, p := range pairs {
		a, b := residual[p[0]]-mean[0]/float64(len(pairs)), residual[p[1]]-mean[1]/float64(len(pairs))
		sums[m.block[p[1]]] += a * b
		square[0] += a * a
		square[1] += b * b
	}
	sum, variance := spread(&sums)
	if len(pairs) < fewestOfKind || variance == 0 {
		return 0, 0
	}
	return sum / math.Sqrt(square[0]*square[1]), sum / math.Sqrt(variance)
}

// ending is an execution that ends when each has been served so much.
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
