// Package requestlog writes a line for each request of a run, in the format of package trace.
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

// Log writes a line of JSON for every request, in the order of arrival, as a run
// goes on. It implements server.Observer. A line is written once its request's fate is
// known and all lines before it are written; until then its request is remembered, so that
// memory grows with the requests that arrive during the longest wait and execution.
//
// The lines are made and written by a goroutine of its own, while the run goes on.
//
// The format stands in docs/reference/summary.md. It is a trace too.
type Log struct {
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

// New returns a log of a run of sc that is written to w. Close must be called at the end.
func New(w io.Writer, sc *scenario.Scenario) *Log {
	const batches = 4
	l := &Log{
		ring: make([]entry, 256), oldest: 1, next: 1,
		filled: make(chan []entry, batches), emptied: make(chan []entry, batches),
		writer: lineWriter{scenario: sc, out: bufio.NewWriterSize(w, 1<<18),
			requests: memo[*server.Template, trace.Request]{}, flows: memo[*server.Flow, trace.Flow]{}},
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
func (l *Log) Arrived(nowNs int64, r *server.Request) {
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
func (l *Log) Queued(_ int64, r *server.Request) { l.at(r.Number).queue = int32(r.Queue()) }

// Dispatched implements server.Observer.
func (l *Log) Dispatched(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.dispatchNs, e.queue = server.Executing, nowNs, int32(r.Queue())
	e.estimate(r)
}

// Rejected implements server.Observer.
func (l *Log) Rejected(nowNs int64, r *server.Request) {
	e := l.at(r.Number)
	e.outcome, e.endNs, e.reason, e.retryAfter = server.Rejected, nowNs, r.Rejection, r.RetryAfterSeconds
	e.estimate(r)
	l.decide(e)
}

// Executed implements server.Observer.
func (l *Log) Executed(nowNs int64, r *server.Request) {
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

// Err returns the first error that has come up in writing. The log is then of no use.
func (l *Log) Err() error {
	if err := l.writer.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Close writes what is left: the requests that still wait or execute. It returns the
// first error that came up in writing.
func (l *Log) Close() error {
	for ; l.oldest < l.next; l.oldest++ {
		l.handOver(l.at(l.oldest))
	}
	l.stop()
	l.writer.keep(l.writer.out.Flush())
	return l.Err()
}

// Abandon lets the writer end without writing more. After Close it does nothing.
func (l *Log) Abandon() {
	l.writer.keep(errAbandoned)
	l.stop()
}

var errAbandoned = errors.New("the log is given up")

func (l *Log) at(number int64) *entry { return &l.ring[number&int64(len(l.ring)-1)] }

func (l *Log) grow() {
	bigger := make([]entry, 2*len(l.ring))
	for n := l.oldest; n < l.next; n++ {
		bigger[n&int64(len(bigger)-1)] = *l.at(n)
	}
	l.ring = bigger
}

func (l *Log) decide(e *entry) {
	e.decided = true
	for l.oldest < l.next && l.at(l.oldest).decided {
		l.handOver(l.at(l.oldest))
		l.oldest++
	}
}

func (l *Log) handOver(e *entry) {
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
	requests memo[*server.Template, trace.Request]
	flows    memo[*server.Flow, trace.Flow]
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
	t := e.template
	line := trace.Entry{
		Request: w.requests.of(t, func() trace.Request {
			return trace.NewRequest(&t.Attributes, t.Query, w.scenario.Spec.Workload[t.Workload].Name, t.Client)
		}),
		ID: e.id, ArrivalNs: e.arrivalNs, ExecutionNs: e.executionNs, WatchNs: e.watchNs,
		Outcome: trace.Outcome(e.outcome.String()), Reason: e.reason.String(), Attempt: int(e.attempt),
		Queue: int(e.queue), DispatchNs: e.dispatchNs, EndNs: e.endNs,
		Seats: int(e.seats), FinalSeats: int(e.finalSeats), AdditionalLatencyNs: e.lingerNs, RetryAfterSeconds: int(e.retryAfter),
	}
	if e.of != nil {
		line.Flow = w.flows.of(e.of, func() trace.Flow { return trace.NewFlow(e.of.Schema.Name, e.of.Level, e.of.Name()) })
	}
	w.line = trace.Append(w.line[:0], &line)
	_, err := w.out.Write(w.line)
	w.keep(err)
}

// memo remembers parts of lines, up to a bound: there may be millions of clients.
type memo[K comparable, T any] map[K]T

func (m memo[K, T]) of(key K, create func() T) T {
	found, ok := m[key]
	if !ok {
		found = create()
		if len(m) < 1<<16 {
			m[key] = found
		}
	}
	return found
}
