// Package requestlog writes the request log of a run: a line of JSON for each request, in the order of
// arrival. docs/reference/traces.md describes the fields. Package trace encodes the lines, and a
// request log can be replayed as a trace.
package requestlog

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"apfsim/core/queueset"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// Log writes the lines while a run goes on. A line is written when its
// request has executed or was rejected and all earlier lines are written. Therefore memory grows
// with the number of requests that arrive during the longest wait and execution.
//
// A second goroutine encodes and writes the lines, so that the run does not wait for it.
type Log struct {
	ring   []record // by the request's number modulo the length, which is a power of 2
	oldest int64    // number of the first request that has not been passed to the writer
	next   int64    // the number that the next request will have

	filling []record      // passed to the writer when full
	filled  chan []record // to the writer
	emptied chan []record // from the writer, for reuse
	writer  lineWriter
	stop    func() // passes the rest to the writer and waits until it ends
}

// record holds the content of a line. The writer's goroutine reads fields of Template and Flow that
// never change, while the server may write other fields of Template.
type record struct {
	template *server.Template
	flow     *server.Flow // nil if the request is not subject to flow control

	id                  int64
	arrivalNs           int64
	executionNs         int64
	watchNs             int64
	dispatchNs          int64 // -1 before dispatch
	endNs               int64 // end of execution, or rejection
	additionalLatencyNs int64
	queue               int32
	attempt             int32
	seats               int32
	finalSeats          int32
	retryAfter          int32 // seconds
	outcome             server.Outcome
	reason              queueset.Rejection
	decided             bool
}

// batchSize is how many lines are passed to the writer at once.
const batchSize = 2048

// New returns a log of a run of sc that is written to w. Close or Abandon must be called at the end.
func New(w io.Writer, sc *scenario.Scenario) *Log {
	const batches = 4
	l := &Log{
		ring: make([]record, 256), oldest: 1, next: 1,
		filled: make(chan []record, batches), emptied: make(chan []record, batches),
		writer: lineWriter{scenario: sc, out: bufio.NewWriterSize(w, 1<<18),
			requests: memo[*server.Template, trace.Request]{}, flows: memo[*server.Flow, trace.Flow]{}},
	}
	for range batches {
		l.emptied <- make([]record, 0, batchSize)
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
func (l *Log) Observer() server.Observer {
	return server.Observer{
		Arrived:    l.arrived,
		Queued:     l.queued,
		Dispatched: l.dispatched,
		Rejected:   l.rejected,
		Executed:   l.executed,
	}
}

func (l *Log) arrived(nowNs int64, r *server.Request) {
	if r.Number-l.oldest >= int64(len(l.ring)) {
		l.grow()
	}
	l.next = r.Number + 1
	e := l.at(r.Number)
	*e = record{template: r.Template, flow: r.Flow, id: r.ID, arrivalNs: nowNs, executionNs: r.ExecutionNs, watchNs: r.WatchNs,
		attempt: r.Attempt, outcome: server.Waiting, queue: -1, dispatchNs: -1}
	e.estimate(r)
}

func (l *Log) queued(_ int64, r *server.Request) { l.at(r.Number).queue = int32(r.Queue()) }

func (l *Log) dispatched(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.dispatchNs, e.queue = server.Executing, nowNs, int32(r.Queue())
	e.estimate(r)
}

func (l *Log) rejected(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.endNs, e.reason, e.retryAfter = server.Rejected, nowNs, r.Rejection, int32(r.RetryAfterSeconds)
	e.estimate(r)
	l.decide(e)
}

func (l *Log) executed(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.endNs = server.Executed, nowNs
	l.decide(e)
}

// Released implements server.Observer.
func (l *Log) Released(int64, *server.Request) {}

// Adjusted implements server.Observer.
func (l *Log) Adjusted(int64) {}

// Tick implements server.Observer.
func (l *Log) Tick(int64) int64 { return 0 }

// Err returns the first error of writing. After an error, the log is incomplete.
func (l *Log) Err() error {
	if err := l.writer.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes the remaining lines, including those of requests that still wait or execute, and
// returns the first error of writing.
func (l *Log) Close() error {
	for ; l.oldest < l.next; l.oldest++ {
		l.passToWriter(l.at(l.oldest))
	}
	l.stop()
	l.writer.setError(l.writer.out.Flush())
	return l.Err()
}

// Abandon ends the log without writing the remaining lines. After Close it does nothing.
func (l *Log) Abandon() {
	l.writer.setError(errAbandoned)
	l.stop()
}

var errAbandoned = errors.New("the log was abandoned")

// at returns the record of the request with this number.
func (l *Log) at(number int64) *record { return &l.ring[number&int64(len(l.ring)-1)] }

// grow doubles the ring.
func (l *Log) grow() {
	bigger := make([]record, 2*len(l.ring))
	for n := l.oldest; n < l.next; n++ {
		bigger[n&int64(len(bigger)-1)] = *l.at(n)
	}
	l.ring = bigger
}

// decide marks the outcome of a request as final and passes on the records that are next in order.
func (l *Log) decide(e *record) {
	e.decided = true
	for l.oldest < l.next && l.at(l.oldest).decided {
		l.passToWriter(l.at(l.oldest))
		l.oldest++
	}
}

// passToWriter adds a record to the batch for the writer.
func (l *Log) passToWriter(e *record) {
	if len(l.filling) == cap(l.filling) {
		l.filled <- l.filling
		l.filling = <-l.emptied
	}
	l.filling = append(l.filling, *e)
}

// estimate copies the estimated work, which may change at dispatch.
func (e *record) estimate(r *server.Request) {
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

func (w *lineWriter) write(e *record) {
	if w.err.Load() != nil {
		return
	}
	t := e.template
	line := trace.Entry{
		Request: w.requests.get(t, func() trace.Request {
			return trace.NewRequest(&t.Attributes, t.Query, w.scenario.Spec.Workload[t.Workload].Name, t.Client)
		}),
		ID: e.id, ArrivalNs: e.arrivalNs, ExecutionNs: e.executionNs, WatchNs: e.watchNs,
		Outcome: trace.Outcome(e.outcome.String()), Reason: e.reason.String(), Attempt: int(e.attempt),
		Queue: int(e.queue), DispatchNs: e.dispatchNs, EndNs: e.endNs,
		Seats: int(e.seats), FinalSeats: int(e.finalSeats), AdditionalLatencyNs: e.additionalLatencyNs, RetryAfterSeconds: int(e.retryAfter),
	}
	if e.flow != nil {
		line.Flow = w.flows.get(e.flow, func() trace.Flow { return trace.NewFlow(e.flow.Schema.Name, e.flow.Level, e.flow.Name()) })
	}
	w.line = trace.Append(w.line[:0], &line)
	_, err := w.out.Write(w.line)
	w.setError(err)
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
