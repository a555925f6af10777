package server

import (
	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/sim/clock"
)

// RunState holds what all servers of a run have in common: the events, the observers, and the
// identities of flows, templates and requests, which are the same whichever server a request goes
// to.
type RunState struct {
	Events      Events
	servers     []*Server // by index
	observers   observers
	flows       map[flowKey]*Flow
	templates   TemplateID // made by NewTemplate
	replaceable TemplateID // the lowest ID of a replaceable template
	arrivals    int64      // at all servers
	objects     objects
	free        []*Request
	all         []*Request // that there ever were, each once
	calls       Calls      // nil where servers call nobody
	handlers    *Handlers  // nil where there is no store
	alarms      [2]*clock.Alarms

	options Options
}

// Options say what the requests of a run have, and what servers do with them.
type Options struct {
	// NeedsDetails says that requests have Details. They need them where there is a store, a capacity, a memory, a handover or
	// calls, where servers may end, and where clients behave, give up or have a part of the execution that shares nothing.
	NeedsDetails bool

	// NoDeadlines says that executions without Details go on after their deadlines, as in a server that has flow control
	// alone, and not the filter for timeouts that ends them.
	NoDeadlines bool
}

type flowKey struct {
	schema        *config.FlowSchema
	level         *config.PriorityLevelSpec
	distinguisher string
}

// NewRunState returns what the servers of a run share at time 0.
func NewRunState(o Options) *RunState {
	s := &RunState{flows: map[flowKey]*Flow{}, objects: objects{}, options: o}
	for i, kind := range [...]Kind{StoreAlarm, ClientAlarm} {
		s.alarms[i] = clock.NewAlarms(func(atNs int64, slot int32) clock.Handle {
			return s.Events.Schedule(atNs, uint8(kind), Event{Kind: kind, Owner: int16(i), Index: slot})
		}, s.Events.Cancel)
	}
	return s
}

// StoreAlarms are the alarms of what stores and serves objects, and ClientAlarms those of clients.
func (s *RunState) StoreAlarms() *clock.Alarms { return s.alarms[0] }

// ClientAlarms are the alarms of clients, see StoreAlarms.
func (s *RunState) ClientAlarms() *clock.Alarms { return s.alarms[1] }

// Alarm carries out an event of the kind StoreAlarm or ClientAlarm.
func (s *RunState) Alarm(nowNs int64, e Event) { s.alarms[e.Owner].Ring(nowNs, e.Index) }

// Observe attaches an observer to all servers. One that is attached after the first event does not know what has happened
// before.
func (s *RunState) Observe(o Observer) {
	if o.Tick != nil {
		s.Events.Schedule(0, uint8(Sample), Event{Kind: Sample, Index: int32(len(s.observers.ticks))})
	}
	s.observers.attach(o)
}

// Sample carries out the event of that kind.
func (s *RunState) Sample(nowNs int64, e Event) {
	if nextNs := s.observers.ticks[e.Index](nowNs, s.servers); nextNs > nowNs {
		s.Events.Schedule(nextNs, uint8(Sample), e)
	}
}

// End is called when the run is over: it makes the last ticks.
func (s *RunState) End(nowNs int64) {
	for _, tick := range s.observers.ticks {
		tick(nowNs, s.servers)
	}
}

// NewTemplate returns a template for any number of requests. The servers remember for the rest of
// the run what they find out about it.
func (s *RunState) NewTemplate(workload, client int, a classify.Attributes, query string) *Template {
	s.templates++
	return &Template{Workload: workload, Client: client, TemplateID: s.templates, Attributes: a, Query: query}
}

// ReplaceTemplate is NewTemplate where there is no bound to the number of templates. What the servers
// remember of old is forgotten: old is what the method returned before for the same purpose, or nil.
// Requests of old that have been sent are not affected, and a retry can still be.
func (s *RunState) ReplaceTemplate(old *Template, workload, client int, a classify.Attributes, query string) *Template {
	t := &Template{Workload: workload, Client: client, Attributes: a, Query: query}
	if old != nil {
		t.TemplateID = old.TemplateID
	} else {
		s.replaceable--
		t.TemplateID = s.replaceable
	}
	return t
}

// flow returns the flow of a route, the same for the same one at all servers.
func (s *RunState) flow(route *flowcontrol.Route) *Flow {
	key := flowKey{route.Schema, route.Level.Spec(), route.Distinguisher}
	f := s.flows[key]
	if f == nil {
		f = NewFlow(len(s.flows), route.Schema, route.Level.Name(), route.Distinguisher, route.Hand.Queues())
		s.flows[key] = f
	}
	return f
}
