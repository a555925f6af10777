package record

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"apfsim/core/queueset"
	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// RequestLog writes the lines while a run goes on. A line is written when the outcome of its
// request is known and all earlier lines are written. Therefore memory grows
// with the number of requests that arrive during the longest wait and execution.
//
// A line waits for the answer, too; that of a watch does not, as its status is known when it is initialised.
// In a scenario with a store, lines have what was asked for and answered. In one that is not Steady, they have the server.
//
// A second goroutine encodes and writes the lines, so that the run does not wait for it.
type RequestLog struct {
	ring   []requestRecord // by the request's number modulo the length, which is a power of 2
	oldest int64           // number of the first request that has not been passed to the writer
	next   int64           // the number that the next request will have

	filling []requestRecord      // passed to the writer when full
	filled  chan []requestRecord // to the writer
	emptied chan []requestRecord // from the writer, for reuse
	writer  lineWriter
	stop    func() // passes the rest to the writer and waits until it ends
	servers bool   // lines have the server
	stored  bool   // there is a store
}

// requestRecord holds the content of a line. The writer's goroutine reads fields of Template and Flow that
// never change, while the server may write other fields of Template.
type requestRecord struct {
	template *server.Template
	flow     *server.Flow // nil if the request is not subject to flow control

	id                  int64
	parent              int64 // the ID of the request during whose execution it was sent; 0 for others
	arrivalNs           int64
	executionNs         int64
	watchNs             int64
	dispatchNs          int64 // -1 before dispatch
	endNs               int64 // end of execution, or rejection
	answeredNs          int64 // when the client was answered, or gave up, before the end of the execution; else 0
	additionalLatencyNs int64
	queue               int32
	attempt             int32
	seats               int32
	finalSeats          int32
	retryAfter          int32 // seconds
	server              int16
	status              int16 // of HTTP; 0 without an answer
	outcome             server.Outcome
	reason              queueset.Rejection
	refusal             metric.Refusal
	asked               *api.Call  // beyond the attributes, of a request to a store; nil of others
	answer              api.Answer // of a store; with status 0 of others
	decided             bool       // the outcome is final
	answered            bool       // the status is final
}

// batchSize is how many lines are passed to the writer at once.
const batchSize = 2048

// NewRequestLog returns a log of a run of sc that is written to w. Close or Discard must be called at the end.
func NewRequestLog(w io.Writer, sc *scenario.Scenario) *RequestLog {
	const batches = 4
	l := &RequestLog{
		ring: make([]requestRecord, 256), oldest: 1, next: 1, servers: !sc.Spec.Steady(), stored: sc.Spec.Store != nil,
		filled: make(chan []requestRecord, batches), emptied: make(chan []requestRecord, batches),
		writer: lineWriter{scenario: sc, servers: !sc.Spec.Steady(), out: bufio.NewWriterSize(w, 1<<18),
			requests: memo[*server.Template, trace.Request]{}, flows: memo[*server.Flow, trace.Flow]{}},
	}
	for range batches {
		l.emptied <- make([]requestRecord, 0, batchSize)
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

// Observer returns what the log observes of a run.
func (l *RequestLog) Observer() server.Observer {
	o := server.Observer{
		Arrived:    l.arrived,
		Queued:     l.queued,
		Dispatched: l.dispatched,
		Rejected:   l.rejected,
		Executed:   l.executed,
		Answered:   l.answered,
	}
	if l.servers {
		o.Refused, o.GivenUp = l.refused, l.givenUp
	}
	return o
}

func (l *RequestLog) arrived(nowNs int64, r *server.Request) { l.add(nowNs, r).estimate(r) }

// add adds the record of a request.
func (l *RequestLog) add(nowNs int64, r *server.Request) *requestRecord {
	if r.Number-l.oldest >= int64(len(l.ring)) {
		l.grow()
	}
	l.next = r.Number + 1
	e := l.recordOf(r.Number)
	*e = requestRecord{template: r.Template, flow: r.Flow, id: r.ID, arrivalNs: nowNs, executionNs: r.ExecutionNs, watchNs: r.WatchNs,
		attempt: r.Attempt, outcome: server.Waiting, queue: -1, dispatchNs: -1, server: r.Server}
	if r.Details != nil {
		e.parent, e.asked = r.Details.Parent, r.Details.Asked.Clone() // the client uses it again
		if l.stored && !r.Details.Execution && r.Attributes.IsResource() {
			e.executionNs = -1
		}
	}
	return e
}

func (l *RequestLog) queued(_ int64, r *server.Request) {
	l.recordOf(r.Number).queue = int32(r.Queue())
}

func (l *RequestLog) dispatched(nowNs int64, r *server.Request) {
	e := l.recordOf(r.Number)
	e.outcome, e.dispatchNs, e.queue = server.Executing, nowNs, int32(r.Queue())
	e.estimate(r)
}

func (l *RequestLog) rejected(nowNs int64, r *server.Request) {
	e := l.recordOf(r.Number)
	e.outcome, e.endNs, e.reason, e.retryAfter = server.Rejected, nowNs, r.Rejection, int32(r.RetryAfterSeconds)
	e.estimate(r)
	l.decide(e)
}

func (l *RequestLog) executed(nowNs int64, r *server.Request) {
	e := l.recordOf(r.Number)
	e.outcome, e.endNs = server.Executed, nowNs
	if r.Details != nil && r.Details.Answer.Status != 0 {
		e.answer = r.Details.Answer
		e.answer.Object, e.answer.Objects = nil, nil
	}
	if r.Opened && !e.answered {
		e.status, e.answered = server.StatusOK, true
	}
	l.decide(e)
}

func (l *RequestLog) refused(nowNs int64, r *server.Request) {
	e := l.add(nowNs, r)
	e.flow, e.outcome, e.refusal, e.retryAfter = nil, server.Refused, r.Refusal, int32(r.RetryAfterSeconds)
	l.decide(e)
}

func (l *RequestLog) givenUp(nowNs int64, r *server.Request) {
	if !r.Lost {
		return // its line says what had become of it
	}
	e := l.recordOf(r.Number)
	e.outcome, e.endNs = server.Lost, nowNs
	l.decide(e)
}

func (l *RequestLog) answered(nowNs int64, r *server.Request) {
	if r.Number < l.oldest {
		return // a watch whose line has been passed on
	}
	e := l.recordOf(r.Number)
	if !e.answered {
		e.status, e.answered, e.retryAfter = r.Status, true, int32(r.RetryAfterSeconds)
		if e.outcome == server.Executing {
			e.answeredNs = nowNs
		}
		if e.answer.Status != 0 {
			e.retryAfter = int32(e.answer.RetryAfterSeconds)
		}
	}
	if e.decided {
		l.passOn()
	}
}

// Err returns the first error of writing. After an error, the log is incomplete.
func (l *RequestLog) Err() error {
	if err := l.writer.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes the remaining lines, including those of requests that still wait or execute, and
// returns the first error of writing.
func (l *RequestLog) Close() error {
	for ; l.oldest < l.next; l.oldest++ {
		l.passToWriter(l.recordOf(l.oldest))
	}
	l.stop()
	l.writer.setError(l.writer.out.Flush())
	return l.Err()
}

// Discard ends the log without writing the remaining lines. After Close it does nothing.
func (l *RequestLog) Discard() {
	l.writer.setError(errDiscarded)
	l.stop()
}

var errDiscarded = errors.New("the log was discarded")

// recordOf returns the record of the request with this number.
func (l *RequestLog) recordOf(number int64) *requestRecord {
	return &l.ring[number&int64(len(l.ring)-1)]
}

// grow doubles the ring.
func (l *RequestLog) grow() {
	bigger := make([]requestRecord, 2*len(l.ring))
	for n := l.oldest; n < l.next; n++ {
		bigger[n&int64(len(bigger)-1)] = *l.recordOf(n)
	}
	l.ring = bigger
}

// decide marks the outcome of a request as final and passes on the records that are next in order.
func (l *RequestLog) decide(e *requestRecord) {
	e.decided = true
	l.passOn()
}

// passOn passes on the records that are next in order.
func (l *RequestLog) passOn() {
	for l.oldest < l.next {
		e := l.recordOf(l.oldest)
		if !e.decided || !e.answered {
			return
		}
		l.passToWriter(e)
		l.oldest++
	}
}

// passToWriter adds a record to the batch for the writer.
func (l *RequestLog) passToWriter(e *requestRecord) {
	if len(l.filling) == cap(l.filling) {
		l.filled <- l.filling
		l.filling = <-l.emptied
	}
	l.filling = append(l.filling, *e)
}

// estimate copies the estimated work, which may change at dispatch.
func (e *requestRecord) estimate(r *server.Request) {
	if e.flow != nil {
		e.seats, e.finalSeats, e.additionalLatencyNs = int32(r.Work.InitialSeats), int32(r.Work.FinalSeats), r.Work.AdditionalLatencyNs
	}
}

// lineWriter encodes and writes lines.
type lineWriter struct {
	scenario *scenario.Scenario
	out      *bufio.Writer
	err      atomic.Pointer[error] // the first error
	line     []byte                // buffer, reused for each line
	servers  bool                  // see Log
	requests memo[*server.Template, trace.Request]
	flows    memo[*server.Flow, trace.Flow]
}

// setError keeps the first error.
func (w *lineWriter) setError(err error) {
	if err != nil {
		first := err // a copy, so that err itself does not escape to the heap for each line
		w.err.CompareAndSwap(nil, &first)
	}
}

func (w *lineWriter) write(e *requestRecord) {
	if w.err.Load() != nil {
		return
	}
	line := trace.Entry{
		Request: w.request(e),
		ID:      e.id, ArrivalNs: e.arrivalNs, ExecutionNs: e.executionNs, WatchNs: e.watchNs,
		Outcome: trace.Outcome(e.outcome.String()), Reason: e.reason.String(), Attempt: int(e.attempt),
		Queue: int(e.queue), DispatchNs: e.dispatchNs, EndNs: e.endNs,
		Seats: int(e.seats), FinalSeats: int(e.finalSeats), AdditionalLatencyNs: e.additionalLatencyNs, RetryAfterSeconds: int(e.retryAfter),
		Status: int(e.status), AnsweredNs: e.answeredNs, Servers: w.servers, Server: int(e.server), Parent: e.parent,
	}
	line.Asked = e.asked
	if e.answer.Status != 0 {
		line.Answer = &e.answer
		if e.answer.Status == int(e.status) {
			line.RetryAfterSeconds = int(e.answer.RetryAfterSeconds)
		}
	}
	if e.outcome == server.Refused {
		line.Reason = e.refusal.String()
	}
	if e.flow != nil {
		line.Flow = w.flows.get(e.flow, func() trace.Flow { return trace.NewFlow(e.flow.Schema.Name, e.flow.Level, e.flow.Name()) })
	}
	w.line = trace.Append(w.line[:0], &line)
	_, err := w.out.Write(w.line)
	w.setError(err)
}

// request returns the part of a line that requests of a template have in common. Those with an Asked have
// queries of their own.
func (w *lineWriter) request(e *requestRecord) trace.Request {
	t, name := e.template, w.scenario.Spec.Workload[e.template.Workload].Name
	if e.asked != nil {
		return trace.NewRequest(&t.Attributes, e.asked.Options.Query(), name, t.Client)
	}
	return w.requests.get(t, func() trace.Request { return trace.NewRequest(&t.Attributes, t.Query, name, t.Client) })
}

// memo keeps encoded parts of lines. Its size is bounded, because there may be millions of clients.
type memo[K comparable, T any] map[K]T

func (m memo[K, T]) get(key K, create func() T) T {
	found, ok := m[key]
	if !ok {
		found = create()
		if len(m) < 1<<16 {
			m[key] = found
		}
	}
	return found
}
