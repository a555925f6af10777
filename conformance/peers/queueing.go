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
// It calls loop.dispatched for each request that starts, within arrive or finish.
type queueing interface {
	// arrive says whether the request in a slot is admitted, which is a client's.
	arrive(nowNs int64, slot, client int32) (admitted bool)
	finish(nowNs int64, slot int32)
}

// loop is the bare loop with a level in it.
type loop struct {
	clients []client
	agenda  agenda
	nowNs   int64
	slots   []slot
	free    []int32
	waitNs  int64 // of all that were dispatched
	m       measurement
}

// slot holds a request from its arrival until it has left.
type slot struct {
	arrivalNs, serviceNs int64
}

func (l *loop) dispatched(slot int32) {
	s := &l.slots[slot]
	l.m.Waiting--
	l.m.Executing++
	l.waitNs += l.nowNs - s.arrivalNs
	l.agenda.push(l.nowNs+s.serviceNs, finish, slot)
}

// run ends with the arrival of the last of so many requests.
func (l *loop) run(requests int, level queueing) measurement {
	for i := range l.clients {
		l.agenda.push(l.clients[i].gap(), arrival, int32(i))
	}
	for l.m.Arrived < requests {
		e := l.agenda.pop()
		l.nowNs = e.atNs
		switch e.kind {
		case arrival:
			l.m.Arrived++
			c := &l.clients[e.index]
			l.agenda.push(e.atNs+c.gap(), arrival, e.index)
			var at int32
			if n := len(l.free); n > 0 {
				at, l.free = l.free[n-1], l.free[:n-1]
			} else {
				at = int32(len(l.slots))
				l.slots = append(l.slots, slot{})
			}
			l.slots[at] = slot{e.atNs, c.service()}
			l.m.Waiting++ // until dispatched says otherwise
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

// level is apfsim's queue set.
type level struct {
	loop     *loop
	set      *queueset.QueueSet
	hands    []queueset.Hand // by client: as a server deals them, once for a flow
	requests []*levelRequest // by slot
}

type levelRequest struct {
	queueset.Request
	slot int32
}

func runQueueSet(of load, requests int) measurement {
	v := &level{loop: &loop{clients: newClients(of)}}
	v.set = queueset.New(0, rules.Latest(), of.queuing, of.seats, v)
	for i := range v.loop.clients {
		v.hands = append(v.hands, v.set.Hand(v.loop.clients[i].hash))
	}
	return v.loop.run(requests, v)
}

// Dispatched implements queueset.Host.
func (v *level) Dispatched(r *queueset.Request) { v.loop.dispatched(r.Owner.(*levelRequest).slot) }

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

// upstreamLevel is a queue set of k8s.io/apiserver. It needs no goroutine: the set says by
// the note function of a request, before StartRequest or another request's Finish returns,
// that it has dispatched it, and Finish is called when the service is over, when it has
// nothing to wait for any more.
type upstreamLevel struct {
	loop     *loop
	set      fq.QueueSet
	requests []fq.Request     // by slot
	notes    []fq.QueueNoteFn // by slot
}

var oneSeat = fqrequest.WorkEstimate{InitialSeats: 1}

// runUpstream gives the set what kube-apiserver's controller gives a level's
// (newPriorityLevelState in apf_controller.go), its metrics among it.
func runUpstream(of load, requests int) measurement {
	const name = "level"
	metrics.Register()
	u := &upstreamLevel{loop: &loop{clients: newClients(of)}}
	factory := upstream.NewQueueSetFactory(loopClock{u.loop})
	labels := []string{name}
	completer, err := factory.BeginConstruction(fq.QueuingConfig{
		Name:             name,
		DesiredNumQueues: of.queuing.Queues,
		HandSize:         of.queuing.HandSize,
		QueueLengthLimit: of.queuing.QueueLengthLimit,
	},
		metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, labels),
		metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, labels),
		fq.NewNamedIntegrator(loopClock{u.loop}, name))
	if err != nil {
		panic("peers: upstream refuses the level: " + err.Error())
	}
	u.set = completer.Complete(fq.DispatchingConfig{ConcurrencyLimit: of.seats, ConcurrencyDenominator: of.seats})
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

// loopClock is the loop's time as upstream wants it.
type loopClock struct{ *loop }

var _ eventclock.Interface = loopClock{}

func (c loopClock) Now() time.Time                  { return time.Unix(0, c.nowNs) }
func (c loopClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c loopClock) Sleep(time.Duration)             { panic("peers: upstream sleeps") }

// Only requests of final seats want events, and there are none.
func (c loopClock) EventAfterDuration(eventclock.EventFunc, time.Duration) {
	panic("peers: upstream wants an event")
}
func (c loopClock) EventAfterTime(eventclock.EventFunc, time.Time) {
	panic("peers: upstream wants an event")
}
