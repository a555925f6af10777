package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/clock"
)

const (
	second = int64(1e9)
	minute = 60 * second
)

var (
	pods   = api.Resource{Name: "pods"}
	nodes  = api.Resource{Name: "nodes"}
	events = api.Resource{Name: "events"}
)

// world is a store and its time.
type world struct {
	*Store
	queue  clock.Queue[int32]
	alarms *clock.Alarms
}

func newWorld(settings Settings, counts ...Count) *world { return seededWorld(0, settings, counts...) }

func seededWorld(seed uint64, settings Settings, counts ...Count) *world {
	w := &world{}
	w.alarms = clock.NewAlarms(
		func(atNs int64, slot int32) clock.Handle { return w.queue.Schedule(atNs, 0, slot) }, w.queue.Cancel)
	w.Store = New(w.alarms, settings, seed, counts)
	return w
}

// run carries out what happens up to a time.
func (w *world) run(untilNs int64) {
	for {
		atNs, ok := w.queue.NextNs()
		if !ok || atNs > untilNs {
			return
		}
		slot, _ := w.queue.Next()
		w.alarms.Ring(w.queue.NowNs(), slot)
	}
}

// at carries out f at a time, after what was set for it before.
type at func(nowNs int64)

func (f at) Ring(nowNs int64) { f(nowNs) }

func object(namespace, name string) *api.Object {
	return &api.Object{Namespace: namespace, Name: name, DeletionNs: -1}
}

// put stores an object that must not exist, or replaces the one that does.
func put(t interface{ Fatalf(string, ...any) }, nowNs int64, r *Resource, o *api.Object) *api.Object {
	var expected int64
	if current := r.Get(o.Namespace, o.Name); current != nil {
		expected = current.Version
	}
	stored, ok := r.Put(nowNs, o, expected)
	if !ok {
		t.Fatalf("Put of %s at version %d failed", o.Key(), expected)
	}
	return stored
}

func (w *world) history(t *testing.T, r *Resource, since int64) string {
	t.Helper()
	events, ok := r.Since(since)
	if !ok {
		return "compacted"
	}
	var lines []string
	for e := range events {
		lines = append(lines, fmt.Sprintf("%d %v %s", e.Version, e.Type, e.Object.Key()))
	}
	return strings.Join(lines, ", ")
}

// Two clients read a ConfigMap's version and write it. The one that comes second has lost, and is given what
// the first one has written. A deletion needs the current version, too. Only what succeeds makes a revision.
func TestTransactions(t *testing.T) {
	w := newWorld(Settings{})
	r := w.Resource(api.Resource{Name: "configmaps"})
	created, ok := r.Put(1, &api.Object{Namespace: "a", Name: "x", Bytes: 100, Stamp: 1, DeletionNs: -1}, 0)
	if !ok || created.Version != 2 || created.UID != 1 {
		t.Fatalf("created: %+v %v, want version 2 and UID 1", created, ok)
	}
	if again, ok := r.Put(2, object("a", "x"), 0); ok || again != created {
		t.Errorf("created a second time: %+v %v, want the object that exists", again, ok)
	}
	updated, ok := r.Put(3, &api.Object{Namespace: "a", Name: "x", Bytes: 300, Stamp: 2, DeletionNs: -1}, created.Version)
	if !ok || updated.Version != 3 || updated.UID != 1 || updated.Stamp != 2 || created.Stamp != 1 {
		t.Errorf("updated: %+v %v, want version 3 of the same object", updated, ok)
	}
	if current, ok := r.Put(4, object("a", "x"), created.Version); ok || current != updated {
		t.Errorf("the second writer: %+v %v, want what the first one wrote", current, ok)
	}
	if missing, ok := r.Put(4, object("a", "y"), created.Version); ok || missing != nil {
		t.Errorf("an update of an object that does not exist: %+v %v", missing, ok)
	}
	if _, ok := r.Delete(5, "a", "x", created.Version); ok {
		t.Error("a deletion of an old version succeeded")
	}
	if r.Len() != 1 || r.AverageBytes() != 300 {
		t.Errorf("%d objects of %d bytes, want 1 of 300", r.Len(), r.AverageBytes())
	}
	gone, ok := r.Delete(6, "a", "x", updated.Version)
	if !ok || gone.Version != 4 || gone.Object != updated || gone.Previous != updated || gone.AtNs != 6 {
		t.Errorf("deleted: %+v %v, want version 4 with the last state", gone, ok)
	}
	if _, ok := r.Delete(7, "a", "x", updated.Version); ok || r.Get("a", "x") != nil || r.Len() != 0 {
		t.Error("the object exists after its deletion")
	}
	reborn, ok := r.Put(8, object("a", "x"), 0)
	if !ok || reborn.Version != 5 || reborn.UID != 2 {
		t.Errorf("created again: %+v %v, want version 5 and another UID", reborn, ok)
	}
	if w.Revision() != 5 {
		t.Errorf("revision %d, want 5: four writes after the first revision", w.Revision())
	}
	const want = "2 ADDED a/x, 3 MODIFIED a/x, 4 DELETED a/x, 5 ADDED a/x"
	if got := w.history(t, r, 0); got != want {
		t.Errorf("history %s, want %s", got, want)
	}
}

// Revisions count the writes of all resources, and each resource has the history of its own.
func TestOneCounter(t *testing.T) {
	w := newWorld(Settings{})
	var told []string
	w.Resource(pods).OnCommit(func(nowNs int64, e *api.Event) {
		told = append(told, fmt.Sprintf("%d ns: %d %v %s", nowNs, e.Version, e.Type, e.Object.Name))
	})
	put(t, 1, w.Resource(pods), object("a", "x"))
	put(t, 2, w.Resource(nodes), object("", "n"))
	put(t, 3, w.Resource(pods), object("a", "x"))
	if got, want := w.history(t, w.Resource(pods), 2), "4 MODIFIED a/x"; got != want {
		t.Errorf("pods since 2: %s, want %s", got, want)
	}
	if got, want := w.history(t, w.Resource(nodes), 2), "3 ADDED n"; got != want {
		t.Errorf("nodes since 2: %s, want %s", got, want)
	}
	if want := []string{"1 ns: 2 ADDED x", "3 ns: 4 MODIFIED x"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	if w.Resource(api.Resource{Group: "events.k8s.io", Name: "events"}) != w.Resource(events) {
		t.Error("the events of the two groups are not the same")
	}
}

// A kubelet writes the status of a pod that was only counted: the pod gets its name, as it has always existed,
// and then a new version. The number of pods stays the same, until there are no more that could be adopted.
func TestAdopt(t *testing.T) {
	w := newWorld(Settings{}, Count{pods, 2, 8000})
	r := w.Resource(pods)
	if r.Len() != 2 || r.Counted() != 2 || r.AverageBytes() != 8000 || r.Get("a", "x") != nil {
		t.Fatalf("%d pods, %d counted, of %d bytes", r.Len(), r.Counted(), r.AverageBytes())
	}
	adopted := r.Adopt(1, "a", "x")
	if adopted.Version != 1 || adopted.UID == 0 || adopted.Bytes != 8000 || adopted.Deleting() || w.Revision() != 1 {
		t.Errorf("adopted %+v at revision %d, want version 1 at revision 1", adopted, w.Revision())
	}
	if r.Adopt(2, "a", "x") != adopted || r.Get("a", "x") != adopted {
		t.Error("the object is another one when it is asked for again")
	}
	small := object("a", "x")
	small.Bytes = 100
	if updated := put(t, 3, r, small); updated.Version != 2 || updated.UID != adopted.UID {
		t.Errorf("updated %+v, want version 2 of the same object", updated)
	}
	if r.Len() != 2 || r.Counted() != 1 || r.AverageBytes() != 4050 {
		t.Errorf("%d pods, %d counted, of %d bytes; want 2, 1, 4050", r.Len(), r.Counted(), r.AverageBytes())
	}
	r.Delete(4, "a", "x", 2)
	if r.Len() != 1 || r.AverageBytes() != 8000 {
		t.Errorf("%d pods of %d bytes, want 1 of 8000", r.Len(), r.AverageBytes())
	}
	if r.Adopt(5, "a", "x") != nil {
		t.Error("a pod that was deleted has come back")
	}
	if r.Adopt(6, "a", "y") == nil || r.Adopt(7, "a", "z") != nil {
		t.Error("of two pods that were counted, two can be adopted and not three")
	}
	if got, want := w.history(t, r, 0), "2 MODIFIED a/x, 3 DELETED a/x"; got != want {
		t.Errorf("history %s, want %s", got, want)
	}
}

// What is read at a revision is neither compacted nor in the future.
func TestErrors(t *testing.T) {
	w := newWorld(Settings{})
	r := w.Resource(nodes)
	for _, name := range []string{"a", "b", "c"} { // revisions 2, 3, 4
		put(t, 1, r, object("", name))
	}
	w.compact(3)
	for revision, want := range map[int64]error{2: ErrCompacted, 3: nil, 4: nil, 5: ErrFuture} {
		if _, err := r.Page(revision, "", "", 0, 0); !errors.Is(err, want) {
			t.Errorf("at revision %d: error %v, want %v", revision, err, want)
		}
	}
	for since, want := range map[int64]string{1: "compacted", 2: "3 ADDED b, 4 ADDED c", 3: "4 ADDED c", 4: "", 9: ""} {
		if got := w.history(t, r, since); got != want {
			t.Errorf("since %d: %s, want %s", since, got, want)
		}
	}
}
