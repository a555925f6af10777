package estimate

// Resource identifies a resource of the API: its group, "" for the core group, and its name,
// for example pods.
type Resource struct{ Group, Name string }

// Stats are the statistics that a server has of the stored objects of a resource.
type Stats struct {
	Objects      int64 // number of objects
	AverageBytes int64 // average size of an object; 0 if unknown
	Stale        bool  // the number of objects was last updated more than three minutes ago
}

// Store holds the statistics of the resources that a server stores. The server knows nothing
// about a resource that is not in it.
type Store map[Resource]Stats

// Known returns what servers know of what is stored. They learn the sizes of objects from the watch
// cache, which events do not have. They count the events under the name of the core group, so that
// they know nothing of the same events in events.k8s.io (kubernetes/pkg/registry/core/event/storage,
// k8s.io/apiserver/pkg/storage/cacher).
func Known(stored Store) Store {
	known := Store{}
	for r, stats := range stored {
		switch r {
		case Resource{"", "events"}:
			stats.AverageBytes = 0
		case Resource{"events.k8s.io", "events"}:
			continue
		}
		known[r] = stats
	}
	return known
}
