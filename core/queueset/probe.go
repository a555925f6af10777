package queueset

import (
	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// Probe is a hypothetical request: it takes no seat and no place in a queue, and changes no
// decision. It finds how long a request that arrived at its time would wait, which queueing theory
// calls the virtual waiting time (L. Takács, Introduction to the Theory of Queues, 1962, chapter
// 1).
//
// The probe is behind the requests that waited in its queue when it began, and before all that
// arrive later. It would be dispatched when it is first in its queue, its seats are free, and no
// other queue comes before its own. The delay that a real request would cause to others is left
// out, and so is, under rules with LazyWaitLimit, that its arrival would remove overdue requests:
// they stay ahead of the probe, but do not make its queue full.
type Probe struct {
	set      *QueueSet
	queue    *queue
	seats    int
	work     estimate.SeatSeconds
	ahead    uint64  // it is first when this many requests have left the queue
	arrivalR virtual // R when it began
	epochs   int     // how often R had been wound back

	// A request that waits keeps its queue active, but a probe does not. If the queue becomes
	// inactive, its virtual start is set anew by the next arrival, and the probe keeps the one that
	// the queue had. With a real request R would advance more slowly, as one more queue would be
	// active: the start that is kept moves on by the difference.
	activations int
	kept        bool
	startR      virtual // if kept, as of seenR
	seenR       virtual
}

// Probe begins a probe for a request with the given work, of the flow that has the hand. The probe
// is rejected, or dispatched at once (waits is false), or it waits until its methods say that it
// would be dispatched.
func (s *QueueSet) Probe(nowNs int64, work estimate.Work, hand *Hand) (p Probe, rejection Rejection, waits bool) {
	seats := work.MaxSeats()
	if s.config.Queues <= 0 {
		if !s.accommodates(seats) {
			return p, ConcurrencyLimit, false
		}
		return p, NotRejected, false
	}
	q := s.pick(hand, s.picks)
	overdue := 0
	for r := q.first; r != nil && r.isOverdue(nowNs); r = r.next {
		overdue++
	}
	if s.seatsInUse >= s.limit && q.waiting-overdue >= s.config.QueueLengthLimit {
		return p, QueueFull, false
	}
	p = Probe{set: s, queue: q, seats: seats, work: s.totalWork(work), ahead: q.left + uint64(q.waiting),
		arrivalR: s.futureR(nowNs), epochs: s.epochs.Succeeded + s.epochs.Failed, activations: q.activations}
	if !q.active() {
		p.keep(p.arrivalR)
	}
	return p, NotRejected, !p.Ready()
}

// QueueKey says which requests and probes are in the same queue.
type QueueKey struct{ queue *queue }

// QueueKey returns the queue in which the probe waits.
func (p *Probe) QueueKey() QueueKey { return QueueKey{p.queue} }

// QueueKey returns the queue in which the request waits or waited.
func (r *Request) QueueKey() QueueKey { return QueueKey{r.queue} }

// Set returns the queue set that the probe is for.
func (p *Probe) Set() *QueueSet { return p.set }

// Ready says whether the probe would be dispatched in the present state of the queue set.
func (p *Probe) Ready() bool {
	s := p.set
	if !p.First() || s.seatsInUse >= s.limit || !s.accommodates(p.seats) {
		return false
	}
	least := s.heads.least[1]
	if p.finish() <= least {
		return true
	}
	inOwnQueue := !p.kept && p.queue.index >= 0 // then what waits in the queue is behind the probe
	return inOwnQueue && s.heads.least[s.heads.leaves+p.queue.index] == least
}

// Precedes says whether the probe would have been dispatched no later than r, a request of the
// same queue set that arrived after the probe or before it. It may be called while the host is
// notified of the dispatch of r.
func (p *Probe) Precedes(r *Request, after bool) bool {
	s := p.set
	if !p.First() || !after && r.queue == p.queue { // the last of those ahead makes the probe the first
		return false
	}
	finish := p.finish() // sets p.kept
	if !p.kept && r.queue == p.queue {
		return true
	}
	free := s.limit - (s.seatsInUse - r.Seats())
	return p.seats <= free && finish <= s.arithmetic.add(s.latestS, r.totalWork)
}

// TimedOutBehind is to be called when a request that arrived after the probe leaves its queue
// without being dispatched.
func (p *Probe) TimedOutBehind(r *Request) {
	if r.queue == p.queue {
		p.ahead++
	}
}

// First says whether all requests that were before the probe have left the queue. It becomes so when one of them leaves
// it, for a probe never before those that began earlier in the same queue. Until then, it is neither ready nor precedes anything.
func (p *Probe) First() bool { return p.queue.left >= p.ahead }

// finish is the virtual finish of the probe: the R at which it would finish.
func (p *Probe) finish() virtual {
	s, q := p.set, p.queue
	if n := s.epochs.Succeeded + s.epochs.Failed; n != p.epochs {
		back := virtual(n-p.epochs) * epoch
		p.arrivalR, p.startR, p.seenR, p.epochs = p.arrivalR-back, p.startR-back, p.seenR-back, n
	}
	switch {
	case p.kept:
		if s.r > p.seenR {
			p.startR = s.arithmetic.add(p.startR, s.arithmetic.between(p.seenR, s.r)/estimate.SeatSeconds(s.active+1))
			p.seenR = s.r
		}
	case q.activations != p.activations:
		p.keep(q.formerR)
	case !q.active():
		p.keep(q.nextDispatchR)
	default:
		return s.arithmetic.add(p.bounded(q.nextDispatchR), p.work)
	}
	return s.arithmetic.add(p.startR, p.work)
}

func (p *Probe) keep(startR virtual) {
	p.kept, p.startR, p.seenR = true, p.bounded(startR), max(p.set.r, p.arrivalR)
}

// bounded returns what bound would make of a virtual start if the probe were the oldest request of
// its queue.
func (p *Probe) bounded(startR virtual) virtual {
	if p.set.rules.Bound == rules.BoundAtArrival {
		return max(startR, p.arrivalR)
	}
	return startR
}
