package reports_test

import (
	"testing"
	"testing/fstest"

	"apfsim/core/config"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/reports/record"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// fingerprintOf returns the fingerprint of a run told by hand.
func fingerprintOf(tell func(s *stage)) string {
	f := record.NewFingerprint()
	tell(newStage(storyScenario(), f))
	return f.String()
}

// shortStory plays three requests: one executed at once, one that waits, one rejected.
func shortStory(s *stage, first, second *server.Flow, dispatchAt float64, why queueset.Rejection, but ...func(*server.Request)) {
	a := s.arrive(1, elephants, first, 2)
	s.dispatch(1, a)
	b := s.arrive(2, mice, second, 1, but...)
	s.each(func(o server.Observer) { o.Queued(ns(2), b) })
	c := s.arrive(2.5, mice, second, 1)
	s.reject(2.5, c, why)
	s.finish(3, a)
	s.dispatch(dispatchAt, b)
	s.finish(dispatchAt+1, b)
}

func TestFingerprintTellsDecisionsApart(t *testing.T) {
	elsewhere := server.NewFlow(flowB.Index, flowB.Schema, "high", flowB.Distinguisher, flowB.Hand)
	otherwise := server.NewFlow(flowB.Index, &config.FlowSchema{Name: "others"}, flowB.Level, flowB.Distinguisher, flowB.Hand)
	seen := map[string]string{}
	for _, c := range []struct {
		name string
		tell func(s *stage)
	}{
		{"the story", func(s *stage) { shortStory(s, flowA, flowB, 3, queueset.QueueFull) }},
		{"a later dispatch", func(s *stage) { shortStory(s, flowA, flowB, 3.000000001, queueset.QueueFull) }},
		{"another reason", func(s *stage) { shortStory(s, flowA, flowB, 3, queueset.TimedOut) }},
		{"the flows exchanged", func(s *stage) { shortStory(s, flowB, flowA, 3, queueset.QueueFull) }},
		{"one flow", func(s *stage) { shortStory(s, flowA, flowA, 3, queueset.QueueFull) }},
		{"another level", func(s *stage) { shortStory(s, flowA, elsewhere, 3, queueset.QueueFull) }},
		{"another FlowSchema", func(s *stage) { shortStory(s, flowA, otherwise, 3, queueset.QueueFull) }},
		{"past flow control", func(s *stage) { shortStory(s, flowA, nil, 3, queueset.QueueFull) }},
		{"final seats", func(s *stage) { shortStory(s, flowA, flowB, 3, queueset.QueueFull, twoFinalSeats) }},
		{"more seats", func(s *stage) {
			shortStory(s, flowA, flowB, 3, queueset.QueueFull, func(r *server.Request) { r.Work.InitialSeats = 2 })
		}},
		{"more additional latency", func(s *stage) {
			shortStory(s, flowA, flowB, 3, queueset.QueueFull, twoFinalSeats, func(r *server.Request) { r.Work.AdditionalLatencyNs++ })
		}},
		{"another Retry-After", func(s *stage) {
			r := s.arrive(1, mice, flowA, 1)
			r.Rejection, r.RetryAfterSeconds = queueset.QueueFull, 2
			s.each(func(o server.Observer) { o.Rejected(ns(1), r) })
		}},
		{"one request", func(s *stage) { s.reject(1, s.arrive(1, mice, flowA, 1), queueset.QueueFull) }},
		{"one that is dispatched, not queued", func(s *stage) { s.dispatch(1, s.arrive(1, mice, flowA, 1)) }},
		{"one that is queued, not dispatched", func(s *stage) {
			r := s.arrive(1, mice, flowA, 1)
			s.each(func(o server.Observer) { o.Queued(ns(1), r) })
		}},
		{"one that is queued with final seats", func(s *stage) {
			r := s.arrive(1, mice, flowA, 1, twoFinalSeats)
			s.each(func(o server.Observer) { o.Queued(ns(1), r) })
		}},
		{"one that is queued with more additional latency", func(s *stage) {
			r := s.arrive(1, mice, flowA, 1, twoFinalSeats, func(r *server.Request) { r.Work.AdditionalLatencyNs++ })
			s.each(func(o server.Observer) { o.Queued(ns(1), r) })
		}},
		{"nothing", func(*stage) {}},
	} {
		got := fingerprintOf(c.tell)
		if len(got) != 16 || got != fingerprintOf(c.tell) {
			t.Errorf("%s: %q, and then %q", c.name, got, fingerprintOf(c.tell))
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the fingerprint of %s", c.name, other)
		}
		seen[got] = c.name
	}
}

// Of an adjustment, its time and the levels' names and limits count.
func TestFingerprintTellsAdjustmentsApart(t *testing.T) {
	adjusted := func(level string, seats int, nowNs int64) string {
		scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(`
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: any}
spec:
  duration: 1s
  config:
    base: Mandatory
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1
      kind: PriorityLevelConfiguration
      metadata: {name: ` + level + `}
      spec: {type: Limited, limited: {limitResponse: {type: Reject}}}
  workload:
  - {name: w, as: {user: u}, request: {verb: get, path: /}, execution: 1ms, arrivals: {poisson: {rate: 1/s}}}
`)}}, "s.yaml", loader.Options{})
		if err := mistakes.Err(); err != nil {
			t.Fatal(err)
		}
		scenarios[0].Spec.Servers.MaxRequestsInflight, scenarios[0].Spec.Servers.MaxMutatingRequestsInflight = seats, 0
		f := record.NewFingerprint()
		f.Observer().Adjusted(nowNs, server.New(server.Deps{Settings: &scenarios[0].Spec.Servers.Settings, Process: &server.Process{}, Objects: scenarios[0].Objects, RunState: server.NewRunState(server.Options{})})[0])
		return f.String()
	}
	story := adjusted("one", 600, 5)
	if again := adjusted("one", 600, 5); again != story {
		t.Errorf("%s, and then %s", story, again)
	}
	for name, other := range map[string]string{"later": adjusted("one", 600, 6), "more seats": adjusted("one", 700, 5), "another level": adjusted("other", 600, 5)} {
		if other == story {
			t.Errorf("%s: the fingerprint is the same", name)
		}
	}
}

// How flows are numbered, how often the run is sampled, and when somebody looks at the
// fingerprint says nothing of what is decided.
func TestFingerprintIsOfDecisionsAlone(t *testing.T) {
	want := fingerprintOf(func(s *stage) { shortStory(s, flowA, flowB, 3, queueset.QueueFull) })
	a, b := *flowA, *flowB
	a.Index, b.Index = 7, 3
	f := record.NewFingerprint()
	s := newStage(storyScenario(), f)
	for at := range 4 {
		s.tick(float64(at) / 4)
	}
	_ = f.String()
	shortStory(s, &a, &b, 3, queueset.QueueFull)
	s.tick(30)
	if got := f.String(); got != want || got != f.String() {
		t.Errorf("fingerprint %s, want %s", got, want)
	}
}

// A request that flow control does not see has no queue, even if its memory was that of one that had.
func TestFingerprintSaysNothingOfTheRequestBefore(t *testing.T) {
	past := func(used *server.Request) string {
		f := record.NewFingerprint()
		used.Template, used.Number = &server.Template{}, 1
		used.Work.InitialSeats = 0
		f.Observer().Dispatched(5, used)
		return f.String()
	}
	used := &server.Request{}
	used.Work.InitialSeats = 1
	queues := queueset.New(0, rules.Latest(), queueset.Config{Queues: 4, HandSize: 1, QueueLengthLimit: 1}, 4, ignoring{})
	hand := queues.Hand(7)
	queues.Arrive(0, used.InQueue(), &hand)
	queues.Finish(1, used.InQueue())
	if used.Queue() < 0 {
		t.Fatal("the queue is forgotten; want a request that still names it")
	}
	if got, want := past(used), past(&server.Request{}); got != want {
		t.Errorf("fingerprint %s, want that of new memory, %s", got, want)
	}
}

// An event costs no allocation, however many there are.
func TestFingerprintAllocatesNothing(t *testing.T) {
	f := record.NewFingerprint()
	o, r := f.Observer(), newStage(storyScenario(), f).arrive(1, mice, flowB, 1)
	o.Dispatched(1, r)
	if n := testing.AllocsPerRun(1000, func() {
		o.Queued(2, r)
		o.Dispatched(2, r)
	}); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}

// BenchmarkFingerprint is what a request costs that waits.
func BenchmarkFingerprint(b *testing.B) {
	f := record.NewFingerprint()
	o, r := f.Observer(), newStage(storyScenario(), f).arrive(1, mice, flowB, 1)
	for b.Loop() {
		o.Queued(2, r)
		o.Dispatched(2, r)
	}
}
