package watchcache

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"apfsim/sim/api"
	"apfsim/sim/quantity"
	"apfsim/sim/store"
)

// names writes a page as "a@2 b@3".
func names(objects []*api.Object) string {
	var all []string
	for _, o := range objects {
		all = append(all, fmt.Sprintf("%s@%d", o.Name, o.Version))
	}
	return strings.Join(all, " ")
}

// A cache that is behind etcd serves its own state, with its own version.
func TestReadsLag(t *testing.T) {
	w := newWorld(t, store.Settings{}, store.Count{Resource: pods, Objects: 5})
	w.put("default", "a")
	w.put("default", "b") // 3
	cache := w.cache("1.37", func(s *Settings) { s.FeedLagNs = 10 * ms })
	w.put("default", "a")
	w.delete("default", "b")
	w.put("default", "c") // 6
	read := func(wantVersion int64, want string) {
		t.Helper()
		p := cache.Page("", "", 0, 0)
		var got []*api.Object
		for _, name := range []string{"a", "b", "c"} {
			if o := cache.Get("default", name); o != nil {
				got = append(got, o)
			}
		}
		if p.Revision != wantVersion || p.Counted != 5 || names(p.Objects) != want || names(got) != want {
			t.Errorf("a list at %d has %d and %s, gets have %s; want 5 and %s at %d", p.Revision, p.Counted, names(p.Objects), names(got), want, wantVersion)
		}
	}
	read(3, "a@2 b@3")
	w.run(10 * ms)
	read(6, "a@4 c@6")
	cache.Stop(w.now())
	if cache.Start(w.now(), second); cache.Get("default", "a") != nil {
		t.Error("a cache that has not been ready since its start has an object")
	}
}

// A list that is exact or continues is served from the newest snapshot that is not newer, from 1.34 on.
func TestSnapshots(t *testing.T) {
	w := newWorld(t, store.Settings{})
	w.put("default", "a") // 2
	cache := w.cache("1.37")
	old := w.cache("1.33")
	w.other()             // 3
	w.put("default", "b") // 4
	w.other()             // 5
	w.delete("default", "a")
	w.run(0) // 6
	for version, want := range map[int64]string{1: "none", 2: "a@2", 3: "a@2", 4: "a@2 b@4", 5: "a@2 b@4", 6: "b@4"} {
		p, ok := cache.Snapshot(version, "", "", 0, 0)
		got := names(p.Objects)
		if !ok {
			got = "none"
		}
		if got != want || ok && p.Revision != version || ok != cache.HasSnapshot(version) {
			t.Errorf("at %d: %s at %d, want %s", version, got, p.Revision, want)
		}
		if old.HasSnapshot(version) {
			t.Errorf("1.33 has a snapshot of %d", version)
		}
	}
	cache.Relist(0, 0)
	w.run(0)
	if cache.HasSnapshot(5) || !cache.HasSnapshot(6) {
		t.Error("after a list, only the list is a snapshot")
	}
}

// Snapshots that are older than the oldest event of a full ring are dropped.
func TestSnapshotsOfAFullRing(t *testing.T) {
	w := newWorld(t, store.Settings{})
	cache := w.cache("1.37")
	for range 99 { // one every second
		w.put("default", "a")
		w.run(w.now() + second)
	}
	if !cache.HasSnapshot(1) {
		t.Error("the list is dropped before the ring is full")
	}
	w.put("default", "a") // the 100th, at version 101
	w.run(w.now() + second)
	if cache.HasSnapshot(1) || !cache.HasSnapshot(2) {
		t.Error("the list is not dropped when the ring is full")
	}
	w.put("default", "a")
	w.run(w.now() + second)
	if cache.HasSnapshot(2) || !cache.HasSnapshot(3) {
		t.Error("the oldest event's snapshot is not dropped with it")
	}
}

// Snapshots that etcd has compacted are dropped within 15 s, also the only one of a resource that does not
// change: its exact lists go to etcd until its next event.
func TestSnapshotsAreCompacted(t *testing.T) {
	w := newWorld(t, store.Settings{CompactionInterval: quantity.Duration(100 * second)})
	w.store.NewCompactor().Start(0)
	w.put("default", "a") // 2
	cache := w.cache("1.37")
	w.run(50 * second)
	w.put("default", "a") // 3
	w.other()             // 4
	w.run(201 * second)   // compacted at 200 s to the revision of 100 s, the marker's write
	compacted := w.store.Compacted()
	if compacted != 5 {
		t.Fatalf("compacted to %d, want 5", compacted)
	}
	if cache.HasSnapshot(4) || !cache.HasSnapshot(5) {
		t.Errorf("snapshots at 4: %v, at 5: %v; want only what is not compacted", cache.HasSnapshot(4), cache.HasSnapshot(5))
	}
	w.run(210*second + 1) // polls are at multiples of 15 s
	if cache.HasSnapshot(5) || cache.HasSnapshot(cache.Version()) {
		t.Error("the only snapshot is still there")
	}
	version := w.put("default", "a")
	w.run(w.now())
	if cache.HasSnapshot(version-1) || !cache.HasSnapshot(version) {
		t.Error("the next event does not make a snapshot")
	}
	if p := cache.Page("", "", 0, 0); names(p.Objects) != "a@"+itoa(version) {
		t.Errorf("the list has %s", names(p.Objects))
	}
}

// The cache is what the store was at its version, and its snapshots what the store was at theirs, whatever
// happens.
func TestReadsAgreeWithTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, store.Settings{})
		lagNs := rapid.SampledFrom([]int64{0, ms, 50 * ms}).Draw(t, "lag")
		cache := w.cache("1.37", func(s *Settings) { s.FeedLagNs, s.Indexed = lagNs, true })
		pick := func(label string, n int) string { return itoa(rapid.Int64Range(0, int64(n-1)).Draw(t, label)) }
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			namespace, name := "ns"+pick("namespace", 2), "o"+pick("name", 5)
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0, 1, 2, 3, 4:
				w.put(namespace, name, "spec.nodeName="+[]string{"", "n1", "n2"}[rapid.IntRange(0, 2).Draw(t, "node")])
			case 5, 6:
				if w.resource.Get(namespace, name) != nil {
					w.delete(namespace, name)
				}
			case 7:
				w.other()
			default:
				w.run(w.now() + rapid.Int64Range(0, 100*ms).Draw(t, "time"))
			}
			want, err := w.resource.Page(cache.Version(), namespace, "", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := cache.Page(namespace, "", 0, 0); names(got.Objects) != names(want.Objects) {
				t.Fatalf("at %d: %s, want %s", cache.Version(), names(got.Objects), names(want.Objects))
			}
			i := slices.IndexFunc(want.Objects, func(o *api.Object) bool { return o.Name == name })
			if o := cache.Get(namespace, name); i < 0 && o != nil || i >= 0 && o != want.Objects[i] {
				t.Fatalf("get at %d: %+v", cache.Version(), o)
			}
			all, _ := w.resource.Page(cache.Version(), "", "", 0, 0)
			for _, node := range []string{"", "n1", "n2"} {
				onNode := slices.DeleteFunc(slices.Clone(all.Objects), func(o *api.Object) bool { return o.Fields[nodeName] != node })
				if got := cache.ByNode(node); names(got) != names(onNode) {
					t.Fatalf("node %q at %d: %s, want %s", node, cache.Version(), names(got), names(onNode))
				}
			}
		}
	})
}
