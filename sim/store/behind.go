package store

import (
	"slices"

	"apfsim/sim/api"
	"apfsim/sim/clock"
)

const (
	// resyncNs is the time between two rounds in which etcd sends events to the watches that are behind
	// (watchResyncPeriod in etcd server/storage/mvcc/watchable_store.go).
	resyncNs = 100_000_000
	// mostWatches is the number of them that a round serves at most (maxWatchersPerSync).
	mostWatches = 512
	// mostRevisions is the number of revisions of which a watch gets the events in a round at most
	// (watchBatchMaxRevs in watcher_group.go).
	mostRevisions = 1000
)

// Watching is who watches etcd from an earlier revision than the latest. Its methods are called by etcd, and must not change
// the store or begin and stop watches. What they are called with takes time to get to the server.
type Watching interface {
	// Behind is called with the next events of the watch in their order, which may be none. They are all of its events up to a
	// revision. If inSync, that is the latest, and the watch gets what is committed later as Resource.OnCommit.
	Behind(nowNs int64, events []*api.Event, revision int64, inSync bool)
	// Compacted is called when events that the watch has not got have been compacted. It gets nothing more.
	Compacted(nowNs int64)
}

// Watch is a watch of etcd that is behind: it has not got all events that have been committed. In each round it gets some of
// them, until it is in sync or etcd has compacted the next one (unsynced watchers in watchable_store.go).
//
// A watch that is in sync is none of these: nothing holds it up, as its server takes all that etcd sends, however slowly the
// client of the server reads (etcd client/v3/watch.go has a buffer without a limit).
type Watch struct {
	resource        *Resource
	namespace, name string // of its keys; "" for all
	next            int64  // the revision from which on it has no events
	to              Watching
}

// Watch begins a watch of the events after a version, of the objects of a namespace or of one name, "" for all. It returns nil
// if there are none yet, so that it is in sync.
func (r *Resource) Watch(nowNs int64, namespace, name string, version int64, to Watching) *Watch {
	s := r.store
	if version >= s.revision {
		return nil
	}
	w := &Watch{resource: r, namespace: namespace, name: name, next: version + 1, to: to}
	s.behind = append(s.behind, w)
	if !s.resync.Pending() {
		s.resync = s.alarms.Set(nowNs-nowNs%resyncNs+resyncNs, (*resync)(s))
	}
	return w
}

// Stop ends a watch. It does nothing if it is in sync or has ended.
func (w *Watch) Stop() {
	s := w.resource.store
	if i := slices.Index(s.behind, w); i >= 0 {
		s.behind = slices.Delete(s.behind, i, i+1)
	}
	if len(s.behind) == 0 {
		s.alarms.Cancel(&s.resync)
	}
}

// resync is the alarm of the next round.
type resync Store

// Ring serves a round. Those that are still behind wait for the next one after all others; etcd chooses by chance.
func (all *resync) Ring(nowNs int64) {
	s := (*Store)(all)
	s.resync = clock.AlarmID{}
	before := len(s.behind)
	chosen, rest := s.behind[:min(before, mostWatches)], s.behind[min(before, mostWatches):]
	chosen = slices.DeleteFunc(chosen, func(w *Watch) bool { return w.advance(nowNs) })
	s.behind = slices.Concat(rest, chosen)
	switch left := len(s.behind); {
	case left == 0:
	case left < before: // etcd waits only as long as the round has taken
		s.resync = s.alarms.Set(nowNs, all)
	default:
		s.resync = s.alarms.Set(nowNs+resyncNs, all)
	}
}

// advance sends the events of a round, and returns whether the watch is in sync or has ended.
func (w *Watch) advance(nowNs int64) (over bool) {
	r := w.resource
	if w.next < r.store.compacted {
		w.to.Compacted(nowNs)
		return true
	}
	var events []*api.Event
	revisions, last := 0, int64(0)
	for i := r.history.after(w.next - 1); i < r.history.len(); i++ {
		e := r.history.eventAt(i)
		if w.namespace != "" && e.Object.Namespace != w.namespace || w.name != "" && e.Object.Name != w.name {
			continue
		}
		if e.Version != last {
			if revisions == mostRevisions {
				w.next = e.Version
				w.to.Behind(nowNs, events, e.Version-1, false)
				return false
			}
			revisions, last = revisions+1, e.Version
		}
		events = append(events, e)
	}
	w.to.Behind(nowNs, events, r.store.revision, true)
	return true
}
