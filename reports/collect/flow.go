package collect

import (
	"apfsim/reports/measure"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// flow is the state of one flow, in three cache lines of 64 bytes: there may be hundreds of thousands. The
// first two have what every request changes.
type flow struct {
	level       *level
	inGroup     *workloadInGroup // of its requests; nil if several workloads send them, or to several servers
	workload    int32            // that sends them; the first one if there are several
	seatsInUse  int32
	waiting     int32
	present     int32 // requests that have arrived and hold seats or wait for seats
	index       int32 // among the level's flows; noIndex for the unclassified flow
	mixed       bool  // several workloads send them
	queued      bool  // in the current interval a request was in a queue or was rejected
	handChanged bool  // a change of the configuration has given it another hand
	limited     bool  // see judge.Limited; known at the end

	sinceNs int64   // up to when the integrals are complete
	service float64 // seat-nanoseconds within the window
	demand  float64 // seat-nanoseconds asked for by arrivals within the window

	// Of the current interval: the service, and the demand, which is what was
	// outstanding at its start and what has arrived since.
	intervalService int64
	intervalDemand  float64
	outstanding     float64 // seat-nanoseconds asked for by those present and not yet served, where demand is not measured

	starvingSinceNs int64 // since when requests are queued and none was dispatched
	starvedNs       int64 // the longest such time within the window

	// The requests that arrived within the window: those of the numbers of metric.Counted that are not 0 for most flows, and
	// the others.
	arrived, dispatched, executed int64
	rare                          *rare

	durations
	kinds    *flowKinds // nil where the demand is not measured
	group    *group
	identity *server.Flow // as it first was; nil for the unclassified flow
}

// rare is one counter of metric.Counted that is 0 for most flows, in a linked list of those that are not. It saves
// memory where there are hundreds of thousands of flows.
type rare struct {
	counter *counter
	n       int64
	next    *rare
}

// countRare adds to a number that is 0 for most flows.
func (f *flow) countRare(k *counter, n int64) {
	for r := f.rare; r != nil; r = r.next {
		if r.counter == k {
			r.n += n
			return
		}
	}
	f.rare = &rare{k, n, f.rare}
}

func (f *flow) name() string {
	if f.identity == nil {
		return ""
	}
	return f.identity.Name()
}

// hand returns the queues in the flow's hand; nil also if the hand changed during the run.
func (f *flow) hand() []int {
	if f.identity == nil || f.handChanged {
		return nil
	}
	return f.identity.Hand
}

const noIndex = -1

// dispatch notes the wait of a dispatched request.
func (f *flow) dispatch(waitNs int64) {
	if waitNs > 0 {
		f.add(waited, waitNs, 0)
	}
}

// execute notes the times of an executed request.
func (f *flow) execute(executionNs, latencyNs int64) {
	if more := latencyNs - executionNs; more > 0 {
		f.add(waitExecuted, executionNs, more)
	} else {
		f.add(executed, executionNs, 0)
	}
}

// queuedAtEnd records for how long a request had waited that was still queued at the end.
func (f *flow) queuedAtEnd(ns int64) {
	if f.level.stillQueued == nil {
		f.level.stillQueued = map[*flow][]int64{}
	}
	f.level.stillQueued[f] = append(f.level.stillQueued[f], ns)
}

// addCounts adds the flow's counts to others.
func (f *flow) addCounts(to *metric.Counted) {
	to.Arrived += f.arrived
	to.Dispatched += f.dispatched
	to.Executed += f.executed
	for r := f.rare; r != nil; r = r.next {
		*r.counter.of(to) += r.n
	}
}

// addTo adds the flow's measures to others.
func (f *flow) addTo(m *measure.Measures) {
	f.addCounts(&m.Counted)
	f.durations.addTo(&m.Timed, f.dispatched)
	for _, ns := range f.level.stillQueued[f] {
		m.Queued.Record(ns)
	}
}

// enter counts an arriving request, which is expected to occupy so many seat-nanoseconds.
func (f *flow) enter(nowNs int64, demand float64) {
	if f.index != noIndex {
		i := uint32(f.index)
		f.level.active[i/64] |= 1 << (i % 64)
	}
	if f.waiting == 0 {
		f.starvingSinceNs = nowNs
	}
	f.waiting++
	f.present++
	f.outstanding += demand
	f.intervalDemand += demand
}

func (f *flow) start(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.queued = f.queued || nowNs > r.ArrivalNs
	f.seatsInUse += int32(r.SeatsHeld())
	f.recordStarvation(nowNs)
	f.starvingSinceNs = nowNs
	f.waiting--
}

// refuse removes a waiting request: it is rejected, or its server has ended.
func (f *flow) refuse(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.queued = true
	f.waiting--
	if f.waiting == 0 {
		f.recordStarvation(nowNs)
	}
	f.remove(demandOf(r))
}

// leave removes a request that holds seats.
func (f *flow) leave(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.seatsInUse -= int32(r.SeatsHeld())
	f.remove(0)
}

// remove removes one request, of whose demand so much was not served. Dispatch can shorten the
// final phase of a request, so that a part of its demand would remain outstanding; an empty flow
// has none.
func (f *flow) remove(unserved float64) {
	f.present--
	f.outstanding -= unserved
	if f.present == 0 {
		f.outstanding = 0
	}
}

// positive returns x if it is positive, and otherwise 0. It is faster than max, which also cares for NaN.
func positive(x float64) float64 {
	if x > 0 {
		return x
	}
	return 0
}

func (f *flow) advance(nowNs int64) {
	if nowNs == f.sinceNs {
		return
	}
	if f.seatsInUse > 0 {
		seats := int64(f.seatsInUse)
		served := seats * (nowNs - f.sinceNs)
		f.intervalService += served
		f.outstanding -= float64(served)
		if nowNs > f.level.fromNs {
			f.service += float64(seats * (nowNs - max(f.sinceNs, f.level.fromNs)))
		}
	}
	f.sinceNs = nowNs
}

func (f *flow) recordStarvation(nowNs int64) {
	f.starvedNs = max(f.starvedNs, nowNs-max(f.starvingSinceNs, f.level.fromNs))
}

// closeInterval returns the service and the demand of the interval that ends now, and whether
// a request was queued in it. A request that is queued at its end is queued in the next one, too.
func (f *flow) closeInterval(nowNs int64) (service, demand float64, queued bool) {
	f.advance(nowNs)
	queued = f.queued || f.waiting > 0
	f.queued = f.waiting > 0
	service = float64(f.intervalService)
	demand = max(f.intervalDemand, service) // a request may take longer than was expected
	f.intervalService, f.intervalDemand = 0, positive(f.outstanding)
	if f.kinds != nil {
		f.intervalDemand = f.kinds.outstanding(nowNs, f.level)
	}
	return service, demand, queued
}

func (f *flow) end(nowNs int64) {
	f.advance(nowNs)
	if f.waiting > 0 {
		f.recordStarvation(nowNs)
	}
}
