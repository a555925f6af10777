package watchcache

import (
	"slices"

	"apfsim/sim/api"
)

// scope is the objects that a watcher is interested in by their names: "" is all.
type scope struct{ namespace, name string }

// watchers is all watchers of a cache, and those that have to be told of an event (indexedWatchers in
// cacher.go). An event costs nothing for the watchers that are not interested in it.
type watchers struct {
	all    []*Watcher        // also those that have not opened yet
	scopes map[scope]*group  // those that do not use the index
	nodes  map[string]*group // those that use the index, by spec.nodeName
}

// group is watchers with the same interest.
type group struct{ watchers []*Watcher }

// copy returns all watchers, for loops that end them.
func (ws *watchers) copy() []*Watcher { return slices.Clone(ws.all) }

// add adds a watcher that has not opened yet.
func (ws *watchers) add(w *Watcher) {
	w.indexInAll = len(ws.all)
	ws.all = append(ws.all, w)
}

// register makes a watcher be told of events.
func (ws *watchers) register(w *Watcher) {
	if w.byNode {
		w.group = groupOf(&ws.nodes, w.node)
	} else {
		w.group = groupOf(&ws.scopes, w.scope)
	}
	w.indexInGroup = len(w.group.watchers)
	w.group.watchers = append(w.group.watchers, w)
}

func groupOf[K comparable](groups *map[K]*group, key K) *group {
	g := (*groups)[key]
	if g == nil {
		if *groups == nil {
			*groups = map[K]*group{}
		}
		g = new(group)
		(*groups)[key] = g
	}
	return g
}

// unregister makes a watcher not be told of events any more, if it is.
func (ws *watchers) unregister(w *Watcher) {
	g := w.group
	if g == nil {
		return
	}
	w.group = nil
	last := len(g.watchers) - 1
	g.watchers[w.indexInGroup] = g.watchers[last]
	g.watchers[w.indexInGroup].indexInGroup = w.indexInGroup
	g.watchers[last] = nil
	g.watchers = g.watchers[:last]
	if last > 0 {
		return
	}
	if w.byNode {
		delete(ws.nodes, w.node)
	} else {
		delete(ws.scopes, w.scope)
	}
}

// remove removes a watcher that has ended.
func (ws *watchers) remove(w *Watcher) {
	ws.unregister(w)
	last := len(ws.all) - 1
	ws.all[w.indexInAll] = ws.all[last]
	ws.all[w.indexInAll].indexInAll = w.indexInAll
	ws.all[last] = nil
	ws.all = ws.all[:last]
}

// interested appends the watchers that have to be told of an event.
func (ws *watchers) interested(to []*Watcher, e *api.Event) []*Watcher {
	if len(ws.scopes) > 0 {
		o := e.Object
		if o.Namespace != "" {
			to = appendGroup(to, ws.scopes[scope{o.Namespace, o.Name}])
			to = appendGroup(to, ws.scopes[scope{namespace: o.Namespace}])
		}
		to = appendGroup(to, ws.scopes[scope{name: o.Name}])
		to = appendGroup(to, ws.scopes[scope{}])
	}
	if len(ws.nodes) > 0 {
		node := e.Object.Fields[nodeName]
		to = appendGroup(to, ws.nodes[node])
		if e.Previous != nil {
			if before := e.Previous.Fields[nodeName]; before != node {
				to = appendGroup(to, ws.nodes[before])
			}
		}
	}
	return to
}

func appendGroup(to []*Watcher, g *group) []*Watcher {
	if g == nil {
		return to
	}
	return append(to, g.watchers...)
}
