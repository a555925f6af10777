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

// Two flows with fresh queues have come at the same R: the probe goes first.
func TestProbeIsFirstOfEquals(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 3, HandSize: 1, QueueLengthLimit: 10}, 1, d)
	a, b := d.request("A"), d.request("B")
	arrive(s, 0, a, 2)
	arrive(s, 0, b, 1)
	hand := s.Hand(0)
	p, _, waits := s.Probe(0, oneSeat, &hand)
	if !waits {
		t.Fatal("the probe does not wait for the seat")
	}
	if !p.Precedes(b, true) {
		t.Error("the probe is behind B, whose virtual finish is the same")
	}
}

// Overdue requests, which the arrival of a request would remove, do not make a queue full.
func TestProbeCountsNoOverdueRequests(t *testing.T) {
	r, err := rules.For("1.27")
	if err != nil {
		t.Fatal(err)
	}
	d := &dispatches{}
	s := New(0, r, Config{Queues: 1, HandSize: 1, QueueLengthLimit: 2}, 1, d)
	arrive(s, 0, d.request("A"), 0)
	for _, name := range []string{"B", "C"} {
		r := d.request(name)
		r.OverdueNs = 10 * ms
		arrive(s, 0, r, 0)
	}
	hand := s.Hand(0)
	if _, rejection, _ := s.Probe(10*ms, oneSeat, &hand); rejection != QueueFull {
		t.Errorf("the probe is rejected as %q while two wait, want queue-full", rejection)
	}
	if _, rejection, waits := s.Probe(11*ms, oneSeat, &hand); rejection != NotRejected || !waits {
		t.Errorf("the probe is rejected as %q when both are overdue, want it to wait", rejection)
	}
}

// The only queue has a wide request that came after the probe and finds one of two seats free. Whatever their
// virtual finishes are, it is behind the probe, which fits.
func TestProbeIsBeforeWhatCameLaterToItsQueue(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 1, HandSize: 1, QueueLengthLimit: 10}, 2, d)
	a, b := d.request("A"), d.request("B")
	arrive(s, 0, a, 0)
	arrive(s, 0, b, 0)
	hand := s.Hand(0)
	p, _, waits := s.Probe(0, estimate.Work{InitialSeats: 1, FinalSeats: 1, AdditionalLatencyNs: 10_000 * ms}, &hand)
	wide := d.request("wide")
	wide.Work = estimate.Work{InitialSeats: 2}
	arrive(s, 0, wide, 0)
	if !waits || p.Ready() {
		t.Fatal("the probe does not wait while there is no seat")
	}
	s.Finish(10*ms, a)
	if !p.Ready() || !wide.Waiting() {
		t.Errorf("ready %v, the wide request waits %v; want the probe to be next", p.Ready(), wide.Waiting())
	}
}

// A probe begins at the R of its time: with one request on one of two seats and one of two seats waiting, R gains
// two seat-seconds per second. After a second, the virtual start of a fresh queue is behind the one that waits.
func TestProbeBeginsAtTheRightR(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 2, HandSize: 1, QueueLengthLimit: 10}, 2, d)
	arrive(s, 0, d.request("A"), 1)
	wide := d.request("wide")
	wide.Work = estimate.Work{InitialSeats: 2}
	arrive(s, 0, wide, 1)
	hand := s.Hand(0)
	if _, _, waits := s.Probe(1000*ms, oneSeat, &hand); !waits {
		t.Error("the probe takes the seat that is free, want it behind the wide request")
	}
	if _, _, waits := s.Probe(0, oneSeat, &hand); waits {
		t.Error("a probe at the time of the wide request waits, want it to be before that one")
	}
}

// A probe of a queue in which nothing waits keeps the virtual start that the queue had, and moves it on as R would
// lag behind with one more queue. Queue 1 uses 7 of 48 seats and queue 2 the others, so that R gains 24 seat-seconds in a
// second. With the probe it would have gained 16, so that the start of the probe is 8 later, behind the request that
// waits in queue 1, whose start is at 7.
func TestStartOfAProbeMovesOn(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 3, HandSize: 1, QueueLengthLimit: 10}, 48, d)
	seven, others, next := d.request("seven"), d.request("others"), d.request("next")
	seven.Work.InitialSeats, others.Work.InitialSeats = 7, 41
	arrive(s, 0, seven, 1)
	arrive(s, 0, others, 2)
	arrive(s, 0, next, 1)
	probe(t, s, d, 0, 0)
	s.Finish(1000*ms, seven)
	if next.Waiting() || d.answered != "" || !d.probe.Ready() {
		t.Errorf("the next request waits: %v; the probe is before %q and ready: %v; want it behind the next one", next.Waiting(), d.answered, d.probe.Ready())
	}
}

// When R is wound back, so is what a probe remembers of it: the mouse is still before the elephant's next request.
func TestProbeIsWoundBack(t *testing.T) {
	d := &dispatches{}
	s := New(0, rules.Latest(), Config{Queues: 2, HandSize: 1, QueueLengthLimit: 10}, 1, d)
	s.r = highMark - 100_000
	first, second := d.request("first"), d.request("second")
	arrive(s, 0, first, 0)
	arrive(s, 0, second, 0)
	probe(t, s, d, 0, 1)
	s.Finish(10*ms, first)
	if e := s.Epochs(); e.Succeeded+e.Failed != 1 {
		t.Fatalf("epochs %+v, want one", e)
	}
	if d.answered != "second" {
		t.Errorf("the probe is before %q, want second", d.answered)
	}
}
