package sharing

import "container/heap"

// Meter returns the demands of executions under a law. It is given them in the order of their arrival, and forgets
// them when they have ended.
type Meter struct {
	speeds []float64 // by number of executions
	law    Law
	demand func(tag any, ns float64)

	pending changes
	n       int
	served  float64 // ns of demand that an execution has been served that began at 0
	lastNs  int64
	order   int64
}

// change is a beginning or an end of an execution.
type change struct {
	ns    int64
	endNs int64 // of a beginning; 0 of an end
	from  float64
	order int64
	tag   any
}

// NewMeter returns a meter that calls demand with the tag and the demand of each execution, in the order of their ends.
func NewMeter(l Law, demand func(tag any, ns float64)) *Meter { return &Meter{law: l, demand: demand} }

// Add adds an execution, which takes some time, of a request that has arrived at arrivalNs, not before those that were added before.
func (m *Meter) Add(arrivalNs, beginNs, endNs int64, tag any) {
	m.advance(arrivalNs)
	m.order++
	heap.Push(&m.pending, change{ns: beginNs, endNs: endNs, order: m.order, tag: tag})
}

// Close ends all executions.
func (m *Meter) Close() {
	for len(m.pending) > 0 {
		m.next()
	}
}

// advance carries out what has happened before a time.
func (m *Meter) advance(ns int64) {
	for len(m.pending) > 0 && m.pending[0].ns < ns {
		m.next()
	}
}

func (m *Meter) next() {
	c := heap.Pop(&m.pending).(change)
	for len(m.speeds) <= m.n {
		m.speeds = append(m.speeds, m.law.Speed(len(m.speeds)))
	}
	if m.n > 0 {
		m.served += float64(c.ns-m.lastNs) * m.speeds[m.n]
	}
	m.lastNs = c.ns
	if c.endNs == 0 {
		m.n--
		m.demand(c.tag, m.served-c.from)
		return
	}
	m.n++
	heap.Push(&m.pending, change{ns: c.endNs, from: m.served, order: c.order, tag: c.tag})
}

// changes is a heap by time, and at one time of ends before beginnings.
type changes []change

func (c changes) Len() int { return len(c) }
func (c changes) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	switch {
	case a.ns != b.ns:
		return a.ns < b.ns
	case (a.endNs == 0) != (b.endNs == 0):
		return a.endNs == 0
	}
	return a.order < b.order
}
func (c changes) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *changes) Push(x any)   { *c = append(*c, x.(change)) }
func (c *changes) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	*c = (*c)[:last]
	return x
}
