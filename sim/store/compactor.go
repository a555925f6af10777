package store

import "apfsim/sim/clock"

// marker is the key by which servers agree on who compacts (compact_rev_key). Its version is the number of
// times that it was written; each write makes a revision.
type marker struct{ version int64 }

// Compactor is the part of a server that compacts the store. Every server tries in every interval: it may
// compact if nobody has written the marker since its last try, and then writes the marker itself, so that one
// server goes on compacting. It compacts to the revision of its own last try, so that history is as long as
// an interval at least (k8s.io/apiserver pkg/storage/etcd3/compact.go).
type Compactor struct {
	store *Store
	round *round // nil unless it runs
}

// NewCompactor returns the compactor of one server, which does not run yet.
func (s *Store) NewCompactor() *Compactor { return &Compactor{store: s} }

// Start begins to compact, when the server's process starts. The first try is one interval later.
func (c *Compactor) Start(nowNs int64) {
	if c.round != nil {
		panic("store: Start of a compactor that runs")
	}
	if interval := int64(c.store.settings.CompactionInterval); interval > 0 {
		c.round = &round{store: c.store}
		c.round.alarm = c.store.alarms.Set(nowNs+interval, c.round)
	}
}

// Stop ends it, when the process ends. What it knows is lost.
func (c *Compactor) Stop() {
	if c.round == nil {
		return
	}
	c.store.alarms.Cancel(&c.round.alarm)
	c.round.stopped = true
	c.round = nil
}

// round is the try of a compactor that comes next.
type round struct {
	store *Store
	alarm clock.AlarmID

	writing bool // the transaction has been sent
	stopped bool
	version int64 // of the marker, as of the last try
	noted   int64 // the revision of the last try; 0 before the first
}

// Ring sends the transaction of a round, or carries it out.
func (t *round) Ring(nowNs int64) {
	t.alarm = clock.AlarmID{}
	s := t.store
	switch {
	case t.stopped:
	case !t.writing:
		t.writing = true
		s.Write(nowNs, t)
	default:
		t.writing = false
		compacts := int64(0)
		if s.marker.version == t.version {
			s.revision++
			s.marker.version++
			compacts = t.noted
		}
		t.version, t.noted = s.marker.version, s.revision
		if compacts > 0 {
			s.compact(compacts)
		}
		t.alarm = s.alarms.Set(nowNs+int64(s.settings.CompactionInterval), t)
	}
}
