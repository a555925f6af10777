// Package ours runs trials through apfsim: Run embeds its flow control as a server would,
// and Replay simulates the trace as a scenario with the whole of apfsim.
package ours

import (
	"net/url"
	"time"

	"apfsim/conformance/trial"
	"apfsim/core/classify"
	"apfsim/core/estimate"
	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/core/rules"
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
	flowcontrol.Request
	attributes classify.Attributes
	work       *estimate.Request // nil for one that passes by flow control
	route      flowcontrol.Route
	timeOut    clock.Handle // while it waits
	hangUp     clock.Handle // while it waits, if its client hangs up
	index      int
	inside     bool // waits or executes
}

type server struct {
	trial     *trial.Trial
	events    clock.Queue[event]
	control   *flowcontrol.Controller
	estimator *estimate.Estimator
	requests  []request
	hangUps   []int64 // trial.HangUpsNs
	inside    []int   // indices of the requests that wait or execute, in no order
	open      int     // what is still to come or to end: requests, watches, changes, samples
	result    trial.Result
	lastNs    int64
	last      event
	clashes   []Clash
}

// Clash is two events at one instant of which neither causes the other: what happens then
// is up to the scheduler of the Go runtime at kube-apiserver.
type Clash struct {
	AtNs    int64
	Request int // that takes part in it, -1 for none
}

// Run returns what apfsim makes of a trial, and the clashes in it.
func Run(t *trial.Trial) (trial.Result, []Clash) {
	s := &server{
		trial:     t,
		estimator: estimate.NewEstimator(rules.Latest(), estimate.Store{}),
		requests:  make([]request, len(t.Requests)),
		hangUps:   t.HangUpsNs(),
		open:      len(t.Requests) + len(t.Changes) + len(t.SamplesNs),
		lastNs:    -1,
	}
	s.result.Decisions = make([]trial.Decision, len(t.Requests))
	s.result.Rejections = map[string]int{}
	for _, r := range t.Resources {
		s.estimator.Store[estimate.Resource{Group: r.Group, Name: r.Resource}] = estimate.Stats{Objects: r.Objects, AverageBytes: r.AverageBytes}
	}
	s.control = flowcontrol.New(0, rules.Latest(), t.MaxRequestsInflight+t.MaxMutatingRequestsInflight, t.Objects.Objects, s)
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
		s.control.Release(now, &s.requests[e.n].Request)
	case watchEnd:
		if r := &s.requests[e.n]; r.work != nil {
			r.work.WatchEnds()
		}
		s.open--
	case timeOut:
		r := &s.requests[e.n]
		r.timeOut = 0
		s.endWait(r)
		s.result.Decisions[e.n].RetryAfterSeconds = s.control.TimeOut(now, &r.Request)
		s.reject(now, r, queueset.TimedOut)
	case hangUp:
		r := &s.requests[e.n]
		r.hangUp = 0
		s.endWait(r)
		s.result.Decisions[e.n].RetryAfterSeconds = s.control.Cancel(now, &r.Request)
		s.reject(now, r, queueset.TimedOut)
	case adjust:
		s.control.Adjust(now)
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
		s.control.Configure(now, step.After)
		s.control.Configure(now, step.After)
	}
}

func (s *server) arrive(now int64, n int) {
	record, r, d := &s.trial.Requests[n], &s.requests[n], &s.result.Decisions[n]
	r.index, r.Owner, d.DispatchNs = n, r, -1
	r.attributes = record.Attributes()
	if r.attributes.PassesBy() {
		s.dispatch(now, r)
		return
	}
	work, err := s.estimator.NewRequest(&r.attributes, record.Query)
	if err != nil {
		panic("ours: a trial with a query that is none: " + err.Error())
	}
	r.work = work
	r.route = s.control.Route(&r.attributes)
	r.Work = work.Estimate(r.route.Level.SeatCap())
	d.FlowSchema, d.PriorityLevel = r.route.Schema.Name, r.route.Level.Name()
	d.Seats, d.FinalSeats, d.AdditionalNs = r.Work.InitialSeats, r.Work.FinalSeats, r.Work.AdditionalLatencyNs
	r.inside = true
	s.inside = append(s.inside, n)
	rejection, retryAfterSeconds := s.control.Arrive(now, &r.Request, &r.route)
	if rejection != queueset.NotRejected {
		d.RetryAfterSeconds = retryAfterSeconds
		s.reject(now, r, rejection)
	} else if r.Waiting() {
		r.timeOut = s.events.Schedule(now+s.waitLimitNs(r), uint8(timeOut), event{timeOut, n})
		if s.hangUps[n] > 0 {
			r.hangUp = s.events.Schedule(now+s.hangUps[n], uint8(hangUp), event{hangUp, n})
		}
	}
}

func (s *server) reject(now int64, r *request, why queueset.Rejection) {
	d := &s.result.Decisions[r.index]
	d.Rejected, d.EndNs = true, now
	s.result.Rejections[d.PriorityLevel+"/"+d.FlowSchema+"/"+why.String()]++
	s.leave(r)
}

// waitLimitNs returns for how long a request may wait: a quarter of the time until its
// deadline, a minute at most.
func (s *server) waitLimitNs(r *request) int64 {
	timeoutNs := s.trial.RequestTimeoutNs
	record := &s.trial.Requests[r.index]
	if query, err := url.ParseQuery(record.Query); err == nil && record.Verb != "watch" {
		if asked, err := time.ParseDuration(query.Get("timeout")); err == nil && asked > 0 {
			timeoutNs = min(timeoutNs, int64(asked))
		}
	}
	return min(rules.Latest().MaxWaitNs, timeoutNs/4)
}

// Dispatched implements queueset.Host.
func (s *server) Dispatched(q *queueset.Request) { s.dispatch(s.events.NowNs(), q.Owner.(*request)) }

func (s *server) dispatch(now int64, r *request) {
	s.endWait(r)
	record := &s.trial.Requests[r.index]
	s.result.Decisions[r.index].DispatchNs = now
	if record.Verb == "watch" && r.work != nil {
		r.work.WatchStarts()
	}
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
	if r.work != nil {
		if lingerNs := s.control.Finish(now, &r.Request); lingerNs > 0 {
			s.at(now+lingerNs, event{release, n})
		}
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
	for i, l := range s.control.Levels() {
		place[l.Name()] = i
		snapshot.Levels = append(snapshot.Levels, s.level(l))
	}
	s.showRequests(&snapshot, place)
	return snapshot
}
