package sharing

import (
	"container/heap"
	"math"

	"apfsim/sim/machine"
)

// Meter computes the demands of executions under a law. Executions are added in the order of their arrival, and
// forgotten when they have ended.
type Meter struct {
	demand func(tag any, ns float64)

	server  *machine.Machine // which begins and ends its jobs when the log does
	pending changes
	order   int64
}

// endless is a demand so large that no execution is ever served it.
const endless = 1 << 46 // 19 hours

// change is a beginning or an end of an execution.
type change struct {
	ns    int64
	endNs int64 // of a beginning; 0 of an end
	slot  int32 // of an end
	order int64
	tag   any
}

// NewMeter returns a meter that calls demand with the tag and the demand of each execution, in the order of their ends.
func NewMeter(l Law, demand func(tag any, ns float64)) *Meter {
	return &Meter{demand: demand, server: machine.New(l.capacity())}
}

// capacity converts the law to the capacity of a machine.
func (l Law) capacity() *machine.Capacity {
	c := &machine.Capacity{Cores: l.Cores, Contention: l.Contention, Coherency: l.Coherency}
	if math.IsInf(l.Cores, 1) {
		c.Cores = 0
	}
	return c
}

// Add adds an execution of a positive length, whose request arrived at arrivalNs. Arrivals must not decrease.
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
	if c.endNs > 0 {
		heap.Push(&m.pending, change{ns: c.endNs, slot: m.server.Begin(c.ns, endless), order: c.order, tag: c.tag})
		return
	}
	m.demand(c.tag, endless-m.server.Cancel(c.ns, c.slot))
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
