// Package collect gathers the statistics of a run while it happens.
package collect

import (
	"slices"

	"apfsim/reports/histogram"
	"apfsim/reports/measure"
	"apfsim/reports/observe"
	"apfsim/reports/result"
	"apfsim/reports/virtualwait"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Collector gathers the statistics of one run as it happens. It implements
// server.Observer. An event costs the same however long the run is; memory grows with the
// number of flows, not with that of requests.
//
// Requests that arrive within the window [warm-up, duration) count, with all that becomes
// of them. Seats in use, waiting requests and starvation are followed from the beginning
// and clipped to the window; the series cover the whole run.
type Collector struct {
	scenario   *scenario.Scenario
	EachLevel  func(visit func(observe.LevelState))
	fromNs     int64 // the window
	toNs       int64
	intervalNs int64

	IntervalFromNs int64 // the interval under way
	intervalToNs   int64 // when it ends, where there are probes in between
	levels         []*level
	groups         []*group
	flows          []*flow // in the order of first appearance
	byIndex        []*flow // by server.Flow.Index
	cells          [][]*cell
	Courses        *workloadCourses
	stalls         []stall             // by workload
	virtual        *virtualwait.Probes // nil where nobody probes
	unseen         *flow               // stands for the flow of requests that flow control does not see
	ended          bool
}

// group is the requests of one FlowSchema at one priority level.
type group struct {
	index  int
	schema string // "" where flow control does not see the request
	level  *level
}

// cell is the requests of one workload in one group: the finest division but for flows,
// from which all coarser ones are merged.
type cell struct {
	workload int
	group    *group
	*measure.Measures[uint64]
}

// New returns a collector for a run of sc against the server whose levels are
// given (nil: without flow control). The series have a point every intervalNs, which is
// the sampling interval of the observer's Tick.
func New(sc *scenario.Scenario, of observe.Levels, intervalNs int64) *Collector {
	return NewOf(sc, intervalNs, func(visit func(observe.LevelState)) {
		if of == nil {
			return
		}
		for _, l := range of.Levels() {
			visit(l)
		}
	})
}

func NewOf(sc *scenario.Scenario, intervalNs int64, eachLevel func(func(observe.LevelState))) *Collector {
	c := &Collector{
		scenario: sc, EachLevel: eachLevel, intervalNs: intervalNs,
		fromNs: int64(sc.Spec.Warmup), toNs: int64(sc.Spec.Duration),
		cells:   make([][]*cell, len(sc.Spec.Workload)),
		stalls:  make([]stall, len(sc.Spec.Workload)),
		Courses: newWorkloadCourses(len(sc.Spec.Workload), intervalNs, int64(sc.Spec.Duration)),
	}
	c.unseen = c.newFlow(nil)
	return c
}

// Arrived implements server.Observer.
func (c *Collector) Arrived(nowNs int64, r *server.Request) {
	f := c.flowOf(r)
	if int(f.workload) != r.Workload {
		c.meet(f, r.Workload)
	}
	if c.counts(r) {
		c.cellOf(r, f).Arrive(r)
		f.Arrive(r)
		f.demand += demandOf(r)
	}
	f.enter(nowNs, r)
	f.level.enter(nowNs, observe.AskedBy(r))
	c.stalls[r.Workload].enter(nowNs, f.level)
	c.Courses.arrived(r.Workload)
	if c.virtual != nil {
		c.virtual.Arrived(nowNs, r)
	}
}

// Dispatched implements server.Observer.
func (c *Collector) Dispatched(nowNs int64, r *server.Request) {
	f := c.flowOf(r)
	if c.counts(r) {
		cl := c.cellOf(r, f)
		cl.Dispatched++
		f.Dispatched++
		c.time(cl, f, measure.Wait, nowNs-r.ArrivalNs)
	}
	f.start(nowNs, r)
	c.stalls[r.Workload].dispatch(nowNs, c.fromNs, f.level) // before the level counts the dispatch
	f.level.start(nowNs, observe.AskedBy(r), observe.SeatsOf(r))
	c.Courses.dispatched(nowNs, r)
	if c.virtual != nil {
		c.virtual.Dispatched(nowNs, r)
	}
}

// Rejected implements server.Observer.
func (c *Collector) Rejected(nowNs int64, r *server.Request) {
	f := c.flowOf(r)
	if c.counts(r) {
		cl := c.cellOf(r, f)
		cl.Rejected[r.Rejection]++
		f.Rejected[r.Rejection]++
		c.time(cl, f, measure.RejectedWait, nowNs-r.ArrivalNs)
	}
	f.refuse(nowNs, r)
	f.level.refuse(nowNs, observe.AskedBy(r), r.Rejection)
	c.stalls[r.Workload].refuse(nowNs, c.fromNs)
	c.Courses.rejected(nowNs, r)
	if c.virtual != nil {
		c.virtual.Rejected(nowNs, r)
	}
}

// Queued implements server.Observer.
func (c *Collector) Queued(int64, *server.Request) {}

// Executed implements server.Observer.
func (c *Collector) Executed(nowNs int64, r *server.Request) {
	if c.counts(r) {
		f := c.flowOf(r)
		cl := c.cellOf(r, f)
		cl.Executed++
		f.Executed++
		c.time(cl, f, measure.Execution, nowNs-r.DispatchNs)
		c.time(cl, f, measure.Latency, nowNs-r.ArrivalNs)
	}
	if c.virtual != nil {
		c.virtual.Ended(nowNs, r)
	}
}

func (c *Collector) time(cl *cell, f *flow, t measure.Timing, ns int64) {
	cl.Timed[t].Record(ns)
	f.time(t, ns)
}

// Released implements server.Observer.
func (c *Collector) Released(nowNs int64, r *server.Request) {
	f := c.flowOf(r)
	f.leave(nowNs, r)
	f.level.leave(nowNs, observe.SeatsOf(r))
	if c.virtual != nil {
		c.virtual.Ended(nowNs, r)
	}
}

// Adjusted implements server.Observer.
func (c *Collector) Adjusted(nowNs int64) {
	for _, l := range c.levels {
		l.advance(nowNs)
		l.there = false
	}
	c.EachLevel(func(s observe.LevelState) {
		c.levelNamed(s.Name()).adjust(nowNs, s)
	})
	for _, l := range c.levels {
		if !l.there {
			l.setLimits(nowNs, 0, 0)
		}
	}
	c.Courses.adjusted(nowNs, c.levels)
	if c.virtual != nil {
		c.virtual.Adjusted(nowNs)
	}
}

// Tick implements server.Observer.
func (c *Collector) Tick(nowNs int64) (nextNs int64) {
	if c.virtual == nil {
		c.interval(nowNs)
		return nowNs + c.intervalNs
	}
	if nowNs >= c.intervalToNs || nowNs >= c.toNs {
		c.interval(nowNs)
		c.intervalToNs = nowNs + c.intervalNs
	}
	return min(c.virtual.Tick(nowNs), c.intervalToNs)
}

// interval ends the interval under way, and begins the next.
func (c *Collector) interval(nowNs int64) {
	if nowNs > c.IntervalFromNs {
		for _, l := range c.levels {
			l.closeInterval(c.IntervalFromNs, nowNs)
		}
		c.Courses.closeInterval(nowNs, nowNs >= c.toNs)
		c.IntervalFromNs = nowNs
	}
	if nowNs < c.toNs {
		c.EachLevel(func(s observe.LevelState) {
			c.levelNamed(s.Name()).sample(s)
		})
	}
}

// end brings everything up to the end of the run.
func (c *Collector) end() {
	if c.ended {
		return
	}
	c.ended = true
	c.interval(c.toNs)
	for _, f := range c.flows {
		f.end(c.toNs)
	}
	for i := range c.stalls {
		c.stalls[i].end(c.toNs, c.fromNs)
	}
	if c.virtual != nil {
		c.virtual.Finish()
	}
}

// counts says whether the request belongs to the window. None arrives at its end or later.
func (c *Collector) counts(r *server.Request) bool { return r.ArrivalNs >= c.fromNs }

// demandOf returns the seat-nanoseconds that a request takes, or would have taken.
func demandOf(r *server.Request) float64 {
	return float64(observe.SeatsOf(r)) * float64(r.ExecutionNs+r.Work.AdditionalLatencyNs)
}

// meet enters a workload as one that sends requests of a flow.
func (c *Collector) meet(f *flow, workload int) {
	if f.workload != observe.NoWorkload {
		f.cell = nil
		return
	}
	f.workload, f.cell = int32(workload), c.cellAt(workload, f.group)
}

func (c *Collector) cellOf(r *server.Request, f *flow) *cell {
	if f.cell != nil {
		return f.cell
	}
	return c.cellAt(r.Workload, f.group)
}

func (c *Collector) cellAt(workload int, g *group) *cell {
	for len(c.cells[workload]) <= g.index {
		c.cells[workload] = append(c.cells[workload], nil)
	}
	cl := &c.cells[workload][g.index]
	if *cl == nil {
		*cl = &cell{workload: workload, group: g, Measures: measure.New[uint64](histogram.FinePrecision)}
	}
	return *cl
}

func (c *Collector) flowOf(r *server.Request) *flow {
	if r.Flow == nil {
		return c.unseen
	}
	if i := int(r.FlowIndex); i < len(c.byIndex) && c.byIndex[i] != nil {
		return c.byIndex[i]
	}
	return c.firstSeen(r.Flow)
}

// firstSeen enters a flow. One that comes back after a change of the configuration under
// another index goes on as the flow that it was.
func (c *Collector) firstSeen(of *server.Flow) *flow {
	for len(c.byIndex) <= of.Index {
		c.byIndex = append(c.byIndex, nil)
	}
	name := of.Name()
	l := c.levelNamed(of.Level)
	f := l.byName[name]
	if f == nil {
		f = c.newFlow(of)
		f.index = int32(len(l.flows))
		if f.index%64 == 0 {
			l.active = append(l.active, 0)
		}
		l.byName[name] = f
		l.flows, l.queuedIn = append(l.flows, f), append(l.queuedIn, nil)
		c.flows = append(c.flows, f)
	} else if !slices.Equal(f.hand, of.Hand) {
		f.hand = nil
	}
	c.byIndex[of.Index] = f
	return f
}

func (c *Collector) newFlow(of *server.Flow) *flow {
	f := &flow{index: noIndex, workload: observe.NoWorkload}
	if of == nil {
		f.group = c.groupOf("", c.levelNamed(""))
	} else {
		f.name, f.hand = of.Name(), of.Hand
		f.group = c.groupOf(of.Schema.Name, c.levelNamed(of.Level))
	}
	f.level = f.group.level
	return f
}

func (c *Collector) groupOf(schema string, l *level) *group {
	for _, g := range c.groups {
		if g.schema == schema && g.level == l {
			return g
		}
	}
	g := &group{index: len(c.groups), schema: schema, level: l}
	c.groups = append(c.groups, g)
	return g
}

func (c *Collector) levelNamed(name string) *level {
	for _, l := range c.levels {
		if l.name == name {
			return l
		}
	}
	l := &level{name: name, fromNs: c.fromNs, byName: map[string]*flow{}}
	// A level that comes later has had nothing to show so far.
	for at := int64(0); at < c.IntervalFromNs; at += c.intervalNs {
		l.points = append(l.points, result.Point{StartNs: at, EndNs: min(at+c.intervalNs, c.IntervalFromNs)})
		l.lengths = append(l.lengths, nil)
	}
	c.levels = append(c.levels, l)
	return l
}
