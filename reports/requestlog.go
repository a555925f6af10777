package reports

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"apfsim/core/queueset"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// RequestLog writes a line of JSON for every request, in the order of arrival, as a run
// goes on. It implements server.Observer. A line is written once its request's fate is
// known and all lines before it are written; until then its request is remembered, so that
// memory grows with the requests that arrive during the longest wait and execution.
//
// The lines are made and written by a goroutine of its own, while the run goes on.
//
// The format stands in docs/reference/summary.md. It is a trace too.
type RequestLog struct {
	ring   []entry // by number modulo its length, which is a power of 2
	oldest int64   // number of the first request that has not been handed over
	next   int64   // one more than the number of the latest request

	filling []entry      // handed over when full
	filled  chan []entry // to the writer
	emptied chan []entry // back from it
	writer  lineWriter
	stop    func() // lets the writer write what is handed over, and end
}

// entry is what a line says. What it says of Template and Flow never changes, though the
// server writes to other fields of a Template while the writer reads.
type entry struct {
	template *server.Template
	of       *server.Flow // nil when flow control does not see the request

	id          int64
	arrivalNs   int64
	executionNs int64
	watchNs     int64
	dispatchNs  int64 // -1 until then
	endNs       int64 // finish, or rejection
	lingerNs    int64
	queue       int32
	attempt     int32
	seats       int32
	finalSeats  int32
	retryAfter  int32 // seconds
	outcome     server.Outcome
	reason      queueset.Rejection
	decided     bool
}

// linesAtOnce is how many lines the writer is handed over at once.
const linesAtOnce = 2048

// NewRequestLog returns a log of a run of sc that is written to w. Close must be called at the end.
func NewRequestLog(w io.Writer, sc *scenario.Scenario) *RequestLog {
	const batches = 4
	l := &RequestLog{
		ring: make([]entry, 256), oldest: 1, next: 1,
		filled: make(chan []entry, batches), emptied: make(chan []entry, batches),
		writer: lineWriter{scenario: sc, out: bufio.NewWriterSize(w, 1<<18),
			texts: texts[*server.Template, requestText]{}, flows: texts[*server.Flow, string]{}},
	}
	for range batches {
		l.emptied <- make([]entry, 0, linesAtOnce)
	}
	l.filling = <-l.emptied
	var writing sync.WaitGroup
	l.stop = sync.OnceFunc(func() {
		l.filled <- l.filling
		close(l.filled)
		writing.Wait()
	})
	writing.Go(func() {
		for batch := range l.filled {
			for i := range batch {
				l.writer.write(&batch[i])
			}
			l.emptied <- batch[:0]
		}
	})
	return l
}

// Arrived implements server.Observer.
func (l *RequestLog) Arrived(nowNs int64, r *server.Request) {
	if r.Number-l.oldest >= int64(len(l.ring)) {
		l.grow()
	}
	l.next = r.Number + 1
	e := l.at(r.Number)
	*e = entry{template: r.Template, of: r.Flow, id: r.ID, arrivalNs: nowNs, executionNs: r.ExecutionNs, watchNs: r.WatchNs,
		attempt: r.Attempt, outcome: server.Waiting, queue: -1, dispatchNs: -1}
	e.estimate(r)
}

// Queued implements server.Observer.
func (l *RequestLog) Queued(_ int64, r *server.Request) { l.at(r.Number).queue = int32(r.Queue()) }

// Dispatched implements server.Observer.
func (l *RequestLog) Dispatched(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.dispatchNs, e.queue = server.Executing, nowNs, int32(r.Queue())
	e.estimate(r)
}

// Rejected implements server.Observer.
func (l *RequestLog) Rejected(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.endNs, e.reason, e.retryAfter = server.Rejected, nowNs, r.Rejection, r.RetryAfterSeconds
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
func (l *RequestLog) Tick(int64) int64 { return 0 }

// Err returns the first error that has come up in writing. The log is then of no use.
func (l *RequestLog) Err() error {
	if err := l.writer.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes what is left: the requests that still wait or execute. It returns the
// first error that came up in writing.
func (l *RequestLog) Close() error {
	for ; l.oldest < l.next; l.oldest++ {
		l.handOver(l.at(l.oldest))
	}
	l.stop()
	l.writer.keep(l.writer.out.Flush())
	return l.Err()
}

// abandon lets the writer end without writing more. After Close it does nothing.
func (l *RequestLog) abandon() {
	l.writer.keep(errAbandoned)
	l.stop()
}

var errAbandoned = errors.New("the log is given up")

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
		l.handOver(l.at(l.oldest))
		l.oldest++
	}
}

func (l *RequestLog) handOver(e *entry) {
	if len(l.filling) == cap(l.filling) {
		l.filled <- l.filling
		l.filling = <-l.emptied
	}
	l.filling = append(l.filling, *e)
}

// estimate notes the seats, which dispatch may change.
func (e *entry) estimate(r *server.Request) {
	if e.of != nil {
		e.seats, e.finalSeats, e.lingerNs = int32(r.Work.InitialSeats), int32(r.Work.FinalSeats), r.Work.AdditionalLatencyNs
	}
}

// lineWriter makes and writes lines.
type lineWriter struct {
	scenario *scenario.Scenario
	out      *bufio.Writer
	err      atomic.Pointer[error] // the first one
	line     []byte                // scratch
	texts    texts[*server.Template, requestText]
	flows    texts[*server.Flow, string]
}

func (w *lineWriter) keep(err error) {
	if err != nil {
		first := err // only an error needs memory of its own, not the nil of every line
		w.err.CompareAndSwap(nil, &first)
	}
}

func (w *lineWriter) write(e *entry) {
	if w.err.Load() != nil {
		return
	}
	w.line = w.appendTail(w.appendHead(w.line[:0], e), e)
	_, err := w.out.Write(w.line)
	w.keep(err)
}

// appendHead appends the fields of a trace, which are always there, and who sent the
// request and where flow control put it.
func (w *lineWriter) appendHead(b []byte, e *entry) []byte {
	t := w.texts.of(e.template, func() requestText {
		return requestText{
			asked: string(appendAsked(nil, e.template)),
			from:  string(appendFrom(nil, w.scenario.Spec.Workload[e.template.Workload].Name, e.template.Client)),
		}
	})
	b = appendNumberField(b, `{"id":`, e.id)
	b = appendNumberField(b, `,"arrivalNs":`, e.arrivalNs)
	b = append(b, t.asked...)
	b = appendNumberField(b, `,"executionNs":`, e.executionNs)
	b = appendNumberField(b, `,"watchNs":`, e.watchNs)
	b = append(b, t.from...)
	if e.of != nil {
		b = append(b, w.flows.of(e.of, func() string { return string(appendFlow(nil, e.of)) })...)
	}
	return b
}

// requestText is the parts of a line that are the same for all requests of a template.
type requestText struct{ asked, from string }

// texts remembers parts of lines, but not without bound: there may be millions of clients.
type texts[K comparable, T any] map[K]T

func (m texts[K, T]) of(key K, text func() T) T {
	found, ok := m[key]
	if !ok {
		found = text()
		if len(m) < 1<<16 {
			m[key] = found
		}
	}
	return found
}

func appendAsked(b []byte, t *server.Template) []byte {
	a := &t.Attributes
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
	return appendTextField(b, `,"query":`, t.Query)
}

func appendFrom(b []byte, workload string, client int) []byte {
	b = appendTextField(b, `,"workload":`, workload)
	return appendNumberField(b, `,"client":`, int64(client))
}

func appendFlow(b []byte, f *server.Flow) []byte {
	b = appendTextField(b, `,"flowSchema":`, f.Schema.Name)
	b = appendTextField(b, `,"priorityLevel":`, f.Level)
	return appendTextField(b, `,"flow":`, f.Name())
}

// appendTail appends what became of the request.
func (w *lineWriter) appendTail(b []byte, e *entry) []byte {
	if e.of != nil {
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
	if e.of != nil {
		b = appendNumberField(b, `,"seats":`, int64(e.seats))
		if e.finalSeats > 0 {
			b = appendNumberField(b, `,"finalSeats":`, int64(e.finalSeats))
			b = appendNumberField(b, `,"additionalLatencyNs":`, e.lingerNs)
		}
	}
	if e.outcome == server.Rejected {
		b = appendNumberField(b, `,"retryAfterSeconds":`, int64(e.retryAfter))
	}
	return append(b, "}\n"...)
}
