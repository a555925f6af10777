package sharing

import (
	"math"
)

const (
	fewestOfKind = 30  // executions; the demands of rarer kinds have no density
	blocks       = 40  // of time, which vary independently
	busySpeed    = 0.9 // below which a server is busy
)

// model is the likelihood of a log under laws. The hazard that a request ends is h(d)·v(n), where d is the demand that it
// has been served, and h the hazard of the demands of its kind: the execution i adds log f(d_i) + log v(n_i) with the
// density f of demands, and the number n_i of executions before its end. When requests begin does not matter, not even
// if they begin because others end.
type model struct {
	*timeline
	kinds  [][]int   // the executions whose demands are compared, by kinds with enough of them
	widths []float64 // of the kernels of each kind
	block  []int     // of each execution

	density density

	served []float64 // by time
	values []float64
	scores []float64
}

func newModel(executions []Execution) *model {
	m := &model{timeline: newTimeline(executions)}
	m.served = make([]float64, len(m.n))
	byKind := map[int]int{} // to its index in all
	var all [][]int
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for i, e := range executions {
		first, last = min(first, e.EndNs), max(last, e.EndNs)
		if e.EndNs <= e.BeginNs {
			continue
		}
		k, ok := byKind[e.Kind]
		if !ok {
			k = len(all)
			byKind[e.Kind] = k
			all = append(all, nil)
		}
		all[k] = append(all[k], i)
	}
	for _, k := range all {
		if len(k) >= fewestOfKind {
			m.kinds = append(m.kinds, k)
		}
	}
	for _, e := range executions {
		m.block = append(m.block, int(float64(e.EndNs-first)/float64(last-first+1)*blocks))
	}
	return m
}

// demands returns the logarithms of the demands of a kind, after served is known.
func (m *model) demands(kind []int) []float64 {
	m.values = m.values[:0]
	for _, i := range kind {
		m.values = append(m.values, math.Log(m.served[m.end[i]]-m.served[m.begin[i]]))
	}
	return m.values
}

// setWidths makes the kernels those of the demands under a law.
func (m *model) setWidths(l Law) {
	m.timeline.served(l.Speed, m.served)
	m.widths = m.widths[:0]
	for _, kind := range m.kinds {
		m.widths = append(m.widths, width(m.demands(kind)))
	}
}

// busy returns how many requests executed at least when those ended that are the busiest hundredth.
func (m *model) busy() int {
	var n []int
	for _, kind := range m.kinds {
		for _, i := range kind {
			n = append(n, m.n[m.end[i]])
		}
	}
	return busiest(n)
}

// compare compares the demands, under a law, of requests that began when as many executed as share cores, and when not.
// See Estimate for what it returns.
func (m *model) compare(l Law) (busier, idleSpread, busySpread float64) {
	m.timeline.served(l.Speed, m.served)
	var squares, freedom [2]float64
	weighted, weight := 0.0, 0.0
	for _, kind := range m.kinds {
		var n, sum, sum2 [2]float64
		for k, x := range m.demands(kind) {
			side := 0
			if l.Speed(m.n[m.begin[kind[k]]]+1) < busySpeed {
				side = 1
			}
			n[side]++
			sum[side] += x
			sum2[side] += x * x
		}
		for side := range n {
			if n[side] > 1 {
				squares[side] += max(0, sum2[side]-sum[side]*sum[side]/n[side])
				freedom[side] += n[side] - 1
			}
		}
		if n[0] > 0 && n[1] > 0 {
			w := n[0] * n[1] / (n[0] + n[1])
			weighted += w * (sum[1]/n[1] - sum[0]/n[0])
			weight += w
		}
	}
	if weight == 0 || freedom[0] == 0 || freedom[1] == 0 {
		return 0, 0, 0
	}
	return math.Exp(weighted / weight), math.Sqrt(squares[0] / freedom[0]), math.Sqrt(squares[1] / freedom[1])
}

// trial is a law and how likely it makes the log.
type trial struct {
	law    Law
	total  float64
	blocks [blocks]float64 // sums to total
	kinds  []float64       // sums to total
}

// try returns the log-likelihood of a law.
func (m *model) try(l Law) *trial {
	r := &trial{law: l, kinds: make([]float64, len(m.kinds))}
	m.timeline.served(l.Speed, m.served)
	for j, kind := range m.kinds {
		values := m.demands(kind)
		m.scores = append(m.scores[:0], make([]float64, len(values))...)
		m.density.add(values, m.widths[j], m.scores)
		for k, i := range kind {
			// The density of the demand is that of its logarithm divided by it.
			score := m.scores[k] - values[k] + math.Log(l.Speed(m.n[m.end[i]]))
			r.total += score
			r.kinds[j] += score
			r.blocks[m.block[i]] += score
		}
	}
	return r
}

// inflation returns how much more the difference of two log-likelihoods varies from block to block than it would if
// the log were exactly of the model: 1 or more. (Of a model that holds, the variance of the difference is twice its mean.)
func inflation(best *trial, others []*trial) float64 {
	sum, n := 0.0, 0
	for _, r := range others {
		mean := (best.total - r.total) / blocks
		if mean <= 0 {
			continue
		}
		variance := 0.0
		for b := range best.blocks {
			d := best.blocks[b] - r.blocks[b] - mean
			variance += d * d
		}
		variance *= float64(blocks) / (blocks - 1)
		sum += variance / (2 * mean * blocks)
		n++
	}
	if n == 0 {
		return 1
	}
	return max(1, sum/float64(n))
}
