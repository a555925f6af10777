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

// shown is a host that notes the virtual start of each request that is dispatched, as a dump shows it.
type shown struct {
	dispatches
	set    *QueueSet
	starts map[*Request]estimate.SeatSeconds
}

func (h *shown) Dispatched(r *Request) { h.starts[r] = h.set.Starts(r).Chosen }

// From 1.20 to 1.22 the virtual start of a queue is bounded by the R at which it is dispatched from. Queue 0 uses one of
// four seats, and queue 1 the others, so that R gains two seat-seconds in a second. A request comes to queue 0 after 5 s and
// is dispatched after 6 s, when its queue has had 6 seat-seconds and R is 12: its start is 12.
func TestStartThatIsBoundAtDispatch(t *testing.T) {
	r, err := rules.For("1.22")
	if err != nil {
		t.Fatal(err)
	}
	h := &shown{starts: map[*Request]estimate.SeatSeconds{}}
	h.set = New(0, r, Config{Queues: 2, HandSize: 1, QueueLengthLimit: 5}, 4, h)
	request := func() *Request { return &Request{Owner: "", Work: oneSeat} }
	first, late := request(), request()
	arrive(h.set, 0, first, 0)
	for range 3 {
		arrive(h.set, 0, request(), 1)
	}
	arrive(h.set, 5000*ms, late, 0)
	if !late.Waiting() {
		t.Fatal("the late request does not wait")
	}
	h.set.Finish(6000*ms, first)
	if got, want := h.starts[late], estimate.SeatSeconds(12*1e8); got != want {
		t.Errorf("the start of the late request is %s, want %s", ss(got), ss(want))
	}
}
