package estimate

import (
	"maps"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/rules"
)

// 1 000 pods have 2 kB each.
func TestListBytes(t *testing.T) {
	e := NewEstimator(rules.Latest(), nil)
	stored := Store{{Name: "pods"}: {Objects: 1000, AverageBytes: 2000}}
	for _, c := range []struct {
		verb, resource, query string
		want                  int64
	}{
		{"list", "pods", "", 2_000_000},
		{"list", "pods", "limit=100", 200_000},
		{"list", "pods", "limit=5000", 2_000_000},
		{"list", "pods", "limit=100&resourceVersion=0", 2_000_000},
		{"list", "pods", "labelSelector=a%3Db", 2_000_000},
		{"list", "pods", "fieldSelector=metadata.name%3Dx", 2000},
		{"list", "pods", "limit=1", 2000},
		{"list", "pods", "limit=many", 0},
		{"list", "nodes", "", 0},
		{"get", "pods", "", 0},
		{"watch", "pods", "sendInitialEvents=true", 0},
	} {
		r, err := e.NewRequest(&classify.Attributes{User: "u", Verb: c.verb, Resource: c.resource}, c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.ListBytes(stored[Resource{Name: c.resource}]); got != c.want {
			t.Errorf("%s %s?%s has %d bytes, want %d", c.verb, c.resource, c.query, got, c.want)
		}
	}
}

// A server learns that there are more pods than before, of which each is larger, and then fails to count them.
func TestUpdate(t *testing.T) {
	before := Store{{Name: "pods"}: {Objects: 100, AverageBytes: 2000}}
	e := NewEstimator(rules.Latest(), before)
	requests := map[string]*Request{}
	for _, query := range []string{"", "limit=50", "fieldSelector=metadata.name%3Dx", "limit=many"} {
		r, err := e.NewRequest(&classify.Attributes{User: "u", Verb: "list", Resource: "pods"}, query)
		if err != nil {
			t.Fatal(err)
		}
		requests[query] = r
	}
	want := func(when string, whole, page, named, invalid int) {
		t.Helper()
		for query, seats := range map[string]int{"": whole, "limit=50": page, "fieldSelector=metadata.name%3Dx": named, "limit=many": invalid} {
			if got := requests[query].Estimate(0).InitialSeats; got != seats {
				t.Errorf("%s: %q takes %d seats, want %d", when, query, got, seats)
			}
		}
	}
	pods := Resource{Name: "pods"}
	want("at first", 2, 1, 1, 100)
	e.Update(pods, Stats{Objects: 400, AverageBytes: 15_000})
	want("more pods", 10, 8, 1, 100)
	e.Update(Resource{Name: "nodes"}, Stats{Objects: 1, AverageBytes: 1})
	want("another resource", 10, 8, 1, 100)
	e.Update(pods, Stats{Objects: 1, AverageBytes: 1, Stale: true})
	want("a stale count", 10, 10, 10, 100)
	e.Update(pods, Stats{Objects: 400, AverageBytes: 15_000})
	want("a count again", 10, 8, 1, 100)
	if before[pods].Objects != 100 {
		t.Error("the update has changed the store that the server began with")
	}
}

// Of what is stored, servers know neither the sizes of events nor that there are events in events.k8s.io.
func TestKnown(t *testing.T) {
	pods, events, grouped := Resource{Name: "pods"}, Resource{Name: "events"}, Resource{Group: "events.k8s.io", Name: "events"}
	own := Resource{Group: "example.com", Name: "events"}
	stats := Stats{Objects: 10, AverageBytes: 500}
	got := Known(Store{pods: stats, events: stats, grouped: stats, own: stats})
	want := Store{pods: stats, events: {Objects: 10}, own: stats}
	if !maps.Equal(got, want) {
		t.Errorf("known is %v, want %v", got, want)
	}
}

// A server that knew of nothing at first learns of its pods.
func TestUpdateOfAnUnknownStore(t *testing.T) {
	e := NewEstimator(rules.Latest(), nil)
	r, err := e.NewRequest(&classify.Attributes{User: "u", Verb: "list", Resource: "pods"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Estimate(0).InitialSeats; got != 1 {
		t.Errorf("a list of an unknown number of pods takes %d seats, want 1", got)
	}
	e.Update(Resource{Name: "pods"}, Stats{Objects: 100, AverageBytes: 2000})
	if got := r.Estimate(0).InitialSeats; got != 2 {
		t.Errorf("a list of 100 pods of 2 kB takes %d seats, want 2", got)
	}
}

// The seats of lists at the limits of what is known: no objects, objects without a size, more bytes than there are
// numbers, and a list of one object from etcd, which counts once where lists count by objects.
func TestListsAtTheLimits(t *testing.T) {
	for _, c := range []struct {
		version, query string
		stored         Stats
		want           int
	}{
		{"1.37", "", Stats{}, 1},
		{"1.37", "", Stats{Objects: 1}, 10},                         // from the cache, 1 MB at most
		{"1.37", "limit=1&continue=x", Stats{Objects: 1}, 15},       // from etcd: 1.5 MB
		{"1.37", "", Stats{Objects: 10, AverageBytes: 100_001}, 10}, // 1 MB at most, exactly
		{"1.37", "limit=10&continue=x", Stats{Objects: 10, AverageBytes: 100_001}, 11},
		{"1.37", "limit=9&continue=x", Stats{Objects: 9, AverageBytes: 1 << 62}, 100},
		{"1.37", "limit=2&continue=x", Stats{Objects: 2, AverageBytes: 1 << 62}, 100},
		{"1.37", "limit=10&continue=x", Stats{Objects: 10, AverageBytes: 1}, 1},
		{"1.30", "fieldSelector=metadata.name%3Dx", Stats{Objects: 500}, 1},
		{"1.30", "limit=500&continue=x", Stats{Objects: 51}, 2}, // each object counts twice
	} {
		e := NewEstimator(release(t, c.version), Store{{Name: "pods"}: c.stored})
		r, err := e.NewRequest(&classify.Attributes{User: "u", Verb: "list", Resource: "pods"}, c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Estimate(0).InitialSeats; got != c.want {
			t.Errorf("%s: a list with %q of %+v takes %d seats, want %d", c.version, c.query, c.stored, got, c.want)
		}
	}
}
