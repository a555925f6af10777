// Package server is a simulated API server around core/flowcontrol: it runs the requests
// that flow control lets through for as long as the scenario says, and keeps the times
// that flow control asks it to.
package server

import (
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/filter"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/sim/scenario"
)

// Clients are told what becomes of their requests.
type Clients interface {
	// Done says that the client is through with r: it was rejected, its execution ended,
	// or its watch did. Keep means that the client will send r again.
	Done(nowNs int64, r *Request) (keep bool)
}

// Server is one API server. Its methods are called by the run's event loop, in order of time.
type Server struct {
	changes   []scenario.Event
	events    *Events
	clients   Clients
	observers []Observer
	heldBack  []HeldBackObserver // those of them that are

	filter   *filter.Filter
	phaseNs  int64 // of the periodic adjustments
	flows    map[flowKey]*Flow
	arrivals int64
	free     []*Request
}

type flowKey struct {
	schema        *config.FlowSchema
	level         *config.PriorityLevelSpec
	distinguisher string
}

// modes are the modes of flow control by their names in a scenario.
var modes = map[string]filter.Mode{
	scenario.PriorityAndFairness: filter.PriorityAndFairness,
	scenario.MaxInFlight:         filter.MaxInFlight,
	scenario.NoFlowControl:       filter.NoLimits,
}

// New returns the server of a scenario, idle at time 0.
func New(sc *scenario.Scenario, events *Events, clients Clients) *Server {
	spec := &sc.Spec
	release, err := rules.For(spec.Servers.KubernetesVersion)
	if err != nil {
		panic("server: a scenario that is not valid: " + err.Error())
	}
	store := estimate.Store{}
	for _, r := range spec.Resources {
		store[estimate.Resource{Group: r.Group, Name: r.Resource}] = estimate.Stats{Objects: r.Objects, AverageBytes: r.AverageBytes}
	}
	s := &Server{changes: spec.Events, events: events, clients: clients, flows: map[flowKey]*Flow{}}
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
		s.phaseNs = spec.AdjustmentPhaseNs(0)
		events.Schedule(0, uint8(Adjust), Event{Kind: Adjust})
		for i, change := range s.changes {
			events.Schedule(int64(change.At), uint8(Reconfigure), Event{Kind: Reconfigure, Index: int32(i)})
		}
	}
	return s
}

// Observe attaches an observer. It must be done before the first event.
func (s *Server) Observe(o Observer) {
	s.events.Schedule(0, uint8(Sample), Event{Kind: Sample, Index: int32(len(s.observers))})
	s.observers = append(s.observers, o)
	if o, ok := o.(HeldBackObserver); ok {
		s.heldBack = append(s.heldBack, o)
	}
}

// Levels returns the priority levels by name, nil when there are none: without
// PriorityAndFairness.
func (s *Server) Levels() []*flowcontrol.Level { return s.filter.Levels() }

// NewRequest returns a request to fill in: its Template, times and attempt.
func (s *Server) NewRequest() *Request {
	if n := len(s.free); n > 0 {
		r := s.free[n-1]
		s.free = s.free[:n-1]
		return r
	}
	r := &Request{}
	r.Bind(r)
	return r
}

// recycle takes back a request that nobody refers to any more.
func (s *Server) recycle(r *Request) { s.free = append(s.free, r) }

// Arrive takes a request that reaches the server now.
func (s *Server) Arrive(nowNs int64, r *Request) {
	s.receive(r)
	s.arrivals++
	r.Number = s.arrivals
	if r.ID == Unnumbered {
		r.ID = r.Number
	}
	r.ArrivalNs, r.DispatchNs, r.FinishNs = nowNs, -1, -1
	r.Rejection, r.RetryAfterSeconds = queueset.NotRejected, 0
	r.SeatsAsked = int32(r.Seats())
	for _, o := range s.observers {
		o.Arrived(nowNs, r)
	}
	rejection, retryAfterSeconds := s.filter.Arrive(nowNs, &r.Request)
	switch {
	case rejection != queueset.NotRejected:
		s.reject(nowNs, r, rejection, retryAfterSeconds)
	case r.Waiting():
		r.timeOut = s.events.Schedule(nowNs+r.Kind().WaitLimitNs(), uint8(TimeOut), Event{Kind: TimeOut, Request: r})
		for _, o := range s.observers {
			o.Queued(nowNs, r)
		}
	}
}

// Dispatched implements filter.Host.
func (s *Server) Dispatched(r *filter.Request) {
	s.execute(s.events.NowNs(), r.Owner().(*Request))
}

// HeldBack implements filter.Observer.
func (s *Server) HeldBack(r *filter.Request) {
	for _, o := range s.heldBack {
		o.HeldBack(s.events.NowNs(), r.Owner().(*Request))
	}
}

func (s *Server) execute(nowNs int64, r *Request) {
	if r.timeOut != 0 {
		s.events.Cancel(r.timeOut)
		r.timeOut = 0
	}
	r.DispatchNs = nowNs
	s.events.Schedule(nowNs+r.ExecutionNs, uint8(Finish), Event{Kind: Finish, Request: r})
	for _, o := range s.observers {
		o.Dispatched(nowNs, r)
	}
}

func (s *Server) reject(nowNs int64, r *Request, why queueset.Rejection, retryAfterSeconds int) {
	r.Rejection, r.RetryAfterSeconds = why, int32(retryAfterSeconds)
	for _, o := range s.observers {
		o.Rejected(nowNs, r)
	}
	s.done(nowNs, r)
}

// done hands a request back to its client.
func (s *Server) done(nowNs int64, r *Request) {
	if !s.clients.Done(nowNs, r) {
		s.recycle(r)
	}
}

// Handle carries out an event of one of the server's kinds.
func (s *Server) Handle(nowNs int64, e Event) {
	r := e.Request
	switch e.Kind {
	case End:
		for _, o := range s.observers {
			o.Tick(nowNs)
		}
	case Sample:
		if nextNs := s.observers[e.Index].Tick(nowNs); nextNs > nowNs {
			s.events.Schedule(nextNs, uint8(Sample), e)
		}
	case Finish:
		s.finish(nowNs, r)
	case Release:
		s.released(nowNs, r)
		s.filter.Release(nowNs, &r.Request)
		s.recycle(r)
	case WatchEnd:
		s.filter.EndWatch(&r.Request)
		s.done(nowNs, r)
	case TimeOut:
		r.timeOut = 0
		rejection, retryAfterSeconds := s.filter.TimeOut(nowNs, &r.Request)
		s.reject(nowNs, r, rejection, retryAfterSeconds)
	case Reconfigure:
		s.filter.Configure(nowNs, s.changes[e.Index].Objects)
	case Adjust:
		s.filter.Adjust(nowNs)
		nextNs := nowNs + flowcontrol.AdjustmentPeriodNs
		if nowNs < s.phaseNs { // the adjustment at 0, which the first configuration makes
			nextNs = s.phaseNs
		}
		s.events.Schedule(nextNs, uint8(Adjust), e)
	case Arrive:
		s.Arrive(nowNs, r)
	default:
		panic("server: an event that is not the server's")
	}
}

// Adjusted implements filter.Observer.
func (s *Server) Adjusted(nowNs int64) {
	for _, o := range s.observers {
		o.Adjusted(nowNs)
	}
}

// finish ends a request's execution. Observers hear of it, and of the seats it frees,
// before they hear of the requests that get them.
func (s *Server) finish(nowNs int64, r *Request) {
	r.FinishNs = nowNs
	for _, o := range s.observers {
		o.Executed(nowNs, r)
	}
	lingers := r.Lingers()
	if !lingers {
		s.released(nowNs, r)
	}
	if lingerNs := s.filter.Finish(nowNs, &r.Request); lingerNs > 0 {
		s.events.Schedule(nowNs+lingerNs, uint8(Release), Event{Kind: Release, Request: r})
	}
	switch {
	case r.IsWatch():
		s.events.Schedule(nowNs+r.WatchNs, uint8(WatchEnd), Event{Kind: WatchEnd, Request: r})
	case lingers:
		s.clients.Done(nowNs, r) // its seats still refer to it
	default:
		s.done(nowNs, r)
	}
}

func (s *Server) released(nowNs int64, r *Request) {
	for _, o := range s.observers {
		o.Released(nowNs, r)
	}
}
