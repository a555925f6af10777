package store

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/quantity"

	"pgregory.net/rapid"
)

// plain is the store as plainly as possible: it has a copy of the whole state at each revision.
type plain struct {
	states  []map[api.Resource]map[id]*api.Object // of revision 1, 2, …
	events  map[api.Resource][]*api.Event
	writes  int64
	markers int64
}

func (p *plain) next() map[api.Resource]map[id]*api.Object {
	state := map[api.Resource]map[id]*api.Object{}
	for name, objects := range p.states[len(p.states)-1] {
		state[name] = maps.Clone(objects)
	}
	p.states = append(p.states, state)
	return state
}

// told makes the state of an event's revision, which it may share with the events of an expired lease.
func (p *plain) told(t *rapid.T, name api.Resource, e *api.Event) {
	state := p.states[len(p.states)-1]
	if e.Version == int64(len(p.states))+1 {
		state = p.next()
		p.writes++
	} else if last := p.events[name]; e.Version != int64(len(p.states)) || e.Type != api.Deleted || last[len(last)-1].Version != e.Version {
		t.Fatalf("event of version %d at revision %d", e.Version, len(p.states))
	}
	key := id{e.Object.Namespace, e.Object.Name}
	if before := state[name][key]; before != e.Previous || (e.Type == api.Added) != (before == nil) {
		t.Fatalf("%v of %s after %+v, previous %+v", e.Type, e.Object.Key(), before, e.Previous)
	}
	if e.Type == api.Deleted {
		delete(state[name], key)
	} else {
		state[name][key] = e.Object
	}
	p.events[name] = append(p.events[name], e)
}

// adopted puts an object into all states, as it has always existed.
func (p *plain) adopted(name api.Resource, o *api.Object) {
	for _, state := range p.states {
		state[name][id{o.Namespace, o.Name}] = o
	}
}

// deleted says whether an object of a name was deleted.
func (p *plain) deleted(name api.Resource, key id) bool {
	return slices.ContainsFunc(p.events[name], func(e *api.Event) bool {
		return e.Type == api.Deleted && id{e.Object.Namespace, e.Object.Name} == key
	})
}

// page returns the objects of a range.
func (p *plain) page(revision int64, name api.Resource, namespace, start string) []*api.Object {
	prefix := ""
	if namespace != "" {
		prefix = namespace + "/"
	}
	var objects []*api.Object
	for _, o := range p.states[revision-1][name] {
		if (namespace == "" || o.Namespace == namespace) && o.Key() >= prefix+start {
			objects = append(objects, o)
		}
	}
	slices.SortFunc(objects, func(a, b *api.Object) int { return cmp.Compare(a.Key(), b.Key()) })
	return objects
}

// After any writes, adoptions, expiries and compactions:
// the revision is 1 + committed writes + writes of the marker; pages at every revision that is not compacted are
// those of a copy of the state at that revision; and the history since every version has each event after it once,
// in order. In the end, all events expire and the store is compacted.
func TestStoreIsAPlainStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []api.Resource{pods, events}
		w := newWorld(Settings{
			EventTTL:           quantity.Duration(20 * second),
			CompactionInterval: quantity.Duration(10 * second),
		}, Count{pods, 3, 1000})
		first := map[api.Resource]map[id]*api.Object{}
		p := &plain{states: []map[api.Resource]map[id]*api.Object{first}, events: map[api.Resource][]*api.Event{}}
		for _, name := range names {
			first[name] = map[id]*api.Object{}
			w.Resource(name).OnCommit(func(_ int64, e *api.Event) { p.told(t, name, e) })
		}
		var compactors [2]*Compactor
		for i := range compactors {
			compactors[i] = w.NewCompactor()
		}
		compactors[0].Start(0)

		// run lets time pass. Revisions without events are those of the marker.
		nowNs := int64(0)
		run := func(ns int64) {
			nowNs += ns
			for {
				atNs, ok := w.queue.NextNs()
				if !ok || atNs > nowNs {
					break
				}
				slot, _ := w.queue.Next()
				w.alarms.Ring(w.queue.NowNs(), slot)
				if w.Revision() > int64(len(p.states)) {
					p.next()
					p.markers++
				}
			}
		}
		pick := func() (*Resource, id) {
			return w.Resource(rapid.SampledFrom(names).Draw(t, "resource")), id{
				rapid.SampledFrom([]string{"a", "a-b", "b"}).Draw(t, "namespace"),
				rapid.SampledFrom([]string{"x", "y", "z", "0"}).Draw(t, "name"),
			}
		}
		version := func(r *Resource, key id) int64 {
			switch o := r.Get(key.namespace, key.name); {
			case o != nil && rapid.IntRange(0, 9).Draw(t, "wrong version") > 0:
				return o.Version
			case o != nil:
				return o.Version - 1
			}
			return 0
		}
		check := func(t *rapid.T) {
			if got, want := w.Revision(), 1+p.writes+p.markers; got != want {
				t.Fatalf("revision %d after %d writes and %d markers", got, p.writes, p.markers)
			}
			for _, name := range names {
				checkHistory(t, w, p, w.Resource(name))
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				r, key := pick()
				before, expected, revision := r.Get(key.namespace, key.name), version(r, key), w.Revision()
				stored, ok := r.Put(nowNs, object(key.namespace, key.name), expected)
				switch current := r.Get(key.namespace, key.name); {
				case ok != (before == nil || before.Version == expected), stored != current:
					t.Fatalf("Put over %+v with %d: %+v %v", before, expected, stored, ok)
				case ok && (stored.Version != revision+1 || stored.Version != w.Revision()), !ok && (stored != before || revision != w.Revision()):
					t.Fatalf("Put at revision %d: %+v %v", revision, stored, ok)
				}
			},
			"delete": func(t *rapid.T) {
				r, key := pick()
				before, expected := r.Get(key.namespace, key.name), version(r, key)
				if e, ok := r.Delete(nowNs, key.namespace, key.name, expected); ok != (before != nil && before.Version == expected) || ok && e.Object != before {
					t.Fatalf("Delete of %+v with %d: %+v %v", before, expected, e, ok)
				}
			},
			"adopt": func(t *rapid.T) {
				r, key := pick()
				before, counted := r.Get(key.namespace, key.name), r.Counted()
				o := r.Adopt(nowNs, key.namespace, key.name)
				switch {
				case before != nil && o != before, before == nil && (o == nil) != (counted == 0 || p.deleted(r.Name(), key)):
					t.Fatalf("Adopt over %+v with %d counted: %+v", before, counted, o)
				case before == nil && o != nil:
					p.adopted(r.Name(), o)
				}
			},
			"time": func(t *rapid.T) {
				run(rapid.SampledFrom([]int64{1, second / 2, 4 * second, 11 * second}).Draw(t, "ns"))
			},
			"server": func(t *rapid.T) {
				c := compactors[rapid.IntRange(0, 1).Draw(t, "server")]
				if c.round == nil {
					c.Start(nowNs)
				} else {
					c.Stop()
				}
			},
			"page": func(t *rapid.T) {
				r, _ := pick()
				revision := rapid.Int64Range(1, w.Revision()+1).Draw(t, "revision")
				namespace := rapid.SampledFrom([]string{"", "", "a", "a-b", "b", "c"}).Draw(t, "namespace")
				limit := rapid.Int64Range(0, 5).Draw(t, "limit")
				checkPages(t, w, p, r, revision, namespace, limit)
			},
			"": check,
		})

		last, ok := w.Resource(events).Put(nowNs, object("a", "last"), 0)
		if !ok {
			t.Fatal("the last event is not stored")
		}
		if compactors[0].round == nil {
			compactors[0].Start(nowNs)
		}
		run(60 * second)
		if left := p.page(w.Revision(), events, "", ""); len(left) > 0 || w.Resource(events).Get("a", "last") != nil {
			t.Fatalf("%v have not expired", left)
		}
		if w.Compacted() < last.Version {
			t.Fatalf("compacted to %d, want at least %d", w.Compacted(), last.Version)
		}
		check(t)
		for _, name := range names {
			for revision := range w.Revision() + 1 {
				checkPages(t, w, p, w.Resource(name), revision+1, "", 2)
			}
		}
	})
}

// checkPages walks all pages of a list.
func checkPages(t *rapid.T, w *world, p *plain, r *Resource, revision int64, namespace string, limit int64) {
	counted := r.Counted()
	if namespace != "" {
		counted = min(counted, 1)
	}
	start := ""
	var objects []*api.Object
	for {
		page, err := r.Page(revision, namespace, start, limit, 1)
		switch {
		case revision < w.Compacted():
			if err != ErrCompacted {
				t.Fatalf("page at %d, compacted %d: %v", revision, w.Compacted(), err)
			}
			return
		case revision > w.Revision():
			if err != ErrFuture {
				t.Fatalf("page at %d, revision %d: %v", revision, w.Revision(), err)
			}
			return
		case err != nil:
			t.Fatal(err)
		}
		if n := page.Counted + int64(len(page.Objects)); limit > 0 && (n > limit || page.More && n < limit) {
			t.Fatalf("%d objects in a page of %d: %v", n, limit, page)
		}
		counted -= page.Counted
		objects = append(objects, page.Objects...)
		want := p.page(revision, r.Name(), namespace, "")
		if left := int64(len(want)-len(objects)) + counted; page.Remaining != left || page.More != (left > 0) || page.More != (page.Next != "") {
			t.Fatalf("%v; want %d remaining", page, left)
		}
		if !page.More {
			if !slices.Equal(objects, want) || counted != 0 {
				t.Fatalf("%s at %d: %v, want %v", fmt.Sprint(r.Name()), revision, objects, want)
			}
			return
		}
		_, start, err = DecodeToken(EncodeToken(revision, page.Next))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkHistory reads the history since every version.
func checkHistory(t *rapid.T, w *world, p *plain, r *Resource) {
	all := p.events[r.Name()]
	for since := range w.Revision() + 1 {
		events, ok := r.Since(since)
		if ok != (since+1 >= w.Compacted()) {
			t.Fatalf("since %d, compacted %d: %v", since, w.Compacted(), ok)
		}
		if !ok {
			continue
		}
		for len(all) > 0 && all[0].Version <= since {
			all = all[1:]
		}
		i := 0
		for e := range events {
			if i == len(all) || e != all[i] {
				t.Fatalf("since %d: event %d is %+v", since, i, e)
			}
			i++
		}
		if i < len(all) {
			t.Fatalf("since %d: %d events, want %d", since, i, len(all))
		}
	}
}
