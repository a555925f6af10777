// Package store simulates etcd as kube-apiserver uses it: one counter of revisions, objects by resource, namespace
// and name, their history until it is compacted, leases that make events expire, and how long all this takes. All
// registries of a run share one Store.
//
// The state changes at once, when Put, Delete, a compaction or an expiring lease changes it. What takes time
// are Read and Write: whoever wants to read or to write asks for one of these first, and looks or commits
// when it rings.
package store

import (
	"errors"
	"math/rand/v2"

	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/machine"
)

// The errors of reads at a revision.
var (
	// ErrCompacted is the error of a read at a revision before the last compaction (etcd: "required revision
	// has been compacted").
	ErrCompacted = errors.New("store: the revision has been compacted")
	// ErrFuture is the error of a read at a revision that does not exist yet (etcd: "required revision is a
	// future revision").
	ErrFuture = errors.New("store: the revision is in the future")
)

// first is the revision of an empty store (etcd server/storage/mvcc/kvstore.go). It is also the version of
// the objects that exist from the start.
const first = 1

// Sampler draws durations in nanoseconds.
type Sampler interface {
	Sample(r *rand.Rand) int64
}

// Count says how many objects of a resource exist from the start that are only counted.
type Count struct {
	Resource              api.Resource
	Objects, AverageBytes int64
}

// Settings are what a store is made with.
type Settings struct {
	Seed   uint64
	Counts []Count

	// Read and Write are how long etcd takes for a read and for a transaction, seen from a server; nil for
	// no time.
	Read, Write Sampler
	// WriteCapacity is how transactions slow each other down; nil: they do not. Write is then how long a
	// transaction takes alone. Cores that watch events take have no meaning here.
	WriteCapacity *machine.Capacity

	EventTTLNs           int64 // --event-ttl; 0: events do not expire
	CompactionIntervalNs int64 // --etcd-compaction-interval; 0: history is kept
}

// Store is one etcd cluster.
type Store struct {
	alarms        *clock.Alarms
	settings      Settings
	revision      int64 // the latest
	compacted     int64 // reads at earlier revisions are errors; 0 before the first compaction
	lastUID       int64
	resources     []*Resource
	byName        map[api.Resource]*Resource
	reads, writes latency
	writing       *writing // nil without a capacity
	marker        marker
}

// New returns a store at revision 1 that has the objects that are only counted.
func New(alarms *clock.Alarms, settings Settings) *Store {
	s := &Store{alarms: alarms, settings: settings, revision: first, byName: map[api.Resource]*Resource{}}
	s.reads.open(settings.Seed, "read", settings.Read)
	s.writes.open(settings.Seed, "write", settings.Write)
	if settings.WriteCapacity != nil {
		s.writing = newWriting(alarms, settings.WriteCapacity)
	}
	for _, c := range settings.Counts {
		r := s.Resource(c.Resource)
		r.counted += c.Objects
		r.countedBytes = c.AverageBytes
	}
	return s
}

// Revision returns the latest revision.
func (s *Store) Revision() int64 { return s.revision }

// Compacted returns the revision of the last compaction, the earliest that can be read; 0 before the first.
func (s *Store) Compacted() int64 { return s.compacted }

// Resources returns all resources, in the order in which they were first asked for. Nobody may change the slice.
func (s *Store) Resources() []*Resource { return s.resources }

// Resource returns the objects of a resource; the same ones each time. The events of both API groups are the
// same objects.
func (s *Store) Resource(name api.Resource) *Resource {
	if name == (api.Resource{Group: "events.k8s.io", Name: "events"}) {
		name.Group = ""
	}
	if r := s.byName[name]; r != nil {
		return r
	}
	r := &Resource{store: s, name: name, objects: map[id]*entry{}}
	if name == (api.Resource{Name: "events"}) && s.settings.EventTTLNs > 0 {
		r.leases = &leases{resource: r, ttlSeconds: s.settings.EventTTLNs / 1e9}
	}
	s.byName[name] = r
	s.resources = append(s.resources, r)
	return r
}

// compact drops the history before a revision, which stays readable.
func (s *Store) compact(revision int64) {
	s.compacted = revision
	for _, r := range s.resources {
		r.compact(revision)
	}
}
