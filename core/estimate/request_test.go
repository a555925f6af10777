package estimate

import (
	"math"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/rules"
	"pgregory.net/rapid"
)

// store is a cluster with 150,000 pods of 2 kB, 5,000 leases of 300 bytes, and resources with
// unknown, stale and extreme statistics.
var store = Store{
	{"", "pods"}:                        {Objects: 150_000, AverageBytes: 2_000},
	{"coordination.k8s.io", "leases"}:   {Objects: 5_000, AverageBytes: 300},
	{"", "configmaps"}:                  {Objects: 40, AverageBytes: 0},
	{"", "secrets"}:                     {Objects: 10, AverageBytes: 100, Stale: true},
	{"", "nodes"}:                       {},
	{"example.com", "videos"}:           {Objects: math.MaxInt64, AverageBytes: math.MaxInt64},
	{"apps", "deployments"}:             {Objects: 301, AverageBytes: 1_000},
	{"snapshot.example.com", "volumes"}: {Objects: 1_000, AverageBytes: 10_000},
}

// estimator returns an estimator of the latest release over the watches.
func estimator(store Store, w *Watchers) *Estimator {
	return &Estimator{Rules: rules.Latest(), Watchers: w, store: store}
}

func requestOf(t testing.TB, a classify.Attributes, query string, w *Watchers) *Request {
	t.Helper()
	r, err := estimator(store, w).NewRequest(&a, query)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLists(t *testing.T) {
	pods := classify.Attributes{Verb: "list", Resource: "pods"}
	leases := classify.Attributes{Verb: "list", APIGroup: "coordination.k8s.io", Resource: "leases"}
	volumes := classify.Attributes{Verb: "list", APIGroup: "snapshot.example.com", Resource: "volumes"}
	for _, test := range []struct {
		story    string
		request  classify.Attributes
		query    string
		maxSeats int
		want     int
	}{
		// The cache holds at most 1 MB in memory, which is 10 seats.
		{"all pods, 300 MB", pods, "", 0, 10},
		{"all pods, of any age", pods, "resourceVersion=0", 0, 10},
		{"a level that allows less", pods, "", 7, 7},
		{"a level that allows more", pods, "", 15, 10},
		{"500 pods, exactly 1 MB", pods, "limit=500", 0, 10},
		{"450 pods, 900 kB", pods, "limit=450", 0, 9},
		{"451 pods, 902 kB", pods, "limit=451", 0, 10},
		{"50 pods, 100 kB", pods, "limit=50", 0, 1},
		{"51 pods, a little more", pods, "limit=51", 0, 2},
		{"a limit with version 0 is served from the cache", pods, "limit=500&resourceVersion=0", 0, 10},
		{"a negative limit is no limit", pods, "limit=-1", 0, 10},
		{"all leases are 1.5 MB", leases, "", 0, 10},
		{"1,000 leases are 300 kB", leases, "limit=1000", 0, 3},
		{"a limit above the number of objects", leases, "limit=1000000", 0, 10},
		{"301 deployments are 301 kB", classify.Attributes{Verb: "list", APIGroup: "apps", Resource: "deployments"}, "", 0, 4},
		{"selectors do not matter to the cache", leases, "limit=1000&labelSelector=a%3Db", 0, 3},

		// A list from etcd is in memory as a whole; a seat is 100 kB.
		{"a given version exactly", leases, "resourceVersion=123&resourceVersionMatch=Exact", 0, 15},
		{"exactly, in pages", leases, "limit=1000&resourceVersion=123&resourceVersionMatch=Exact", 0, 3},
		{"a limit and a version imply Exact", leases, "limit=4000&resourceVersion=123", 0, 12},
		{"a version without a limit does not imply Exact", leases, "resourceVersion=123", 0, 10},
		{"NotOlderThan does not imply Exact", leases, "limit=4000&resourceVersion=123&resourceVersionMatch=NotOlderThan", 0, 10},
		{"the next page of 10 MB", volumes, "continue=token", 0, 100},
		{"the next 500 of them", volumes, "limit=500&continue=token", 0, 50},
		{"with NotOlderThan a token does not matter", volumes, "limit=500&continue=token&resourceVersionMatch=NotOlderThan", 0, 10},
		{"an unknown way to match", volumes, "resourceVersionMatch=Roughly", 0, 100},
		{"a selector reads half of all", volumes, "limit=200&continue=token&fieldSelector=status.phase%3DBound", 0, 50},
		{"a selector with a limit of more than half", volumes, "limit=800&continue=token&labelSelector=a", 0, 80},
		{"no more than 100 seats", pods, "resourceVersion=1&resourceVersionMatch=Exact", 0, 100},
		{"no more than the level allows", pods, "resourceVersion=1&resourceVersionMatch=Exact", 37, 37},

		// Lists of one object by its name.
		{"a name", pods, "fieldSelector=metadata.name%3Dweb-1", 0, 1},
		{"a name, and more", pods, "fieldSelector=status.phase%3DRunning,metadata.name%3D%3Dweb-1&resourceVersion=0", 0, 1},
		{"all names except one", pods, "fieldSelector=metadata.name!%3Dweb-1", 0, 10},
		{"a name that no object has", pods, "fieldSelector=metadata.name%3Da/b", 0, 10},
		{"a name, in an invalid field selector", pods, "fieldSelector=metadata.name%3Dweb-1,oops", 0, 10},
		{"a name, with an invalid label selector", pods, "fieldSelector=metadata.name%3Dweb-1&labelSelector=a%3D%3D%3Db", 0, 10},
		{"a name that came with the request", classify.Attributes{Verb: "list", Resource: "pods", Name: "web-1"}, "", 0, 1},
		{"by name, size unknown: 1.5 MB, of which the cache counts 1 MB", classify.Attributes{Verb: "list", Resource: "configmaps"}, "fieldSelector=metadata.name%3Da", 0, 10},
		{"by name from storage", classify.Attributes{Verb: "list", Resource: "configmaps"}, "fieldSelector=metadata.name%3Da&resourceVersion=1&resourceVersionMatch=Exact", 0, 15},

		// Statistics that the server does not have.
		{"an unknown resource", classify.Attributes{Verb: "list", APIGroup: "metrics.k8s.io", Resource: "pods"}, "", 0, 1},
		{"40 objects of unknown size from storage, 60 MB", classify.Attributes{Verb: "list", Resource: "configmaps"}, "continue=token", 0, 100},
		{"6 of them, 9 MB", classify.Attributes{Verb: "list", Resource: "configmaps"}, "continue=token&limit=6", 0, 90},
		{"a stale count, from the cache", classify.Attributes{Verb: "list", Resource: "secrets"}, "", 0, 10},
		{"a stale count, from storage", classify.Attributes{Verb: "list", Resource: "secrets"}, "continue=token&limit=1", 0, 15},
		{"a stale count behind a selector", classify.Attributes{Verb: "list", Resource: "secrets"}, "continue=token&limit=1&labelSelector=a", 0, 100},
		{"no objects at all", classify.Attributes{Verb: "list", Resource: "nodes"}, "", 0, 1},
		{"no objects of that name", classify.Attributes{Verb: "list", Resource: "nodes"}, "fieldSelector=metadata.name%3Da", 0, 1},
		{"more bytes than an int64 can hold", classify.Attributes{Verb: "list", APIGroup: "example.com", Resource: "videos"}, "continue=token", 0, 100},

		// Options that the server cannot decode are estimated at the maximum.
		{"a limit that is not a number", leases, "limit=many", 0, 100},
		{"an empty limit", leases, "limit=", 0, 100},
		{"a limit beyond 64 bits", leases, "limit=9223372036854775808", 0, 100},
		{"a time-out that is not a number", leases, "timeoutSeconds=1m", 37, 37},
		{"an invalid limit of an unknown resource", classify.Attributes{Verb: "list", Resource: "ghosts"}, "limit=many", 0, 100},
		{"an invalid limit with a name", leases, "limit=many&fieldSelector=metadata.name%3Da", 0, 100},
		{"the first of two limits counts", leases, "limit=1000&limit=many", 0, 3},
	} {
		got := requestOf(t, test.request, test.query, NewWatchers()).Estimate(test.maxSeats)
		if got != (Work{InitialSeats: test.want}) {
			t.Errorf("%s: list %s?%s: %+v, want %d seats", test.story, test.request.Resource, test.query, got, test.want)
		}
	}
}

func TestWatches(t *testing.T) {
	for _, test := range []struct {
		story string
		query string
		want  int
	}{
		{"from a version", "resourceVersion=123", 1},
		{"from now, after all existing objects", "", 10},
		{"from any version, after all existing objects", "resourceVersion=0", 10},
		{"with initial events", "resourceVersion=123&sendInitialEvents=true", 10},
		{"with initial events, by the name of the parameter alone", "resourceVersion=123&sendInitialEvents", 10},
		{"without initial events", "resourceVersion=123&sendInitialEvents=False", 1},
		{"without initial events, as a number", "resourceVersion=123&sendInitialEvents=0", 1},
		{"a watch is always served from the cache", "sendInitialEvents=true&resourceVersion=1&resourceVersionMatch=Exact", 10},
		{"limited to 50 pods", "limit=50", 1},
		{"options that cannot be decoded", "resourceVersion=123&limit=many", 100},
	} {
		got := requestOf(t, classify.Attributes{Verb: "watch", Resource: "pods"}, test.query, NewWatchers()).Estimate(0)
		if got != (Work{InitialSeats: test.want}) {
			t.Errorf("%s: watch pods?%s: %+v, want %d seats", test.story, test.query, got, test.want)
		}
	}
}

func TestEverythingElseTakesOneSeat(t *testing.T) {
	for _, a := range []classify.Attributes{
		{Verb: "get", Resource: "pods", Name: "a"},
		{Verb: "deletecollection", Resource: "pods"},
		{Verb: "proxy", Resource: "nodes"},
		{Verb: "post", Path: "/version"},
	} {
		for _, maxSeats := range []int{0, 1, 20} {
			if got := requestOf(t, a, "limit=many", watched(t, 500)).Estimate(maxSeats); got != (Work{InitialSeats: 1}) {
				t.Errorf("%s: %+v, want 1 seat", a.Verb, got)
			}
		}
	}
}

// watched returns the watchers of a server with a number of watches of all pods.
func watched(t testing.TB, watches int) *Watchers {
	w := NewWatchers()
	r := requestOf(t, classify.Attributes{Verb: "watch", Resource: "pods"}, "", w)
	for range watches {
		r.WatchStarts()
	}
	return w
}

func TestMutations(t *testing.T) {
	const ms = 1_000_000
	for _, test := range []struct {
		watchers, maxSeats int
		want               Work
	}{
		{0, 0, Work{1, 0, 0}},
		{9, 0, Work{1, 0, 0}},
		{10, 0, Work{1, 1, 5 * ms}},
		{11, 0, Work{1, 2, 5 * ms}},
		{100, 0, Work{1, 10, 5 * ms}},
		// 11 seats × 5 ms are 55 seat-ms, or 10 seats for 5.5 ms.
		{101, 0, Work{1, 10, 5_500_000}},
		{1000, 0, Work{1, 10, 50 * ms}},
		{1000, 20, Work{1, 10, 50 * ms}},
		// 100 seats × 5 ms are 500 seat-ms, or 3 seats for 166.67 ms, rounded down to the nanosecond.
		{1000, 3, Work{1, 3, 166_666_666}},
		{1000, 1, Work{1, 1, 500 * ms}},
		{25, 2, Work{1, 2, 7_500_000}},
	} {
		w := watched(t, test.watchers)
		for _, verb := range []string{"create", "update", "patch", "delete"} {
			r := requestOf(t, classify.Attributes{Verb: verb, Resource: "pods", Namespace: "shop"}, "", w)
			if got := r.Estimate(test.maxSeats); got != test.want {
				t.Errorf("%s with %d watchers, at most %d seats: %+v, want %+v", verb, test.watchers, test.maxSeats, got, test.want)
			}
		}
	}
}

func TestTokensNotifyNoWatchers(t *testing.T) {
	w := NewWatchers()
	watch := requestOf(t, classify.Attributes{Verb: "watch", Resource: "serviceaccounts"}, "", w)
	for range 50 {
		watch.WatchStarts()
	}
	a := classify.Attributes{Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: "shop", Name: "till"}
	if got := requestOf(t, a, "", w).Estimate(0); got != (Work{InitialSeats: 1}) {
		t.Errorf("a token: %+v, want 1 seat", got)
	}
	a.Subresource = ""
	if got, want := requestOf(t, a, "", w).Estimate(0), (Work{1, 5, 5_000_000}); got != want {
		t.Errorf("the account itself: %+v, want %+v", got, want)
	}
}

func TestInvalidURLEncoding(t *testing.T) {
	for _, query := range []string{"limit=%zz", "a;b=1"} {
		r, err := NewEstimator(rules.Latest(), store).NewRequest(&classify.Attributes{Verb: "list", Resource: "pods"}, query)
		if err == nil || r != nil {
			t.Errorf("%q: got %v, %v, want an error", query, r, err)
		}
	}
}

// The most seats of a list are those of the release.
func TestListSeatsAreBoundedByTheRules(t *testing.T) {
	for _, most := range []int{10, 100} {
		for _, query := range []string{"limit=500", "limit=x"} { // too many bytes, and no number
			bounded := rules.Latest()
			bounded.MaxListSeats = most
			e := NewEstimator(bounded, Store{{"", "pods"}: {Objects: 1e6, AverageBytes: 1e6}})
			r, err := e.NewRequest(&classify.Attributes{Verb: "list", Resource: "pods"}, query+"&resourceVersion=1&resourceVersionMatch=Exact")
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Estimate(0).InitialSeats; got != most {
				t.Errorf("%s: %d seats, want %d", query, got, most)
			}
		}
	}
}

func TestMaxSeats(t *testing.T) {
	if got := (Work{InitialSeats: 1, FinalSeats: 4}).MaxSeats(); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
	if got := (Work{InitialSeats: 3}).MaxSeats(); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}

var drawQuery = rapid.SampledFrom([]string{
	"", "limit=1", "limit=500", "limit=0", "limit=-3", "limit=x", "resourceVersion=0", "resourceVersion=9",
	"limit=70&resourceVersion=9", "continue=c", "continue=c&limit=3000", "sendInitialEvents=true&resourceVersion=7",
	"resourceVersionMatch=Exact&labelSelector=a", "fieldSelector=metadata.name%3Dx", "fieldSelector=%3D",
})

// For random requests and stores, an estimate is at least one seat and at most the cap, and its
// work is that of notifying all watchers.
func TestEstimateIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		store := Store{}
		if rapid.Bool().Draw(t, "known") {
			store[Resource{"", "pods"}] = Stats{
				Objects:      rapid.Int64().Draw(t, "objects"),
				AverageBytes: rapid.Int64().Draw(t, "average bytes"),
				Stale:        rapid.Bool().Draw(t, "stale"),
			}
		}
		w := NewWatchers()
		watch, err := estimator(store, w).NewRequest(&classify.Attributes{Verb: "watch", Resource: "pods"}, "")
		if err != nil {
			t.Fatal(err)
		}
		watchers := rapid.IntRange(0, 3000).Draw(t, "watchers")
		for range watchers {
			watch.WatchStarts()
		}
		a := classify.Attributes{
			Verb:      rapid.SampledFrom([]string{"get", "list", "watch", "create", "patch", "deletecollection"}).Draw(t, "verb"),
			Resource:  "pods",
			Namespace: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "namespace"),
		}
		r, err := estimator(store, w).NewRequest(&a, drawQuery.Draw(t, "query"))
		if err != nil {
			t.Fatal(err)
		}
		maxSeats := rapid.IntRange(0, 120).Draw(t, "cap")
		got := r.Estimate(maxSeats)
		most := rules.Latest().MaxListSeats
		if maxSeats > 0 {
			most = min(most, maxSeats)
		}
		if got.InitialSeats < 1 || got.MaxSeats() > most {
			t.Errorf("%+v, want from 1 to %d seats", got, most)
		}
		if (got.FinalSeats == 0) != (got.AdditionalLatencyNs == 0) {
			t.Errorf("%+v: want both final seats and additional latency, or neither", got)
		}
		if got.FinalSeats > 0 {
			work := (watchers + 9) / 10 * 5_000_000
			if remaining := work - got.FinalSeats*int(got.AdditionalLatencyNs); remaining < 0 || remaining >= got.FinalSeats {
				t.Errorf("%+v: the final work is %d seat-ns less than %d", got, remaining, work)
			}
		}
	})
}

func TestEstimateDoesNotAllocate(t *testing.T) {
	w := watched(t, 20)
	watch := requestOf(t, classify.Attributes{Verb: "watch", Resource: "pods", Namespace: "shop"}, "", w)
	list := requestOf(t, classify.Attributes{Verb: "list", Resource: "pods"}, "limit=500", w)
	patch := requestOf(t, classify.Attributes{Verb: "patch", Resource: "pods", Namespace: "shop", Name: "web"}, "", w)
	seats := 0
	if n := testing.AllocsPerRun(100, func() {
		watch.WatchStarts()
		seats += list.Estimate(10).MaxSeats() + patch.Estimate(10).MaxSeats() + watch.Estimate(0).MaxSeats()
		watch.WatchEnds()
		seats += patch.Estimate(10).MaxSeats()
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzNewRequest(f *testing.F) {
	f.Add("watch", "limit=500&resourceVersion=0&fieldSelector=metadata.name%3Da%5C%2Cb")
	f.Add("list", "labelSelector=a+in+(b,c),!d,e%3E3&limit=x&continue=t")
	f.Add("patch", "timeoutSeconds=9&sendInitialEvents=&resourceVersionMatch=Exact")
	f.Fuzz(func(t *testing.T, verb, query string) {
		r, err := NewEstimator(rules.Latest(), store).NewRequest(&classify.Attributes{Verb: verb, Resource: "pods"}, query)
		if err != nil {
			return
		}
		if got := r.Estimate(0); got.InitialSeats < 1 || got.InitialSeats > rules.Latest().MaxListSeats {
			t.Errorf("%s pods?%s: %+v", verb, query, got)
		}
	})
}

func BenchmarkEstimate(b *testing.B) {
	w := watched(b, 200)
	watch := requestOf(b, classify.Attributes{Verb: "watch", Resource: "pods", Namespace: "shop"}, "", w)
	list := requestOf(b, classify.Attributes{Verb: "list", Resource: "pods"}, "limit=500", w)
	patch := requestOf(b, classify.Attributes{Verb: "patch", Resource: "pods", Namespace: "shop", Name: "web"}, "", w)
	b.Run("list", func(b *testing.B) {
		for b.Loop() {
			list.Estimate(10)
		}
	})
	b.Run("mutation", func(b *testing.B) {
		for b.Loop() {
			patch.Estimate(10)
		}
	})
	b.Run("mutation after a change of the watches", func(b *testing.B) {
		for b.Loop() {
			watch.WatchStarts()
			patch.Estimate(10)
			watch.WatchEnds()
		}
	})
}
