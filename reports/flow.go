package reports

import "apfsim/sim/server"

// flow is what is followed of one flow, besides its measures.
type flow struct {
	name  string
	group *group
	level *level
	hand  []int // the queues its requests are dealt
	measures[uint32]

	workload int  // whose requests it has, the first of them if several
	mixed    bool // several workloads' requests

	fromNs     int64 // beginning of the window
	sinceNs    int64 // up to when the integrals are complete
	seatsInUse int
	waiting    int
	present    int // requests that have arrived and hold or await seats

	service int64   // seat-nanoseconds within the window
	demand  float64 // seat-nanoseconds asked for by arrivals within the window

	// Of the interval under way: the service, and the demand, which is what was
	// outstanding at its beginning and what has arrived since.
	intervalService int64
	intervalDemand  float64
	outstanding     float64 // seat-nanoseconds asked for by those present and not yet served

	hungrySinceNs int64 // since when something waits and nothing was dispatched
	starvedNs     int64 // the longest such time so far, within the window
}

const noWorkload = -1

func (f *flow) meet(workload int) {
	if f.workload == noWorkload {
		f.workload = workload
		return
	}
	f.mixed = true
}

func (f *flow) enter(nowNs int64, r *server.Request) {
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
	f.seatsInUse += seatsOf(r)
	f.noteHunger(nowNs)
	f.hungrySinceNs = nowNs
	f.waiting--
}

func (f *flow) refuse(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.waiting--
	if f.waiting == 0 {
		f.noteHunger(nowNs)
	}
	f.depart(demandOf(r))
}

func (f *flow) leave(nowNs int64, r *server.Request) {
	f.advance(nowNs)
	f.seatsInUse -= seatsOf(r)
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
		if nowNs > f.fromNs {
			f.service += seats * (nowNs - max(f.sinceNs, f.fromNs))
		}
	}
	f.sinceNs = nowNs
}

func (f *flow) noteHunger(nowNs int64) {
	f.starvedNs = max(f.starvedNs, nowNs-max(f.hungrySinceNs, f.fromNs))
}

// closeInterval returns the service and the demand of the interval that ends now.
func (f *flow) closeInterval(nowNs int64) (service, demand float64) {
	f.advance(nowNs)
	service, demand = float64(f.intervalService), f.intervalDemand
	f.intervalService, f.intervalDemand = 0, f.outstanding
	return service, demand
}

func (f *flow) end(nowNs int64) {
	f.advance(nowNs)
	if f.waiting > 0 {
		f.noteHunger(nowNs)
	}
}
