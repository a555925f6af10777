package reports

import (
	"bufio"
	"io"

	"apfsim/core/queueset"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// RequestLog writes a line of JSON for every request, in the order of arrival, as a run
// goes on. It implements server.Observer. A line is written once its request's fate is
// known and all lines before it are written; until then it is kept, so that memory grows
// with the requests that arrive during the longest wait and execution.
//
// The format stands in docs/reference/summary.md. It is a trace too.
type RequestLog struct {
	scenario *scenario.Scenario
	out      *bufio.Writer
	err      error

	ring   []entry // by number modulo its length, which is a power of 2
	oldest int64   // number of the first request whose line is not written
	next   int64   // one more than the number of the latest request
	tail   []byte  // scratch
}

// entry is a line in the making.
type entry struct {
	head    []byte // all that is known on arrival, without the closing brace
	attempt int
	flow    bool // whether flow control sees the request

	decided    bool
	outcome    server.Outcome
	reason     queueset.Rejection
	queue      int
	arrivalNs  int64
	dispatchNs int64 // -1 until then
	endNs      int64 // finish, or rejection
	seats      int
	finalSeats int
	lingerNs   int64
	retryAfter int // seconds
}

// NewRequestLog returns a log of a run of sc that is written to w. Close must be called at the end.
func NewRequestLog(w io.Writer, sc *scenario.Scenario) *RequestLog {
	return &RequestLog{scenario: sc, out: bufio.NewWriterSize(w, 1<<16), ring: make([]entry, 256), oldest: 1, next: 1}
}

// Arrived implements server.Observer.
func (l *RequestLog) Arrived(nowNs int64, r *server.Request) {
	if r.Number-l.oldest >= int64(len(l.ring)) {
		l.grow()
	}
	l.next = r.Number + 1
	e := l.at(r.Number)
	*e = entry{head: l.appendHead(e.head[:0], nowNs, r), attempt: int(r.Attempt), flow: r.Flow != nil,
		outcome: server.Waiting, queue: -1, arrivalNs: nowNs, dispatchNs: -1}
	e.estimate(r)
}

// Queued implements server.Observer.
func (l *RequestLog) Queued(_ int64, r *server.Request) { l.at(r.Number).queue = r.Queue() }

// Dispatched implements server.Observer.
func (l *RequestLog) Dispatched(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.dispatchNs, e.queue = server.Executing, nowNs, r.Queue()
	e.estimate(r)
}

// Rejected implements server.Observer.
func (l *RequestLog) Rejected(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.endNs, e.reason, e.retryAfter = server.Rejected, nowNs, r.Rejection, int(r.RetryAfterSeconds)
	e.estimate(r)
	l.decide(e)
}

// Executed implements server.Observer.
func (l *RequestLog) Executed(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.endNs = server.Executed, nowNs
	l.decide(e)
}

// Released implements server.Observer.
func (l *RequestLog) Released(int64, *server.Request) {}

// Adjusted implements server.Observer.
func (l *RequestLog) Adjusted(int64) {}

// Tick implements server.Observer.
func (l *RequestLog) Tick(int64) {}

// Err returns the first error that has come up in writing. The log is then of no use.
func (l *RequestLog) Err() error { return l.err }

// Close writes what is left: the requests that still wait or execute. It returns the
// first error that came up in writing.
func (l *RequestLog) Close() error {
	for ; l.oldest < l.next; l.oldest++ {
		l.write(l.at(l.oldest))
	}
	if err := l.out.Flush(); l.err == nil {
		l.err = err
	}
	return l.err
}

func (l *RequestLog) at(number int64) *entry { return &l.ring[number&int64(len(l.ring)-1)] }

func (l *RequestLog) grow() {
	bigger := make([]entry, 2*len(l.ring))
	for n := l.oldest; n < l.next; n++ {
		bigger[n&int64(len(bigger)-1)] = *l.at(n)
	}
	l.ring = bigger
}

func (l *RequestLog) decide(e *entry) {
	e.decided = true
	for l.oldest < l.next && l.at(l.oldest).decided {
		l.write(l.at(l.oldest))
		l.oldest++
	}
}

// estimate notes the seats, which dispatch may change.
func (e *entry) estimate(r *server.Request) {
	if !e.flow {
		return
	}
	e.seats, e.finalSeats, e.lingerNs = r.Work.InitialSeats, r.Work.FinalSeats, r.Work.AdditionalLatencyNs
}

// appendHead appends the fields of a trace, which are always there, and who sent the
// request and where flow control put it.
func (l *RequestLog) appendHead(b []byte, nowNs int64, r *server.Request) []byte {
	a := &r.Attributes
	b = appendNumberField(b, `{"id":`, r.ID)
	b = appendNumberField(b, `,"arrivalNs":`, nowNs)
	b = appendTextField(b, `,"user":`, a.User)
	b = append(b, `,"groups":[`...)
	for i, g := range a.Groups {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, g)
	}
	b = appendTextField(b, `],"verb":`, a.Verb)
	b = appendTextField(b, `,"apiGroup":`, a.APIGroup)
	b = appendTextField(b, `,"resource":`, a.Resource)
	b = appendTextField(b, `,"subresource":`, a.Subresource)
	b = appendTextField(b, `,"namespace":`, a.Namespace)
	b = appendTextField(b, `,"name":`, a.Name)
	b = appendTextField(b, `,"path":`, a.Path)
	b = appendTextField(b, `,"query":`, r.Query)
	b = appendNumberField(b, `,"executionNs":`, r.ExecutionNs)
	b = appendNumberField(b, `,"watchNs":`, r.WatchNs)
	b = appendTextField(b, `,"workload":`, l.scenario.Spec.Workload[r.Workload].Name)
	b = appendNumberField(b, `,"client":`, int64(r.Client))
	if r.Flow != nil {
		b = appendTextField(b, `,"flowSchema":`, r.Flow.Schema.Name)
		b = appendTextField(b, `,"priorityLevel":`, r.Flow.Level)
		b = appendTextField(b, `,"flow":`, r.Flow.Schema.Name)
		if r.Flow.Distinguisher != "" { // as Flow.Name writes it, without the string
			b[len(b)-1] = '/'
			at := len(b)
			b = appendString(b, r.Flow.Distinguisher)
			b = append(b[:at], b[at+1:]...)
		}
	}
	return b
}

func (l *RequestLog) write(e *entry) {
	b := l.tail[:0]
	if e.flow {
		b = appendNumberField(b, `,"queue":`, int64(e.queue))
	}
	b = appendTextField(b, `,"outcome":`, e.outcome.String())
	if e.outcome == server.Rejected {
		b = appendTextField(b, `,"reason":`, e.reason.String())
	}
	b = appendNumberField(b, `,"attempt":`, int64(e.attempt))
	switch {
	case e.dispatchNs >= 0:
		b = appendNumberField(b, `,"dispatchNs":`, e.dispatchNs)
		if e.outcome == server.Executed {
			b = appendNumberField(b, `,"finishNs":`, e.endNs)
		}
		b = appendNumberField(b, `,"waitNs":`, e.dispatchNs-e.arrivalNs)
	case e.outcome == server.Rejected:
		b = appendNumberField(b, `,"waitNs":`, e.endNs-e.arrivalNs)
	}
	if e.flow {
		b = appendNumberField(b, `,"seats":`, int64(e.seats))
		if e.finalSeats > 0 {
			b = appendNumberField(b, `,"finalSeats":`, int64(e.finalSeats))
			b = appendNumberField(b, `,"additionalLatencyNs":`, e.lingerNs)
		}
	}
	if e.outcome == server.Rejected {
		b = appendNumberField(b, `,"retryAfterSeconds":`, int64(e.retryAfter))
	}
	b = append(b, "}\n"...)
	l.tail = b
	if l.err == nil {
		_, l.err = l.out.Write(e.head)
	}
	if l.err == nil {
		_, l.err = l.out.Write(b)
	}
}
