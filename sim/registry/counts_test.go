package registry

import (
	"testing"

	"apfsim/core/estimate"
	"apfsim/sim/api"
	"apfsim/sim/store"
)

// wantKnown checks what the server knows of a resource; nil stands for nothing.
func (b *bench) wantKnown(when string, r api.Resource, want *estimate.Stats) {
	b.t.Helper()
	got, ok := b.known[r]
	if ok != (want != nil) || ok && got != *want {
		b.t.Errorf("%s: the server knows %+v (%t) of %s, want %+v", when, got, ok, r.Name, want)
	}
}

// longestNs is the longest time between two counts that succeed at once.
const longestNs = 132 * second

// thousand are a thousand pods of 2 kB, and as many events.
var thousand = []store.Count{{Resource: pods, Objects: 1000, AverageBytes: 2000}, {Resource: events, Objects: 1000, AverageBytes: 2000}}

// A server counts at its start, and again within 132 s, but not within a minute.
func TestCounts(t *testing.T) {
	b := newBench(t, settings{counts: thousand, resources: []api.Resource{pods, events}, readNs: millisecond, lagNs: millisecond})
	before := &estimate.Stats{Objects: 1000, AverageBytes: 2000}
	b.wantKnown("at first", pods, before)
	b.must(201, pod("p"))
	b.runTo(60 * second)
	b.wantKnown("after a minute", pods, before)
	b.runTo(second + longestNs)
	data := b.store.Resource(pods)
	after := &estimate.Stats{Objects: 1001, AverageBytes: data.AverageBytes()}
	b.wantKnown("after more than two minutes", pods, after)
	b.wantKnown("events, of which the sizes are not known", events, &estimate.Stats{Objects: 1000})
	b.wantKnown("a resource that nobody has asked for", leases, nil)

	b.Stop(b.queue.NowNs())
	b.storedByAnother(data)
	b.storedByAnother(b.store.Resource(events))
	counts := len(b.countsNs)
	b.run(2 * longestNs)
	b.wantKnown("after the end of the process", pods, after)
	if len(b.countsNs) != counts {
		t.Error("the server learns something after the end of its process")
	}
}

// storedByAnother stores another object, as another server does.
func (b *bench) storedByAnother(r *store.Resource) {
	b.t.Helper()
	if _, ok := r.Put(b.queue.NowNs(), &api.Object{Namespace: "default", Name: "by another server"}, 0); !ok {
		b.t.Fatal("the object exists")
	}
}

// The time between two counts is uniform between 60 s and 132 s.
func TestTimesOfCounts(t *testing.T) {
	for _, readNs := range []int64{0, 10 * second} { // each count asks etcd
		b := newBench(t, settings{counts: thousand, resources: []api.Resource{pods}, readNs: readNs})
		b.runTo(1000 * (96*second + readNs))
		least, most, sum := int64(1<<62), int64(0), int64(0)
		for i, atNs := range b.countsNs[1:] {
			gap := atNs - b.countsNs[i] - readNs
			least, most, sum = min(least, gap), max(most, gap), sum+gap
		}
		n := int64(len(b.countsNs) - 1)
		if least < 60*second || least > 61*second || most < 131*second || most > longestNs {
			t.Errorf("%d counts are between %d ns and %d ns apart", n, least, most)
		}
		if mean := sum / n; mean < 94*second || mean > 98*second {
			t.Errorf("counts are %d ns apart on average, want 96 s", mean)
		}
	}
}

// A server whose cache is not filled within 3 s knows nothing of its objects until the next count, 60 s to 132 s later.
// Releases that count in etcd do not wait for the cache.
func TestCountOfAColdCache(t *testing.T) {
	cold := settings{counts: thousand, resources: []api.Resource{pods}, initNs: 4 * second}
	b := newBench(t, cold)
	b.runTo(63 * second)
	b.wantKnown("after a minute", pods, nil)
	b.runTo(3*second + longestNs)
	b.wantKnown("after more than two minutes", pods, &estimate.Stats{Objects: 1000, AverageBytes: 2000})

	cold.initNs = 2 * second
	b = newBench(t, cold)
	b.runTo(3 * second)
	b.wantKnown("a cache that is filled within 3 s", pods, &estimate.Stats{Objects: 1000, AverageBytes: 2000})

	cold.initNs, cold.release = 100*second, "1.33"
	b = newBench(t, cold)
	b.wantKnown("1.33", pods, &estimate.Stats{Objects: 1000})
}

// A server that has run for long has counted before. The events of events.k8s.io are not counted under this name.
func TestCountsOfARunningServer(t *testing.T) {
	b := newBench(t, settings{counts: thousand, resources: []api.Resource{}})
	grouped := api.Resource{Group: "events.k8s.io", Name: "events"}
	for _, r := range []api.Resource{pods, grouped} {
		b.Know(b.queue.NowNs(), r)
	}
	b.wantKnown("at once", pods, &estimate.Stats{Objects: 1000, AverageBytes: 2000})
	b.run(longestNs)
	b.wantKnown("events.k8s.io", grouped, nil)
}

// A cache that has lost its watch of etcd does not come to etcd's version, so that counts fail. Three minutes after the
// last one that did not, it is not used any more, until there is another one.
func TestStaleCount(t *testing.T) {
	b := newBench(t, settings{counts: thousand, resources: []api.Resource{pods}})
	b.storedByAnother(b.store.Resource(configmaps))
	b.Cache(pods).Relist(b.queue.NowNs(), 400*second)
	known := estimate.Stats{Objects: 1000, AverageBytes: 2000}
	b.runTo(b.countsNs[0] + 180*second)
	b.wantKnown("for three minutes", pods, &known)
	stale := known
	stale.Stale = true
	b.run(1)
	b.wantKnown("after three minutes", pods, &stale)
	b.runTo(401*second + longestNs)
	b.wantKnown("when the cache is filled again", pods, &known)
}

// Objects whose size nobody has given are small, but not nothing; where there are none, they have no size.
func TestCountsOfObjectsWithoutSizes(t *testing.T) {
	b := newBench(t, settings{counts: []store.Count{{Resource: roles, Objects: 5}}})
	b.storedByAnother(b.store.Resource(configmaps))
	b.run(longestNs + 60*second)
	b.wantKnown("one", configmaps, &estimate.Stats{Objects: 1, AverageBytes: 1})
	b.wantKnown("none", widgets, &estimate.Stats{})
	b.wantKnown("that are only counted, of no bytes", roles, &estimate.Stats{Objects: 5})
}

// A process can end while it waits for the cache to count in it. That disturbs nothing of what comes later.
func TestProcessThatEndsWhileItCounts(t *testing.T) {
	b := newBench(t, settings{counts: thousand, resources: []api.Resource{pods}, initNs: 4 * second, readNs: millisecond})
	b.Stop(b.queue.NowNs())
	b.Open()
	b.Fill(b.queue.NowNs(), pods, second)
	var clients []*client
	for range 4 {
		clients = append(clients, b.send(apiRequest{verb: "get", resource: pods, path: "default/p"}))
	}
	b.run(10 * second)
	for i, c := range clients {
		if c.answers != 1 || c.answer.Status != 200 {
			t.Errorf("request %d: %d answers: %s", i, c.answers, describe(&c.answer))
		}
	}
	b.wantKnown("the next process", pods, &estimate.Stats{Objects: 1000, AverageBytes: 2000})
}
