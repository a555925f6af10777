package watchcache

import "apfsim/sim/api"

// batchLength is how many events of the history a watcher takes from the ring at a time
// (watch_cache_interval.go).
const batchLength = 100

// source is what a watch begins with: the objects as they were when it was opened, or events of the history.
type source struct {
	walked, sent int64 // objects or events, see Watcher.Initial

	counted int64 // objects that are only counted
	objects []*api.Object
	history []indexedEvent
	taken   int // of the objects and the history

	// Of a history that is in a ring: the watcher has taken the events before the index fetched, and needs
	// those before end. If the ring has dropped one of them before it was taken, the source is lost.
	ring         *ring
	fetched, end int

	endVersion int64 // of the bookmark after the initial events; 0 for none
}

// indexedEvent is an event of a history as the watcher gets it, and its index in the ring.
type indexedEvent struct {
	event *api.Event
	index int
}

// next returns the next event, nil behind the last one.
func (s *source) next(nowNs int64) (e *api.Event, lost bool) {
	switch i := s.taken; {
	case s.counted > 0:
		s.counted--
		return countedEvent, false
	case i < len(s.objects):
		s.taken++
		o := s.objects[i]
		return &api.Event{Type: api.Added, Version: o.Version, Object: o, AtNs: nowNs}, false
	case i < len(s.history):
		if !s.fetch(s.history[i].index + 1) {
			return nil, true
		}
		s.taken++
		return s.history[i].event, false
	}
	if !s.fetch(s.end) {
		return nil, true
	}
	if version := s.endVersion; version > 0 {
		s.endVersion = 0
		return &api.Event{Type: api.Bookmark, Version: version, AtNs: nowNs, InitialEnd: true}, false
	}
	return nil, false
}

// fetch takes the events before an index from the ring, in batches, and returns whether it still had them.
func (s *source) fetch(end int) bool {
	for s.fetched < end {
		if s.fetched < s.ring.start {
			return false
		}
		s.fetched = min(s.fetched+batchLength, s.end)
	}
	return true
}
