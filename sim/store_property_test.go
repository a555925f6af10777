package sim

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/sim/api"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"

	"pgregory.net/rapid"
)

// ledger is what a store must have done according to its events, against which everything is held that clients
// see of it. Objects of version 1 have existed since the start and get their names later, without an event, so
// that they are left out of all comparisons.
type ledger struct {
	*rapid.T
	run     *Run
	clients server.Receiver
	history map[api.Resource][]*api.Event
	events  int                // in all histories
	writers map[int64]int64    // number of the request that was answered a version that it has written
	watches map[int64]*watched // by number of the request
	began   map[int64]bool     // whether the request is answered, by its number
	checked struct{ lists, pages, events, initial, bookmarks, writes int }
}

// watched is what a watch has sent.
type watched struct {
	history  []*api.Event // at the time when it was last looked at
	at       int          // index in the history of what comes next
	began    bool         // it sends events
	behind   int64        // the version behind which they begin, which may be a later one than that of the store
	unknown  bool         // which one that is does not follow from what the client has seen
	initial  bool         // the initial events have not ended
	ended    bool
	copied   map[string]*api.Object // what the initial events have told
	selector *api.Selector
}

// newLedger returns a run whose store is checked.
func newLedger(t *rapid.T, sc *scenario.Scenario) *ledger {
	l := &ledger{T: t, history: map[api.Resource][]*api.Event{}, writers: map[int64]int64{}, watches: map[int64]*watched{}, began: map[int64]bool{}}
	run := newRun(sc, func(c *workload.Clients) server.Receiver {
		l.clients = c
		return l
	})
	l.run = run
	for _, name := range []api.Resource{{Name: "configmaps"}, {Name: "pods"}, {Name: "nodes"}, {Name: "services"}, {Name: "secrets"}, {Name: "events"}, {Group: "coordination.k8s.io", Name: "leases"}} {
		r := run.Handlers().Store().Resource(name)
		r.OnCommit(func(_ int64, e *api.Event) {
			all := l.history[name]
			if n := len(all); e.Version != run.Handlers().Store().Revision() || n > 0 && all[n-1].Version >= e.Version {
				t.Fatalf("%v: an event of version %d at revision %d", name, e.Version, run.Handlers().Store().Revision())
			}
			l.history[name] = append(all, e)
			l.events++
		})
	}
	run.Observe(server.Observer{Arrived: l.begin, Refused: l.begin, Executed: l.executed, Answered: func(nowNs int64, r *server.Request) {
		if answered, began := l.began[r.Number]; answered || !began {
			t.Fatalf("%v: request %d is answered, though it was already (%v), or has not begun", time.Duration(nowNs), r.Number, answered)
		}
		l.began[r.Number] = true
		if w := l.watches[r.Number]; w != nil && r.FinishNs >= 0 { // a watch whose client has gone before is opened nevertheless
			w.ended = true
		}
	}})
	return l
}

func (l *ledger) begin(_ int64, r *server.Request) { l.began[r.Number] = false }

func resourceOf(r *server.Request) api.Resource {
	return api.Resource{Group: r.Attributes.APIGroup, Name: r.Attributes.Resource}
}

// state returns the objects of a resource at a version that a request selects, by their keys, and the keys in order.
func (l *ledger) state(r *server.Request, selector *api.Selector, version int64) (objects map[string]*api.Object, keys []string) {
	objects = map[string]*api.Object{}
	for _, e := range l.history[resourceOf(r)] {
		if e.Version > version {
			break
		}
		delete(objects, e.Object.Key())
		if e.Type != api.Deleted && selects(r, selector, e.Object) {
			objects[e.Object.Key()] = e.Object
		}
	}
	for key := range objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return objects, keys
}

func selects(r *server.Request, selector *api.Selector, o *api.Object) bool {
	return (r.Attributes.Namespace == "" || r.Attributes.Namespace == o.Namespace) && selector.Matches(o)
}

func (l *ledger) selector(r *server.Request) *api.Selector {
	o := &r.Details.Asked.Options
	s, err := api.ParseSelector(o.LabelSelector, o.FieldSelector)
	if err != nil {
		l.Fatal(err)
	}
	return s
}

// executed checks what a request is answered.
func (l *ledger) executed(nowNs int64, r *server.Request) {
	a := &r.Details.Answer
	if !r.Attributes.IsResource() || a.Status == 0 || a.Status >= 300 {
		return
	}
	if w := l.watches[r.Number]; r.IsWatch() && w == nil {
		l.watches[r.Number] = l.newWatched(r)
	}
	switch {
	case r.Attributes.Verb == "list":
		l.listed(nowNs, r)
	case a.Object != nil && a.Version > 1:
		all := l.history[resourceOf(r)]
		i, found := slices.BinarySearchFunc(all, a.Version, func(e *api.Event, v int64) int { return cmp.Compare(e.Version, v) })
		// The last update of an object that is being deleted answers what it would have stored. A deletion answers its own version.
		if !found || all[i].Object.UID != a.Object.UID || all[i].Object != a.Object && !a.Object.Deleting() && all[i].Type != api.Deleted {
			l.Fatalf("%v: %s of %v/%s answers %+v of version %d, which was never stored", time.Duration(nowNs), r.Attributes.Verb, resourceOf(r), r.Attributes.Name, a.Object, a.Version)
		}
		if !a.Wrote || r.Attributes.Verb == "delete" || all[i].Object != a.Object {
			return
		}
		if other := l.writers[a.Version]; other != 0 {
			l.Fatalf("%v: requests %d and %d have both written version %d", time.Duration(nowNs), other, r.Number, a.Version)
		}
		l.writers[a.Version] = r.Number
		l.checked.writes++
	}
}

// listed compares a list, or a page of one, with the state at its version.
func (l *ledger) listed(nowNs int64, r *server.Request) {
	a, o := &r.Details.Answer, &r.Details.Asked.Options
	all, keys := l.state(r, l.selector(r), a.Version)
	got := slices.DeleteFunc(slices.Clone(a.Objects), func(o *api.Object) bool { return o.Version == 1 })
	from := 0
	if len(got) > 0 {
		from = max(0, slices.Index(keys, got[0].Key()))
	} else if o.Continue != "" {
		from = len(keys)
	}
	isPage := a.Continue != "" || o.Continue != ""
	if o.Continue == "" && from != 0 || a.Continue == "" && from+len(got) != len(keys) || from+len(got) > len(keys) {
		l.Fatalf("%v: a list of %v (%+v) at %d has %d objects from %d on, want them of %d", time.Duration(nowNs), resourceOf(r), o, a.Version, len(got), from, len(keys))
	}
	for i, o := range got {
		if want := all[keys[from+i]]; o != want {
			l.Fatalf("%v: a list of %v at %d has %s of version %d, want %+v", time.Duration(nowNs), resourceOf(r), a.Version, o.Key(), o.Version, want)
		}
	}
	if l.checked.lists++; isPage {
		l.checked.pages++
	}
}

func (l *ledger) newWatched(r *server.Request) *watched {
	o := &r.Details.Asked.Options
	w := &watched{copied: map[string]*api.Object{}, selector: l.selector(r)}
	switch {
	case o.SendInitialEvents:
		w.initial = true
	case o.Version.Given && o.Version.N > 0:
		w.begins(l.history[resourceOf(r)], o.Version.N)
	default:
		w.unknown = true
	}
	return w
}

// begins makes events be expected behind a version.
func (w *watched) begins(history []*api.Event, version int64) {
	w.began, w.history, w.behind = true, history, version
}

// next returns the next event up to a version that the watch has to send, nil if there is none.
func (w *watched) next(r *server.Request, upTo int64) *api.Event {
	for w.at < len(w.history) && w.history[w.at].Version <= upTo {
		e := w.history[w.at]
		w.at++
		if e.Version <= w.behind {
			continue
		}
		is := e.Type != api.Deleted && selects(r, w.selector, e.Object)
		was := e.Previous != nil && selects(r, w.selector, e.Previous)
		switch {
		case is && was:
			return &api.Event{Type: api.Modified, Version: e.Version, Object: e.Object}
		case is:
			return &api.Event{Type: api.Added, Version: e.Version, Object: e.Object}
		case was:
			return &api.Event{Type: api.Deleted, Version: e.Version, Object: e.Previous}
		}
	}
	return nil
}

// Received implements server.Receiver: it compares what a watch sends with the history, and passes it on.
func (l *ledger) Received(nowNs int64, r *server.Request, e *api.Event) {
	w := l.watches[r.Number]
	if w == nil {
		w = l.newWatched(r)
		l.watches[r.Number] = w
	}
	if w.ended {
		l.Fatalf("%v: request %d has ended and gets %v of %d", time.Duration(nowNs), r.Number, e.Type, e.Version)
	}
	history := l.history[resourceOf(r)]
	switch {
	case e.Type == api.Error:
		w.ended = true
	case w.unknown:
	case w.began:
		w.history = history
		upTo := e.Version
		if e.Type == api.Bookmark {
			l.checked.bookmarks++
		} else {
			l.checked.events++
		}
		want := w.next(r, upTo)
		if e.Type == api.Bookmark && want == nil || want != nil && want.Type == e.Type && want.Version == e.Version && want.Object == e.Object {
			break
		}
		l.Fatalf("%v: watch %d of %v %+v sends %v of %d, want %+v", time.Duration(nowNs), r.Number, resourceOf(r), r.Details.Asked.Options, e.Type, e.Version, want)
	case e.InitialEnd:
		want, keys := l.state(r, w.selector, e.Version)
		if len(want) != len(w.copied) {
			l.Fatalf("%v: the initial events of %v end at %d with %d objects, want %d", time.Duration(nowNs), resourceOf(r), e.Version, len(w.copied), len(want))
		}
		for _, key := range keys {
			if w.copied[key] != want[key] {
				l.Fatalf("%v: the initial events of %v end at %d with %s of version %+v, want %d", time.Duration(nowNs), resourceOf(r), e.Version, key, w.copied[key], want[key].Version)
			}
		}
		l.checked.initial++
		w.begins(history, e.Version)
	case e.Type == api.Deleted:
		delete(w.copied, e.Object.Key())
	case e.Object != nil && e.Object.Version > 1:
		w.copied[e.Object.Key()] = e.Object
	}
	l.clients.Received(nowNs, r, e)
}

// Whatever happens, nothing is lost and nothing is made up: each revision is a write or the marker of a
// compaction, lists are the state at their versions, watches the history behind theirs, each event once, and each
// request is answered once.
func TestStoreWhateverHappens(t *testing.T) {
	var sum ledger
	if !*long {
		if err := flag.Set("rapid.checks", "40"); err != nil {
			t.Fatal(err)
		}
		defer flag.Set("rapid.checks", "100")
	}
	rapid.Check(t, func(rt *rapid.T) {
		servers := rapid.IntRange(1, 3).Draw(rt, "servers")
		var events []string
		at := 0
		for range rapid.IntRange(0, 4).Draw(rt, "events") {
			at += rapid.IntRange(1, 9).Draw(rt, "after")
			what := rapid.SampledFrom([]string{"stop", "start", "crash", "lose"}).Draw(rt, "what")
			events = append(events, fmt.Sprintf("{at: %ds, %s: {server: %d}}", at, what, rapid.IntRange(0, servers-1).Draw(rt, "server")))
		}
		start := func() string { return rapid.SampledFrom([]string{"List", "WatchList"}).Draw(rt, "start") }
		var plain strings.Builder
		for i, request := range []string{
			"verb: create", "verb: update, name: a", "verb: patch, name: a", "verb: delete, name: a", "verb: patch, name: b", "verb: get, name: a", "verb: list",
			"verb: list, query: resourceVersion=0", "verb: list, query: limit=2", "verb: deletecollection, query: limit=3", "verb: watch, query: resourceVersion=2&timeoutSeconds=2",
		} {
			fmt.Fprintf(&plain, "  - {name: plain-%d, as: {user: p}, request: {%s, resource: configmaps, namespace: shared}, arrivals: {poisson: {rate: %d/s}}, stop: 30s, clientTimeout: %s}\n",
				i, request, rapid.IntRange(0, 3).Draw(rt, "rate")+1, rapid.SampledFrom([]string{"10s", "10ms"}).Draw(rt, "timeout"))
		}
		interval := rapid.SampledFrom([]int{3, 300}).Draw(rt, "compaction")
		spec := fmt.Sprintf(`
  seed: %d
  duration: 110s
  servers: {kubernetesVersion: "%s", replicas: %d%s}
  store: {read: 1ms, write: {exponential: {mean: 4ms}}, compactionInterval: %ds}
  resources: [{resource: pods, objects: 20, averageBytes: 1000}]
  events: [%s]
  workload:
  - {name: kubelets, clients: 3, as: {node: "node-{i}"}, stop: 30s, behaviour: {kubelet: {pods: 4, churn: 0.2/s, secrets: 1, start: %s}}}
  - {name: leaders, as: {user: l}, stop: 30s, behaviour: {leaderElection: {lease: n/lease, candidates: 3}}}
  - {name: putters, clients: 2, as: {user: w}, stop: 30s, behaviour: {writer: {resource: configmaps, namespace: shared, objects: 3, retryOnConflict: Default, every: {exponential: {mean: 100ms}}}}}
  - {name: appliers, clients: 2, as: {user: a}, stop: 30s, behaviour: {writer: {resource: configmaps, namespace: shared, objects: 3, with: Apply, every: {exponential: {mean: 300ms}}}}}
  - {name: recorder, as: {user: r}, stop: 30s, behaviour: {eventRecorder: {rate: 2/s, objects: 4, reasons: 3}}}
  - {name: lister, as: {user: li}, stop: 30s, behaviour: {lister: {resource: configmaps, limit: 4, every: 500ms}}}
  - {name: controller, as: {user: c}, stop: 30s, behaviour: {controller: {watches: pods, workers: 2, start: %s, reconcile: [{verb: get, resource: pods}, {verb: update, resource: pods, subresource: status}]}}}
  - {name: all, as: {user: i1}, stop: 40s, behaviour: {informer: {resource: configmaps, start: %s, limit: 3}}}
  - {name: named, as: {user: i2}, stop: 40s, behaviour: {informer: {resource: configmaps, namespace: shared, fieldSelector: metadata.name=a, start: %s}}}
  - {name: node, as: {user: i3}, stop: 40s, behaviour: {informer: {resource: pods, fieldSelector: spec.nodeName=node-1, start: %s}}}
  - {name: phase, as: {user: i4}, stop: 40s, behaviour: {informer: {resource: pods, fieldSelector: status.phase!=Running, start: %s}}}
  - {name: slow, as: {user: i5}, stop: 40s, behaviour: {informer: {resource: configmaps, start: %s, perEvent: %s}}}
  - {name: uncached, as: {user: i6}, stop: 40s, behaviour: {informer: {resource: events, start: %s}}}
%s`, rapid.IntRange(1, 1000).Draw(rt, "seed"), rapid.SampledFrom([]string{"1.24", "1.30", "1.33", "1.37"}).Draw(rt, "release"), servers,
			rapid.SampledFrom([]string{"", ", capacity: {cores: 2}"}).Draw(rt, "capacity"), interval, strings.Join(events, ", "), start(), start(), start(), start(), start(), start(), start(),
			rapid.SampledFrom([]string{"1ms", "400ms"}).Draw(rt, "slow"), start(), &plain)
		l := newLedger(rt, load(t, spec))
		run := l.run
		execute(t, run, server.Observer{})

		store := run.Handlers().Store()
		markers := int(store.Revision()) - 1 - l.events
		rounds := 110 / interval // a round also takes as long as its transaction
		if most := rounds * servers; markers > most || markers < 0 || len(events) == 0 && (markers > rounds || markers < rounds-1) {
			rt.Fatalf("revision %d after %d events, that is %d markers of compactions in %d rounds", store.Revision(), l.events, markers, rounds)
		}
		for number, answered := range l.began {
			if !answered {
				rt.Fatalf("request %d was never answered", number)
			}
		}
		c, s := &l.checked, &sum.checked
		s.lists, s.pages, s.events, s.initial, s.bookmarks, s.writes = s.lists+c.lists, s.pages+c.pages, s.events+c.events, s.initial+c.initial, s.bookmarks+c.bookmarks, s.writes+c.writes
	})
	if c := &sum.checked; !t.Failed() && !testing.Short() && (min(c.lists, c.pages, c.events, c.writes) < 1000 || min(c.initial, c.bookmarks) < 10) {
		t.Errorf("too little was compared: %+v", *c)
	}
	t.Logf("compared %+v", sum.checked)
}
