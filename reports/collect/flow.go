package collect

import (
	"apfsim/reports/histogram"
	"apfsim/reports/measure"
	"apfsim/reports/observe"
	"apfsim/sim/server"
)

// flow is the state of one flow. The fields that every request changes come first, so that they
// share cache lines when there are many flows.
type flow struct {
	level      *level
	part       *part // of its requests; nil if several workloads send them, or to several servers
	workload   int32 // that sends them; the first one if there are several
	mixed      bool  // several workloads send them
	seatsInUse int32
	waiting    int32
	present    int32 // requests that have arrived and hold seats or wait for seats
	index      int32 // among the level's flows; noIndex for the unclassified flow
	queued     bool  // in the current interval a request was in a queue or was rejected

	sinceNs int64   // up to when the integrals are complete
	service float64 // seat-nanoseconds within the window
	demand  float64 // seat-nanoseconds asked for by arrivals within the window

	// Of the current interval: the service, and the demand, which is what was
	// outstanding at its start and what has arrived since.
	intervalService int64
	intervalDemand  float64
	outstanding     float64 // seat-nanoseconds asked for by those present and not yet served

	starvingSinceNs int64 // since when requests are queued and none was dispatched
	starvedNs       int64 // the longest such time within the window

	// The latest durations, which are not yet in the histograms: the timing in the top 2 bits,
	// nanoseconds in the others.
	latest []uint64
	measure.Tally
	timed *[measure.Timings]histogram.Histogram[uint32] // nil until latest has overflowed

	stretched stretch
	group     *group
	name      string
	hand      []int // the queues that its requests are dealt; nil also if the hand has changed
}

const noIndex = -1

// stretch returns how many times as long as on an idle machine the requests of the flow have executed so far, or
// those of its level if none of its own has been executed.
func (f *flow) stretch() float64 {
	switch {
	case f.level.stretched.alone == 0:
		return 1
	case f.stretched.alone == 0:
		return f.level.stretched.factor()
	}
	return f.stretched.factor()
}

// stretchedDemand returns the demand of the flow, also of its rejected requests, as if all of them had been
// stretched as those that were executed, so that it can be compared with the service.
func (f *flow) stretchedDemand() float64 { return f.demand * f.stretch() }

// maxLatest is how many durations a flow keeps before they go into the histograms.
const maxLatest = 128

func (f *flow) time(t measure.Timing, ns int64) {
	if len(f.latest) == maxLatest {
		if f.timed == nil {
			f.timed = &measure.New[uint32](histogram.CoarsePrecision).Timed
		}
		f.countLatest(f.timed)
		f.latest = f.latest[:0]
	}
	if len(f.latest) == cap(f.latest) {
		f.latest = append(make([]uint64, 0, min(4*len(f.latest)+8, maxLatest)), f.latest...)
	}
	f.latest = append(f.latest, uint64(t)<<62|uint64(ns))
}

func (f *flow) countLatest(into *[measure.Timings]histogram.Histogram[uint32]) {
	for _, d := range f.latest {
		into[d>>62].Record(int64(d << 2 >> 2))
	}
}

// addTo adds the flow's measures to others.
func (f *flow) addTo(m *measure.Measures[uint32]) {
	m.Tally.Merge(&f.Tally)
	if f.timed != nil {
		for t := range f.timed {
			m.Timed[t].Merge(&f.timed[t])
		}
	}
	f.countLatest(&m.Timed)
}

func (f *flow) enter(nowNs int64, r *server.Request) {
	if f.index != noIndex {
		f.level.active[f.index/64] |= 1 << (f.index % 64)
	}
	if f.waiting == 0 {
		f.starvingSinceNs = nowNs
	}
	f.waiting++
	f.present++
	demand := demandOf(r) * f.stretch()
	f.outstanding += demand
	f.intervalDemand += demand
}

func (f *flow) start(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.queued = f.queued || nowNs > r.ArrivalNs
	f.seatsInUse += int32(observe.SeatsOf(r))
	f.recordStarvation(nowNs)
	f.starvingSinceNs = nowNs
	f.waiting--
}

func (f *flow) refuse(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.queued = true
	f.waiting--
	if f.waiting == 0 {
		f.recordStarvation(nowNs)
	}
	f.remove(demandOf(r) * f.stretch())
}

// abandon removes a request that waits, because its server has ended.
func (f *flow) abandon(nowNs int64, r *server.Request) { f.refuse(nowNs, r) }

func (f *flow) leave(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.seatsInUse -= int32(observe.SeatsOf(r))
	f.remove(0)
}

// remove removes one request, of whose demand so much was not served. Dispatch can shorten the
// final phase of a request, so that a part of its demand would remain outstanding; an empty flow
// has none.
func (f *flow) remove(unserved float64) {
	f.present--
	f.outstanding = max(0, f.outstanding-unserved)
	if f.present == 0 {
		f.outstanding = 0
	}
}

func (f *flow) advance(nowNs int64) {
	if nowNs == f.sinceNs {
		return
	}
	if f.seatsInUse > 0 {
		seats := int64(f.seatsInUse)
		served := seats * (nowNs - f.sinceNs)
		f.intervalService += served
		f.outstanding = max(0, f.outstanding-float64(served))
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
	service, demand = float64(f.intervalService), f.intervalDemand
	f.intervalService, f.intervalDemand = 0, f.outstanding
	return service, demand, queued
}

func (f *flow) end(nowNs int64) {
	f.advance(nowNs)
	if f.waiting > 0 {
		f.recordStarvation(nowNs)
	}
}
