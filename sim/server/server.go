// Package server is the simulated API servers around core/filter: they execute the requests that
// flow control dispatches, and schedule what flow control wants to happen later.
package server

import (
	"apfsim/core/estimate"
	"apfsim/core/filter"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/sim/scenario"
)

// Clients are who sends the requests.
type Clients interface {
	// Responded is called when r is over for its client: it was rejected, its execution ended or,
	// for a watch, the watch did. The client must not keep r: to send it again is to send another
	// request.
	Responded(nowNs int64, r *Request, response Response)
}

// Response is what a client receives for a request.
type Response struct {
	Status            int   // of HTTP
	RetryAfterSeconds int32 // the header Retry-After; 0 without one
}

// The values of Response.Status.
const (
	StatusOK              = 200
	StatusTooManyRequests = 429 // rejected by flow control
	StatusGatewayTimeout  = 504 // still queued at its deadline
)

// Server is one API server. Its methods are called by the run's event loop, in order of time.
type Server struct {
	index   int16 // among the servers of the run
	shared  *Shared
	events  *Events // those of shared
	clients Clients
	changes []scenario.Event
	rules   *rules.Rules
	filter  *filter.Filter
	states  templateStates
	// replaceable are the states of templates that can be replaced, by minus their ID.
	replaceable []*replaceableState
	phaseNs     int64    // of the periodic adjustments
	capacity    Capacity // nil where requests do not share one
	move        Move
	timedOut    []*Request // by the arrival of another one, and not responded to yet
}

// modes are the modes of flow control by their names in a scenario.
var modes = map[string]filter.Mode{
	scenario.PriorityAndFairness: filter.PriorityAndFairness,
	scenario.MaxInFlight:         filter.MaxInFlight,
	scenario.NoFlowControl:       filter.NoLimits,
}

// New returns the next server of a run of a scenario, idle at time 0.
func New(sc *scenario.Scenario, shared *Shared, clients Clients) *Server {
	spec := &sc.Spec
	release, err := spec.Servers.Rules()
	if err != nil {
		panic("server: a scenario that is not valid: " + err.Error())
	}
	store := estimate.Store{}
	for _, r := range spec.Resources {
		store[estimate.Resource{Group: r.Group, Name: r.Resource}] = estimate.Stats{Objects: r.Objects, AverageBytes: r.AverageBytes}
	}
	s := &Server{index: int16(len(shared.servers)), shared: shared, events: &shared.Events, clients: clients, changes: spec.Events, rules: release}
	shared.servers = append(shared.servers, s)
	s.filter = filter.New(0, filter.Settings{
		Rules:                       release,
		Mode:                        modes[spec.Servers.FlowControl],
		MaxRequestsInFlight:         spec.Servers.MaxRequestsInflight,
		MaxMutatingRequestsInFlight: spec.Servers.MaxMutatingRequestsInflight,
		RequestTimeoutNs:            int64(spec.Servers.RequestTimeout),
		Objects:                     sc.Objects,
		Store:                       store,
	}, s)
	if spec.Servers.FlowControl == scenario.PriorityAndFairness {
		s.phaseNs = spec.AdjustmentPhaseNs(s.Index())
		s.schedule(0, Event{Kind: Adjust})
		for i, change := range s.changes {
			s.schedule(int64(change.At), Event{Kind: Reconfigure, Index: int32(i)})
		}
	}
	return s
}

// schedule schedules an event of this server.
func (s *Server) schedule(atNs int64, e Event) {
	e.Of = s.index
	s.events.Schedule(atNs, uint8(e.Kind), e)
}

// Index returns the index of the server among those of the run, from 0.
func (s *Server) Index() int { return int(s.index) }

// Levels returns the priority levels by name, nil when there are none: without
// PriorityAndFairness.
func (s *Server) Levels() []*flowcontrol.Level { return s.filter.Levels() }

// Arrive takes a request that reaches the server now.
func (s *Server) Arrive(nowNs int64, r *Request) {
	s.receive(r)
	s.shared.arrivals++
	r.Number, r.Server = s.shared.arrivals, s.index
	if r.ID == Unnumbered {
		r.ID = r.Number
	}
	r.ArrivalNs, r.DispatchNs, r.FinishNs = nowNs, -1, -1
	r.Rejection, r.RetryAfterSeconds = queueset.NotRejected, 0
	r.SeatsAsked = int16(r.Seats())
	for _, arrived := range s.shared.observers.arrived {
		arrived(nowNs, r)
	}
	rejection, retryAfterSeconds := s.filter.Arrive(nowNs, &r.Request)
	switch {
	case rejection != queueset.NotRejected:
		s.reject(nowNs, r, rejection, retryAfterSeconds)
	case r.Waiting():
		r.next = s.events.Schedule(nowNs+r.Kind().WaitLimitNs(), uint8(TimeOut), Event{Kind: TimeOut, Of: s.index, Request: r})
		for _, queued := range s.shared.observers.queued {
			queued(nowNs, r)
		}
	}
	for len(s.timedOut) > 0 {
		old := s.timedOut[0]
		s.timedOut = s.timedOut[1:]
		s.respondRejected(nowNs, old)
	}
}

// TimedOut implements filter.LazyHost. Observers are notified at once, but the client, who may send
// another request in response, when the present arrival has been dealt with.
func (s *Server) TimedOut(q *filter.Request, retryAfterSeconds int) {
	nowNs, r := s.events.NowNs(), q.Owner().(*Request)
	s.events.Cancel(r.next) // the deadline
	r.next = 0
	s.noteRejection(nowNs, r, queueset.TimedOut, retryAfterSeconds)
	s.timedOut = append(s.timedOut, r)
}

// Dispatched implements filter.Host.
func (s *Server) Dispatched(q *filter.Request) {
	nowNs, r := s.events.NowNs(), q.Owner().(*Request)
	if r.next != 0 {
		s.events.Cancel(r.next) // the time-out
		r.next = 0
	}
	r.DispatchNs = nowNs
	if s.capacity != nil {
		s.capacity.Begin(nowNs, r, s.move)
	} else {
		r.next = s.events.Schedule(nowNs+r.ExecutionNs, uint8(Finish), Event{Kind: Finish, Of: s.index, Request: r})
	}
	for _, dispatched := range s.shared.observers.dispatched {
		dispatched(nowNs, r)
	}
}

// HeldBack implements filter.Observer.
func (s *Server) HeldBack(r *filter.Request) {
	for _, heldBack := range s.shared.observers.heldBack {
		heldBack(s.events.NowNs(), r.Owner().(*Request))
	}
}

// adjust makes a periodic adjustment. That at 0 follows the adjustment by the first configuration at
// once. At a real server, some time passes between them. A period of length 0 would make the demand
// NaN in some releases (rules.Rules.DemandNaN), so that there it only notifies the observers.
func (s *Server) adjust(nowNs int64) {
	if nowNs == 0 && s.rules.DemandNaN {
		s.Adjusted(nowNs)
		return
	}
	s.filter.Adjust(nowNs)
}

// Adjusted implements filter.Observer.
func (s *Server) Adjusted(nowNs int64) {
	for _, adjusted := range s.shared.observers.adjusted {
		adjusted(nowNs, s)
	}
}

func (s *Server) reject(nowNs int64, r *Request, why queueset.Rejection, retryAfterSeconds int) {
	s.noteRejection(nowNs, r, why, retryAfterSeconds)
	s.respondRejected(nowNs, r)
}

// noteRejection notifies the observers of a rejection.
func (s *Server) noteRejection(nowNs int64, r *Request, why queueset.Rejection, retryAfterSeconds int) {
	r.Rejection, r.RetryAfterSeconds = why, int16(retryAfterSeconds)
	for _, rejected := range s.shared.observers.rejected {
		rejected(nowNs, r)
	}
}

// respondRejected answers a rejected request, which is then over.
func (s *Server) respondRejected(nowNs int64, r *Request) {
	response := Response{Status: StatusTooManyRequests, RetryAfterSeconds: int32(r.RetryAfterSeconds)}
	if r.AtDeadline() {
		response.Status = StatusGatewayTimeout
	}
	s.clients.Responded(nowNs, r, response)
	s.shared.recycle(r)
}

// Handle carries out an event of one of the server's kinds.
func (s *Server) Handle(nowNs int64, e Event) {
	r := e.Request
	switch e.Kind {
	case Finish:
		s.finish(nowNs, r)
	case Release:
		s.released(nowNs, r)
		s.filter.Release(nowNs, &r.Request)
		s.shared.recycle(r)
	case WatchEnd:
		s.filter.EndWatch(&r.Request)
		s.succeed(nowNs, r)
		s.shared.recycle(r)
	case TimeOut:
		r.next = 0
		rejection, retryAfterSeconds := s.filter.TimeOut(nowNs, &r.Request)
		if rejection == queueset.Cancelled {
			rejection, retryAfterSeconds = queueset.TimedOut, 0 // see AtDeadline
		}
		s.reject(nowNs, r, rejection, retryAfterSeconds)
	case Reconfigure:
		s.filter.Configure(nowNs, s.changes[e.Index].Objects)
	case Adjust:
		s.adjust(nowNs)
		nextNs := nowNs + flowcontrol.AdjustmentPeriodNs
		if nowNs < s.phaseNs { // the adjustment at 0, which the first configuration makes
			nextNs = s.phaseNs
		}
		s.schedule(nextNs, e)
	case Arrive:
		s.Arrive(nowNs, r)
	default:
		panic("server: an event that is not the server's")
	}
}

// finish ends a request's execution. Observers are notified of it, and of the seats it frees,
// before they are notified of the requests that get them.
func (s *Server) finish(nowNs int64, r *Request) {
	r.next = 0
	if s.capacity != nil {
		s.capacity.End(nowNs, r, s.move)
	}
	r.FinishNs = nowNs
	for _, executed := range s.shared.observers.executed {
		executed(nowNs, r)
	}
	keepsSeats := r.KeepsSeats()
	if !keepsSeats {
		s.released(nowNs, r)
	}
	if additionalNs := s.filter.Finish(nowNs, &r.Request); additionalNs > 0 {
		s.schedule(nowNs+additionalNs, Event{Kind: Release, Request: r})
	}
	if r.IsWatch() {
		s.schedule(nowNs+r.WatchNs, Event{Kind: WatchEnd, Request: r})
		return
	}
	s.succeed(nowNs, r)
	if !keepsSeats { // else its seats still refer to it
		s.shared.recycle(r)
	}
}

// succeed answers a request.
func (s *Server) succeed(nowNs int64, r *Request) {
	s.clients.Responded(nowNs, r, Response{Status: StatusOK})
}

func (s *Server) released(nowNs int64, r *Request) {
	for _, released := range s.shared.observers.released {
		released(nowNs, r)
	}
}
