package store

import (
	"apfsim/sim/api"
)

// Resource is the objects of one resource. Some have names; the others are only counted, have always existed
// and never change. Where a range has both, those that are only counted come first.
type Resource struct {
	store   *Store
	name    api.Resource
	objects map[id]*entry
	order   order // of objects
	history history
	views   []*view // see viewAt
	leases  *leases // nil of a resource whose objects do not expire

	namespaced bool // a named object has had a namespace

	bytes                 int64           // of the named objects
	counted, countedBytes int64           // the objects that are only counted, and the size of each
	deleted               map[id]struct{} // the names of objects that were deleted while some were only counted
	listeners             []func(nowNs int64, e *api.Event)
}

// id identifies an object within its resource.
type id struct{ namespace, name string }

// entry is an object under its key.
type entry struct {
	key string

	// object is nil of an entry that has been deleted; in a view, of a key that did not exist then.
	object *api.Object
	lease  *lease // nil of an object that does not expire, and in a view
	exists bool   // in a view: there is an object of this key now
}

// Name returns which resource it is.
func (r *Resource) Name() api.Resource { return r.name }

// Get returns the object of a name, or nil if it does not exist or is only counted. The namespace is "" of
// objects that have none.
func (r *Resource) Get(namespace, name string) *api.Object {
	if e := r.objects[id{namespace, name}]; e != nil {
		return e.object
	}
	return nil
}

// Adopt returns the object of a name. If there is none, it gives the name to one of the objects that are only
// counted, without a revision or an event, as the object has existed from the start; nil if none is left, or
// if an object of this name was deleted. Whoever updates or reads an object that is only counted adopts it first.
func (r *Resource) Adopt(nowNs int64, namespace, name string) *api.Object {
	key := id{namespace, name}
	if e := r.objects[key]; e != nil {
		return e.object
	}
	if _, deleted := r.deleted[key]; deleted || r.counted == 0 {
		return nil
	}
	r.counted--
	r.store.lastUID++
	o := &api.Object{
		Namespace: namespace, Name: name, UID: r.store.lastUID, Version: first, Bytes: r.countedBytes, DeletionNs: -1,
	}
	e := r.add(key, o)
	if r.leases != nil {
		r.leases.current(nowNs).attach(e, key)
	}
	return o
}

// Namespaced says whether an object has been named that has a namespace.
func (r *Resource) Namespaced() bool { return r.namespaced }

// Len returns the number of objects.
func (r *Resource) Len() int64 { return r.counted + int64(len(r.objects)) }

// Counted returns the number of objects that are only counted.
func (r *Resource) Counted() int64 { return r.counted }

// AverageBytes returns the mean size of the objects; if there are none, that of those that were counted at
// the start, 0 if there were none either.
func (r *Resource) AverageBytes() int64 {
	if r.Len() == 0 {
		return r.countedBytes
	}
	return (r.bytes + r.counted*r.countedBytes) / r.Len()
}

// Put is a transaction that stores an object if its current version is the expected one, 0 for none. It
// stores a copy with the version of the new revision and, if o.UID is 0, the UID of the object that it
// replaces, or a new one; ok is true. If another version is current, it returns that object, nil for none,
// and changes nothing. The copy shares the maps and slices of o.
func (r *Resource) Put(nowNs int64, o *api.Object, expected int64) (stored *api.Object, ok bool) {
	key := id{o.Namespace, o.Name}
	e := r.objects[key]
	var previous *api.Object
	var version int64
	if e != nil {
		previous = e.object
		version = previous.Version
	}
	var l *lease
	if r.leases != nil {
		l = r.leases.current(nowNs) // granted before the transaction, which may fail
	}
	if version != expected {
		return previous, false
	}

	stored = new(api.Object)
	*stored = *o
	s := r.store
	s.revision++
	stored.Version = s.revision
	kind := api.Added
	if e == nil {
		if stored.UID == 0 {
			s.lastUID++
			stored.UID = s.lastUID
		}
		e = r.add(key, stored)
	} else {
		kind = api.Modified
		stored.Namespace, stored.Name = previous.Namespace, previous.Name // one copy of the strings
		if stored.UID == 0 {
			stored.UID = previous.UID
		}
		stored.Keep(e.key)
		r.bytes += stored.Bytes - previous.Bytes
		e.object = stored
	}
	if l != nil {
		l.attach(e, key)
	}
	r.commit(nowNs, api.Event{Type: kind, Version: s.revision, Object: stored, Previous: previous, AtNs: nowNs})
	return stored, true
}

// Delete is a transaction that removes an object if its current version is the expected one, and returns the
// event of it. If another version is current, or none, it changes nothing.
func (r *Resource) Delete(nowNs int64, namespace, name string, expected int64) (event *api.Event, ok bool) {
	key := id{namespace, name}
	e := r.objects[key]
	if e == nil || e.object.Version != expected {
		return nil, false
	}
	r.store.revision++
	return r.remove(nowNs, key, e), true
}

// OnCommit has a function called with each event of the resource's history, when it is committed. The
// functions are called in the order in which they were given, and must not change the store.
func (r *Resource) OnCommit(f func(nowNs int64, e *api.Event)) { r.listeners = append(r.listeners, f) }

// add adds an object whose name is new.
func (r *Resource) add(key id, o *api.Object) *entry {
	e := &entry{key: o.Key(), object: o}
	r.namespaced = r.namespaced || o.Namespace != ""
	o.Keep(e.key)
	r.objects[key] = e
	r.order.insert(e)
	r.bytes += o.Bytes
	return e
}

// remove removes an object at the latest revision.
func (r *Resource) remove(nowNs int64, key id, e *entry) *api.Event {
	last := e.object
	delete(r.objects, key)
	if r.counted > 0 {
		if r.deleted == nil {
			r.deleted = map[id]struct{}{}
		}
		r.deleted[key] = struct{}{}
	}
	r.order.remove(e.key)
	r.bytes -= last.Bytes
	e.object, e.lease = nil, nil
	return r.commit(nowNs, api.Event{
		Type: api.Deleted, Version: r.store.revision, Object: last, Previous: last, AtNs: nowNs,
	})
}

// commit adds an event to the history.
func (r *Resource) commit(nowNs int64, event api.Event) *api.Event {
	e := r.history.add(event)
	for _, f := range r.listeners {
		f(nowNs, e)
	}
	return e
}

// compact drops the history before a revision.
func (r *Resource) compact(revision int64) {
	r.history.dropBefore(revision)
	r.dropViewsBefore(revision)
}
