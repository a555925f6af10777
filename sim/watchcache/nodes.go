package watchcache

import (
	"slices"
	"sort"

	"apfsim/sim/api"
)

// nodeName is the field that resources may be indexed by.
const nodeName = "spec.nodeName"

// nodes finds the objects of a cache by spec.nodeName, and the events of its ring that concern a node, so that
// thousands of kubelets can begin to watch at once. Upstream has the index of the objects only for lists; here
// it only saves time. Each is built when it is needed first, and kept up to date then.
type nodes struct {
	objects map[string][]*api.Object // in the order of their keys; those without a node are left out
	events  map[string][]int         // indexes in the ring, which may have dropped the first ones
}

func (n *nodes) clear() { *n = nodes{} }

// ByNode returns the objects as the cache has them whose spec.nodeName is node, in the order of their keys,
// for a cache that is ready. Nobody may change the slice, which is valid until the next event.
func (c *Cache) ByNode(node string) []*api.Object {
	n := &c.nodes
	if n.objects != nil && node != "" {
		return n.objects[node]
	}
	objects := c.Page("", "", 0, 0).Objects
	if node == "" {
		return slices.DeleteFunc(objects, func(o *api.Object) bool { return o.Fields[nodeName] != "" })
	}
	n.objects = map[string][]*api.Object{}
	for _, o := range objects {
		if node := o.Fields[nodeName]; node != "" {
			n.objects[node] = append(n.objects[node], o)
		}
	}
	return n.objects[node]
}

// eventsOf returns the indexes from one on of the events in the ring that concern a node.
func (c *Cache) eventsOf(node string, from int) []int {
	n := &c.nodes
	if n.events == nil {
		n.events = map[string][]int{}
		for i := c.ring.start; i < c.ring.end; i++ {
			n.note(c.ring.eventAt(i), i, c.ring.start)
		}
	}
	indexes := n.events[node]
	i, _ := slices.BinarySearch(indexes, from)
	return indexes[i:]
}

// add brings what has been built up to date with the newest event of a ring.
func (n *nodes) add(e *api.Event, r *ring) {
	if n.events != nil {
		n.note(e, r.end-1, r.start)
	}
	if n.objects == nil {
		return
	}
	if o := e.Previous; o != nil {
		if node := o.Fields[nodeName]; node != "" {
			n.remove(node, o)
		}
	}
	if o := e.Object; e.Type != api.Deleted {
		if node := o.Fields[nodeName]; node != "" {
			i, _ := find(n.objects[node], o)
			n.objects[node] = slices.Insert(n.objects[node], i, o)
		}
	}
}

// note adds the index of an event, when the ring begins at start.
func (n *nodes) note(e *api.Event, index, start int) {
	node := e.Object.Fields[nodeName]
	n.noteAt(node, index, start)
	if e.Previous != nil {
		if before := e.Previous.Fields[nodeName]; before != node {
			n.noteAt(before, index, start)
		}
	}
}

func (n *nodes) noteAt(node string, index, start int) {
	indexes := n.events[node]
	if half := len(indexes) / 2; half > 0 && indexes[half] < start {
		indexes = append(indexes[:0], indexes[half:]...)
	}
	n.events[node] = append(indexes, index)
}

// remove removes an object from those of a node, if it is one of them: it is not if it was only counted when
// the index was built.
func (n *nodes) remove(node string, o *api.Object) {
	objects := n.objects[node]
	i, ok := find(objects, o)
	if !ok {
		return
	}
	if len(objects) == 1 {
		delete(n.objects, node)
		return
	}
	n.objects[node] = slices.Delete(objects, i, i+1)
}

// find returns where an object is among others, or would be.
func find(objects []*api.Object, o *api.Object) (index int, ok bool) {
	key := o.Key()
	i := sort.Search(len(objects), func(i int) bool { return objects[i].Key() >= key })
	return i, i < len(objects) && objects[i].Namespace == o.Namespace && objects[i].Name == o.Name
}
