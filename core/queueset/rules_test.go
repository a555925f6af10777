package queueset

import (
	"testing"

	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// A queue is charged the service-time guess of the release at dispatch, and what the request
// really took at its finish.
func TestServiceGuessIsThatOfTheRules(t *testing.T) {
	s := New(0, &rules.Rules{ServiceGuessNs: 60_000 * ms}, Config{Queues: 1, HandSize: 1, QueueLengthLimit: 1}, 2, &dispatches{})
	a := &Request{Owner: "a", Work: oneSeat}
	arrive(s, 0, a, 0)
	if got, want := s.Queue(0).NextDispatchR, estimate.SeatSeconds(60*1e8); got != want {
		t.Errorf("next dispatch R is %s after the dispatch, want %s", ss(got), ss(want))
	}
	s.Finish(5000*ms, a)
	if got, want := s.Queue(0).NextDispatchR, estimate.SeatSeconds(5*1e8); got != want {
		t.Errorf("next dispatch R is %s after the finish, want %s", ss(got), ss(want))
	}
}
