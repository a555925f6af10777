package sharing

import "math"

const (
	near = 4  // classes of pairs that say whether the server is slow at times
	far  = 24 // and of those that say how often
)

// collecting is what is compared of a log and of runs with garbage collections. In a run, requests begin when those of the log do. With
//
//	r_i = ln of how long request i executes − its mean in runs without collections
//	x_i = this mean
//
// both centred within kinds, and r weighted by the mean demand of the kind, a log or a run has
//
//	Σ x_i·r_i, its busyness: the fewer cores there are, the more it is
//	Σ r_i·r_j over the pairs of requests of which one begins after the other by so much demand, by classes of that demand
//
// The demand between two requests is that of those that begin from the one to the other, by the means of their kinds, so that it is the same in the log
// and in runs. Near pairs are alike if the server is slow at times. If it is slow again whenever so much demand has been served, pairs at that distance are,
// too: it is the period of collections (findPeriod). Other causes make only near pairs alike. So how alike pairs are at the distance of
// the period says how long collections last.
type collecting struct {
	model  *model
	law    Law
	turns  *turning // nil without
	order  []int
	mean   []float64               // ln of the time of each request without collections
	x      []float64               // the mean, centred
	weight []float64               // of each request, 0 if its kind is rare
	clock  []float64               // the demand of all requests that begin before each one
	edges  [near + far + 1]float64 // of the classes
	scale  float64                 // the mean demand of a request that executes

	// Of the log:
	busy, busyDeviation float64
	blocks              *[blocks]classes // of its pairs
	alike, deviations   classes
	from, to            int     // the classes at the distance of the period
	shown               bool    // whether these pairs are alike, and not by chance
	everyNs             float64 // the period, in demand that contains the effect of collections; not if they are known
}

// classes are the sums of classes of pairs.
type classes [near + far]float64

func newCollecting(m *model, l Law, t *turning) *collecting {
	n := len(m.executions)
	c := &collecting{model: m, law: l, turns: t, order: m.order(), weight: make([]float64, n), x: make([]float64, n), clock: make([]float64, n)}
	pools := m.pools(l)
	if t != nil {
		pools = t.pools
	}
	c.mean = m.executed(t.capacity(l), pools, t.times(), c.order, turnSamples, 1)
	sum, squares := 0.0, 0.0
	for _, kind := range m.kinds {
		demand, mean := mean(pools[kind[0]]), 0.0
		for k, i := range kind {
			mean += (c.mean[i] - mean) / float64(k+1)
		}
		for _, i := range kind {
			c.weight[i], c.x[i] = demand, c.mean[i]-mean
		}
		sum += demand * float64(len(kind))
		squares += demand * demand * float64(len(kind))
	}
	c.scale = squares / sum
	begun := 0.0
	for _, i := range c.order {
		c.clock[i] = begun
		begun += c.weight[i]
	}
	for k := range c.edges {
		switch {
		case k > near:
			c.edges[k] = c.scale * (8 + 5*float64(k-near))
		case k > 0:
			c.edges[k] = c.scale * float64(int(1)<<(k-1))
		}
	}
	took := make([]float64, n)
	for i, e := range m.executions {
		took[i] = math.Log(float64(max(1, e.EndNs-e.BeginNs)))
	}
	if m.collection != nil {
		c.everyNs = float64(m.collection.EveryNs)
	}
	r := c.residuals(took)
	busy := c.busyness(r)
	c.busy, c.busyDeviation = deviation(&busy)
	c.blocks = c.pairs(r, 0, near+far)
	for class := range c.alike {
		c.alike[class], c.deviations[class] = c.sum(class, class)
	}
	return c
}

// sum returns how alike the pairs of some classes of the log are, and its standard deviation.
func (c *collecting) sum(from, to int) (alike, deviates float64) {
	var sums [blocks]float64
	for b := range c.blocks {
		for _, x := range c.blocks[b][from : to+1] {
			sums[b] += x
		}
	}
	return deviation(&sums)
}

// residuals returns r of a run. Took are the logarithms of the times of requests.
func (c *collecting) residuals(took []float64) []float64 {
	r := make([]float64, len(took))
	for _, kind := range c.model.kinds {
		mean := 0.0
		for k, i := range kind {
			mean += (took[i] - c.mean[i] - mean) / float64(k+1)
		}
		for _, i := range kind {
			r[i] = c.weight[i] * (took[i] - c.mean[i] - mean)
		}
	}
	return r
}

// busyness returns Σ x·r of each block of time.
func (c *collecting) busyness(r []float64) (sums [blocks]float64) {
	for i, block := range c.model.block {
		sums[block] += c.x[i] * r[i]
	}
	return sums
}

// pairs returns Σ r·r of some classes, of each block of time.
func (c *collecting) pairs(r []float64, from, to int) *[blocks]classes {
	var sums [blocks]classes
	first := 0 // position of the first request that is far enough after one
	for k, i := range c.order {
		if c.weight[i] == 0 {
			continue
		}
		for first = max(first, k+1); first < len(c.order) && c.clock[c.order[first]]-c.clock[i] < c.edges[from]; first++ {
		}
		of, class := &sums[c.model.block[i]], from
		for _, j := range c.order[first:] {
			served := c.clock[j] - c.clock[i]
			for class < to && served >= c.edges[class+1] {
				class++
			}
			if class == to {
				break
			}
			of[class] += r[i] * r[j]
		}
	}
	return &sums
}

// findPeriod finds out after how much demand, which contains the effect of collections, the server is slow again. That is where pairs are
// alike again, after those that are near. It returns whether the log shows that, or if the server is known to be slow, whether there is a likeliest period.
func (c *collecting) findPeriod(slow bool) bool {
	z := func(class int) float64 { return c.alike[class] / max(1e-9, c.deviations[class]) }
	const last = near + far - 1
	low := near
	for low < last && z(low) > z(0)/3 {
		low++
	}
	top := low                                // of the first hill
	for class := low; class < last; class++ { // beside which there is another
		if z(class) > z(top) {
			top = class
		} else if z(top) > apart && z(class) < 0 {
			break
		}
	}
	c.shown = top > low && z(top) >= apart // otherwise it only falls, or is chance
	if !c.shown && !slow || low >= last-1 {
		return false
	}
	if top == low {
		for top = low + 1; top < last-1 && z(top) > 0; top++ { // as long as it falls
		}
		for class := top; class < last; class++ {
			if z(class) > z(top) {
				top = class
			}
		}
	}
	c.from, c.to = top, top
	for c.from > low && z(c.from-1) > max(0, z(top)/2) {
		c.from--
	}
	for c.to < last && z(c.to+1) > max(0, z(top)/2) {
		c.to++
	}
	sum, weights := 0.0, 0.0
	for class := c.from; class <= c.to; class++ {
		weight := max(1e-9, z(class))
		sum += weight * (c.edges[class] + c.edges[class+1]) / 2
		weights += weight
	}
	c.everyNs = sum / weights
	return true
}

// deviation returns the sum of all blocks, and its standard deviation.
func deviation(sums *[blocks]float64) (sum, deviation float64) {
	sum, variance := spread(sums)
	return sum, math.Sqrt(variance)
}
