package estimate

// Resource names a kind of object: its API group, "" for the core group, and its plural.
type Resource struct{ Group, Name string }

// Stats is what a server knows about the stored objects of a resource.
type Stats struct {
	Objects      int64 // how many there are
	AverageBytes int64 // their average size, 0 when unknown
	Stale        bool  // the count is more than three minutes old
}

// Store is what a server knows about its stored objects. The count of a resource that is
// absent is unknown.
type Store map[Resource]Stats
