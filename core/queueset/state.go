package queueset

import (
	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// R returns the progress meter as of the last call that took the time.
func (s *QueueSet) R() estimate.SeatSeconds { return s.arithmetic.seatSeconds(s.r) }

// Epochs counts how often R has been wound back.
type Epochs struct {
	Succeeded int
	Failed    int // a reading of R was less than an epoch, and has wrapped around below 0
}

// Epochs returns how often R has been wound back.
func (s *QueueSet) Epochs() Epochs { return s.epochs }

// Limit returns the concurrency limit in force.
func (s *QueueSet) Limit() int { return s.limit }

// Len returns how many queues there are, surplus ones among them.
func (s *QueueSet) Len() int { return len(s.queues) }

// Waiting returns how many requests wait.
func (s *QueueSet) Waiting() int { return s.waiting }

// SeatsWaiting returns the sum of the waiting requests' seats.
func (s *QueueSet) SeatsWaiting() int { return s.seatsWaiting }

// Executing returns how many requests execute, without those in additional latency.
func (s *QueueSet) Executing() int { return s.executing }

// SeatsInUse returns how many seats are taken, by requests in additional latency too.
func (s *QueueSet) SeatsInUse() int { return s.seatsInUse }

// Idle says whether nothing waits and nothing executes.
func (s *QueueSet) Idle() bool { return s.waiting == 0 && s.executing == 0 }

// QueueLength returns how many requests wait in queue i.
func (s *QueueSet) QueueLength(i int) int { return s.queues[i].waiting }

// Starts are the alternatives of a dispatch from a queue: the R at which the oldest requests of all
// queues were to start. The chosen one is not necessarily the earliest of them.
type Starts struct {
	Chosen   estimate.SeatSeconds // of the request that was dispatched; with BoundAtDispatch, as bounded
	Min, Max estimate.SeatSeconds // over the queues with requests waiting, the chosen one's among them

	// The same less the queue's work in progress, estimated as G for each seat in use. Like
	// upstream's they are modulo 2⁶⁴: a negative number is shown as one near 2⁶⁴.
	DiscountedMin, DiscountedMax estimate.SeatSeconds
}

// Starts returns what the dispatch of r chose from. It may be called while the host is notified of
// the dispatch, for a request that has a queue. Its cost grows with the number of queues.
func (s *QueueSet) Starts(r *Request) Starts {
	least, most, discountedLeast, discountedMost := never, virtual(0), never, virtual(0)
	for _, q := range s.queues {
		start, inUse := q.nextDispatchR, q.seatsInUse
		switch {
		case q == r.queue: // as it was before
			start, inUse = s.latestS, inUse-r.Seats()
		case q.first == nil:
			continue
		}
		least, most = min(least, start), max(most, start)
		start = s.arithmetic.subtract(start, estimate.SeatsTimesDuration(float64(inUse), s.guessNs))
		discountedLeast, discountedMost = min(discountedLeast, start), max(discountedMost, start)
	}
	chosen := s.latestS
	if s.rules.Bound == rules.BoundAtDispatch {
		chosen = s.arithmetic.subtract(r.queue.nextDispatchR, r.totalWork)
	}
	shown := s.arithmetic.seatSeconds
	return Starts{shown(chosen), shown(least), shown(most), shown(discountedLeast), shown(discountedMost)}
}

// QueueState is the state of a queue, under the names of the columns of
// /debug/api_priority_and_fairness/dump_queues.
type QueueState struct {
	PendingRequests   int
	ExecutingRequests int
	SeatsInUse        int
	NextDispatchR     estimate.SeatSeconds
	InitialSeatsSum   int // over the waiting requests, as the others
	MaxSeatsSum       int
	TotalWorkSum      estimate.SeatSeconds
}

// Queue returns the state of queue i.
func (s *QueueSet) Queue(i int) QueueState {
	q := s.queues[i]
	state := QueueState{
		PendingRequests:   q.waiting,
		ExecutingRequests: q.executing,
		SeatsInUse:        q.seatsInUse,
		NextDispatchR:     s.arithmetic.seatSeconds(q.nextDispatchR),
		MaxSeatsSum:       q.seatsWaiting,
		TotalWorkSum:      s.work[i],
	}
	for r := q.first; r != nil; r = r.next {
		state.InitialSeatsSum += r.Work.InitialSeats
	}
	return state
}
