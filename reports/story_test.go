package reports_test

import (
	"testing"

	"apfsim/core/config"
	"apfsim/core/queueset"
	"apfsim/core/seats"
	"apfsim/reports/collect"
	"apfsim/reports/record"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/quantity"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

const second = int64(1_000_000_000)

// fakeLevel is a priority level as the collector sees it.
type fakeLevel struct {
	name    string
	current int
	spec    config.PriorityLevelSpec
}

func (f *fakeLevel) Name() string                    { return f.name }
func (f *fakeLevel) Spec() *config.PriorityLevelSpec { return &f.spec }
func (f *fakeLevel) Limits() seats.Limits            { return seats.Limits{Nominal: 3, Min: 1, Max: 6} }
func (f *fakeLevel) CurrentLimit() int               { return f.current }
func (f *fakeLevel) Queues() *queueset.QueueSet      { return nil }

// stage is a run told by hand: the test says what happens, the observers listen.
type stage struct {
	observers []server.Observer
	collector *collect.Collector
	levels    []*fakeLevel // that flow control has
	low       *fakeLevel
	number    int64
	ticked    float64 // the last tick, in seconds
}

var (
	schema = &config.FlowSchema{Name: "service-accounts"}
	flowA  = server.NewFlow(0, schema, "low", "a", []int{0, 2})
	flowB  = server.NewFlow(1, schema, "low", "b", []int{1, 3})
)

const (
	elephants = iota
	mice
	unheard
)

func storyScenario() *scenario.Scenario {
	sc := &scenario.Scenario{Metadata: scenario.Metadata{Name: "story", Description: "One elephant and one mouse <share> a level."}}
	sc.Spec.Seed = 7
	sc.Spec.Warmup.Duration, sc.Spec.Duration = quantity.Duration(10*second), quantity.Duration(30*second)
	sc.Spec.Servers.FlowControl = server.PriorityAndFairness
	sc.Spec.Workload = []workload.Workload{{Name: "elephants", Clients: 1}, {Name: "mice", Clients: 1}, {Name: "unheard", Clients: 1}}
	return sc
}

// observing is what can be attached to a run.
type observing interface{ Observer() server.Observer }

func newStage(sc *scenario.Scenario, also ...observing) *stage {
	limited := config.LimitedSpec{LimitResponse: config.LimitResponse{Type: config.ResponseQueue,
		Queuing: &config.Queuing{Queues: 4, HandSize: 2, QueueLengthLimit: 1}}}
	s := &stage{low: &fakeLevel{name: "low", current: 4, spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: &limited}}}
	exempt := &fakeLevel{name: "exempt", spec: config.PriorityLevelSpec{Type: config.TypeExempt, Exempt: &config.ExemptSpec{}}}
	s.levels = []*fakeLevel{exempt, s.low}
	s.collector = collect.NewWithLevels(sc, 10*second, func(yield func(server.LevelState) bool) {
		for _, l := range s.levels {
			yield(l)
		}
	})
	s.attach(s.collector)
	s.attach(also...)
	s.each(func(o server.Observer) { o.Adjusted(0, nil) })
	s.tick(0)
	return s
}

// attach attaches observers. What an observer is not interested in does nothing.
func (s *stage) attach(all ...observing) {
	request := func(int64, *server.Request) {}
	for _, a := range all {
		o := a.Observer()
		for _, f := range []*func(int64, *server.Request){&o.Arrived, &o.Queued, &o.Dispatched, &o.Rejected, &o.Executed, &o.Released, &o.Answered} {
			if *f == nil {
				*f = request
			}
		}
		if o.Adjusted == nil {
			o.Adjusted = func(int64, *server.Server) {}
		}
		if o.Tick == nil {
			o.Tick = func(int64, []*server.Server) int64 { return 0 }
		}
		s.observers = append(s.observers, o)
	}
}

func (s *stage) each(tell func(server.Observer)) {
	for _, o := range s.observers {
		tell(o)
	}
}

// arrive lets a request of one seat arrive, changed as the story wants.
func (s *stage) arrive(at float64, workload int, f *server.Flow, executes float64, but ...func(*server.Request)) *server.Request {
	s.number++
	r := &server.Request{
		Sent:       server.Sent{Template: &server.Template{Workload: workload}, ID: s.number, Attempt: 1, ExecutionNs: ns(executes)},
		Decision:   server.Decision{Number: s.number, ArrivalNs: ns(at), DispatchNs: -1},
		Completion: server.Completion{FinishNs: -1},
	}
	if f != nil {
		r.SetFlow(f)
		r.Work.InitialSeats = 1
	}
	for _, change := range but {
		change(r)
	}
	s.each(func(o server.Observer) { o.Arrived(ns(at), r) })
	return r
}

func twoFinalSeats(r *server.Request) { r.Work.FinalSeats, r.Work.AdditionalLatencyNs = 2, 2*second }
func secondAttempt(r *server.Request) { r.Attempt = 2 }

func (s *stage) dispatch(at float64, r *server.Request) {
	r.DispatchNs = ns(at)
	s.each(func(o server.Observer) { o.Dispatched(ns(at), r) })
}

func (s *stage) reject(at float64, r *server.Request, why queueset.Rejection) {
	r.Rejection, r.RetryAfterSeconds = why, 1
	s.each(func(o server.Observer) { o.Rejected(ns(at), r) })
	s.answer(at, r, server.StatusTooManyRequests)
}

func (s *stage) execute(at float64, r *server.Request) {
	r.FinishNs = ns(at)
	s.each(func(o server.Observer) { o.Executed(ns(at), r) })
	s.answer(at, r, server.StatusOK)
}

// answer gives a request's client its answer.
func (s *stage) answer(at float64, r *server.Request, status int16) {
	r.Status = status
	s.each(func(o server.Observer) { o.Answered(ns(at), r) })
}

func (s *stage) release(at float64, r *server.Request) {
	s.each(func(o server.Observer) { o.Released(ns(at), r) })
}

func (s *stage) finish(at float64, r *server.Request) {
	s.execute(at, r)
	s.release(at, r)
}

func (s *stage) tick(at float64) { s.each(func(o server.Observer) { o.Tick(ns(at), nil) }) }

func ns(seconds float64) int64 { return int64(seconds * 1e9) }

// tell plays a run of 30 s, of which the first 10 s do not count. The level has 4 seats,
// and 2 from 20 s on.
//
//	     arrives dispatched executed released seats
//	e1 a    5        5         15       15      1    before the window
//	e2 a   10       10         20       22      2    two final seats, for 2 s
//	m1 b   12       15         20       20      1
//	m2 b   13     rejected at once: queue full       would have executed 4 s
//	m3 b   14     times out at 18                    would have executed 2 s; a retry
//	x  –   11       11         12       12           passes by flow control
//	m4 b   29       29          –        –      1    would execute 5 s
//	m5 b   29.5      –          –        –      1    would execute 1 s
func (s *stage) tell() {
	e1 := s.arrive(5, elephants, flowA, 10)
	s.dispatch(5, e1)
	s.tick(10)
	e2 := s.arrive(10, elephants, flowA, 10, twoFinalSeats)
	s.dispatch(10, e2)
	x := s.arrive(11, mice, nil, 1)
	s.dispatch(11, x)
	m1 := s.arrive(12, mice, flowB, 5)
	s.finish(12, x)
	m2 := s.arrive(13, mice, flowB, 4)
	s.reject(13, m2, queueset.QueueFull)
	m3 := s.arrive(14, mice, flowB, 2, secondAttempt)
	s.finish(15, e1)
	s.dispatch(15, m1)
	s.reject(18, m3, queueset.TimedOut)
	s.tick(20)
	s.execute(20, e2)
	s.finish(20, m1)
	s.low.current = 2
	s.each(func(o server.Observer) { o.Adjusted(20*second, nil) })
	s.release(22, e2)
	m4 := s.arrive(29, mice, flowB, 5)
	s.dispatch(29, m4)
	s.arrive(29.5, mice, flowB, 1)
	s.tick(30)
}

// storyResult returns what comes of the story, with thresholds that hold and that do not.
func storyResult(thresholds ...metric.Threshold) *result.Result {
	sc := storyScenario()
	sc.Spec.Thresholds = thresholds
	fingerprint, windows := record.NewFingerprint(), collect.NewWindowed(sc)
	s := newStage(sc, fingerprint, windows)
	s.tell()
	r := s.collector.Result("the run was told by hand")
	r.Summary.Fingerprint = fingerprint.String()
	windows.Judge(r.Summary)
	return r
}

func nearNumber(t *testing.T, what string, got, want float64) {
	t.Helper()
	if d := got - want; d > 1e-9 || d < -1e-9 {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
