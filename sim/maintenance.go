package sim

import (
	"apfsim/core/config"
	"apfsim/core/maintain"
	"apfsim/sim/clock"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Operator is the Server of a Write that an event of the scenario made.
const Operator = -1

// Write is a write to the stored objects during a run.
type Write struct {
	AtNs   int64
	Server int // its index, or Operator
	maintain.Write
}

// maintenance stores the flow-control objects of a run, and lets its servers maintain them, as
// package core/maintain says: each server makes a pass when it starts and then each minute, and an
// operator's writes, which are events of the scenario, may be undone.
//
// All servers see a write at the instant in which it is made. At real servers that takes some
// milliseconds, in which one of them can decide by the objects before it. A pass is one instant, too: the
// servers read the objects once after all its writes.
type maintenance struct {
	spec     *scenario.Spec
	runState *server.RunState
	servers  []*server.Server
	store    *maintain.Store
	releases map[string]*maintain.Release // by version
	upkeep   []objectUpkeep               // of the servers
	writes   []Write
}

// objectUpkeep is the schedule by which one server maintains the stored objects.
type objectUpkeep struct {
	schedule maintain.Schedule
	next     clock.Handle // its next pass; 0 without one
}

// storedObjects are the flow-control objects of a run, where its servers maintain them.
type storedObjects struct {
	*maintain.Store
}

// newStoredObjects returns the objects of a scenario, as servers leave them that have run before.
func newStoredObjects(sc *scenario.Scenario) storedObjects {
	first, err := sc.Spec.Servers.Rules()
	if err != nil {
		panic("sim: a scenario that is not valid: " + err.Error())
	}
	store := maintain.Of(maintain.For(first), sc.Objects)
	store.Do(store.Conditions()...)
	return storedObjects{store}
}

// read returns the objects that a server reads. Mandatory ones that are missing it has all the same.
func (o storedObjects) read(s *server.Server) config.Objects {
	return config.Complete(s.Rules(), o.Objects())
}

// newMaintenance schedules what is known at the beginning of a run of the maintenance of its objects.
func newMaintenance(spec *scenario.Spec, runState *server.RunState, objects storedObjects, servers []*server.Server) *maintenance {
	m := &maintenance{spec: spec, runState: runState, store: objects.Store, releases: map[string]*maintain.Release{}, servers: servers, upkeep: make([]objectUpkeep, len(servers))}
	for i := range servers {
		m.upkeep[i].schedule = maintain.Running()
		m.passAt(i, m.spec.Servers.MaintenancePhaseNs(i))
	}
	for i, e := range m.spec.Events {
		if e.Apply != nil {
			m.runState.Events.Schedule(int64(e.At), uint8(server.Reconfigure), server.Event{Kind: server.Maintain, Owner: Operator, Index: int32(i)})
		}
	}
	m.runState.Observe(server.Observer{Changed: m.changed})
	return m
}

// passAt schedules the next pass of a server, in place of another one.
func (m *maintenance) passAt(i int, atNs int64) {
	m.cancel(i)
	m.upkeep[i].next = m.runState.Events.Schedule(atNs, uint8(server.Maintain), server.Event{Kind: server.Maintain, Owner: int16(i)})
}

func (m *maintenance) cancel(i int) {
	if next := &m.upkeep[i].next; *next != 0 {
		m.runState.Events.Cancel(*next)
		*next = 0
	}
}

// changed implements server.Observer: a server that starts makes its first pass as soon as it has read
// the objects.
func (m *maintenance) changed(nowNs int64, s *server.Server) {
	switch s.Stage() {
	case server.Starting:
		readNs := nowNs + int64(m.spec.Servers.Startup.Objects)
		m.upkeep[s.Index()].schedule = m.release(s).Start(readNs)
		m.passAt(s.Index(), readNs)
	case server.Off:
		m.cancel(s.Index())
	}
}

// release returns what servers of the release of a server do.
func (m *maintenance) release(s *server.Server) *maintain.Release {
	r := s.Rules()
	if m.releases[r.Version] == nil {
		m.releases[r.Version] = maintain.For(r)
	}
	return m.releases[r.Version]
}

// handle carries out an event of the kind Maintain.
func (m *maintenance) handle(nowNs int64, e server.Event) {
	if e.Owner == Operator {
		m.operate(nowNs, &m.spec.Events[e.Index])
		return
	}
	i := int(e.Owner)
	l := &m.upkeep[i]
	l.next = 0
	if !m.servers[i].Controls() {
		return
	}
	m.write(nowNs, i, m.release(m.servers[i]).Pass(m.store, l.schedule.Starting()))
	nextNs, _ := l.schedule.Next(nowNs, true) // nothing makes a write fail
	m.passAt(i, nextNs)
}

// operate makes the writes of an event.
func (m *maintenance) operate(nowNs int64, e *scenario.Event) {
	writes := m.store.Apply(e.Written)
	for _, o := range e.Apply.Remove {
		kind := maintain.FlowSchema
		if o.Kind == maintain.PriorityLevel.String() {
			kind = maintain.PriorityLevel
		}
		if w, ok := m.store.Remove(kind, o.Name); ok {
			writes = append(writes, w)
		}
	}
	m.write(nowNs, Operator, writes)
}

// write makes writes, and lets all servers read the objects if something has changed that flow control
// depends on. One of the servers then writes the conditions of the FlowSchemas, if they are other ones.
func (m *maintenance) write(nowNs int64, by int, writes []maintain.Write) {
	changed := false
	for _, w := range writes {
		m.store.Do(w)
		m.writes = append(m.writes, Write{nowNs, by, w})
		changed = changed || w.ChangesSpec()
	}
	if !changed {
		return
	}
	for _, s := range m.servers {
		if !s.Controls() {
			continue
		}
		s.ReloadConfig(nowNs)
		for _, w := range m.store.Conditions() {
			m.store.Do(w)
			m.writes = append(m.writes, Write{nowNs, s.Index(), w})
		}
	}
}
