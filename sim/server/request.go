package server

import (
	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/filter"
	"apfsim/core/queueset"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/metric"
	"apfsim/sim/trace"

	"github.com/cespare/xxhash/v2"
)

// Template is one kind of request of one client: who asks, and for what. A client's requests of
// that kind share it, whichever server they go to. It does not change, and holds nothing that a
// server finds out; each server has that by the template's TemplateID.
type Template struct {
	Workload int // index into the scenario's workloads
	Client   int // index within the workload, from 0
	Request  int // index among the requests of the workload

	TemplateID TemplateID

	Attributes classify.Attributes
	Query      string // as in the URL, without the question mark
	FlowSchema string // the name of the one that they have, whatever the configuration would say; "" for that
}

// TemplateID identifies a template among those of a run, from 1. Those of templates that can be
// replaced by others of the same ID are negative.
type TemplateID int32

// Request is one attempt at a request, from its arrival at the server until its seats are free
// again. Requests are pooled, and used again for others.
type Request struct {
	filter.Request
	*Template
	Flow        *Flow // nil where flow control does not see the request
	ExecutionNs int64 // how long the handler takes; for a watch, its initialisation
	ArrivalNs   int64
	DispatchNs  int64  // -1 until then
	FinishNs    int64  // end of execution; -1 until then
	WatchNs     int64  // how long a watch lasts after its initialisation
	FlowHash    uint64 // Flow.Hash, as FlowIndex is Flow.Index
	Number      int64  // of arrivals in this run, at all servers, from 1
	ID          int64  // a trace's own, else the Number of the first attempt

	Attempt           int32              // from 1
	FlowIndex         int32              // Flow.Index, for those who need not look at the flow itself
	TemplateID        TemplateID         // of Template, so that a server need not look at the template itself
	SeatsAsked        int16              // the estimate at arrival; dispatch may narrow the final phase
	RetryAfterSeconds int16              // of the response, on a rejection except at the deadline; 0 without one
	Server            int16              // index of the server that it was sent to
	Status            int16              // what its client received, see Response; 0 until then
	success           int16              // the status that it is answered if it succeeds
	Rejection         queueset.Rejection // never Cancelled, see AtDeadline
	Refusal           metric.Refusal     // of a request that has not reached flow control
	Lost              bool               // the server ended before the request did
	place             place
	use               uint32 // how many requests have had this memory before, see Ref
	Opened            bool   // it is a watch that has been initialised: its client has what it wants

	Connection int32 // its connection in package network; 0 without one

	// next is the event that comes next: its time-out while it waits, the end of a step while it executes,
	// then its release, or its end if it is a watch; 0 without one.
	next clock.Handle

	Details *Details // nil unless Options.Detailed
}

// Details are what requests have besides in runs in which servers are not always there, or not always
// equally fast, or make calls.
type Details struct {
	DelayNs         int64 // the part of the execution that does not depend on the load of the server
	ClientTimeoutNs int64 // how long the client waits for the response; 0 for as long as it takes
	Parent          int64 // of a callback: the ID of the request during whose execution it was sent; 0 for others

	Calls int32 // the calls that are made for it, as package calls numbers them; 0 for none
	Call  int64 // of a callback: the call that waits for it, as package calls numbers it; 0 for none

	// HungUp says that the client has gone: its response is no status, but ClientTimedOut.
	HungUp bool

	// Asked is what the request asks for beyond its attributes; nil if its query says it all. Execution says
	// that it takes GivenNs nevertheless, and Handling is its number among those that are handled. Answer
	// is what it is answered, with status 0 until then, and if flow control has rejected it.
	Asked     *api.Call
	Execution bool
	GivenNs   int64
	Handling  int32
	Answer    api.Answer

	// Logged is what the log of the trace says of a request that is replayed; nil without. LoggedSeats says that the
	// request takes the seats that it took there.
	Logged      *trace.Logged
	LoggedSeats bool

	// Of a request of a client that behaves: its token, and how long the client takes to read an event of a
	// watch.
	Token  int32
	ReadNs int64

	capacitySlot     int32        // its slot in the capacity that serves the demand
	bytes            int64        // of memory that it takes
	step             step         // of its execution
	deadline, hangUp clock.Handle // what is to happen if it has not been answered before; 0 if nothing
	answered         bool

	// Of a request in flight, if its server keeps them.
	request             *Request
	previous, following *Details // nil otherwise
	group               group
}

// reset readies the details for an arrival.
func (d *Details) reset() {
	d.HungUp, d.answered, d.deadline, d.hangUp, d.bytes = false, false, 0, 0, 0
	d.step, d.Handling, d.Answer = inHandover, 0, api.Answer{}
}

// InQueue returns the request as its level's queues know it.
func (r *Request) InQueue() *queueset.Request { return &r.Request.Request.Request }

// Watchers returns how many open watches are interested in what the request changes; ok is false
// for one that is not estimated by them.
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

// Unnumbered is the ID of a request that is to be called by its Number.
const Unnumbered = -1

// Outcome is what has become of a request so far.
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
