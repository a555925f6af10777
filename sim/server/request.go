package server

import (
	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/filter"
	"apfsim/core/queueset"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/registry"
	"apfsim/sim/trace"

	"github.com/cespare/xxhash/v2"
)

// Template is one kind of request of one client: its user and its target. A client's requests of
// that kind share it, whichever server they go to. It does not change, and holds nothing that a
// server finds out; each server has that by the template's TemplateID.
type Template struct {
	Workload int // index into the scenario's workloads
	Client   int // index within the workload, from 0
	Request  int // index among the requests of the workload

	TemplateID TemplateID

	Attributes classify.Attributes
	Query      string          // as in the URL, without the question mark
	FlowSchema string          // the name of the one that they have, whatever the configuration would say; "" for that
	Accept     registry.Accept // of the client
	Matches    int64           // see api.Call
}

// TemplateID identifies a template among those of a run, from 1. Those of templates that can be
// replaced by others of the same ID are negative.
type TemplateID int32

// Request is one attempt at a request, from its arrival at the server until its seats are free
// again. Requests are pooled, and used again for others.
//
// Each part has one writer, which the part names; others only read it. The parts are in one piece of memory, and the
// fields of each are in the order of their size, so that a request takes few lines of the processor's cache.
type Request struct {
	// Request is the request as flow control knows it. Server.Arrive binds it to a kind, and core/filter writes it from then
	// on.
	filter.Request

	Sent
	Decision
	Completion
	Transport
	serving

	Details *Details // nil unless Options.NeedsDetails
}

// Sent is the part of a request that its client determines. The client writes it before it sends the request; a
// server replaces an ID that is Unnumbered, and the ExecutionNs of a request that it handles.
type Sent struct {
	*Template
	ExecutionNs int64      // how long the handler takes; for a watch, its initialisation
	WatchNs     int64      // how long a watch lasts after its initialisation
	ID          int64      // a trace's own, else the Number of the first attempt
	WantedNs    int64      // when a client of a loop wanted to send the first attempt, before its rate limiter
	Attempt     int32      // from 1
	TemplateID  TemplateID // of Template, so that a server need not look at the template itself
}

// Decision is the decision of flow control about a request. Its server writes it: at the arrival, at the dispatch, and
// at a rejection.
type Decision struct {
	Flow       *Flow  // nil where flow control does not see the request
	FlowHash   uint64 // Flow.Hash, as FlowIndex is Flow.Index
	Number     int64  // of arrivals in this run, at all servers, from 1
	ArrivalNs  int64
	DispatchNs int64              // -1 until then
	FlowIndex  int32              // Flow.Index, for those who need not look at the flow itself
	SeatsAsked int16              // the estimate at arrival; dispatch may narrow the final phase
	Rejection  queueset.Rejection // never Cancelled, see AtDeadline
}

// Completion is how a request ended. Its server writes it when the execution ends, when the client is answered, and when
// the server itself ends; for a request that reaches no server, RunState.Refuse does.
type Completion struct {
	FinishNs          int64          // end of execution; -1 until then
	Status            int16          // what its client received, see Response; 0 until then
	RetryAfterSeconds int16          // of the response, on a rejection except at the deadline; 0 without one
	Refusal           metric.Refusal // of a request that has not reached flow control
	Lost              bool           // the server ended before the request did
	Opened            bool           // it is a watch that has been initialised: its client has what it wants
}

// Transport is the way that a request takes to its server. The network writes it when it sends the request; without a
// network, the server writes its own index.
type Transport struct {
	Connection int32 // its connection in package network; 0 without one
	Server     int16 // index of the server that it was sent to
}

// serving is the state of a request that only servers read and write.
type serving struct {
	// next is the event that comes next: its time-out while it waits, the end of a step while it executes,
	// then its release, or its end if it is a watch; 0 without one.
	next    clock.Handle
	use     uint32 // how many requests have had this memory before, see Ref
	success int16  // the status that it is answered if it succeeds
	phase   phase
}

// Details are additional parts of requests, for runs in which servers are not always available, or
// not always equally fast, or make calls. As in Request, each part has one writer.
type Details struct {
	SentDetails
	TransportDetails
	CallDetails
	RegistryResult
	Spent

	// HungUp says that the client has gone: its response is no status, but ClientTimedOut or BrokenConnection. The server
	// writes it.
	HungUp bool

	capacitySlot     int32        // its slot in the capacity that serves the demand, or in the network that sends the answer
	bytes            int64        // of memory that it takes
	step             step         // of its execution
	deadline, hangUp clock.Handle // what is to happen if it has not been answered before; 0 if nothing
	answered         bool

	// Of a request in flight, if its server keeps them.
	request             *Request
	previous, following *Details // nil otherwise
	group               group
}

// SentDetails are further values that the client of a request determines, in addition to Sent. The client writes them
// before it sends the request; if Asked is nil then, the handlers write it.
type SentDetails struct {
	DelayNs         int64 // the part of the execution that does not depend on the load of the server
	ClientTimeoutNs int64 // how long the client waits for the response; 0 for as long as it takes

	// Asked is what the request asks for beyond its attributes; nil if its query says it all. Execution says
	// that it takes GivenNs nevertheless.
	Asked     *api.Call
	Execution bool
	GivenNs   int64

	// Logged is what the log of the trace says of a request that is replayed; nil without. LoggedSeats says that the
	// request takes the seats that it took there.
	Logged      *trace.Logged
	LoggedSeats bool

	// Of a request of a client that behaves: its token, and how long the client takes to read an event of a
	// watch.
	Token  int32
	ReadNs int64
}

// TransportDetails are further values of the network, in addition to Transport.
type TransportDetails struct {
	Notice clock.Handle // the event by which the client finds out that there will be no response; 0 without one
}

// CallDetails relate a request to the calls that are made while it or another one executes. Package calls writes them.
type CallDetails struct {
	PendingCalls int32 // the calls that are made for it, as package calls numbers them; 0 for none
	CallbackOf   int64 // of a callback: the call that waits for it, as package calls numbers it; 0 for none
	Parent       int64 // of a callback: the ID of the request during whose execution it was sent; 0 for others
}

// RegistryResult is the result of a request in its server's registry. Handlers write it.
type RegistryResult struct {
	RegistryOp int32      // its number among those that are handled; 0 for none
	Answer     api.Answer // with status 0 until then, and if flow control has rejected it
}

// reset readies the details for an arrival.
func (d *Details) reset() {
	d.HungUp, d.answered, d.deadline, d.hangUp, d.bytes = false, false, 0, 0, 0
	d.step, d.RegistryOp, d.Answer, d.Spent = inHandover, 0, api.Answer{}, Spent{}
}

// InQueue returns the request as its level's queues know it.
func (r *Request) InQueue() *queueset.Request { return &r.Request.Request.Request }

// Watchers returns the number of open watches that are interested in the change that the request makes; ok is false if
// its seats are not estimated from watches.
func (r *Request) Watchers() (n int, ok bool) { return r.Kind().Watchers() }

// AtDeadline says whether the request was rejected because it was still queued at its deadline,
// which happens only under rules with LazyWaitLimit: it was Cancelled. In statistics it is a
// time-out, as it would be in later releases. The response is that of the server's filter for
// timeouts and not that of flow control, and has no Retry-After.
func (r *Request) AtDeadline() bool {
	return r.Rejection == queueset.TimedOut && r.RetryAfterSeconds == 0
}

// Answered says whether the client of the request has received its response, or does not wait for one.
func (r *Request) Answered() bool {
	if r.Details != nil {
		return r.Details.answered
	}
	return r.Status != 0
}

// Unnumbered is the ID of a request that takes its Number as ID when a server receives it.
const Unnumbered = -1

// Outcome is the state of a request: how far it is, and how it ended.
type Outcome uint8

// The outcomes. Waiting and Executing are those of a run that ended first.
const (
	Waiting Outcome = iota
	Executing
	Executed
	Rejected
	Refused // it has not reached flow control, see Request.Refusal
	Lost    // the server ended before the request did
)

// String returns the outcome as the request log writes it.
func (o Outcome) String() string {
	return [...]string{"waiting", "executing", "executed", "rejected", "refused", "lost"}[o]
}

// Outcome returns what has become of the request so far.
func (r *Request) Outcome() Outcome {
	switch {
	case r.Refusal != metric.NotRefused:
		return Refused
	case r.Rejection != queueset.NotRejected:
		return Rejected
	case r.Lost:
		return Lost
	case r.FinishNs >= 0:
		return Executed
	case r.DispatchNs >= 0:
		return Executing
	}
	return Waiting
}

// Flow is the requests of one FlowSchema that share a distinguisher. When the configuration
// of its FlowSchema or level changes, what comes from then on is another Flow of the same name.
type Flow struct {
	Index         int // in the order of first appearance at any server, from 0
	Schema        *config.FlowSchema
	Level         string // the priority level's name
	Distinguisher string
	Hand          []int // the queues its requests are dealt, nil without queues

	// Hash is the XXH64 of the names of level, FlowSchema and distinguisher, each with a byte 0 behind it.
	Hash uint64
}

// GiveExecution says whether ExecutionNs is what the scenario gives, also for a request that handlers execute by what it
// asks for.
func (r *Request) GiveExecution(given bool) {
	r.Details.Execution, r.Details.GivenNs = given, r.ExecutionNs
}

// SetFlow makes r a request of a flow.
func (r *Request) SetFlow(f *Flow) { r.Flow, r.FlowIndex, r.FlowHash = f, int32(f.Index), f.Hash }

// NewFlow returns a flow; the arguments are its fields.
func NewFlow(index int, schema *config.FlowSchema, level, distinguisher string, hand []int) *Flow {
	names := xxhash.New()
	for _, name := range []string{level, schema.Name, distinguisher} {
		names.WriteString(name)
		names.Write([]byte{0}) // so that ("ab", "c") differs from ("a", "bc")
	}
	return &Flow{Index: index, Schema: schema, Level: level, Distinguisher: distinguisher, Hand: hand, Hash: names.Sum64()}
}

// Name returns the flow as statistics and logs write it: the schema and, where there is
// one, the distinguisher behind a slash.
func (f *Flow) Name() string {
	if f.Distinguisher == "" {
		return f.Schema.Name
	}
	return f.Schema.Name + "/" + f.Distinguisher
}
