package estimate

// Watchers counts the open watches of a server by their scope: a resource, a resource in one
// namespace, or one object (k8s.io/apiserver/pkg/util/flowcontrol, watch_tracker.go). Its size
// depends on the number of resources and of open watches, not on the number of requests.
type Watchers struct {
	resources map[Resource]*resourceWatches
}

// NewWatchers returns the counters of a server without open watches.
func NewWatchers() *Watchers {
	return &Watchers{resources: map[Resource]*resourceWatches{}}
}

// scope is the part of a resource that a request is for: all objects, those in a namespace, or
// the object with a name.
type scope struct{ namespace, name string }

// resourceWatches are the open watches of one resource.
type resourceWatches struct {
	open    map[scope]int // number of open watches; no entry is 0
	changes uint64        // starts at 1 and grows with each change of open, after which mutations count again
}

// resource returns the watches of a resource.
func (w *Watchers) resource(resource Resource) *resourceWatches {
	found := w.resources[resource]
	if found == nil {
		found = &resourceWatches{open: map[scope]int{}, changes: 1}
		w.resources[resource] = found
	}
	return found
}

// interested returns how many watches receive an event about a scope: those of the whole
// resource, those of the namespace, and those of the object.
func (w *resourceWatches) interested(in scope) int {
	n := w.open[scope{}]
	if in.namespace != "" {
		n += w.open[scope{namespace: in.namespace}]
	}
	if in.name != "" {
		n += w.open[in]
	}
	return n
}

func (w *resourceWatches) add(s scope, n int) {
	w.changes++
	switch now := w.open[s] + n; {
	case now < 0:
		panic("estimate: WatchEnds without a WatchStarts of the same scope")
	case now == 0:
		delete(w.open, s)
	default:
		w.open[s] = now
	}
}

// WatchStarts counts one more open watch like r. The caller calls it when the watch is
// dispatched. Several watches like r may be open at the same time. It panics if r is not a
// watch.
func (r *Request) WatchStarts() { r.watch(+1) }

// WatchEnds counts one open watch less. Each call must follow its WatchStarts.
func (r *Request) WatchEnds() { r.watch(-1) }

func (r *Request) watch(n int) {
	if r.kind != list || r.watches == nil {
		panic("estimate: WatchStarts or WatchEnds of a request that is not a watch")
	}
	if r.counted {
		r.watches.add(*r.scope, n)
	}
}

// Watchers returns how many open watches receive the events of the mutation r; ok is false if r
// is a request whose estimate does not depend on them.
func (r *Request) Watchers() (n int, ok bool) {
	if r.kind != mutation {
		return 0, false
	}
	return r.interested(), true
}

// interested returns how many open watches receive the events of the mutation r.
func (r *Request) interested() int {
	if r.watchersAsOf != r.watches.changes {
		r.watchers = int32(r.watches.interested(*r.scope))
		r.watchersAsOf = r.watches.changes
	}
	return int(r.watchers)
}
