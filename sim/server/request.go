package server

import (
	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/filter"
	"apfsim/core/queueset"
	"apfsim/sim/clock"
)

// Template is one kind of request of one client: who asks, and for what. A client's requests of
// that kind share it, whichever server they go to. It does not change, and holds nothing that a
// server finds out; each server has that by the template's TemplateID.
type Template struct {
	Workload int // index into the scenario's workloads
	Client   int // index within the workload, from 0

	TemplateID TemplateID

	Attributes classify.Attributes
	Query      string // as in the URL, without the question mark
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
	DispatchNs  int64 // -1 until then
	FinishNs    int64 // end of execution; -1 until then
	WatchNs     int64 // how long a watch lasts after its initialisation
	Number      int64 // of arrivals in this run, at all servers, from 1
	ID          int64 // a trace's own, else the Number of the first attempt

	Attempt           int32              // from 1
	FlowIndex         int32              // Flow.Index, for those who need not look at the flow itself
	TemplateID        TemplateID         // of Template, so that a server need not look at the template itself
	SeatsAsked        int16              // the estimate at arrival; dispatch may narrow the final phase
	RetryAfterSeconds int16              // on a rejection, except at the deadline
	Server            int16              // index of the server that it was sent to
	Rejection         queueset.Rejection // never Cancelled, see AtDeadline

	next clock.Handle // its time-out while it waits, its finish while it executes; 0 without one
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
)

// String returns the outcome as the request log writes it.
func (o Outcome) String() string {
	return [...]string{"waiting", "executing", "executed", "rejected"}[o]
}

// Outcome returns what has become of the request so far.
func (r *Request) Outcome() Outcome {
	switch {
	case r.Rejection != queueset.NotRejected:
		return Rejected
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
}

// Name returns the flow as statistics and logs write it: the schema and, where there is
// one, the distinguisher behind a slash.
func (f *Flow) Name() string {
	if f.Distinguisher == "" {
		return f.Schema.Name
	}
	return f.Schema.Name + "/" + f.Distinguisher
}
