package queueset

import (
	"testing"

	"apfsim/core/estimate"
	"apfsim/core/rules"
)

// oneSeat is the work of a request of one seat.
var oneSeat = estimate.Work{InitialSeats: 1}

// dispatches is a host that asks a probe about every dispatch, as a simulation does.
type dispatches struct {
	Host     // TimedOut is not called
	probe    *Probe
	later    map[*Request]bool
	answered string // the request instead of which the probe would have been dispatched
}

func (d *dispatches) Dispatched(r *Request) {
	if d.probe != nil && d.answered == "" && d.probe.Precedes(r, d.later[r]) {
		d.answered = r.Owner.(string)
	}
}

func (d *dispatches) HeldBack(*Request) {}

func (d *dispatches) request(name string) *Request {
	r := &Request{Owner: name, Work: oneSeat}
	if d.later == nil {
		d.later = map[*Request]bool{}
	}
	d.later[r] = d.probe != nil
	return r
}

func probe(t *testing.T, s *QueueSet, d *dispatches, nowNs int64, hash uint64) {
	t.Helper()
	hand := s.Hand(hash)
	p, rejection, waits := s.Probe(nowNs, oneSeat, &hand)
	if rejection != NotRejected || !waits {
		t.Fatalf("the probe is rejected (%q) or dispatched at once, want it to wait", rejection)
	}
	d.probe = &p
}

// One queue, one seat. A executes, B waits; a probe begins, and then C arrives. The probe is
// behind B and before C: it would have been dispatched in C's place.
func TestProbeStandsBetweenThoseBeforeAndThoseAfter(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 1, HandSize: 1, QueueLengthLimit: 10}, 1, d)
	a, b := d.request("A"), d.request("B")
	arrive(s, 0, a, 0)
	arrive(s, 1*ms, b, 0)
	before := s.R()
	probe(t, s, d, 2*ms, 0)
	if s.R() != before || s.Waiting() != 1 || s.SeatsInUse() != 1 {
		t.Errorf("the probe has changed the queue set: R %v, %d waiting, %d seats in use", s.R(), s.Waiting(), s.SeatsInUse())
	}
	c := d.request("C")
	arrive(s, 3*ms, c, 0)
	s.Finish(10*ms, a)
	if d.answered != "" {
		t.Fatalf("the probe goes before %s, which was there first", d.answered)
	}
	s.Finish(20*ms, b)
	if d.answered != "C" {
		t.Errorf("the probe goes before %q, want C", d.answered)
	}
}

// Nothing comes after the probe: it is ready once B, which was before it, has left the seat.
func TestProbeIsReadyWhenTheSeatIsFree(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 1, HandSize: 1, QueueLengthLimit: 10}, 1, d)
	a, b := d.request("A"), d.request("B")
	arrive(s, 0, a, 0)
	arrive(s, 0, b, 0)
	probe(t, s, d, 1*ms, 0)
	s.Finish(10*ms, a)
	if d.probe.Ready() {
		t.Error("the probe is ready while B has the only seat")
	}
	s.Finish(20*ms, b)
	if !d.probe.Ready() || d.answered != "" {
		t.Errorf("ready %v, before %q; want it ready and before nobody", d.probe.Ready(), d.answered)
	}
}

// A request that was ahead of the probe times out, and so does one behind it. Only the first
// brings the probe forward.
func TestProbeAndTimeOuts(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 1, HandSize: 1, QueueLengthLimit: 10}, 1, d)
	a, b, c := d.request("A"), d.request("B"), d.request("C")
	for _, r := range []*Request{a, b, c} {
		arrive(s, 0, r, 0)
	}
	probe(t, s, d, 1*ms, 0)
	later := d.request("later")
	arrive(s, 2*ms, later, 0)
	s.TimeOut(3*ms, later)
	d.probe.TimedOutBehind(later)
	s.TimeOut(4*ms, b)
	s.Finish(10*ms, a) // C, the last of those ahead, is dispatched
	if d.answered != "" || d.probe.Ready() {
		t.Fatal("the probe goes before C, which was there first")
	}
	s.Finish(20*ms, c)
	if !d.probe.Ready() {
		t.Error("the probe is not ready though nothing is left")
	}
}

// Two flows with a queue each share one seat. The elephant has three requests waiting and its
// queue has been served; a mouse that came now would be next, as its queue is fresh.
func TestProbeOfAMousePassesTheElephant(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 2, HandSize: 1, QueueLengthLimit: 10}, 1, d)
	elephant, mouse := uint64(0), uint64(1)
	e := []*Request{d.request("e1"), d.request("e2"), d.request("e3"), d.request("e4")}
	for _, r := range e {
		arrive(s, 0, r, elephant)
	}
	s.Finish(100*ms, e[0])
	probe(t, s, d, 101*ms, mouse)
	s.Finish(200*ms, e[1])
	if d.answered != "e3" {
		t.Errorf("the probe of the mouse goes before %q, want e3", d.answered)
	}
}

// What a probe is told when it begins: full queues, no queues, exempt, free seats.
func TestProbeThatDoesNotWait(t *testing.T) {
	for _, c := range []struct {
		what   string
		config Config
		limit  int
		before int // requests that arrive before the probe
		want   Rejection
	}{
		{"a free seat", Config{Queues: 1, HandSize: 1, QueueLengthLimit: 1}, 2, 1, NotRejected},
		{"a full queue", Config{Queues: 1, HandSize: 1, QueueLengthLimit: 1}, 1, 2, QueueFull},
		{"no queues and no seat", Config{}, 1, 1, ConcurrencyLimit},
		{"no queues and a seat", Config{}, 2, 1, NotRejected},
		{"exempt", Config{Queues: Unlimited}, 0, 5, NotRejected},
	} {
		d := &dispatches{}
		s := New(0, rules.Latest(), c.config, c.limit, d)
		for range c.before {
			arrive(s, 0, d.request("before"), 0)
		}
		hand := s.Hand(0)
		if _, got, waits := s.Probe(ms, oneSeat, &hand); got != c.want || waits {
			t.Errorf("%s: rejection %q, waits %v; want %q, and no wait", c.what, got, waits, c.want)
		}
	}
}
