// Package ours runs trials through apfsim: Run embeds its flow control as a server would,
// and Replay simulates the trace as a scenario with the whole of apfsim.
package ours

import (
	"apfsim/core/classify"
	"apfsim/core/estimate"
	"apfsim/core/filter"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
	"apfsim/lab/conformance/trial"
	"apfsim/sim/clock"
)

// kind says what an event is. At one instant what frees seats comes first; a trial without
// coincidences never asks.
type kind uint8

const (
	finish kind = iota
	release
	watchEnd
	timeOut
	hangUp
	adjust
	change
	sample
	arrive
)

type event struct {
	kind
	n int // of the request, change or sample
}

// request is a request at the server.
type request struct {
	filter.Request
	attributes classify.Attributes
	kind       filter.Kind
	timeOut    clock.Handle // while it waits
	hangUp     clock.Handle // while it waits, if its client hangs up
	index      int
	inside     bool // under flow control, and waits or executes
}

type server struct {
	rules    *rules.Rules
	trial    *trial.Trial
	events   clock.Queue[event]
	filter   *filter.Filter
	requests []request
	hangUps  []int64 // trial.HangUpsNs
	inside   []int   // indices of the requests that wait or execute, in no order
	open     int     // what is still to come or to end: requests, watches, changes, samples
	result   trial.Result
	lastNs   int64
	last     event
	clashes  []Clash
}

// Clash is two events at one instant of which neither causes the other: what happens then
// is up to the scheduler of the Go runtime at kube-apiserver.
type Clash struct {
	AtNs    int64
	Request int // that takes part in it, -1 for none
}

// endlessNs is the time at which a trial is given up: under rules with LazyWaitLimit a watch can wait
// without end. The trial then counts as one with a clash, and cannot be compared.
const endlessNs = int64(1e13)

// Run returns what apfsim makes of a trial under the rules of the newest release, and the clashes
// in it.
func Run(t *trial.Trial) (trial.Result, []Clash) { return RunAs(rules.Default(), t) }

// RunAs is Run under the rules of another release.
func RunAs(r *rules.Rules, t *trial.Trial) (trial.Result, []Clash) {
	s := &server{
		rules:    r,
		trial:    t,
		requests: make([]request, len(t.Requests)),
		hangUps:  t.HangUpsNs(),
		open:     len(t.Requests) + len(t.Changes) + len(t.SamplesNs),
		lastNs:   -1,
	}
	s.result.Decisions = make([]trial.Decision, len(t.Requests))
	s.result.Rejections = map[string]int{}
	store := estimate.Store{}
	for _, o := range t.Resources {
		store[estimate.Resource{Group: o.Group, Name: o.Resource}] = estimate.Stats{Objects: o.Objects, AverageBytes: o.AverageBytes}
	}
	s.filter = filter.New(0, filter.Settings{
		Rules:                       r,
		MaxRequestsInFlight:         t.MaxRequestsInflight,
		MaxMutatingRequestsInFlight: t.MaxMutatingRequestsInflight,
		RequestTimeoutNs:            t.RequestTimeoutNs,
		Objects:                     t.Objects.Objects,
		Store:                       store,
	}, s)
	s.at(0, event{kind: adjust})
	for i := range t.Changes {
		s.at(t.Changes[i].AtNs, event{change, i})
	}
	for i := range t.SamplesNs {
		s.at(t.SamplesNs[i], event{sample, i})
	}
	for i := range t.Requests {
		s.at(t.Requests[i].ArrivalNs, event{arrive, i})
	}
	for s.open > 0 {
		e, _ := s.events.Next()
		if s.events.NowNs() > endlessNs {
			s.clashes = append(s.clashes, Clash{s.events.NowNs(), -1})
			break
		}
		s.note(e)
		s.handle(e)
	}
	return s.result, s.clashes
}

func (s *server) at(ns int64, e event) { s.events.Schedule(ns, uint8(e.kind), e) }

// note keeps a record of clashes.
func (s *server) note(e event) {
	now := s.events.NowNs()
	if now == s.lastNs {
		c := Clash{now, -1}
		for _, involved := range []event{e, s.last} {
			if involved.kind <= hangUp || involved.kind == arrive {
				c.Request = involved.n
				break
			}
		}
		s.clashes = append(s.clashes, c)
	}
	s.lastNs, s.last = now, e
}

func (s *server) handle(e event) {
	now := s.events.NowNs()
	switch e.kind {
	case arrive:
		s.arrive(now, e.n)
	case finish:
		s.finish(now, e.n)
	case release:
		s.filter.Release(now, &s.requests[e.n].Request)
	case watchEnd:
		s.filter.EndWatch(&s.requests[e.n].Request)
		s.open--
	case timeOut:
		r := &s.requests[e.n]
		r.timeOut = 0
		s.endWait(r)
		rejection, retryAfterSeconds := s.filter.TimeOut(now, &r.Request)
		if s.rules.LazyWaitLimit {
			retryAfterSeconds = 0 // this is its deadline, at which the filter of timeouts has responded
		}
		s.reject(now, r, s.ended(rejection), retryAfterSeconds)
	case hangUp:
		r := &s.requests[e.n]
		r.hangUp = 0
		s.endWait(r)
		rejection, retryAfterSeconds := s.filter.Cancel(now, &r.Request)
		s.reject(now, r, s.ended(rejection), retryAfterSeconds)
	case adjust:
		// With DemandNaN, an adjustment at the instant of the first configuration would end all
		// borrowing. In a server and in its driver, some time has passed.
		if now > 0 || !s.rules.DemandNaN {
			s.filter.Adjust(now)
		}
		s.at(now+flowcontrol.AdjustmentPeriodNs, e)
	case change:
		s.change(now, e.n)
		s.open--
	case sample:
		s.result.Snapshots = append(s.result.Snapshots, s.snapshot(now))
		s.open--
	}
}

// change puts a configuration into force object by object, as a cluster's are written,
// and twice at each: see package upstream.
func (s *server) change(now int64, n int) {
	from := s.trial.Objects.Objects
	if n > 0 {
		from = s.trial.Changes[n-1].Objects.Objects
	}
	for _, step := range trial.Steps(from, s.trial.Changes[n].Objects.Objects) {
		s.filter.Configure(now, step.After)
		s.filter.Configure(now, step.After)
	}
}

func (s *server) arrive(now int64, n int) {
	record, r, d := &s.trial.Requests[n], &s.requests[n], &s.result.Decisions[n]
	r.index, d.DispatchNs = n, -1
	r.attributes = record.Attributes()
	kind, err := s.filter.NewKind(&r.attributes, record.Query)
	if err != nil {
		panic("ours: a trial with a query that is not URL encoding: " + err.Error())
	}
	r.kind = kind
	r.Bind(r)
	s.filter.Receive(&r.Request, &r.kind)
	if r.Level != nil {
		d.FlowSchema, d.PriorityLevel = r.kind.Route().Schema.Name, r.Level.Name()
		d.Seats, d.FinalSeats, d.AdditionalNs = r.Work.InitialSeats, r.Work.FinalSeats, r.Work.AdditionalLatencyNs
		r.inside = true
		s.inside = append(s.inside, n)
	}
	rejection, retryAfterSeconds := s.filter.Arrive(now, &r.Request)
	if rejection != queueset.NotRejected {
		s.reject(now, r, rejection.String(), retryAfterSeconds)
	} else if r.Waiting() {
		if limitNs := r.kind.WaitLimitNs(); limitNs < filter.NoLimitNs {
			r.timeOut = s.events.Schedule(now+limitNs, uint8(timeOut), event{timeOut, n})
		}
		if s.hangUps[n] > 0 {
			r.hangUp = s.events.Schedule(now+s.hangUps[n], uint8(hangUp), event{hangUp, n})
		}
	}
}

// ended returns the reason that a release counts for a request that has left its queue because its
// context has ended, "" if it counts none.
func (s *server) ended(rejection queueset.Rejection) string {
	switch {
	case s.rules.Arithmetic == rules.Float64:
		return ""
	case s.rules.LazyWaitLimit:
		return "cancelled"
	}
	return rejection.String()
}

func (s *server) reject(now int64, r *request, reason string, retryAfterSeconds int) {
	d := &s.result.Decisions[r.index]
	d.Rejected, d.EndNs, d.RetryAfterSeconds = true, now, retryAfterSeconds
	if reason != "" {
		s.result.Rejections[d.PriorityLevel+"/"+d.FlowSchema+"/"+reason]++
	}
	s.leave(r)
}

// HeldBack implements filter.Host. Upstream does not report it.
func (s *server) HeldBack(*filter.Request) {}

// TimedOut implements filter.Host.
func (s *server) TimedOut(nowNs int64, q *filter.Request) {
	r := q.Owner().(*request)
	retryAfterSeconds := s.filter.Dropped(nowNs, &r.Request)
	s.endWait(r)
	s.reject(nowNs, r, queueset.TimedOut.String(), retryAfterSeconds)
}

// Dispatched implements filter.Host.
func (s *server) Dispatched(q *filter.Request) {
	now, r := s.events.NowNs(), q.Owner().(*request)
	s.endWait(r)
	record := &s.trial.Requests[r.index]
	s.result.Decisions[r.index].DispatchNs = now
	s.at(now+record.ExecutionNs, event{finish, r.index})
}

// endWait cancels what would have happened to the request if it had gone on waiting.
func (s *server) endWait(r *request) {
	for _, h := range []*clock.Handle{&r.timeOut, &r.hangUp} {
		if *h != 0 {
			s.events.Cancel(*h)
			*h = 0
		}
	}
}

func (s *server) finish(now int64, n int) {
	record, r := &s.trial.Requests[n], &s.requests[n]
	s.result.Decisions[n].EndNs = now
	if additionalNs := s.filter.Finish(now, &r.Request); additionalNs > 0 {
		s.at(now+additionalNs, event{release, n})
	}
	if record.Verb == "watch" {
		s.open++
		s.at(now+record.WatchNs, event{watchEnd, n})
	}
	s.leave(r)
}

// leave forgets a request that neither waits nor executes any more.
func (s *server) leave(r *request) {
	r.inside = false
	s.open--
}

// snapshot shows the levels as upstream's dumps do.
func (s *server) snapshot(now int64) trial.Snapshot {
	snapshot := trial.Snapshot{AtNs: now}
	place := map[string]int{}
	for i, l := range s.filter.Levels() {
		place[l.Name()] = i
		snapshot.Levels = append(snapshot.Levels, s.level(l))
	}
	s.showRequests(&snapshot, place)
	return snapshot
}
