package server

import (
	"slices"

	"apfsim/sim/machine"
)

// sharing is a machine whose jobs are requests. It decides when executions end that share a capacity. A server without one
// ends an execution after the request's ExecutionNs, which is otherwise its demand: how long it would execute alone on
// an idle machine of speed 1.
type sharing struct {
	*machine.Machine
	requests []*Request // by their slots, nil for a job that no request waits for
	behind   []int32    // the slots of such jobs
}

// newSharing returns an idle machine of speed 1. The server tells it of the speed over time and of watch events.
// What it has worked counts from a time on.
func newSharing(law *machine.Capacity, fromNs int64) *sharing {
	s := &sharing{Machine: machine.New(law)}
	s.Work.FromNs = fromNs
	return s
}

// Begin begins to serve the demand of r.
func (s *sharing) Begin(nowNs int64, r *Request) {
	s.begin(nowNs, r, r.ExecutionNs)
}

func (s *sharing) begin(nowNs int64, r *Request, demandNs int64) {
	r.Details.capacitySlot = s.beginJob(nowNs, demandNs)
	s.requests[r.Details.capacitySlot] = r
}

func (s *sharing) beginJob(nowNs, demandNs int64) (slot int32) {
	slot = s.Machine.Begin(nowNs, demandNs)
	if int(slot) == len(s.requests) {
		s.requests = append(s.requests, nil)
	}
	return slot
}

// beginBehind begins to serve a background demand: one that no request waits for.
func (s *sharing) beginBehind(nowNs, demandNs int64) {
	s.behind = append(s.behind, s.beginJob(nowNs, demandNs))
}

// endBehind ends a background demand that Machine.Next has returned, at the time that it returned.
func (s *sharing) endBehind(nowNs int64, slot int32) {
	s.Machine.End(nowNs, slot)
	i := slices.Index(s.behind, slot)
	s.behind = slices.Delete(s.behind, i, i+1)
}

// cancelBehind cancels all background demands when the process ends.
func (s *sharing) cancelBehind(nowNs int64) {
	for _, slot := range s.behind {
		s.Machine.Cancel(nowNs, slot)
	}
	s.behind = s.behind[:0]
}

// Next returns the request whose demand is served first if nothing happens before, and when that is, now or later. It is
// nil if no request waits for that demand. It is not ok if no demand is being served. Every other method may move that end.
func (s *sharing) Next(nowNs int64) (r *Request, atNs int64, ok bool) {
	slot, atNs, ok := s.Machine.Next(nowNs)
	if !ok {
		return nil, 0, false
	}
	return s.requests[slot], atNs, true
}

// End ends the demand of the request that Next has returned, at the time that it has returned.
func (s *sharing) End(nowNs int64, r *Request) {
	s.Machine.End(nowNs, r.Details.capacitySlot)
	s.requests[r.Details.capacitySlot] = nil
}

// Cancel removes a demand before it has been served.
func (s *sharing) Cancel(nowNs int64, r *Request) {
	s.Machine.Cancel(nowNs, r.Details.capacitySlot)
	s.requests[r.Details.capacitySlot] = nil
}

// moveEnd schedules the end of the demand that is served first, after each change of the capacity.
func (s *Server) moveEnd(nowNs int64) {
	s.unschedule(&s.nextEnd)
	slot, atNs, ok := s.capacity.Machine.Next(nowNs)
	if !ok {
		return
	}
	s.nextEnd = s.events.Schedule(atNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Index: slot, Request: s.capacity.requests[slot]})
}

// endWithoutRequest carries out an event of the kind Finish without a request: the machine has worked for something that no request waits for.
func (s *Server) endWithoutRequest(nowNs int64, slot int32) {
	if s.capacity == nil {
		s.work.serve(nowNs, -1)
		return
	}
	s.nextEnd = 0
	s.capacity.endBehind(nowNs, slot)
	s.moveEnd(nowNs)
}

// SetSpeed changes the speed of the machine of the server, which must have a capacity.
func (s *Server) SetSpeed(nowNs int64, factor float64) {
	s.capacity.SetSpeed(nowNs, factor)
	s.moveEnd(nowNs)
}

// pace is the state behind changes of a server's speed that are no events of the scenario: the speeds of its capacity,
// and the work for watch events.
type pace struct {
	speeds []machine.Speed // over time

	// eventNs is how long one core takes for one event to one watch. The events of one second take their
	// time from the requests of the next.
	eventNs int64
	events  int64 // since the second began

	// compressionNs is the time of one core for compressing them since then, with compresses: of a server with a store
	// and cores.
	compressionNs int64
	compresses    bool
}

// The Index of events of the kind Pace, besides those of pace.speeds.
const watchSecond = -1 // a second has passed

const second = 1_000_000_000

// setPace schedules the speeds that a scenario gives. With a store, a watch event costs what the cost table says unless
// the capacity says otherwise.
func (s *Server) setPace(law *machine.Capacity, store *Store) {
	s.pace = pace{speeds: law.Speed, eventNs: int64(law.WatchEvent)}
	s.pace.compresses = store != nil && law.Cores > 0
	if s.pace.eventNs == 0 && s.pace.compresses {
		s.pace.eventNs = int64(store.Costs.WatchEvent)
	}
	for i, speed := range law.Speed {
		s.schedule(int64(speed.At), Event{Kind: Pace, Index: int32(i)})
	}
	if s.pace.eventNs > 0 || s.pace.compresses {
		s.schedule(second, Event{Kind: Pace, Index: watchSecond})
	}
}

// changePace carries out an event of the kind Pace.
func (s *Server) changePace(nowNs int64, index int) {
	if index >= 0 {
		s.SetSpeed(nowNs, s.pace.speeds[index].Factor)
		return
	}
	s.capacity.SetBusy(nowNs, (float64(s.pace.events)*float64(s.pace.eventNs)+float64(s.pace.compressionNs))/second)
	s.pace.events, s.pace.compressionNs = 0, 0
	s.moveEnd(nowNs)
	s.schedule(nowNs+second, Event{Kind: Pace, Index: watchSecond})
}

// sendEvents counts the events that an executed write sends to the open watches that are interested.
// Under rules that do not estimate writes by their watches there are none.
func (s *Server) sendEvents(nowNs int64, r *Request) {
	if n, ok := r.Watchers(); ok {
		s.countEvents(nowNs, int64(n), 0)
	}
}

// countEvents counts events that are sent to watches, and the time of one core for compressing them.
func (s *Server) countEvents(nowNs, n, compressionNs int64) {
	s.pace.events += n
	s.pace.compressionNs += compressionNs
	if nowNs >= s.deps.WindowNs {
		s.work.events += n
		s.work.compressionNs += compressionNs
	}
}

// work is what a server has worked since the window of the statistics began.
type work struct {
	serving int           // requests that are in service where there is a store and no capacity
	meter   machine.Meter // of their number
	events  int64         // that were sent to watches

	compressionNs int64 // for them
}

// serve counts one more or one less request in service, on a server without a capacity.
func (w *work) serve(nowNs int64, by int) {
	w.serving += by
	w.meter.Set(nowNs, float64(w.serving))
}

// ProcessorNs returns the processor time that requests and events have taken within the window up to now: what they demand
// of an idle machine of speed 1, as far as it has been served. It is not ok if nothing says what of an execution is
// processor time: without a capacity and without a store.
func (s *Server) ProcessorNs(nowNs int64) (ns float64, ok bool) {
	eventNs, compresses := s.pace.eventNs, s.pace.compresses
	switch {
	case s.capacity != nil:
		ns = s.capacity.Work.Sum(nowNs)
	case s.deps.Store != nil:
		ns, eventNs, compresses = s.work.meter.Sum(nowNs), int64(s.deps.Store.Costs.WatchEvent), true
	default:
		return 0, false
	}
	if compresses {
		ns += float64(s.work.compressionNs)
	}
	return ns + float64(s.work.events)*float64(eventNs), true
}
