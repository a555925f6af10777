package estimate

import (
	"strings"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/rules"
	"pgregory.net/rapid"
)

func release(t testing.TB, version string) *rules.Rules {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// releaseOf returns the rules of a release with gates, for example "1.28 WatchList=true".
func releaseOf(t testing.TB, text string) *rules.Rules {
	t.Helper()
	version, gates, _ := strings.Cut(text, " ")
	r := release(t, version)
	for gate := range strings.FieldsSeq(gates) {
		name, value, _ := strings.Cut(gate, "=")
		if err := r.SetGate(name, value == "true"); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// A list takes other seats in each release. The cluster has 300 pods of 200 kB, which are 60 MB, and
// secrets whose number is stale.
func TestListsByRelease(t *testing.T) {
	store := Store{{"", "pods"}: {Objects: 300, AverageBytes: 200_000}, {"", "secrets"}: {Objects: 20, AverageBytes: 100, Stale: true}}
	for _, c := range []struct {
		story, resource, query string
		want                   map[string]int // by release and gates
	}{
		{"a page of unset version comes from etcd up to 1.30: 2·100/100; from the cache since: all 300/100, then 1 MB", "pods", "limit=100",
			map[string]int{"1.22": 1, "1.23": 2, "1.27": 2, "1.30": 2, "1.31": 3, "1.33": 3, "1.34": 10, "1.37": 10}},
		{"without a limit, etcd's 300 objects count twice", "pods", "",
			map[string]int{"1.22": 1, "1.23": 6, "1.26": 6, "1.30": 6, "1.31": 3, "1.34": 10}},
		{"with resourceVersion=0 the cache has always served it", "pods", "resourceVersion=0",
			map[string]int{"1.23": 3, "1.30": 3, "1.33": 3, "1.34": 10}},
		{"with resourceVersion=0 a limit does not matter to the cache", "pods", "resourceVersion=0&limit=20",
			map[string]int{"1.23": 3, "1.30": 3, "1.33": 3, "1.34": 10}},
		{"a selector in etcd: all objects and a page, (300 + 100)/100; by bytes, half of all objects: 30 MB", "pods", "resourceVersion=9&limit=100&labelSelector=a&resourceVersionMatch=Exact",
			map[string]int{"1.23": 4, "1.30": 4, "1.31": 4, "1.34": 100}},
		{"the next page is etcd's in every release: 2·100/100, and 20 MB", "pods", "limit=100&continue=t",
			map[string]int{"1.23": 2, "1.31": 2, "1.33": 2, "1.34": 100}},
		{"a page of a version is the cache's if it need not be exact, from 1.31 on", "pods", "limit=100&resourceVersion=9&resourceVersionMatch=NotOlderThan",
			map[string]int{"1.23": 2, "1.30": 2, "1.31": 3, "1.34": 10}},
		{"NotOlderThan with a continue token is the cache's from 1.33 on", "pods", "resourceVersion=9&resourceVersionMatch=NotOlderThan&limit=100&continue=t",
			map[string]int{"1.23": 2, "1.32": 2, "1.33": 3, "1.34": 10}},
		{"an unknown match was the cache's up to 1.26", "pods", "resourceVersion=9&resourceVersionMatch=Newer",
			map[string]int{"1.23": 3, "1.26": 3, "1.27": 6, "1.30": 6, "1.31": 6, "1.33": 6, "1.34": 100}},
		{"Exact is etcd's", "pods", "resourceVersion=9&resourceVersionMatch=Exact",
			map[string]int{"1.23": 6, "1.26": 6, "1.27": 6, "1.33": 6, "1.34": 100}},
		{"a list by name took the seats of all objects; then 1 seat; from 1.34 on those of one object", "pods", "fieldSelector=metadata.name%3Da",
			map[string]int{"1.23.12": 6, "1.23.13": 1, "1.24.6": 6, "1.25.2": 6, "1.26.0": 1, "1.33": 1, "1.34": 2}},
		{"a name comes before an invalid option only if it can be decoded", "pods", "limit=x&fieldSelector=metadata.name%3Da",
			map[string]int{"1.22": 1, "1.23": 10, "1.33": 10, "1.34": 100}},
		{"a resource of an aggregated server", "ghosts", "",
			map[string]int{"1.22": 1, "1.23.5": 10, "1.23.6": 1, "1.24.0": 1, "1.37": 1}},
		{"a stale number is the most, whatever the page", "secrets", "limit=1&continue=t",
			map[string]int{"1.22": 1, "1.23": 10, "1.33": 10, "1.34": 15, "1.34 SizeBasedListCostEstimate=false": 1}},
		{"a stale number and a name", "secrets", "fieldSelector=metadata.name%3Da",
			map[string]int{"1.23.0": 10, "1.23": 1, "1.33": 1, "1.34": 10, "1.34 SizeBasedListCostEstimate=false": 1}},
		{"without pages, a limit and a continue token do not matter", "pods", "resourceVersion=9&limit=10&continue=t",
			map[string]int{"1.23": 1, "1.23 APIListChunking=false": 3, "1.28": 1, "1.28 APIListChunking=false": 3}},
		{"without pages, etcd's list is one of all objects", "pods", "limit=10",
			map[string]int{"1.26": 1, "1.26 APIListChunking=false": 6, "1.28 APIListChunking=false ConsistentListFromCache=true": 3}},
		{"unset versions are the cache's with the gate, but pages only from 1.31 on", "pods", "",
			map[string]int{"1.28 ConsistentListFromCache=true": 3, "1.30 ConsistentListFromCache=true": 3, "1.31 ConsistentListFromCache=false": 6, "1.33 ConsistentListFromCache=false": 6}},
		{"a page of unset version with the gate", "pods", "limit=100",
			map[string]int{"1.28 ConsistentListFromCache=true": 2, "1.30 ConsistentListFromCache=true": 2, "1.31 ConsistentListFromCache=false": 2}},
		{"NotOlderThan of unset version without the gate", "pods", "resourceVersionMatch=NotOlderThan",
			map[string]int{"1.31 ConsistentListFromCache=false": 6, "1.32 ConsistentListFromCache=false": 6, "1.33 ConsistentListFromCache=false": 3}},
		{"by count in 1.34, at most 10 seats", "pods", "",
			map[string]int{"1.34 SizeBasedListCostEstimate=false": 3, "1.37 SizeBasedListCostEstimate=false": 3}},
		{"an invalid option by count in 1.34", "pods", "limit=x",
			map[string]int{"1.34 SizeBasedListCostEstimate=false": 10, "1.34": 100}},
	} {
		for version, want := range c.want {
			a := classify.Attributes{Verb: "list", Resource: c.resource}
			r, err := NewEstimator(releaseOf(t, version), store).NewRequest(&a, c.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Estimate(0); got != (Work{InitialSeats: want}) {
				t.Errorf("%s: list %s?%s (%s): %+v, want %d seats", version, c.resource, c.query, c.story, got, want)
			}
			if got := r.Estimate(2).InitialSeats; got != min(2, want) {
				t.Errorf("%s: list %s?%s (%s): %d seats at a level that allows 2, want %d", version, c.resource, c.query, c.story, got, min(2, want))
			}
		}
	}
}

// A watch takes one seat before 1.32, unless the gate WatchList is on.
func TestWatchesByRelease(t *testing.T) {
	store := Store{{"", "pods"}: {Objects: 300, AverageBytes: 200_000}}
	for _, c := range []struct {
		query string
		want  map[string]int
	}{
		{"resourceVersion=9", map[string]int{"1.22": 1, "1.28 WatchList=true": 1, "1.32": 1, "1.34": 1, "1.35": 1}},
		{"", map[string]int{"1.23": 1, "1.28 WatchList=true": 1, "1.32": 1, "1.34": 1, "1.35": 10, "1.37 WatchList=false": 1}},
		{"resourceVersion=0", map[string]int{"1.34": 1, "1.35": 10}},
		{"resourceVersion=9&sendInitialEvents=true", map[string]int{
			"1.22": 1, "1.27": 1, "1.27 WatchList=true": 1, "1.28": 1, "1.28 WatchList=true": 3, "1.31": 1, "1.31 WatchList=true": 3,
			"1.32": 3, "1.32 WatchList=false": 1, "1.33": 1, "1.33 WatchList=true": 3, "1.34": 10, "1.35": 10, "1.37 WatchList=false": 1}},
		{"resourceVersion=9&limit=x", map[string]int{"1.23": 1, "1.31": 1, "1.31 WatchList=true": 10, "1.32": 10, "1.33": 1, "1.34": 100}},
		{"sendInitialEvents=true&fieldSelector=metadata.name%3Da", map[string]int{"1.28 WatchList=true": 1, "1.32": 1, "1.34": 2}},
	} {
		for version, want := range c.want {
			a := classify.Attributes{Verb: "watch", Resource: "pods"}
			r, err := NewEstimator(releaseOf(t, version), store).NewRequest(&a, c.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Estimate(0); got != (Work{InitialSeats: want}) {
				t.Errorf("%s: watch pods?%s: %+v, want %d seats", version, c.query, got, want)
			}
		}
	}
}

// Writes take final seats by their 50 watchers from 1.24 on. Up to 1.25 the creation of a token
// counts as a write of its service account.
func TestWritesByRelease(t *testing.T) {
	account := classify.Attributes{Verb: "update", Resource: "serviceaccounts", Namespace: "shop", Name: "till"}
	token := account
	token.Verb, token.Subresource = "create", "token"
	one, wide := Work{InitialSeats: 1}, Work{1, 5, 5_000_000}
	for version, want := range map[string]struct{ account, token Work }{
		"1.18": {one, one}, "1.23": {one, one},
		"1.24": {wide, wide}, "1.25": {wide, wide},
		"1.26.0": {wide, one}, "1.37": {wide, one},
	} {
		e := NewEstimator(release(t, version), nil)
		watch, err := e.NewRequest(&classify.Attributes{Verb: "watch", Resource: "serviceaccounts"}, "")
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			watch.WatchStarts()
		}
		for a, want := range map[*classify.Attributes]Work{&account: want.account, &token: want.token} {
			r, err := e.NewRequest(a, "")
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Estimate(0); got != want {
				t.Errorf("%s: %s %s %s: %+v, want %+v", version, a.Verb, a.Resource, a.Subresource, got, want)
			}
			if n, ok := r.Watchers(); ok != (want.FinalSeats > 0) || ok && n != 50 {
				t.Errorf("%s: %s %s %s: %d watchers, %v", version, a.Verb, a.Resource, a.Subresource, n, ok)
			}
		}
	}
}

// In every release, an estimate is at least one seat and at most the most seats of the release and
// the cap.
func TestEveryReleaseIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, err := rules.For(rapid.SampledFrom(append(rules.Versions(), "1.23.0", "1.26.0", "1.28.0")).Draw(t, "version"))
		if err != nil {
			t.Fatal(err)
		}
		stats := Stats{Objects: rapid.Int64().Draw(t, "objects"), AverageBytes: rapid.Int64().Draw(t, "bytes"), Stale: rapid.Bool().Draw(t, "stale")}
		a := classify.Attributes{Verb: rapid.SampledFrom([]string{"list", "watch"}).Draw(t, "verb"), Resource: rapid.SampledFrom([]string{"pods", "ghosts"}).Draw(t, "resource")}
		request, err := NewEstimator(r, Store{{"", "pods"}: stats}).NewRequest(&a, drawQuery.Draw(t, "query"))
		if err != nil {
			t.Fatal(err)
		}
		most := rapid.IntRange(1, 120).Draw(t, "cap")
		if got := request.Estimate(most); got.InitialSeats < 1 || got.InitialSeats > min(most, r.MaxListSeats) || got.FinalSeats != 0 {
			t.Errorf("%+v, want from 1 to %d seats", got, min(most, r.MaxListSeats))
		}
	})
}

// Each number of the estimate decides about the requests that it is about, and about no others.
func TestSeatConstants(t *testing.T) {
	stored := Store{{"", "pods"}: {Objects: 5000, AverageBytes: 1000}, {"", "unsized"}: {Objects: 3}}
	for _, test := range []struct {
		story, version, verb, query, resource string
		cap                                   int
		set                                   func(*rules.Rules)
		before, want                          Work
	}{
		{"bytes per seat", "1.34", "list", "limit=500", "pods", 0, func(r *rules.Rules) { r.BytesPerSeat = 50_000 }, Work{InitialSeats: 5}, Work{InitialSeats: 10}},
		{"bytes of a list from the cache", "1.34", "list", "", "pods", 0, func(r *rules.Rules) { r.MaxCachedBytes = 3_000_000 }, Work{InitialSeats: 10}, Work{InitialSeats: 30}},
		{"bytes of an object of unknown size", "1.34", "list", "limit=1", "unsized", 0, func(r *rules.Rules) { r.UnknownObjectBytes = 500_000 }, Work{InitialSeats: 10}, Work{InitialSeats: 5}},
		{"objects per seat", "1.30", "list", "limit=100", "pods", 0, func(r *rules.Rules) { r.ObjectsPerSeat = 200 }, Work{InitialSeats: 2}, Work{InitialSeats: 1}},
		{"the most seats", "1.34", "list", "limit=5000&resourceVersion=9", "pods", 0, func(r *rules.Rules) { r.MaxListSeats = 20 }, Work{InitialSeats: 50}, Work{InitialSeats: 20}},
		{"the least seats of a list", "1.34", "list", "limit=1", "pods", 0, func(r *rules.Rules) { r.MinSeats = 3 }, Work{InitialSeats: 1}, Work{InitialSeats: 3}},
		{"the least seats of a get", "1.34", "get", "", "pods", 0, func(r *rules.Rules) { r.MinSeats = 3 }, Work{InitialSeats: 1}, Work{InitialSeats: 3}},
		{"the least seats of a watch", "1.34", "watch", "resourceVersion=9", "pods", 0, func(r *rules.Rules) { r.MinSeats = 3 }, Work{InitialSeats: 1}, Work{InitialSeats: 3}},
		{"the least seats within the cap", "1.34", "get", "", "pods", 2, func(r *rules.Rules) { r.MinSeats = 3 }, Work{InitialSeats: 1}, Work{InitialSeats: 2}},
		{"the minimum is not that of a write", "1.34", "patch", "", "others", 0, func(r *rules.Rules) { r.MinSeats = 3 }, Work{InitialSeats: 1}, Work{InitialSeats: 1}},
		{"a write without final seats", "1.23", "patch", "", "pods", 0, func(r *rules.Rules) { r.MinSeats = 3 }, Work{InitialSeats: 1}, Work{InitialSeats: 1}},
		{"a fixed number, whatever the level allows", "1.34", "list", "limit=1", "pods", 8, func(r *rules.Rules) { r.ListSeats, r.MaxListSeats = rules.FixedSeats, 40 }, Work{InitialSeats: 1}, Work{InitialSeats: 40}},
		{"a fixed number of a watch that begins with a list", "1.34", "watch", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "pods", 8,
			func(r *rules.Rules) { r.ListSeats, r.MaxListSeats = rules.FixedSeats, 40 }, Work{InitialSeats: 8}, Work{InitialSeats: 40}},
		{"a fixed number, and a watch that resumes", "1.34", "watch", "resourceVersion=9", "pods", 8,
			func(r *rules.Rules) { r.ListSeats, r.MaxListSeats = rules.FixedSeats, 40 }, Work{InitialSeats: 1}, Work{InitialSeats: 1}},
		{"watchers per seat", "1.34", "patch", "", "pods", 0, func(r *rules.Rules) { r.WatchersPerSeat = 5 },
			Work{InitialSeats: 1, FinalSeats: 4, AdditionalLatencyNs: 5_000_000}, Work{InitialSeats: 1, FinalSeats: 8, AdditionalLatencyNs: 5_000_000}},
		{"the time of an event", "1.34", "patch", "", "pods", 0, func(r *rules.Rules) { r.EventNs = 1_000_000 },
			Work{InitialSeats: 1, FinalSeats: 4, AdditionalLatencyNs: 5_000_000}, Work{InitialSeats: 1, FinalSeats: 4, AdditionalLatencyNs: 1_000_000}},
		{"the most seats of a write", "1.34", "patch", "", "pods", 0, func(r *rules.Rules) { r.MaxMutatingSeats = 2 },
			Work{InitialSeats: 1, FinalSeats: 4, AdditionalLatencyNs: 5_000_000}, Work{InitialSeats: 1, FinalSeats: 2, AdditionalLatencyNs: 10_000_000}},
	} {
		for i, want := range []Work{test.before, test.want} {
			r, err := rules.For(test.version)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				test.set(r)
			}
			e := NewEstimator(r, stored)
			watch, err := e.NewRequest(&classify.Attributes{Verb: "watch", Resource: "pods"}, "resourceVersion=9")
			if err != nil {
				t.Fatal(err)
			}
			for range 40 {
				watch.WatchStarts()
			}
			request, err := e.NewRequest(&classify.Attributes{Verb: test.verb, Resource: test.resource}, test.query)
			if err != nil {
				t.Fatal(err)
			}
			if got := request.Estimate(test.cap); got != want {
				t.Errorf("%s, %d: %+v, want %+v", test.story, i, got, want)
			}
		}
	}
}
