// Package collect collects the statistics of a run while it happens. A [Collector] observes the
// server and counts and times requests by workload, FlowSchema, priority level and flow; when the
// run is over it returns a result.Result. [Windowed] evaluates the thresholds that must hold in every
// window of a length. A [Measurement] is a collector together with the other observers that a result comes from.
package collect

import (
	"iter"
	"slices"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Collector collects the statistics of one run. The cost of an
// event does not depend on the length of the run; memory grows with the number of flows, not with
// the number of requests.
//
// A request counts if it arrives within the window [warm-up, duration), with everything that
// happens to it later. Seats in use, waiting requests and starvation are tracked from the start of the
// run and clipped to the window; the series cover the whole run.
type Collector struct {
	scenario   *scenario.Scenario
	eachLevel  []iter.Seq[server.LevelState] // by server
	fromNs     int64                         // the window
	toNs       int64
	intervalNs int64

	intervalFromNs int64 // start of the current interval
	levels         []*level
	groups         []*group
	byIndex        [][]flow             // in blocks, by server.Flow.Index; a pointer for each flow would be one more read from memory
	renumbered     map[int]*flow        // the flows that have another index, too
	inGroups       [][]*workloadInGroup // by workload and group
	workloads      *workloadSeries
	noDispatches   []noDispatch        // by workload
	noAnswers      []noAnswer          // by workload
	virtual        *Probes             // nil if the run has no probes
	unclassified   *flow               // all requests that flow control does not handle
	refused        *group              // the requests that have not reached flow control; nil with servers nil
	kinds          *kinds              // of requests; nil where the demand is not measured
	beyond         *loadBeyondMeasured // nil if the scenario does not say up to what executions were measured
	ended          bool
	seats          seatUse          // at all servers
	lastly         []*server.Server // those of the run, at its end
	everyFlow      bool             // the summary lists every flow

	servers  []*serverState // by index; nil for a scenario that is Steady
	timeline []result.Moment
	failures []result.Failure
	handlers *server.Handlers // nil without a store
	notes    []notes          // of clients that behave, by workload, and of all

	wishes     []wantedRequests // by workload
	queues     []workQueue      // of workloads of controllers
	queueOf    func(nowNs int64, workload int) (depth int, oldestNs int64)
	noteSeries noteSeries
	evidence   evidence
}

// group is the requests of one FlowSchema at one priority level.
type group struct {
	index  int
	schema string // "" if flow control does not handle the requests
	level  *level
}

// New returns a collector for a run of sc on a server. The series have a point every intervalNs, the sampling interval
// of the observer's Tick.
func New(sc *scenario.Scenario, s *server.Server, intervalNs int64) *Collector {
	return NewWithLevels(sc, intervalNs, s.EachLevel)
}

// NewOfServers is New for a run on several servers, or on one that is not always there or not always
// equally fast.
func NewOfServers(sc *scenario.Scenario, servers []*server.Server, intervalNs int64) *Collector {
	if sc.Spec.Steady() {
		return New(sc, servers[0], intervalNs)
	}
	var each []iter.Seq[server.LevelState]
	for _, s := range servers {
		each = append(each, s.EachLevel)
	}
	c := NewWithLevels(sc, intervalNs, each...)
	c.refused = c.groupOf("", &level{index: noIndex})
	for i, s := range servers {
		c.servers = append(c.servers, &serverState{Server: s, index: i, stage: s.Stage()})
	}
	return c
}

// NewWithLevels is New with any source of priority levels.
func NewWithLevels(sc *scenario.Scenario, intervalNs int64, eachLevel ...iter.Seq[server.LevelState]) *Collector {
	if w := &sc.Spec.Warmup; w.Auto && w.By == "" {
		panic("collect: the warm-up of " + sc.Metadata.Name + " has not been chosen")
	}
	c := &Collector{
		scenario: sc, eachLevel: eachLevel, intervalNs: intervalNs,
		fromNs: int64(sc.Spec.Warmup.Duration), toNs: int64(sc.Spec.Duration),
		inGroups:     make([][]*workloadInGroup, len(sc.Spec.Workload)),
		noDispatches: make([]noDispatch, len(sc.Spec.Workload)),
		noAnswers:    make([]noAnswer, len(sc.Spec.Workload)),
		workloads:    newWorkloadSeries(len(sc.Spec.Workload), intervalNs, int64(sc.Spec.Duration)),
	}
	c.beyond = newLoadBeyondMeasured(&sc.Spec.Servers)
	c.evidence.workloads = make([]result.WorkloadEvidence, len(sc.Spec.Workload))
	c.wishes = make([]wantedRequests, len(sc.Spec.Workload))
	for range len(sc.Spec.Workload) + 1 {
		c.notes = append(c.notes, notes{})
	}
	for i := range sc.Spec.Workload {
		if b := sc.Spec.Workload[i].Behaviour; b != nil && b.Controller != nil {
			c.queues = append(c.queues, workQueue{workload: i})
		}
	}
	if measuresDemand(&sc.Spec) {
		c.kinds = &kinds{}
	}
	c.unclassified = &flow{}
	c.beginFlow(c.unclassified, nil)
	return c
}

// Observer returns what the collector observes of a run.
func (c *Collector) Observer() server.Observer {
	o := server.Observer{
		Arrived:    c.arrived,
		Dispatched: c.dispatched,
		Rejected:   c.rejected,
		Executed:   c.executed,
		Released:   c.released,
		Adjusted:   c.adjusted,
		Tick:       c.tick,
		Answered:   c.answered,
		HeldBack:   c.heldBack,
	}
	if c.servers != nil {
		o.Refused, o.GivenUp = c.refusedRequest, c.givenUp
		o.Changed = c.changed
	}
	return o
}

func (c *Collector) arrived(nowNs int64, r *server.Request) {
	f := c.flowOf(r)
	if int(f.workload) != r.Workload {
		c.addWorkload(f, r.Workload)
	}
	if c.counts(r) {
		p := c.inGroupOf(r, f)
		p.seats += int64(r.SeatsWanted())
		counting{&p.Counted, f}.arrive(r.Attempt > 1)
		if r.Attempt > 1 {
			f.level.step(nowNs, c.intervalNs).Retries++
		}
		f.demand += demandOf(r)
	}
	f.enter(nowNs, c.expect(r, f))
	f.level.enter(nowNs, r.SeatsWanted())
	if c.servers != nil {
		c.atServer(r, f).enter(nowNs, r.SeatsWanted())
	}
	c.noDispatches[r.Workload].enter(nowNs, f.level)
	c.opened(nowNs, r, f.level)
	c.workloads.Arrived(r.Workload)
}

func (c *Collector) dispatched(nowNs int64, r *server.Request) {
	f := c.flowOf(r)
	if c.counts(r) {
		p := c.inGroupOf(r, f)
		counting{&p.Counted, f}.dispatch()
		p.closeBatches(nowNs)
		p.dispatched(nowNs - r.ArrivalNs)
		f.dispatch(nowNs - r.ArrivalNs)
	}
	f.start(nowNs, r)
	if c.beyond != nil {
		c.beyond.begin(r)
	}
	if c.kinds != nil {
		f.ofKind(c.kinds.kindOf(r)).takeSeats(nowNs, r.SeatsHeld())
	}
	c.noDispatches[r.Workload].dispatch(nowNs, c.fromNs, f.level) // before the level counts the dispatch
	f.level.start(nowNs, r.SeatsWanted(), r.SeatsHeld())
	c.addSeatsInUse(nowNs, f.level, r.Server, r.SeatsHeld())
	f.level.wideWait.end(nowNs)
	if c.servers != nil {
		c.atServer(r, f).start(nowNs, r.SeatsWanted(), r.SeatsHeld())
	}
	c.workloads.Dispatched(nowNs, r)
}

func (c *Collector) rejected(nowNs int64, r *server.Request) {
	f := c.flowOf(r)
	if c.counts(r) {
		p := c.inGroupOf(r, f)
		counting{&p.Counted, f}.reject(r.Rejection)
		if l := f.level; l.spec.Queuing() == nil && l.executing.value < l.limit {
			l.rejectedByWidth++
		}
		p.closeBatches(nowNs)
		p.record(measure.RejectedWait, nowNs-r.ArrivalNs)
		f.add(waitRejected, nowNs-r.ArrivalNs, 0)
	}
	c.refuse(nowNs, r, f)
	f.level.refuse(nowNs, r.SeatsWanted(), r.Rejection)
	if f.level.wideWait.request == r {
		f.level.wideWait.end(nowNs)
	}
	if c.servers != nil {
		c.atServer(r, f).refuse(nowNs, r.SeatsWanted(), r.Rejection)
		c.failed(nowNs).Rejected++
	}
	c.noDispatches[r.Workload].reject(nowNs, c.fromNs)
	c.workloads.Rejected(nowNs, r)
}

func (c *Collector) executed(nowNs int64, r *server.Request) {
	if c.servers != nil {
		c.servers[r.Server].now.Executed++
	}
	f := c.flowOf(r)
	if c.counts(r) {
		p := c.inGroupOf(r, f)
		counting{&p.Counted, f}.execute(r.Answered())
		p.closeBatches(nowNs)
		p.executed(nowNs-r.DispatchNs, nowNs-r.ArrivalNs)
		f.execute(nowNs-r.DispatchNs, nowNs-r.ArrivalNs)
	}
	if c.beyond != nil {
		c.beyond.end(r, c.counts(r))
	}
	c.occupy(nowNs, r, f)
	if r.Opened {
		c.closed(nowNs, r, f.level, true) // after it has been counted as one of its kind
	}
}

func (c *Collector) released(nowNs int64, r *server.Request) {
	f := c.flowOf(r)
	c.leave(nowNs, r, f)
	f.level.leave(nowNs, r.SeatsHeld())
	c.addSeatsInUse(nowNs, f.level, r.Server, -r.SeatsHeld())
	if c.servers != nil {
		c.atServer(r, f).leave(nowNs, r.SeatsHeld())
	}
}

// refuse removes a request from its flow that waits.
func (c *Collector) refuse(nowNs int64, r *server.Request, f *flow) {
	if c.kinds != nil {
		f.ofKind(c.kinds.kindOf(r)).waiting--
	}
	f.refuse(nowNs, r)
}

// leave removes a request from its flow that holds seats.
func (c *Collector) leave(nowNs int64, r *server.Request, f *flow) {
	if c.kinds != nil {
		f.ofKind(c.kinds.kindOf(r)).leave(r)
	}
	f.leave(nowNs, r)
}

func (c *Collector) adjusted(nowNs int64, s *server.Server) {
	by := changedBy(s)
	if c.servers != nil {
		c.adjustedServer(nowNs, s)
		return
	}
	for _, l := range c.levels {
		l.settle(nowNs)
		l.exists = false
	}
	c.eachLevel[0](func(s server.LevelState) bool { // a loop would allocate more
		c.levelNamed(s.Name()).adjust(nowNs, s, by)
		return true
	})
	for _, l := range c.levels {
		if !l.exists {
			l.setLimits(nowNs, 0, 0, by)
		}
	}
	for _, l := range c.levels {
		if l.known && !l.exempt() {
			c.workloads.SetLimit(nowNs, l.name, 0, l.limit)
		}
	}
}

// changedBy says why the limits of a server change: see result.LimitChange.
func changedBy(s *server.Server) string {
	switch {
	case s == nil || s.AdjustsPeriodically():
		return ""
	case s.Stage() == server.Ready:
		return result.ByConfiguration
	}
	return result.ByServer
}

func (c *Collector) tick(nowNs int64, servers []*server.Server) (nextNs int64) {
	if nowNs >= c.toNs {
		c.lastly = servers
	}
	c.readGauges(nowNs, servers)
	c.interval(nowNs)
	return nowNs + c.intervalNs
}

// interval ends the current interval and begins the next.
func (c *Collector) interval(nowNs int64) {
	if nowNs > c.intervalFromNs {
		for _, l := range c.levels {
			l.closeInterval(c.intervalFromNs, nowNs)
		}
		for _, s := range c.servers {
			s.closeInterval(c.intervalFromNs, nowNs)
		}
		c.readQueues(nowNs)
		c.noteSeries.closeInterval(c.intervalFromNs, nowNs)
		c.workloads.CloseInterval(nowNs, nowNs >= c.toNs)
		c.intervalFromNs = nowNs
	}
	if nowNs < c.toNs {
		for _, each := range c.eachLevel {
			each(func(s server.LevelState) bool { // a loop would allocate more
				c.levelNamed(s.Name()).sample(s)
				return true
			})
		}
	}
}

// end completes all integrals up to the end of the run.
func (c *Collector) end() {
	if c.ended {
		return
	}
	c.ended = true
	c.interval(c.toNs)
	for _, byGroup := range c.inGroups {
		for _, p := range byGroup {
			if p != nil {
				p.end(c.toNs)
			}
		}
	}
	c.endOpen(c.lastly)
	c.endFreezes()
	c.endDemand(c.lastly)
	for f := range c.flows() {
		f.end(c.toNs)
	}
	for _, s := range c.servers {
		s.setStage(c.toNs, c.fromNs, s.stage)
	}
	for i := range c.noDispatches {
		c.noDispatches[i].end(c.toNs, c.fromNs)
	}
	c.virtual.Finish()
}

// counts says whether the request belongs to the window. No request arrives at its end or later.
func (c *Collector) counts(r *server.Request) bool { return r.ArrivalNs >= c.fromNs }

// addWorkload records that a workload sends requests of a flow.
func (c *Collector) addWorkload(f *flow, workload int) {
	f.level.senders.Set(workload)
	if f.workload != server.NoWorkload {
		f.inGroup, f.mixed = nil, true
		return
	}
	f.workload = int32(workload)
	if len(c.eachLevel) == 1 {
		f.inGroup = c.inGroupAt(workload, f.group, 0)
	}
}

// serverOf returns the index of the server that a request was sent to.
func (c *Collector) serverOf(r *server.Request) int {
	if c.servers == nil {
		return 0
	}
	return int(r.Server)
}

const flowsPerBlock = 64

func (c *Collector) flowOf(r *server.Request) *flow {
	if r.Flow == nil {
		return c.unclassified
	}
	if i := uint32(r.FlowIndex); i/flowsPerBlock < uint32(len(c.byIndex)) {
		if f := &c.byIndex[i/flowsPerBlock][i%flowsPerBlock]; f.level != nil {
			return f
		}
	}
	return c.addFlow(r.Flow)
}

// addFlow adds a flow at its first request. If a change of the configuration gives a flow another
// index, it remains the same flow.
func (c *Collector) addFlow(identity *server.Flow) *flow {
	if f := c.renumbered[identity.Index]; f != nil {
		return f
	}
	l := c.levelNamed(identity.Level)
	f := l.names.find(l.flows, identity)
	if f == nil {
		for len(c.byIndex) <= identity.Index/flowsPerBlock {
			c.byIndex = append(c.byIndex, make([]flow, flowsPerBlock))
		}
		f = &c.byIndex[identity.Index/flowsPerBlock][identity.Index%flowsPerBlock]
		c.beginFlow(f, identity)
		f.index = int32(len(l.flows))
		if f.index%64 == 0 {
			l.active = append(l.active, 0)
		}
		l.flows, l.queuedIn = append(l.flows, f), append(l.queuedIn, nil)
		l.names.add(l.flows)
		return f
	}
	if !slices.Equal(f.identity.Hand, identity.Hand) {
		f.handChanged = true
	}
	if c.renumbered == nil {
		c.renumbered = map[int]*flow{}
	}
	c.renumbered[identity.Index] = f
	return f
}

// flows iterates over the flows that flow control handles, by level and in the order of first appearance.
func (c *Collector) flows() iter.Seq[*flow] {
	return func(yield func(*flow) bool) {
		for _, l := range c.levels {
			for _, f := range l.flows {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// beginFlow resets f to a flow without requests. of is nil for requests that match no FlowSchema.
func (c *Collector) beginFlow(f *flow, identity *server.Flow) {
	*f = flow{index: noIndex, workload: server.NoWorkload, identity: identity}
	if identity == nil {
		f.group = c.groupOf("", c.levelNamed(""))
	} else {
		f.group = c.groupOf(identity.Schema.Name, c.levelNamed(identity.Level))
	}
	f.level = f.group.level
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
	l := c.newLevel(name)
	l.index = len(c.levels)
	c.levels = append(c.levels, l)
	return l
}

func (c *Collector) newLevel(name string) *level {
	l := &level{name: name, fromNs: c.fromNs}
	// A level that is added later has empty points up to now.
	for at := int64(0); at < c.intervalFromNs; at += c.intervalNs {
		l.points = append(l.points, result.Point{StartNs: at, EndNs: min(at+c.intervalNs, c.intervalFromNs)})
		l.lengths = append(l.lengths, nil)
	}
	return l
}
