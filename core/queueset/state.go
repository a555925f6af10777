package queueset

import "apfsim/core/estimate"

// R returns the progress meter as of the last call that took the time.
func (s *QueueSet) R() estimate.SeatSeconds { return s.r }

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

// QueueState is what a queue holds, under the names of the columns of
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
		NextDispatchR:     q.nextDispatchR,
		MaxSeatsSum:       q.seatsWaiting,
		TotalWorkSum:      q.workWaiting,
	}
	for r := q.first; r != nil; r = r.next {
		state.InitialSeatsSum += r.Work.InitialSeats
	}
	return state
}
