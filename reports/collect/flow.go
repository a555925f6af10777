package collect

import (
	"apfsim/reports/histogram"
	"apfsim/reports/measure"
	"apfsim/reports/observe"
	"apfsim/sim/server"
)

// flow is what is followed of one flow. What every request touches comes first: of many
// flows, no more fits the processor's cache.
type flow struct {
	level      *level
	cell       *cell // of its requests; nil when several workloads send them
	workload   int32 // that sends them, the first of them if several
	seatsInUse int32
	waiting    int32
	present    int32 // requests that have arrived and hold or await seats
	index      int32 // among the level's flows, noIndex for the one that is not among them
	queued     bool  // in the interval under way a request was in a queue, or rejected

	sinceNs int64   // up to when the integrals are complete
	service float64 // seat-nanoseconds within the window
	demand  float64 // seat-nanoseconds asked for by arrivals within the window

	// Of the interval under way: the service, and the demand, which is what was
	// outstanding at its beginning and what has arrived since.
	intervalService int64
	intervalDemand  float64
	outstanding     float64 // seat-nanoseconds asked for by those present and not yet served

	hungrySinceNs int64 // since when something waits and nothing was dispatched
	starvedNs     int64 // the longest such time so far, within the window

	// The latest durations, not yet in the histograms: timing in the top 2 bits,
	// nanoseconds below.
	latest []uint64
	measure.Tally
	timed *[measure.Timings]histogram.Histogram[uint32] // nil as long as latest is enough

	group *group
	name  string
	hand  []int // the queues its requests are dealt; nil also if they have changed
}

const (
	noIndex = -1
)

// mixed says whether several workloads send its requests.
func (f *flow) mixed() bool { return f.cell == nil && f.workload != observe.NoWorkload }

// manyLatest is how many durations a flow keeps before they are counted.
const manyLatest = 128

func (f *flow) time(t measure.Timing, ns int64) {
	if len(f.latest) == manyLatest {
		if f.timed == nil {
			f.timed = &measure.New[uint32](histogram.CoarsePrecision).Timed
		}
		f.countLatest(f.timed)
		f.latest = f.latest[:0]
	}
	if len(f.latest) == cap(f.latest) {
		f.latest = append(make([]uint64, 0, min(4*len(f.latest)+8, manyLatest)), f.latest...)
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
		f.hungrySinceNs = nowNs
	}
	f.waiting++
	f.present++
	demand := demandOf(r)
	f.outstanding += demand
	f.intervalDemand += demand
}

func (f *flow) start(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.queued = f.queued || nowNs > r.ArrivalNs
	f.seatsInUse += int32(observe.SeatsOf(r))
	f.noteHunger(nowNs)
	f.hungrySinceNs = nowNs
	f.waiting--
}

func (f *flow) refuse(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.queued = true
	f.waiting--
	if f.waiting == 0 {
		f.noteHunger(nowNs)
	}
	f.depart(demandOf(r))
}

func (f *flow) leave(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.seatsInUse -= int32(observe.SeatsOf(r))
	f.depart(0)
}

// depart takes one request off, with so much of its demand unserved. What dispatch has
// taken off the final phases of requests would stay outstanding; an empty flow forgets it.
func (f *flow) depart(unserved float64) {
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

func (f *flow) noteHunger(nowNs int64) {
	f.starvedNs = max(f.starvedNs, nowNs-max(f.hungrySinceNs, f.level.fromNs))
}

// closeInterval returns the service and the demand of the interval that ends now, and whether
// anything was queued in it. What waits as it ends is in a queue in the next one, too.
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
		f.noteHunger(nowNs)
	}
}
