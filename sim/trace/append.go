package trace

import (
	"strconv"
	"unicode/utf8"

	"apfsim/core/classify"
	"apfsim/sim/api"
)

// Outcome is the result of a request from the view of flow control.
type Outcome string

// The outcomes. Waiting and Executing are those of requests that were not done when the run ended.
const (
	Waiting   Outcome = "waiting"
	Executing Outcome = "executing"
	Executed  Outcome = "executed"
	Rejected  Outcome = "rejected"
	Refused   Outcome = "refused" // it did not reach flow control
	Lost      Outcome = "lost"    // its server ended first
)

// Request is the part of a line that all requests of a client from one template have in common.
type Request struct{ asked, from string }

// NewRequest returns the part for what is asked by whom, and for which client of which workload. A request for a
// resource whose path is empty has the path that Kubernetes serves it under.
func NewRequest(a *classify.Attributes, query, workload string, client int) Request {
	from, asked := appendText(nil, fieldWorkload, workload), *a
	if asked.Path == "" && asked.IsResource() {
		asked.Path = ResourcePath(a)
	}
	return Request{
		asked: string(appendAsked(nil, &asked, query)),
		from:  string(appendNumber(from, fieldClient, int64(client))),
	}
}

// Flow is the part of a line that says where flow control put the request. The zero Flow is that of
// a request that flow control does not see.
type Flow struct{ text string }

// NewFlow returns the flow of the given names.
func NewFlow(flowSchema, priorityLevel, flow string) Flow {
	b := appendText(nil, fieldFlowSchema, flowSchema)
	b = appendText(b, fieldPriorityLevel, priorityLevel)
	return Flow{string(appendText(b, fieldFlow, flow))}
}

// Entry is one request of a request log. Times are nanoseconds since the start of the run.
type Entry struct {
	Request     Request
	Flow        Flow
	ID          int64
	ArrivalNs   int64
	ExecutionNs int64 // how long the handler takes; for a watch, its initialisation; -1 if it follows from the request
	WatchNs     int64 // how long a watch lasts after that

	Outcome Outcome
	Reason  string // of a rejection or a refusal
	Attempt int    // 1 for the first

	Queue      int   // -1 if there was none
	DispatchNs int64 // -1 if the request was not dispatched
	EndNs      int64 // the end of execution, or the rejection; not used while waiting or executing

	Seats               int
	FinalSeats          int   // 0 if there is no final phase
	AdditionalLatencyNs int64 // how long the final phase lasts
	RetryAfterSeconds   int   // of a rejection or of another answer

	Status     int   // of HTTP, that the client received; 0 for none
	AnsweredNs int64 // when the client was answered, or gave up, before the end of the execution; 0 if it was not

	// Of a request that a store has answered: what it asked for beyond its attributes and query, and the answer;
	// nil of others.
	Asked  *api.Call
	Answer *api.Answer

	// Where a run has several servers, or one that is not always there, or a store.
	Servers bool
	Server  int   // index of the one that it was sent to
	Parent  int64 // the ID of the request during whose execution it was sent; 0 for others
}

// Append appends the line of an entry to b. Fields that do not apply to it are left out.
func Append(b []byte, e *Entry) []byte {
	b = appendNumber(b, fieldID, e.ID)
	b = appendNumber(b, fieldArrivalNs, e.ArrivalNs)
	b = append(b, e.Request.asked...)
	if e.ExecutionNs >= 0 {
		b = appendNumber(b, fieldExecutionNs, e.ExecutionNs)
	}
	b = appendNumber(b, fieldWatchNs, e.WatchNs)
	if e.Servers {
		b = appendNumber(b, fieldServer, int64(e.Server))
	}
	if e.Asked != nil {
		b = appendAskedFor(b, e.Asked)
	}
	b = append(b, e.Request.from...)
	controlled := e.Flow.text != ""
	if controlled {
		b = append(b, e.Flow.text...)
		b = appendNumber(b, fieldQueue, int64(e.Queue))
	}
	b = appendText(b, fieldOutcome, string(e.Outcome))
	if e.Outcome == Rejected || e.Outcome == Refused {
		b = appendText(b, fieldReason, e.Reason)
	}
	b = appendNumber(b, fieldAttempt, int64(e.Attempt))
	switch {
	case e.DispatchNs >= 0:
		b = appendNumber(b, fieldDispatchNs, e.DispatchNs)
		if e.Outcome == Executed {
			b = appendNumber(b, fieldFinishNs, e.EndNs)
		}
		b = appendNumber(b, fieldWaitNs, e.DispatchNs-e.ArrivalNs)
	case e.Outcome == Rejected || e.Outcome == Lost:
		b = appendNumber(b, fieldWaitNs, e.EndNs-e.ArrivalNs)
	}
	if controlled {
		b = appendNumber(b, fieldSeats, int64(e.Seats))
		if e.FinalSeats > 0 {
			b = appendNumber(b, fieldFinalSeats, int64(e.FinalSeats))
			b = appendNumber(b, fieldAdditionalLatencyNs, e.AdditionalLatencyNs)
		}
	}
	if e.Outcome == Rejected || e.RetryAfterSeconds > 0 {
		b = appendNumber(b, fieldRetryAfterSeconds, int64(e.RetryAfterSeconds))
	}
	if e.AnsweredNs > 0 {
		b = appendNumber(b, fieldAnsweredNs, e.AnsweredNs)
	}
	b = appendNumber(b, fieldStatus, int64(e.Status))
	if e.Answer != nil {
		b = appendAnswer(b, e.Answer)
	}
	if e.Parent > 0 {
		b = appendNumber(b, fieldParent, e.Parent)
	}
	return append(b, "}\n"...)
}

// appendAnswer appends what a store has answered.
func appendAnswer(b []byte, a *api.Answer) []byte {
	if a.Reason != "" {
		b = appendText(b, fieldStatusReason, a.Reason)
	}
	if a.Version > 0 {
		b = appendNumber(b, fieldResourceVersion, a.Version)
	}
	if a.Items >= 0 {
		b = appendNumber(b, fieldItems, a.Items)
	}
	if a.Continue != "" {
		b = appendText(b, fieldContinue, a.Continue)
	}
	if a.Source != api.FromNowhere {
		b = appendText(b, fieldServedFrom, a.Source.String())
	}
	if a.Rounds > 0 {
		b = appendNumber(b, fieldRounds, int64(a.Rounds))
	}
	if a.Wrote {
		b = append(append(b, starts[fieldWrote]...), "true"...)
	}
	return b
}

// AppendRecord appends the line of a record of a trace to b, with all of its fields.
func AppendRecord(b []byte, r *Record) []byte {
	b = appendNumber(b, fieldID, r.ID)
	b = appendNumber(b, fieldArrivalNs, r.ArrivalNs)
	b = appendAsked(b, &classify.Attributes{User: r.User, Groups: r.Groups, Verb: r.Verb, APIGroup: r.APIGroup, Resource: r.Resource,
		Subresource: r.Subresource, Namespace: r.Namespace, Name: r.Name, Path: r.Path}, r.Query)
	b = appendNumber(b, fieldExecutionNs, r.ExecutionNs)
	b = appendNumber(b, fieldWatchNs, r.WatchNs)
	return append(b, "}\n"...)
}

// appendAsked appends the fields from user to query.
func appendAsked(b []byte, a *classify.Attributes, query string) []byte {
	b = appendText(b, fieldUser, a.User)
	b = append(append(b, starts[fieldGroups]...), '[')
	for i, g := range a.Groups {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, g)
	}
	b = append(b, ']')
	b = appendText(b, fieldVerb, a.Verb)
	b = appendText(b, fieldAPIGroup, a.APIGroup)
	b = appendText(b, fieldResource, a.Resource)
	b = appendText(b, fieldSubresource, a.Subresource)
	b = appendText(b, fieldNamespace, a.Namespace)
	b = appendText(b, fieldName, a.Name)
	b = appendText(b, fieldPath, a.Path)
	return appendText(b, fieldQuery, query)
}

func appendText(b []byte, f field, value string) []byte {
	return appendString(append(b, starts[f]...), value)
}

func appendNumber(b []byte, f field, value int64) []byte {
	return strconv.AppendInt(append(b, starts[f]...), value, 10)
}

// appendString appends a JSON string, written as encoding/json does without HTML escapes.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				b = append(append(b, s[from:i]...), `\ufffd`...)
				from = i + size
			case r == '\u2028' || r == '\u2029':
				b = append(append(b, s[from:i]...), `\u202`...)
				b = append(b, hex[r&0xf])
				from = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			b = append(b, `\u00`...)
			b = append(b, hex[c>>4], hex[c&0xf])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
