package server

import "apfsim/sim/scenario/cluster"

// Capacity decides when executions end on a machine whose requests share it, or that changes
// its speed. A server without one ends an execution after the request's ExecutionNs, which is
// otherwise its demand: how long it would execute alone on an idle machine of speed 1.
//
// Only the request that ends first has an end, which Next returns and every other method may move.
type Capacity interface {
	// Begin is called when the demand of r begins to be served.
	Begin(nowNs int64, r *Request)
	// Next returns the request whose demand is served first if nothing happens before, and when that
	// is, now or later. It returns nil if no demand is being served.
	Next(nowNs int64) (r *Request, atNs int64)
	// End is called at the time that Next has returned, for the request that it has returned.
	End(nowNs int64, r *Request)
	// Cancel is called for a request whose demand is no longer to be served.
	Cancel(nowNs int64, r *Request)
	// SetSpeed multiplies the speed of the machine by a factor from now on, in place of the one before.
	SetSpeed(nowNs int64, factor float64)
	// SetBusy says how many cores do something else than to serve requests.
	SetBusy(nowNs int64, cores float64)
	// N returns how many demands are being served, and Speed the speed of each.
	N() int
	Speed() float64
}

// SetCapacity makes the server's requests share a capacity. It must be done before the first
// event.
func (s *Server) SetCapacity(c Capacity) { s.capacity, s.shared.Detailed = c, true }

// Capacity returns what the server's requests share, nil if they share nothing.
func (s *Server) Capacity() Capacity { return s.capacity }

// moveEnd schedules the end of the demand that is served first, after each change of the capacity.
func (s *Server) moveEnd(nowNs int64) {
	s.unschedule(&s.nextEnd)
	if r, atNs := s.capacity.Next(nowNs); r != nil {
		s.nextEnd = s.events.Schedule(atNs, uint8(Finish), Event{Kind: Finish, Of: s.index, Request: r})
	}
}

// SetSpeed changes the speed of the machine of the server, which must have a capacity.
func (s *Server) SetSpeed(nowNs int64, factor float64) {
	s.capacity.SetSpeed(nowNs, factor)
	s.moveEnd(nowNs)
}

// pace is what changes the speed of a server besides events of the scenario.
type pace struct {
	speeds []cluster.Speed // over time

	// eventNs is how long one core takes for one event to one watch. The events of one second take their
	// time from the requests of the next.
	eventNs int64
	events  int64 // since the second began
}

// The Index of events of the kind Pace, besides those of pace.speeds.
const watchSecond = -1 // a second has passed

const second = 1_000_000_000

// setPace schedules what a scenario says of the speed. With a store, events cost what its table says unless
// the capacity says otherwise.
func (s *Server) setPace(law *cluster.Capacity, store *cluster.Store) {
	s.pace = pace{speeds: law.Speed, eventNs: int64(law.WatchEvent)}
	if s.pace.eventNs == 0 && store != nil && law.Cores > 0 {
		s.pace.eventNs = int64(store.Costs.WatchEvent)
	}
	for i, speed := range law.Speed {
		s.schedule(int64(speed.At), Event{Kind: Pace, Index: int32(i)})
	}
	if s.pace.eventNs > 0 {
		s.schedule(second, Event{Kind: Pace, Index: watchSecond})
	}
}

// changePace carries out an event of the kind Pace.
func (s *Server) changePace(nowNs int64, index int) {
	if index >= 0 {
		s.SetSpeed(nowNs, s.pace.speeds[index].Factor)
		return
	}
	s.capacity.SetBusy(nowNs, float64(s.pace.events)*float64(s.pace.eventNs)/second)
	s.pace.events = 0
	s.moveEnd(nowNs)
	s.schedule(nowNs+second, Event{Kind: Pace, Index: watchSecond})
}

// sendEvents counts the events that an executed write sends to the open watches that are interested.
// Under rules that do not estimate writes by their watches there are none.
func (s *Server) sendEvents(r *Request) {
	if n, ok := r.Watchers(); ok {
		s.pace.events += int64(n)
	}
}
