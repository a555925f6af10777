package sharing

import (
	"container/heap"
	"math"

	"apfsim/sim/machine"
	"apfsim/sim/quantity"
)

// Meter returns the demands of executions under a law, and with a turn. It is given them in the order of their arrival, and forgets
// them when they have ended.
type Meter struct {
	law    Law
	demand func(tag any, ns float64, free bool)

	server  *machine.Machine // which begins and ends jobs when the log does
	nowNs   int64
	pending changes
	order   int64
}

// endless is a demand that no execution is served.
const endless = 1 << 46 // 19 hours

// change is a beginning or an end of an execution.
type change struct {
	ns    int64
	endNs int64 // of a beginning; 0 of an end
	slot  int32 // of an end
	free  bool  // of an end
	order int64
	tag   any
}

// NewMeter returns a meter that calls demand with the tag and the demand of each execution, in the order of their ends, and says whether
// a place was free when it began.
func NewMeter(l Law, turnNs int64, demand func(tag any, ns float64, free bool)) *Meter {
	return &Meter{law: l, demand: demand, server: machine.New(l.capacity(turnNs))}
}

// capacity returns a law as that of a machine.
func (l Law) capacity(turnNs int64) *machine.Capacity {
	c := &machine.Capacity{Cores: l.Cores, Contention: l.Contention, Coherency: l.Coherency, Turn: quantity.Duration(turnNs)}
	if math.IsInf(l.Cores, 1) {
		c.Cores = 0
	}
	return c
}

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
	m.pass(c.ns)
	if c.endNs == 0 {
		m.demand(c.tag, endless-m.server.Cancel(c.ns, c.slot), c.free)
		return
	}
	free := float64(m.server.N()) < math.Ceil(m.law.Cores)
	heap.Push(&m.pending, change{ns: c.endNs, slot: m.server.Begin(c.ns, endless), free: free, order: c.order, tag: c.tag})
}

// pass ends the turns that are over before a time.
func (m *Meter) pass(ns int64) {
	for {
		slot, atNs, ok := m.server.Next(m.nowNs)
		if !ok || slot != machine.Step || atNs > ns {
			m.nowNs = ns
			return
		}
		m.nowNs = atNs
		m.server.Advance(atNs)
	}
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
