package server

import (
	"math"

	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/filter"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
	"apfsim/sim/store"
)

// Start starts a new process of a server that is Off, with another release if version is not "". The
// server listens at once. It has neither queues nor demands nor watches nor a history of drops, and only
// the mandatory objects of flow control until it has read the others.
func (s *Server) Start(nowNs int64, version Version) {
	if s.stage != Off {
		return
	}
	s.drop(restart)
	if version != "" {
		s.setVersion(version)
	}
	l := &s.process
	l.startNs, l.silent = nowNs, false
	s.stage, s.memory.killed = Starting, false
	s.newFilter(nowNs)
	s.enter(nowNs, Starting)
	if s.limits() {
		s.transit(nowNs+int64(l.startup.Objects), readObjects)
	}
	cachesNs := int64(l.startup.Caches)
	if h := s.runState.handlers; h != nil {
		cachesNs = max(cachesNs, h.started(nowNs, s))
	}
	l.cachesNs = nowNs + cachesNs
	readyNs := nowNs + int64(max(l.startup.Duration, l.startup.Objects))
	if s.rules.Server.CachesBeforeReady {
		// A hook waits for the caches, though not forever.
		readyNs = max(readyNs, min(l.cachesNs, nowNs+cachesLimitNs))
	}
	s.transit(readyNs, becomeReady)
}

// cachesLimitNs is how long the hook storage-readiness waits for the watch caches
// (--storage-initialization-timeout).
const cachesLimitNs = 60_000_000_000

// limits says whether the server has objects of flow control and limits that are adjusted.
func (s *Server) limits() bool {
	return s.deps.Settings.FlowControl == PriorityAndFairness
}

// setVersion gives the server a release.
func (s *Server) setVersion(version Version) {
	release, err := s.deps.Settings.RulesFor(version)
	if err != nil {
		panic("server: a scenario that is not valid: " + err.Error())
	}
	s.rules, s.process.version = release, version
	s.process.plan = planOf(&s.deps.Process.Shutdown, release)
}

// settings returns those of the flow control of a process that holds some objects.
func (s *Server) settings(held config.Objects) filter.Settings {
	settings := s.deps.Settings.FilterSettings(s.rules, held, Stored(s.deps.Resources))
	settings.Adjusted = s.noteAdjusted
	if s.deps.Store != nil {
		settings.Store = nil // the registry counts what is stored
	}
	return settings
}

// modes are the modes of flow control by their names in a scenario.
var modes = map[string]filter.Mode{
	PriorityAndFairness: filter.PriorityAndFairness,
	MaxInFlight:         filter.MaxInFlight,
	NoFlowControl:       filter.NoLimits,
}

// Stored returns what is stored at the start, as the estimate of lists knows it.
func Stored(resources []store.Count) estimate.Store {
	all := estimate.Store{}
	for _, c := range resources {
		all[c.Resource] = estimate.Stats{Objects: c.Objects, AverageBytes: c.AverageBytes}
	}
	return all
}

// FilterSettings returns the settings of the flow control of a server that decides by some rules, holds some objects and
// has stored others.
func (s *Settings) FilterSettings(r *rules.Rules, held config.Objects, stored estimate.Store) filter.Settings {
	return filter.Settings{
		Rules:                       r,
		Mode:                        modes[s.FlowControl],
		MaxRequestsInFlight:         s.MaxRequestsInflight,
		MaxMutatingRequestsInFlight: s.MaxMutatingRequestsInflight,
		RequestTimeoutNs:            int64(s.RequestTimeout),
		Objects:                     held,
		Store:                       estimate.Known(stored),
	}
}

// control lets the controllers run: they digest the objects that they have read, and adjust the limits now and
// periodically from now on (apf_controller.go, Run), whatever the phase of servers that were there before the run.
func (s *Server) control(nowNs int64) {
	l := &s.process
	l.controls, l.readNs = true, nowNs
	s.phaseNs = nowNs
	s.filter.Configure(nowNs, s.runState.objects.current(s))
	s.adjustAt(nowNs)
}

// adjustAt schedules the next periodic adjustment.
func (s *Server) adjustAt(atNs int64) {
	s.process.adjust = s.events.Schedule(atNs, uint8(Adjust), Event{Kind: Adjust, Owner: s.index})
}

// adjustPeriodically carries out an event of the kind Adjust. The adjustment when the controllers begin
// follows that of the first configuration at once. At a real server, some time passes between them. A
// period of length 0 would make the demand NaN in some releases (rules.Rules.DemandNaN), so that there
// it only notifies the observers.
func (s *Server) adjustPeriodically(nowNs int64) {
	s.adjusting = true
	if nowNs == s.process.readNs && s.rules.DemandNaN {
		s.noteAdjusted(nowNs)
	} else {
		s.filter.Adjust(nowNs)
	}
	s.adjusting = false
	if nowNs < s.phaseNs { // the adjustment when the controllers began
		s.adjustAt(s.phaseNs)
	} else {
		s.adjustAt(nowNs + flowcontrol.AdjustmentPeriodNs)
	}
}

// AdjustsPeriodically says, to an observer that is notified of Adjusted, whether a periodic adjustment is the reason.
func (s *Server) AdjustsPeriodically() bool { return s.adjusting }

// reconfigure carries out an event of the kind Reconfigure: the objects have changed, which only a
// server notices of which the controllers run.
func (s *Server) reconfigure(nowNs int64, event int) {
	s.process.latest = event
	if s.process.controls {
		s.filter.Configure(nowNs, s.runState.objects.current(s))
	}
}

// freeze ends the controllers: the limits stay as they are.
func (s *Server) freeze() {
	s.process.controls = false
	s.unschedule(&s.process.adjust)
	s.drop(readObjects)
	if other, ok := s.filter.(OtherFlowControl); ok {
		other.Freeze()
	}
}

// objects are the flow-control objects of a run as servers of its releases hold them. Servers of one
// release hold the same ones, by which flows are recognized.
type objects map[heldBy]config.Objects

// heldBy identifies a configuration at servers of a release.
type heldBy struct {
	version   Version
	event     int  // that has put it into force; -1 for that of the start
	mandatory bool // only the objects that the server has without reading any
}

// current returns the objects that the server holds when it has read them.
func (o objects) current(s *Server) config.Objects {
	if stored := s.deps.Stored; stored != nil {
		return stored(s)
	}
	key := heldBy{s.process.version, s.process.latest, false}
	held, ok := o[key]
	if !ok {
		written := s.deps.Objects
		if key.event >= 0 {
			written = s.deps.Changes[key.event].Objects
		}
		held = written
		if first := s.deps.Settings.KubernetesVersion.At(0); key.version != first { // for which the loader has done it
			held = hold(s.rules, written)
		}
		o[key] = held
	}
	return held
}

// mandatory returns the objects that the server has before it has read any.
func (o objects) mandatory(s *Server) config.Objects {
	key := heldBy{s.process.version, s.process.latest, true}
	held, ok := o[key]
	if !ok {
		held = keep(o.current(s), config.Mandatory(s.rules))
		o[key] = held
	}
	return held
}

// hold returns written objects as a server of a release holds them. What it refuses is left out, and the
// mandatory level catch-all is put right.
func hold(r *rules.Rules, written config.Objects) config.Objects {
	held, _, _ := written.In(r)
	held = config.Complete(r, held)
	required := config.Mandatory(r).PriorityLevel(config.CatchAll)
	return keep(written, config.Merge(held, config.Objects{PriorityLevels: []*config.PriorityLevel{required}}))
}

// keep returns objects, with those of before in the place of equal ones.
func keep(before, objects config.Objects) config.Objects {
	for i, o := range objects.FlowSchemas {
		if b := before.FlowSchema(o.Name); b != nil && len(config.Differences(b.Spec, o.Spec)) == 0 {
			objects.FlowSchemas[i] = b
		}
	}
	for i, o := range objects.PriorityLevels {
		if b := before.PriorityLevel(o.Name); b != nil && len(config.Differences(b.Spec, o.Spec)) == 0 {
			objects.PriorityLevels[i] = b
		}
	}
	return objects
}

// cacheDown says whether the watch caches of the server are not complete yet.
func (s *Server) cacheDown(nowNs int64) bool { return nowNs < s.process.cachesNs }

// watchWithoutCache begins the execution of a watch while the watch caches are not complete. From 1.31
// on it ends at once, and the client is told to come back later; flow control counts it as executed. Up
// to 1.30 it waits for the caches, with its seats.
func (s *Server) watchWithoutCache(nowNs int64, r *Request) {
	finishNs := s.process.cachesNs + r.ExecutionNs
	if s.rules.Storage.RefuseWithoutCache {
		finishNs = nowNs
		r.RetryAfterSeconds = cacheRetryAfterSeconds(nowNs - s.process.startNs)
	}
	r.Details.step = inDelay
	r.next = s.events.Schedule(finishNs, uint8(Finish), Event{Kind: Finish, Owner: s.index, Request: r})
}

// cacheRetryAfterSeconds returns after how many seconds a client may ask a watch cache again that has
// been incomplete for some time (k8s.io/apiserver, storage/cacher, the function
// calculateRetryAfterForUnreadyCache).
func cacheRetryAfterSeconds(downNs int64) int16 {
	return int16(min(30, max(1, math.Exp(0.06*float64(downNs)/1e9))))
}

// watch begins a watch that is initialized, if it has not been refused by the watch cache.
func (s *Server) watch(nowNs int64, r *Request) {
	switch {
	case r.RetryAfterSeconds > 0:
		s.filter.EndWatch(&r.Request)
		s.answer(nowNs, r, Response{Status: StatusTooManyRequests, RetryAfterSeconds: int32(r.RetryAfterSeconds)})
		s.runState.recycle(r)
	case s.endsWatches(r):
		s.endWatch(nowNs, r)
	case r.Details != nil && r.Details.step == inWatch && r.WatchNs == 0: // which its handler ends
	default:
		r.next = s.events.Schedule(nowNs+r.WatchNs, uint8(WatchEnd), Event{Kind: WatchEnd, Owner: s.index, Request: r})
	}
}
