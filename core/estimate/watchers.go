package estimate

// Watchers counts the watches that a server has open by what they are interested in: a
// resource, a namespace's part of it, or one object (k8s.io/apiserver/pkg/util/flowcontrol,
// watch_tracker.go). It grows with the watches that are open and with the number of
// resources, not with requests.
type Watchers struct {
	resources map[Resource]*resourceWatches
}

// NewWatchers returns the counters of a server that has no watch open.
func NewWatchers() *Watchers {
	return &Watchers{resources: map[Resource]*resourceWatches{}}
}

// scope is the part of a resource that a request is for: all of it, a namespace's, or the
// object of that name.
type scope struct{ namespace, name string }

// resourceWatches are the open watches of one resource. Mutations remember how many of
// them are interested and recount after a change.
type resourceWatches struct {
	open    map[scope]int // none of them 0
	changes uint64        // to open so far, the making of it included
}

func (w *Watchers) of(resource Resource) *resourceWatches {
	found := w.resources[resource]
	if found == nil {
		found = &resourceWatches{open: map[scope]int{}, changes: 1}
		w.resources[resource] = found
	}
	return found
}

// interested returns how many watches are interested in what r is for: those of the whole
// resource, of the namespace, and of the object.
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
		panic("estimate: more watches have ended than have started")
	case now == 0:
		delete(w.open, s)
	default:
		w.open[s] = now
	}
}

// WatchStarts counts one more open watch like r, which must be a watch, from its dispatch
// on. Any number of them may be open at the same time.
func (r *Request) WatchStarts() { r.watch(+1) }

// WatchEnds counts one open watch less.
func (r *Request) WatchEnds() { r.watch(-1) }

func (r *Request) watch(n int) {
	if r.kind != list || r.watches == nil {
		panic("estimate: not a watch")
	}
	if r.counted {
		r.watches.add(r.scope, n)
	}
}

// Watchers returns how many open watches are interested in what r changes; ok is false for
// what is not estimated by them.
func (r *Request) Watchers() (n int, ok bool) {
	if r.kind != mutation {
		return 0, false
	}
	return r.interested(), true
}

// interested returns how many watches are interested in the mutation r.
func (r *Request) interested() int {
	if r.watchersAsOf != r.watches.changes {
		r.watchers = r.watches.interested(r.scope)
		r.watchersAsOf = r.watches.changes
	}
	return r.watchers
}
