package main

import (
	"context"
	"time"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	upstream "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	fqrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"

	"apfsim/core/estimate"
	"apfsim/core/queueset"
	"apfsim/core/rules"
)

// queueing is a priority level between the arrivals and the services of the bare loop.
// During arrive and finish, it calls loop.dispatched for each request that it dispatches.
type queueing interface {
	// arrive handles the arrival of a client's request, which is in a slot. It reports whether
	// the request is queued or dispatched, and not rejected.
	arrive(nowNs int64, slot, client int32) (admitted bool)
	// finish handles the end of the service of the request in a slot.
	finish(nowNs int64, slot int32)
}

// loop is the bare loop with a priority level.
type loop struct {
	clients []client
	events  eventHeap
	nowNs   int64
	slots   []slot
	free    []int32 // slots without a request
	waitNs  int64   // sum over the dispatched requests
	m       measurement
}

// slot holds a request from its arrival until it is finished or rejected.
type slot struct {
	arrivalNs, serviceNs int64
}

// dispatched begins the service of the request in a slot.
func (l *loop) dispatched(slot int32) {
	s := &l.slots[slot]
	l.m.Waiting--
	l.m.Executing++
	l.waitNs += l.nowNs - s.arrivalNs
	l.events.push(l.nowNs+s.serviceNs, finish, slot)
}

// run simulates until the last of the given number of requests arrives.
func (l *loop) run(requests int, level queueing) measurement {
	for i := range l.clients {
		l.events.push(l.clients[i].gap(), arrival, int32(i))
	}
	for l.m.Arrived < requests {
		e := l.events.pop()
		l.nowNs = e.atNs
		switch e.kind {
		case arrival:
			l.m.Arrived++
			c := &l.clients[e.index]
			l.events.push(e.atNs+c.gap(), arrival, e.index)
			var at int32
			if n := len(l.free); n > 0 {
				at, l.free = l.free[n-1], l.free[:n-1]
			} else {
				at = int32(len(l.slots))
				l.slots = append(l.slots, slot{})
			}
			l.slots[at] = slot{e.atNs, c.service()}
			l.m.Waiting++ // dispatched, or the rejection below, decreases it again
			if !level.arrive(e.atNs, at, e.index) {
				l.m.Waiting--
				l.m.Rejected++
				l.free = append(l.free, at)
			}
		case finish:
			l.m.Executing--
			l.m.Completed++
			level.finish(e.atNs, e.index)
			l.free = append(l.free, e.index)
		}
	}
	l.m.SimulatedNs = l.nowNs
	l.m.MeanWaitNs = float64(l.waitNs) / float64(l.m.Completed+l.m.Executing)
	return l.m
}

// level is a priority level with apfsim's queue set.
type level struct {
	loop     *loop
	set      *queueset.QueueSet
	hands    []queueset.Hand // by client; dealt once for each flow, as in apfsim's server
	requests []*levelRequest // by slot
}

type levelRequest struct {
	queueset.Request
	slot int32
}

func runQueueSet(l load, requests int) measurement {
	v := &level{loop: &loop{clients: newClients(l)}}
	v.set = queueset.New(0, rules.Default(), l.queuing, l.seats, v)
	for i := range v.loop.clients {
		v.hands = append(v.hands, v.set.Hand(v.loop.clients[i].hash))
	}
	return v.loop.run(requests, v)
}

// Dispatched implements queueset.Host.
func (v *level) Dispatched(r *queueset.Request) { v.loop.dispatched(r.Owner.(*levelRequest).slot) }

// HeldBack implements queueset.Host.
func (v *level) HeldBack(*queueset.Request) {}

// TimedOut implements queueset.Host. No request has an OverdueNs.
func (v *level) TimedOut(int64, *queueset.Request) {}

func (v *level) arrive(nowNs int64, slot, client int32) bool {
	if int(slot) == len(v.requests) {
		r := &levelRequest{slot: slot}
		r.Owner = r
		v.requests = append(v.requests, r)
	}
	r := v.requests[slot]
	r.Work = estimate.Work{InitialSeats: 1}
	return v.set.Arrive(nowNs, &r.Request, &v.hands[client]) == queueset.NotRejected
}

func (v *level) finish(nowNs int64, slot int32) { v.set.Finish(nowNs, &v.requests[slot].Request) }

// upstreamLevel is a priority level with the queue set of k8s.io/apiserver. It needs no goroutine
// for a request: the set calls the note function of a request when it dispatches it, which is
// during StartRequest or during Finish of another request. Finish is called after the dispatch,
// so that it does not block.
type upstreamLevel struct {
	loop     *loop
	set      fq.QueueSet
	requests []fq.Request     // by slot
	notes    []fq.QueueNoteFn // by slot
}

var oneSeat = fqrequest.WorkEstimate{InitialSeats: 1}

// runUpstream constructs the set as kube-apiserver's controller does for a level
// (newPriorityLevelState in apf_controller.go), including its metrics.
func runUpstream(l load, requests int) measurement {
	const name = "level"
	metrics.Register()
	u := &upstreamLevel{loop: &loop{clients: newClients(l)}}
	factory := upstream.NewQueueSetFactory(loopClock{u.loop})
	labels := []string{name}
	completer, err := factory.BeginConstruction(fq.QueuingConfig{
		Name:             name,
		DesiredNumQueues: l.queuing.Queues,
		HandSize:         l.queuing.HandSize,
		QueueLengthLimit: l.queuing.QueueLengthLimit,
	},
		metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, labels),
		metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, labels),
		fq.NewNamedIntegrator(loopClock{u.loop}, name))
	if err != nil {
		panic("peers: upstream refuses the configuration of the level: " + err.Error())
	}
	u.set = completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: l.seats, ConcurrencyDenominator: l.seats})
	return u.loop.run(requests, u)
}

func (u *upstreamLevel) arrive(_ int64, slot, client int32) bool {
	if int(slot) == len(u.requests) {
		u.requests = append(u.requests, nil)
		u.notes = append(u.notes, func(inQueue bool) {
			if !inQueue {
				u.loop.dispatched(slot)
			}
		})
	}
	r, _ := u.set.StartRequest(context.Background(), &oneSeat, u.loop.clients[client].hash, "", "all", nil, nil, u.notes[slot])
	u.requests[slot] = r
	return r != nil
}

func (u *upstreamLevel) finish(_ int64, slot int32) {
	u.requests[slot].Finish(served)
	u.requests[slot] = nil
}

func served() {}

// loopClock is the time of the loop, as the clock of upstream.
type loopClock struct{ *loop }

var _ eventclock.Interface = loopClock{}

func (c loopClock) Now() time.Time                  { return time.Unix(0, c.nowNs) }
func (c loopClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c loopClock) Sleep(time.Duration)             { panic("peers: upstream called Sleep") }

// EventAfterDuration and EventAfterTime are needed only for requests with final seats, and the
// regimes of this loop have none.
func (c loopClock) EventAfterDuration(eventclock.EventFunc, time.Duration) {
	panic("peers: upstream called EventAfterDuration")
}
func (c loopClock) EventAfterTime(eventclock.EventFunc, time.Time) {
	panic("peers: upstream called EventAfterTime")
}
