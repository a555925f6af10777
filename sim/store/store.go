// Package store simulates etcd as kube-apiserver uses it: one counter of revisions, objects by resource, namespace
// and name, their history until it is compacted, leases that make events expire, and how long all this takes. All
// registries of a run share one Store.
//
// The state changes at once, when Put, Delete, a compaction or an expiring lease changes it. What takes time
// are Read and Write: whoever wants to read or to write asks for one of these first, and looks or commits
// when it rings. A Watch from an earlier revision gets its events in rounds.
package store

import (
	"errors"

	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/machine"
	"apfsim/sim/quantity"
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

// Count says how many objects of a resource exist from the start that are only counted.
type Count struct {
	Resource              api.Resource
	Objects, AverageBytes int64
}

// Settings are what a scenario says of etcd. Reads and transactions that are not given take no time, and an EventTTL of 0
// is for ever.
type Settings struct {
	Read  quantity.Distribution `json:"read,omitempty" jsonschema:"default=1ms" jsonschema_description:"How long etcd takes to answer a read; without it 1ms."`
	Write quantity.Distribution `json:"write,omitempty" jsonschema_description:"How long etcd takes to commit a transaction; without it lognormal with mean 4ms and p99 25ms."`
	// WriteCapacity is nil if transactions do not slow each other down. Otherwise Write is how long one takes alone. Cores
	// that watch events take have no meaning here.
	WriteCapacity *machine.Capacity `json:"writeCapacity,omitempty" jsonschema_description:"How transactions slow each other down; without it they do not."`

	// ReadCapacity is nil if reads do not slow each other down, see WriteCapacity: then Read, and costs.rangedObject for
	// each object of a range, are how long they take alone.
	ReadCapacity *machine.Capacity `json:"readCapacity,omitempty" jsonschema_description:"How reads slow each other down, those of large ranges also small ones; without it they do not."`

	CompactionInterval quantity.Duration `json:"compactionInterval,omitempty" jsonschema:"default=5m" jsonschema_description:"--etcd-compaction-interval, of each server; 0s for never."`
	EventTTL           quantity.Duration `json:"eventTTL,omitempty" jsonschema:"default=1h,exclusiveMinimum=0s" jsonschema_description:"--event-ttl: how long events are kept."`
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
	reading       *sharing // nil without a capacity
	writing       *sharing // likewise
	marker        marker

	behind []*Watch // in the order in which the rounds serve them
	resync clock.AlarmID
}

// New returns a store at revision 1 with the counted objects. seed seeds the latencies.
func New(alarms *clock.Alarms, settings Settings, seed uint64, counts []Count) *Store {
	s := &Store{alarms: alarms, settings: settings, revision: first, byName: map[api.Resource]*Resource{}}
	s.reads.open(seed, "read", settings.Read)
	s.writes.open(seed, "write", settings.Write)
	if settings.WriteCapacity != nil {
		s.writing = newSharing(alarms, settings.WriteCapacity)
	}
	if settings.ReadCapacity != nil {
		s.reading = newSharing(alarms, settings.ReadCapacity)
	}
	for _, c := range counts {
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
	if name == (api.Resource{Name: "events"}) && s.settings.EventTTL > 0 {
		r.leases = &leases{resource: r, ttlSeconds: int64(s.settings.EventTTL) / 1e9}
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
