package queueset

import "apfsim/core/estimate"

// Request is one request's place in a QueueSet. The host allocates it, sets Work and
// Owner, and may reuse it once it has been rejected or released.
type Request struct {
	// Work is what the request takes. Dispatch may reshape its final phase to fit the
	// concurrency limit.
	Work  estimate.Work
	Owner any // the host's: it finds it again when the request is dispatched

	// OverdueNs is the host's, and used only under rules with LazyWaitLimit: if the request still
	// waits later than that, it leaves its queue when the next request comes there, and the host
	// is told by Host.TimedOut. 0 is never.
	OverdueNs int64

	set        *QueueSet
	queue      *queue   // nil for a request of a level without queues
	next, prev *Request // neighbours in the queue's FIFO
	arrivalR   virtual
	totalWork  estimate.SeatSeconds // as computed at arrival
	dispatchNs int64
	phase      phase
}

type phase uint8

const (
	absent phase = iota
	waiting
	executing
	finalPhase // execution is over, and the seats are kept for the additional latency
)

// String returns the phase as the message of a panic has it.
func (p phase) String() string {
	return [...]string{"absent", "waiting", "executing", "in additional latency"}[p]
}

// Queue returns the index of the request's queue, -1 when it has none.
func (r *Request) Queue() int {
	if r.queue == nil {
		return -1
	}
	return r.queue.index
}

// Waiting says whether the request waits in a queue.
func (r *Request) Waiting() bool { return r.phase == waiting }

func (r *Request) isOverdue(nowNs int64) bool { return r.OverdueNs > 0 && r.OverdueNs < nowNs }

// Seats returns the seats that the request holds, waits for or was rejected with: the most of
// its two phases.
func (r *Request) Seats() int { return r.Work.MaxSeats() }

// Rejection says why a request was not admitted; the zero value is none.
type Rejection uint8

// The reasons of a rejection, under the names of the metric
// apiserver_flowcontrol_rejected_requests_total.
const (
	NotRejected      Rejection = iota
	QueueFull                  // its queue holds the queue length limit, and no seat is free
	ConcurrencyLimit           // no queues, and its seats are not free
	TimedOut                   // it waited until its wait limit; where that is not lazy, also what is Cancelled otherwise
	Cancelled                  // its deadline came, or its client went away, while it waited

	Rejections = iota // how many values there are
)

// String returns the reason as metrics and logs write it, "" for none.
func (r Rejection) String() string {
	return [...]string{"", "queue-full", "concurrency-limit", "time-out", "cancelled"}[r]
}
