// Package server simulates API servers around core/filter: they receive requests, execute those that flow
// control dispatches, answer their clients, and schedule what flow control wants to happen later. They start,
// stop, crash, and share their processors and their memory among requests. A run makes them with New, passes each
// request to Server.Arrive and each event to Server.Handle, and attaches Observers.
package server

import (
	"apfsim/core/config"
	"apfsim/core/filter"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/store"
)

// Clients send the requests and receive the responses.
type Clients interface {
	// Responded is called when r is over for its client: it was rejected, its execution ended or,
	// for a watch, the watch did. The client must not keep r: to send it again is to send another
	// request.
	Responded(nowNs int64, r *Request, response Response)
}

// Response is what a client receives for a request.
type Response struct {
	Status            int   // of HTTP; 0 without a response, see Failure
	RetryAfterSeconds int32 // the header Retry-After; 0 without one
	Failure           Failure
	CloseConnection   bool // the header Connection: close, which is GOAWAY over HTTP/2
}

// The values of Response.Status.
const (
	StatusSwitchingProtocols  = 101 // a connection that is used for something else from then on
	StatusOK                  = 200
	StatusCreated             = 201
	StatusTooManyRequests     = 429 // rejected by flow control, or by a server that stops or is not ready
	StatusInternalServerError = 500 // a call that must not fail has failed
	StatusServiceUnavailable  = 503 // the server stops
	StatusGatewayTimeout      = 504 // still queued or executing at its deadline
)

// Succeeded says whether the server has done what it was asked for.
func (r *Response) Succeeded() bool {
	return r.Status >= StatusOK && r.Status < 300 || r.Status == StatusSwitchingProtocols
}

// Failure is why a client has received no response.
type Failure = api.Failure

// The failures.
const (
	NoFailure        = api.NoFailure
	FailedToConnect  = api.FailedToConnect  // the server refused the connection, or there is none
	BrokenConnection = api.BrokenConnection // the connection was reset
	ClientTimedOut   = api.ClientTimedOut   // the client has given up
)

// Server is one API server. Its methods are called by the run's event loop, in order of time.
type Server struct {
	index    int16 // among the servers of the run
	stage    Stage
	deps     *Deps
	runState *RunState
	events   *Events // those of runState
	clients  Clients
	rules    *rules.Rules
	process  processState
	filter   FlowControl
	states   templateStates
	// replaceable are the states of templates that can be replaced, by minus their ID.
	replaceable []*replaceableState
	phaseNs     int64     // of the periodic adjustments
	adjusting   bool      // one is under way
	handover    *handover // nil where executions begin at dispatch
	capacity    *sharing  // nil where requests do not share one
	pace        pace      // of the capacity
	work        work
	memory      memory
	health      health
	nextEnd     clock.Handle // of the demand that the capacity serves first, or of a turn; 0 without one
	egress      *egress      // nil where answers are sent in no time
	// leastTimeLimitNs is the least of the time limits of all kinds: executions that end within it
	// are not looked at more closely.
	leastTimeLimitNs int64
	network          Network    // nil where servers are always there
	timedOut         []*Request // by the arrival of another one, and not responded to yet
}

// Deps are the arguments of New: what the servers of a run need.
type Deps struct {
	Settings      *Settings
	Process       *Process
	Seed          uint64
	Objects       config.Objects // the flow-control objects at the start
	Changes       []Change       // of the objects during the run, in order of time; not used with Stored
	Resources     []store.Count  // what is stored at the start
	ServersMayEnd bool           // servers may end during the run, which a Network then knows

	RunState *RunState
	Clients  Clients // receive the responses: the network, if there is one
	Network  Network // knows the connections; nil where servers are always there

	Store    *Store   // executes the requests by what they ask for; nil if the workload says how long they take
	Receiver Receiver // receives the events of watches, with a Store
	WindowNs int64    // when the statistics begin

	// Stored returns the flow-control objects that a server reads, where they are stored and maintained
	// during the run; it is nil where their changes are known before.
	Stored func(*Server) config.Objects
	// FlowControl makes the flow control of a process; nil, or where it returns nil, it is a filter.Filter.
	FlowControl func(Beginning) OtherFlowControl
	// Calls returns what the servers call while they execute requests; it is nil where they call nobody.
	Calls func([]*Server) Calls
}

// Change is a change of the flow-control objects.
type Change struct {
	AtNs    int64
	Objects config.Objects // all of them from then on
}

// NeedsDetails says whether the requests need Details.
func (d *Deps) NeedsDetails() bool {
	s := d.Settings
	return d.Store != nil || s.Capacity.IsSet() || s.Memory != nil || s.Handover.IsSet() || d.ServersMayEnd || d.Calls != nil
}

// check panics if something is missing.
func (d *Deps) check() {
	switch {
	case d.NeedsDetails() && !d.RunState.options.NeedsDetails:
		panic("server: requests need Details for a store, a capacity, a memory, a handover, calls, or servers that end")
	case d.ServersMayEnd && d.Network == nil:
		panic("server: no network knows of the ends of servers")
	case d.Store != nil && d.Receiver == nil:
		panic("server: nobody receives the events of watches")
	}
}

// New returns the servers of a run, by index, idle at time 0.
func New(d Deps) []*Server {
	d.check()
	runState := d.RunState
	for range d.Settings.Replicas {
		runState.servers = append(runState.servers, newServer(&d))
	}
	if d.Calls != nil {
		runState.calls = d.Calls(runState.servers)
	}
	if d.Store != nil {
		runState.handlers = newHandlers(&d)
	}
	return runState.servers
}

// newServer returns the next server.
func newServer(d *Deps) *Server {
	runState, settings := d.RunState, d.Settings
	s := &Server{index: int16(len(runState.servers)), stage: Ready, deps: d, runState: runState, events: &runState.Events, clients: d.Clients, network: d.Network, leastTimeLimitNs: filter.NoLimitNs}
	s.process.startup, s.process.latest = d.Process.Startup, -1
	s.setVersion(settings.KubernetesVersion.At(s.Index()))
	if d.ServersMayEnd {
		s.track()
	}
	if d.Store != nil {
		s.health.latencies.Open(d.Seed, "servers", s.Index(), "health checks")
	}
	s.begin(0, runState.objects.current(s), s.limits())
	s.work.meter.FromNs = d.WindowNs
	if settings.Capacity.IsSet() {
		s.capacity = newSharing(settings.Capacity, d.WindowNs)
		s.setPace(settings.Capacity, d.Store)
	}
	if settings.Memory != nil {
		s.setMemory(settings.Memory)
	}
	if settings.Network != nil {
		s.setEgress(settings.Network)
	}
	if settings.Handover.IsSet() {
		s.setHandover(settings.Handover, d.Seed)
	}
	if s.limits() {
		s.process.controls = true
		s.phaseNs = settings.AdjustmentPhase.AtNs(d.Seed, s.Index())
		s.adjustAt(0)
		if d.Stored == nil {
			for i, change := range d.Changes {
				s.schedule(change.AtNs, Event{Kind: Reconfigure, Index: int32(i)})
			}
		}
	}
	return s
}

// schedule schedules an event of this server.
func (s *Server) schedule(atNs int64, e Event) {
	e.Owner = s.index
	s.events.Schedule(atNs, uint8(e.Kind), e)
}

// Index returns the index of the server among those of the run, from 0.
func (s *Server) Index() int { return int(s.index) }

// Rules returns the rules of the server's release.
func (s *Server) Rules() *rules.Rules { return s.rules }

// ReloadConfig makes the server read the stored flow-control objects, see Deps.Stored. Its limits are
// adjusted with them, out of the rhythm of the periodic adjustments.
func (s *Server) ReloadConfig(nowNs int64) { s.filter.Configure(nowNs, s.runState.objects.current(s)) }

// Levels returns the priority levels by name, nil when there are none: without
// PriorityAndFairness, and while the server is Off.
func (s *Server) Levels() []*flowcontrol.Level {
	if s.filter == nil || s.stage == Off {
		return nil
	}
	return s.filter.Levels()
}

// Arrive takes a request that reaches the server now, or would if the server were there.
func (s *Server) Arrive(nowNs int64, r *Request) {
	if s.stage != Ready && s.turnAway(nowNs, r) {
		return
	}
	r.phase = atServer
	s.receive(r)
	s.runState.arrivals++
	r.Number, r.Server = s.runState.arrivals, s.index
	if r.ID == Unnumbered {
		r.ID = r.Number
	}
	r.ArrivalNs, r.DispatchNs, r.FinishNs = nowNs, -1, -1
	r.Rejection, r.RetryAfterSeconds, r.Refusal, r.Lost, r.Opened, r.Status = queueset.NotRejected, 0, metric.NotRefused, false, false, 0
	if r.Details != nil {
		r.Details.reset()
	}
	r.SeatsAsked = int16(r.Seats())
	if s.process.inFlight.tracked {
		s.process.inFlight.add(r, s.groupOf(r))
	}
	for _, arrived := range s.runState.observers.arrived {
		arrived(nowNs, r)
	}
	rejection, retryAfterSeconds := s.filter.Arrive(nowNs, &r.Request)
	switch {
	case rejection != queueset.NotRejected:
		s.reject(nowNs, r, rejection, retryAfterSeconds)
	case r.Waiting():
		r.next = s.events.Schedule(nowNs+s.filter.WaitLimitNs(&r.Request), uint8(TimeOut), Event{Kind: TimeOut, Owner: s.index, Request: r})
		for _, queued := range s.runState.observers.queued {
			queued(nowNs, r)
		}
	}
	if rejection == queueset.NotRejected && r.Details != nil {
		s.expectHangUp(nowNs, r)
	}
	for len(s.timedOut) > 0 {
		old := s.timedOut[0]
		s.timedOut = s.timedOut[1:]
		s.respondRejected(nowNs, old)
	}
}

// TimedOut implements filter.Host. Observers are notified at once, but the client, who may send
// another request in response, when the present arrival has been dealt with.
func (s *Server) TimedOut(nowNs int64, q *filter.Request) {
	r := q.Owner().(*Request)
	retryAfterSeconds := s.filter.Dropped(nowNs, &r.Request)
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
	switch finishNs := nowNs + r.ExecutionNs; {
	case r.Details != nil:
		s.beginHandover(nowNs, r)
	case finishNs-r.ArrivalNs > s.leastTimeLimitNs:
		s.executeLong(nowNs, r)
	default:
		r.next = s.events.Schedule(finishNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Request: r})
	}
	for _, dispatched := range s.runState.observers.dispatched {
		dispatched(nowNs, r)
	}
}

// HeldBack implements filter.Host.
func (s *Server) HeldBack(q *filter.Request) {
	for _, heldBack := range s.runState.observers.heldBack {
		heldBack(s.events.NowNs(), q.Owner().(*Request))
	}
}

// MaxStreams returns how many requests the server lets a client have in progress on one HTTP/2 connection. An
// open watch is one of them.
func (s *Server) MaxStreams() int { return s.rules.Server.MaxStreams }

// noteAdjusted notifies the observers that the levels or their limits may have changed.
func (s *Server) noteAdjusted(nowNs int64) {
	for _, adjusted := range s.runState.observers.adjusted {
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
	for _, rejected := range s.runState.observers.rejected {
		rejected(nowNs, r)
	}
}

// respondRejected answers a rejected request, which is then over.
func (s *Server) respondRejected(nowNs int64, r *Request) {
	response := Response{Status: StatusTooManyRequests, RetryAfterSeconds: int32(r.RetryAfterSeconds)}
	if r.AtDeadline() {
		response.Status = StatusGatewayTimeout
	}
	s.answer(nowNs, r, response)
	s.runState.recycle(r)
}

// Handle carries out an event of one of the server's kinds.
func (s *Server) Handle(nowNs int64, e Event) {
	r := e.Request
	switch e.Kind {
	case Finish:
		switch {
		case r == nil:
			s.endWithoutRequest(nowNs, e.Index)
		case r.Details == nil:
			r.next = 0
			s.finish(nowNs, r, Response{Status: int(r.success)})
		default:
			s.endStep(nowNs, r)
		}
	case Deadline:
		s.deadline(nowNs, r)
	case HangUp:
		r.Details.hangUp = 0
		s.HangUp(nowNs, r)
	case Progress:
		s.progress(nowNs, e)
	case Release:
		r.next = 0
		s.released(nowNs, r)
		s.filter.Release(nowNs, &r.Request)
		s.runState.recycle(r)
	case WatchEnd:
		r.next = 0
		if r.Details != nil && r.Details.step == inWatch {
			s.runState.handlers.abandon(nowNs, r)
		}
		s.filter.EndWatch(&r.Request)
		s.answer(nowNs, r, Response{Status: StatusOK})
		s.runState.recycle(r)
	case TimeOut:
		r.next = 0
		rejection, retryAfterSeconds := s.filter.TimeOut(nowNs, &r.Request)
		if rejection == queueset.Cancelled {
			rejection, retryAfterSeconds = queueset.TimedOut, 0 // see AtDeadline
		}
		s.reject(nowNs, r, rejection, retryAfterSeconds)
	case Lifecycle:
		s.lifecycle(nowNs, transition(e.Index))
	case Reconfigure:
		s.reconfigure(nowNs, int(e.Index))
	case Pace:
		s.changePace(nowNs, int(e.Index))
	case Adjust:
		s.adjustPeriodically(nowNs)
	default:
		panic("server: an event that is not the server's")
	}
}
