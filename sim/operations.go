package sim

import (
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// operations carries out what the events of a scenario do to servers: it stops, starts, crashes
// and loses them, changes their speed, and restarts them one after another.
type operations struct {
	events   *server.Events
	changes  []scenario.Event
	servers  []*server.Server
	rollouts []*rollout // the first of them is under way, the others wait for its end
}

// ofNoServer is server.Event.Owner of the events of operations, which are of the kind server.Lifecycle.
const ofNoServer = -1

// advance is server.Event.Index of an event that is not one of the scenario: the rollout goes on.
const advance = -1

// newOperations schedules what the events of a scenario do to servers.
func newOperations(sc *scenario.Scenario, runState *server.RunState, servers []*server.Server) *operations {
	o := &operations{events: &runState.Events, changes: sc.Spec.Events, servers: servers}
	for i := range o.changes {
		e := &o.changes[i]
		if !e.ServerChange.IsSet() {
			continue
		}
		o.schedule(int64(e.At), int32(i))
	}
	runState.Observe(server.Observer{Changed: o.changed})
	return o
}

func (o *operations) schedule(atNs int64, index int32) {
	o.events.Schedule(atNs, uint8(server.Lifecycle), server.Event{Kind: server.Lifecycle, Owner: ofNoServer, Index: index})
}

// handle carries out an event that is of no server.
func (o *operations) handle(nowNs int64, e server.Event) {
	if e.Index == advance {
		o.advance(nowNs)
		return
	}
	switch c := &o.changes[e.Index].ServerChange; {
	case c.Rollout != nil:
		o.rollouts = append(o.rollouts, &rollout{Rollout: c.Rollout})
		o.advance(nowNs)
	case c.Stop != nil:
		o.servers[c.Stop.Server].Stop(nowNs)
	case c.Start != nil:
		o.servers[c.Start.Server].Start(nowNs, server.Version(c.Start.KubernetesVersion))
	case c.Crash != nil:
		o.servers[c.Crash.Server].Crash(nowNs)
	case c.Lose != nil:
		o.servers[c.Lose.Server].Lose(nowNs)
	case c.Speed != nil && c.Speed.Server != nil:
		o.servers[*c.Speed.Server].SetSpeed(nowNs, c.Speed.Factor)
	case c.Speed != nil:
		for _, s := range o.servers {
			s.SetSpeed(nowNs, c.Speed.Factor)
		}
	}
}

// changed is called when a server has entered another stage. The rollout continues by an event of its own, because the
// present event is not over.
func (o *operations) changed(nowNs int64, s *server.Server) {
	if len(o.rollouts) > 0 && o.rollouts[0].server == s.Index() {
		o.schedule(nowNs, advance)
	}
}

// rollout is the progress of a rollout.
type rollout struct {
	*scenario.Rollout
	server int   // that is being restarted
	step   step  // of its restart
	nextNs int64 // when the next server may be told to stop
}

// step is the progress of one server's restart.
type step uint8

const (
	toStop  step = iota
	toStart      // as soon as its process has ended
	toBeReady
	toPass // it is ready, and the interval has not passed
)

// advance takes the steps of the rollouts that nothing holds back any longer.
func (o *operations) advance(nowNs int64) {
	for len(o.rollouts) > 0 {
		r := o.rollouts[0]
		if r.server == len(o.servers) {
			o.rollouts = o.rollouts[1:]
			continue
		}
		s := o.servers[r.server]
		switch {
		case r.step == toStop:
			r.step, r.nextNs = toStart, nowNs+int64(r.Interval)
			if s.Stage() <= server.Ready { // else it stops already
				s.Stop(nowNs)
			}
		case r.step == toStart && s.Stage() == server.Off:
			r.step = toBeReady
			s.Start(nowNs, server.Version(r.KubernetesVersion))
		case r.step == toBeReady && s.Stage() == server.Ready && nowNs < r.nextNs:
			o.schedule(r.nextNs, advance)
			r.step = toPass
			return
		case r.step == toBeReady && s.Stage() == server.Ready, r.step == toPass && nowNs >= r.nextNs:
			r.server, r.step = r.server+1, toStop
		default:
			return
		}
	}
}
