package watchcache

import (
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/store"
)

// Get returns an object as the cache has it; nil if it does not exist, is only counted, or the cache has never
// been ready.
func (c *Cache) Get(namespace, name string) *api.Object {
	if c.version == 0 {
		return nil
	}
	// What the store has and the cache has not seen begins with the state that the cache has.
	for _, n := range c.feed.waiting() {
		if e := n.event; e != nil && e.Object.Name == name && e.Object.Namespace == namespace {
			return e.Previous
		}
	}
	return c.resource.Get(namespace, name)
}

// Page returns a part of the objects as the cache has them, for a cache that is ready. The parameters are
// those of store.Resource.Page. The page's Revision is the cache's version.
func (c *Cache) Page(namespace, start string, limit, matches int64) store.Page {
	revision := int64(0)
	for _, n := range c.feed.waiting() {
		if n.event != nil {
			// The resource has not changed between the cache's version and this one. Etcd compacts to
			// revisions that are an interval old, which is longer than the lag unless both are set so.
			revision = max(n.version-1, c.store.Compacted())
			break
		}
	}
	p, err := c.resource.Page(revision, namespace, start, limit, matches)
	if err != nil {
		panic("watchcache: the state of the cache cannot be read: " + err.Error())
	}
	p.Revision = c.version
	return p
}

// HasSnapshot says whether Snapshot can serve a version.
//
// Upstream serves versions for up to 15 s after etcd has compacted them. Here their history is lost, so that
// lists of them go to etcd, and are answered 410, as soon as they are compacted.
func (c *Cache) HasSnapshot(version int64) bool {
	return c.state == ready && c.snapshots.oldest > 0 && c.snapshots.oldest <= version && version >= c.store.Compacted()
}

// Snapshot returns a part of the objects at a version, which must not be newer than the cache's; ok is false
// if the cache has no snapshot for it (up to 1.33 never), so that the list goes to etcd.
func (c *Cache) Snapshot(version int64, namespace, start string, limit, matches int64) (p store.Page, ok bool) {
	if !c.HasSnapshot(version) {
		return store.Page{}, false
	}
	if version > c.version {
		panic("watchcache: a snapshot of a version that the cache does not have")
	}
	p, err := c.resource.Page(version, namespace, start, limit, matches)
	return p, err == nil
}

// pollNs is how often a cache looks whether etcd has been compacted (compactor.go).
const pollNs = 15e9

// snapshots is which versions of a resource a cache can still list. It makes one with each event, and one
// when it is filled; that of a version is the newest one that is not newer. As the history of all that it may
// have is in the store, the oldest one says it all.
type snapshots struct {
	on     bool
	oldest int64 // the version of the oldest snapshot; 0 if there is none
	alarm  clock.AlarmID
}

// restart begins with the snapshot of a cache that has been filled.
func (s *snapshots) restart(c *Cache) {
	s.on, s.oldest = c.rules.Snapshots, 0
	if s.on {
		s.oldest = c.filled
	}
}

// add makes a snapshot, and drops those that are older than the oldest event of a full ring.
func (s *snapshots) add(r *ring, version int64) {
	if !s.on {
		return
	}
	if s.oldest == 0 {
		s.oldest = version
	}
	if r.full() {
		s.oldest = max(s.oldest, r.eventAt(r.start).Version)
	}
}

// snapshotCompaction is the alarm by which a cache drops the snapshots of versions that have been compacted.
type snapshotCompaction Cache

func (p *snapshotCompaction) Ring(nowNs int64) {
	c := (*Cache)(p)
	s := &c.snapshots
	s.alarm = c.alarms.Set(nowNs+pollNs, p)
	compacted := c.store.Compacted()
	if s.oldest == 0 || s.oldest >= compacted {
		return
	}
	s.oldest = 0
	if i := c.ring.after(compacted - 1); i < c.ring.end {
		s.oldest = c.ring.eventAt(i).Version
	}
}
