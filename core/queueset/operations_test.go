package queueset

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/core/seats"

	"pgregory.net/rapid"
)

// operation is one thing that a server does to a set. It speaks of requests by how many
// before them are in the same phase, so that it means something whatever there is.
type operation struct {
	kind    operationKind
	afterNs int64 // since the operation before
	which   int   // of the requests in the phase that the operation takes, counted round

	hash   uint64 // of an arrival,
	work   estimate.Work
	config Config // of a configuration
	limit  int
}

type operationKind uint8

const (
	arrival operationKind = iota
	finish
	release
	timeOut
	cancel
	configuration
)

// operationBytes is how many bytes make an operation.
const operationBytes = 6

// newOperation makes any bytes an operation, one that is likely to find others in its way:
// few queues, fewer seats, short queues, requests of the width of the limit and more.
func newOperation(b []byte) operation {
	kinds := []operationKind{arrival, finish, arrival, release, arrival, finish, timeOut, finish, arrival, configuration, release, cancel}
	// The increments of R for 333333333 ns have to be rounded; a month brings it far.
	afterNs := []int64{0, 0, 1, 5, 999_999, 3 * ms, 10 * ms, 333_333_333, 1000 * ms, 30 * 24 * 3600 * 1000 * ms}
	latencyNs := []int64{0, 0, 7, 5 * ms, 33_333_333}
	queues := []int{4, 3, 5, 2, 1, 8, 0, Unlimited}

	o := operation{
		kind:    kinds[int(b[0])%len(kinds)],
		afterNs: afterNs[int(b[1])%len(afterNs)],
		which:   int(b[2]),
		hash:    uint64(b[2]),
		work: estimate.Work{
			InitialSeats:        1 + max(0, int(b[3])%8-3), // half of them one seat wide
			FinalSeats:          max(0, int(b[4])%12-3),
			AdditionalLatencyNs: latencyNs[int(b[5])%len(latencyNs)],
		},
		config: Config{Queues: queues[int(b[3])%len(queues)], QueueLengthLimit: 1 + int(b[4])%4},
		limit:  int(b[5]) % 7,
	}
	o.config.HandSize = 1 + int(b[4]/4)%4
	if o.config.Queues > 0 {
		o.config.HandSize = min(o.config.HandSize, o.config.Queues)
	}
	return o
}

const ms = 1_000_000

// operations draws some operations: in short runs, of which a failing test can drop those
// that it does not need.
func operations(t *rapid.T) []operation {
	run := rapid.SliceOf(rapid.Map(rapid.SliceOfN(rapid.Byte(), operationBytes, operationBytes), newOperation))
	var all []operation
	for range 30 {
		all = append(all, run.Draw(t, "operations")...)
	}
	return all
}

// startR draws where R stands at first: at 0, or so little below the high mark that it
// will be wound back.
func startR(t *rapid.T) virtual {
	return rapid.SampledFrom([]virtual{0, highMark - 1, highMark - 300_000, highMark - 50_000_000}).Draw(t, "R at first")
}

// ledger is a set's host. It enters what becomes of each request, and fails the test when
// that is not in order: one that starts though it did not wait, or not as the oldest of its
// queue, or where there are no seats for it.
type ledger struct {
	rapid.TB
	Host  // TimedOut is not called
	set   *QueueSet
	nowNs int64

	present []*entry // waiting, executing or in additional latency, in the order of arrival
	arrived int
	counts  map[string]int // of those that have gone, by their outcome

	started []int    // numbers of those that the last operation started
	starts  []Starts // what those out of queues were chosen from
	held    []int    // numbers of those that did not fit
	story   []string
}

// entry is what the ledger knows of a request.
type entry struct {
	Request
	number   int // of arrivals, from 1
	asked    estimate.Work
	arriving bool
	entered  phase
}

func (e *entry) askedSeats() int { return max(e.asked.InitialSeats, e.asked.FinalSeats) }

// newLedger returns a ledger over a set of four queues and three seats.
func newLedger(t rapid.TB, r virtual) *ledger {
	l := &ledger{TB: t, counts: map[string]int{}}
	l.set = New(0, rules.Latest(), firstConfig, firstLimit, l)
	l.set.r = r
	return l
}

var firstConfig = Config{Queues: 4, HandSize: 2, QueueLengthLimit: 3}

const firstLimit = 3

// fail ends the test with what has happened so far.
func (l *ledger) fail(format string, args ...any) {
	l.Helper()
	l.Fatalf("%s\nafter\n%s", fmt.Sprintf(format, args...), strings.Join(l.story, "\n"))
}

// Dispatched implements Host.
func (l *ledger) Dispatched(r *Request) {
	e := r.Owner.(*entry)
	l.started = append(l.started, e.number)
	if r.queue != nil {
		l.starts = append(l.starts, l.set.Starts(r))
	}
	if !e.arriving && e.entered != waiting {
		l.fail("request %d starts without having waited", e.number)
	}
	if r.queue != nil {
		for _, other := range l.present {
			if other.number < e.number && other.entered == waiting && other.queue == r.queue {
				l.fail("request %d starts before %d, which came to its queue earlier", e.number, other.number)
			}
		}
	}
	e.entered = executing
	alone := l.set.Executing() == 1
	if l.set.config.Queues != Unlimited && l.set.SeatsInUse() > l.set.Limit() && !(alone && e.askedSeats() > l.set.Limit()) {
		l.fail("request %d starts, and takes %d seats of %d", e.number, l.set.SeatsInUse(), l.set.Limit())
	}
}

// HeldBack implements Host.
func (l *ledger) HeldBack(r *Request) { l.held = append(l.held, r.Owner.(*entry).number) }

// phased returns the requests in a phase, in the order of arrival.
func (l *ledger) phased(p phase) []*entry {
	var found []*entry
	for _, e := range l.present {
		if e.entered == p {
			found = append(found, e)
		}
	}
	return found
}

// outcome is what came of an operation.
type outcome struct {
	subject      *entry // the request that it was about, nil for a configuration
	rejection    Rejection
	additionalNs int64
	demand       seats.DemandStatistics // taken with a configuration
}

// do carries out an operation. It returns false if there is no request for it.
func (l *ledger) do(o operation) (out outcome, done bool) {
	takes := map[operationKind]phase{finish: executing, release: finalPhase, timeOut: waiting, cancel: waiting}
	if p, ok := takes[o.kind]; ok {
		candidates := l.phased(p)
		if len(candidates) == 0 {
			return outcome{}, false
		}
		out.subject = candidates[o.which%len(candidates)]
	}
	l.nowNs += o.afterNs
	l.started, l.starts, l.held = nil, nil, nil
	e := out.subject
	switch o.kind {
	case arrival:
		l.arrived++
		e = &entry{number: l.arrived, asked: o.work, arriving: true}
		e.Work, e.Owner = o.work, e
		out.subject = e
		l.tell("request %d arrives with hash %d for %+v", e.number, o.hash, o.work)
		l.present = append(l.present, e)
		out.rejection = arrive(l.set, l.nowNs, &e.Request, o.hash)
		e.arriving = false
		switch {
		case out.rejection != NotRejected:
			l.gone(e, out.rejection.String())
		case e.entered == absent:
			e.entered = waiting
		}
	case finish:
		l.tell("request %d finishes", e.number)
		e.entered = finalPhase
		out.additionalNs = l.set.Finish(l.nowNs, &e.Request)
		if out.additionalNs == 0 {
			l.gone(e, "executed")
		}
	case release:
		l.tell("request %d gives back its seats", e.number)
		l.set.Release(l.nowNs, &e.Request)
		l.gone(e, "executed")
	case timeOut:
		l.tell("request %d has waited long enough", e.number)
		l.set.TimeOut(l.nowNs, &e.Request)
		l.gone(e, TimedOut.String())
	case cancel:
		l.tell("the client of request %d goes away", e.number)
		l.set.Cancel(l.nowNs, &e.Request)
		l.gone(e, TimedOut.String())
	case configuration:
		l.tell("limit %d and %+v come into force", o.limit, o.config)
		out.demand = l.set.TakeDemand(l.nowNs)
		l.set.Configure(l.nowNs, o.config, o.limit)
	}
	if e != nil && e.entered == waiting != e.Waiting() {
		l.fail("request %d says that it waits: %v", e.number, e.Waiting())
	}
	return out, true
}

// gone enters how a request ended, which it may do but once.
func (l *ledger) gone(e *entry, how string) {
	i := slices.Index(l.present, e)
	if i < 0 {
		l.fail("request %d ends twice, now as %s", e.number, how)
	}
	l.present = slices.Delete(l.present, i, i+1)
	e.entered = absent
	l.counts[how]++
}

func (l *ledger) tell(format string, args ...any) {
	l.story = append(l.story, fmt.Sprintf("%v: ", time.Duration(l.nowNs))+fmt.Sprintf(format, args...))
}
