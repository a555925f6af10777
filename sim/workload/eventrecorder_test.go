package workload_test

import (
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/metric"
	"apfsim/sim/workload"
)

// aRecorder returns a recorder of which nothing happens by itself.
func aRecorder(s *server, objects, reasons int) *workload.Recorder {
	return (&workload.EventRecorder{Objects: objects, Reasons: reasons}).Machine(s.Client).(*workload.Recorder)
}

// let lets an event happen at a time.
func (s *server) let(r *workload.Recorder, atNs int64, object, message int) {
	s.At(atNs, func(nowNs int64) { r.Happen(nowNs, object, message) })
}

// Row N14: of 100 identical events of one object within a minute 25 are sent: a POST and 24 PATCHes. Another one
// is sent 300 s later, and events of other objects are not concerned.
func TestSpam(t *testing.T) {
	s := newServer()
	r := aRecorder(s, 2, 1)
	for i := range int64(100) {
		s.let(r, i*600*millisecond, 0, 0)
	}
	s.let(r, 61*second, 1, 0)
	s.let(r, 290*second, 0, 0)
	s.let(r, 310*second, 0, 0)
	s.Run(r, 400*second)
	if posts, patches, dropped := s.count("create", "events"), s.count("patch", "events"), s.Count(metric.EventDropped); posts != 2 || patches != 25 || dropped != 76 {
		t.Errorf("%d POSTs, %d PATCHes and %d dropped events, want 2, 25 and 76", posts, patches, dropped)
	}
	if last := s.Sent[len(s.Sent)-1]; last.AtNs != 310*second {
		t.Errorf("the last event was sent at %v", time.Duration(last.AtNs))
	}
}

// Nine different messages of an object make an event each. With the tenth they are combined: a POST, and PATCHes
// from then on, if the message is not one of the nine that are remembered.
func TestAggregation(t *testing.T) {
	s := newServer()
	r := aRecorder(s, 1, 100)
	for i := range 20 {
		s.let(r, int64(i)*second, 0, i)
	}
	s.Run(r, 100*second)
	if posts, patches := s.count("create", "events"), s.count("patch", "events"); posts != 10 || patches != 10 {
		t.Errorf("%d POSTs and %d PATCHes, want 10 and 10", posts, patches)
	}
	// After more than 600 s of silence they are different events again.
	s = newServer()
	r = aRecorder(s, 1, 100)
	for i := range 20 {
		s.let(r, int64(i)*601*second, 0, i)
	}
	s.Run(r, 20*601*second)
	if posts := s.count("create", "events"); posts != 20 {
		t.Errorf("%d POSTs, want 20", posts)
	}
}

// A PATCH of an event that is no longer there is followed by a POST, at once.
func TestEventIsGone(t *testing.T) {
	s := newServer()
	r := aRecorder(s, 1, 1)
	s.let(r, 0, 0, 0)
	s.At(second, func(int64) { clear(s.objects) })
	s.let(r, 2*second, 0, 0)
	s.Run(r, 10*second)
	same(t, "events", s.sent(0, 10*second, "events"), `
0s create /
2s patch object-0-0.0/
2.01s create /`)
	if s.Count(metric.WriteDone) != 2 {
		t.Errorf("notes %+v", s.Noted)
	}
}

// An answer other than success drops the event, a 429 too. The next one of its kind is a PATCH nevertheless.
func TestRefusedEvent(t *testing.T) {
	s := newServer()
	r := aRecorder(s, 1, 1)
	s.fails = func(nowNs int64, q *workload.APIRequest) *api.Answer {
		if nowNs < second {
			return &api.Answer{Status: 429}
		}
		return nil
	}
	s.let(r, 0, 0, 0)
	s.let(r, 2*second, 0, 0)
	s.Run(r, 100*second)
	same(t, "events", s.sent(0, 100*second, "events"), `
0s create /
2s patch object-0-0.0/
2.01s create /`)
	if s.Count(metric.EventDropped) != 1 {
		t.Errorf("notes %+v", s.Noted)
	}
}

// Without an answer an event is tried twelve times: again within 10 s, and then every 10 s. Meanwhile 1000 others
// wait, and further ones are dropped.
func TestNoConnection(t *testing.T) {
	s := newServer()
	r := aRecorder(s, 2000, 1)
	s.fails = func(nowNs int64, q *workload.APIRequest) *api.Answer {
		return &api.Answer{Failure: api.FailedToConnect}
	}
	for i := range 1101 {
		s.let(r, second, i, 0)
	}
	s.Run(r, 104*second) // before the twelfth try
	if n := s.Count(metric.EventDropped); n != 100 {
		t.Errorf("%d events were dropped, want those that do not fit into the queue, 100", n)
	}
	if n := len(s.Sent); n != 11 {
		t.Fatalf("%d tries, want 11", n)
	}
	within(t, "second try", s.Sent[1].AtNs-s.Sent[0].AtNs, 10*millisecond, 10*second+10*millisecond)
	for i := 2; i < 11; i++ {
		within(t, "next try", s.Sent[i].AtNs-s.Sent[i-1].AtNs, 10*second+10*millisecond, 10*second+10*millisecond)
	}
	s.Run(r, 115*second)
	if s.Sent[11].Call.Body.Name != s.Sent[0].Call.Body.Name || s.Sent[12].Call.Body.Name == s.Sent[0].Call.Body.Name {
		t.Error("the event is not given up after twelve tries")
	}
}

// Events happen by a Poisson process, until the end of the workload.
func TestRate(t *testing.T) {
	s := newServer()
	s.UntilNs = 1000 * second
	r := (&workload.EventRecorder{Rate: 1, Objects: 1_000_000, Reasons: 1}).Machine(s.Client)
	s.Run(r, 2000*second)
	within(t, "events", int64(s.Count(metric.WriteDone)), 1000-120, 1000+120)
	if last := s.Sent[len(s.Sent)-1]; last.AtNs >= 1000*second {
		t.Errorf("sent %v after the end", last)
	}
}
