package workload

import (
	"maps"
	"slices"

	"apfsim/sim/api"
)

// Handler is notified of changes in the copy of a reflector (k8s.io/client-go,
// tools/cache/controller.go, ResourceEventHandler). Objects that are only counted are unknown to it.
type Handler interface {
	// Changed is called with an object that is new or has changed; previous is nil for a new one.
	Changed(nowNs int64, r *Reflector, previous, o *api.Object)
	// Deleted is called with the last known state of an object that no longer exists, or no longer matches.
	Deleted(nowNs int64, r *Reflector, o *api.Object)
	// Listed is called each time the reflector has all objects, after the calls of the methods above.
	Listed(nowNs int64, r *Reflector)
}

// copied is what a reflector has copied. Without a handler, for whom nobody needs the objects, it only counts
// them: there may be hundreds of thousands, in each of thousands of clients.
type copied struct {
	objects map[string]*api.Object // by key; nil without a handler
	counted int64                  // objects that are not in the map
}

func newCopied(h Handler) (c copied) {
	if h != nil {
		c.objects = map[string]*api.Object{}
	}
	return c
}

func (c *copied) len() int64 { return int64(len(c.objects)) + c.counted }

// replace makes the copy that of a list. An object that has not changed is not reported, as an informer does
// (tools/cache/shared_informer.go, OnUpdate: only listeners with a resync see it).
func (r *Reflector) replace(nowNs int64, objects []*api.Object, items int64) {
	c := &r.copied
	if r.handler == nil {
		c.counted = items
		return
	}
	before := c.objects
	c.objects = make(map[string]*api.Object, len(objects))
	c.counted = max(0, items-int64(len(objects)))
	for _, o := range objects {
		key := o.Key()
		c.objects[key] = o
		if was := before[key]; was == nil || was.Version != o.Version {
			r.handler.Changed(nowNs, r, was, o)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if c.objects[key] == nil {
			r.handler.Deleted(nowNs, r, before[key])
		}
	}
}

// apply applies one event of a watch to the copy. What changes and was not in the map was only counted.
func (r *Reflector) apply(nowNs int64, e *api.Event) {
	c := &r.copied
	if r.handler == nil {
		c.counted += change(e)
		return
	}
	key := e.Object.Key()
	was := c.objects[key]
	if was == nil && e.Type != api.Added && c.counted > 0 {
		c.counted--
	}
	if e.Type == api.Deleted {
		delete(c.objects, key)
		r.handler.Deleted(nowNs, r, e.Object)
		return
	}
	c.objects[key] = e.Object
	r.handler.Changed(nowNs, r, was, e.Object)
}

// change returns how many objects more there are after an event.
func change(e *api.Event) int64 {
	switch e.Type {
	case api.Added:
		return 1
	case api.Deleted:
		return -1
	}
	return 0
}

// initial are the objects that a watch has sent so far, before the bookmark that says that these are all.
type initial struct {
	keep    bool
	objects []*api.Object  // in the order in which they came; nil for one that was deleted again
	at      map[string]int // where an object is
	counted int64          // without keep, how many there are
}

func newInitial(keep bool) *initial {
	i := &initial{keep: keep}
	if keep {
		i.at = map[string]int{}
	}
	return i
}

func (i *initial) apply(e *api.Event) {
	if !i.keep {
		i.counted += change(e)
		return
	}
	key := e.Object.Key()
	at, known := i.at[key]
	switch {
	case e.Type == api.Deleted && known:
		i.objects[at] = nil
		delete(i.at, key)
	case e.Type == api.Deleted:
	case known:
		i.objects[at] = e.Object
	default:
		i.at[key] = len(i.objects)
		i.objects = append(i.objects, e.Object)
	}
}

// all returns the objects, and how many there are.
func (i *initial) all() (objects []*api.Object, items int64) {
	for _, o := range i.objects {
		if o != nil {
			objects = append(objects, o)
		}
	}
	return objects, i.counted + int64(len(objects))
}
