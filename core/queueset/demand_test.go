package queueset

import (
	"testing"

	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// A request that dispatch makes narrower leaves a trace in the demand. It waited for 5
// seats and starts with the 2 that there are, since it is alone; upstream takes back those
// 2 from the demand of the waiting, and 3 are counted for ever, even of an idle level.
func TestDemandOfReshapedRequest(t *testing.T) {
	s := New(0, rules.Latest(), Config{Queues: 1, HandSize: 1, QueueLengthLimit: 50}, 2, &player{})
	if got := s.TakeDemand(1_000_000_000); got.Max != 0 || got.Average != 0 {
		t.Fatalf("the demand of a new set is %+v", got)
	}
	r := &Request{Owner: "wide", Work: estimate.Work{InitialSeats: 1, FinalSeats: 5, AdditionalLatencyNs: 5_000_000}}
	arrive(s, 1_000_000_000, r, 0)
	if r.Work.FinalSeats != 2 {
		// Nothing executes, so that a request of more seats than there are may start.
		t.Fatalf("the request started with %d final seats, want 2", r.Work.FinalSeats)
	}
	s.Release(1_100_000_000+s.Finish(1_100_000_000, r), r)
	s.TakeDemand(2_000_000_000)
	if got := s.TakeDemand(3_000_000_000); got.Max != 3 || got.Average != 3 || s.SeatsWaiting() != 0 {
		t.Errorf("the demand of the idle set is %+v with %d seats waiting, want 3 and 0", got, s.SeatsWaiting())
	}
}

// arrive lets a request of the flow with the given hash arrive.
func arrive(s *QueueSet, nowNs int64, r *Request, hash uint64) Rejection {
	hand := s.Hand(hash)
	return s.Arrive(nowNs, r, &hand)
}
