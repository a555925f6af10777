package registry

import (
	"fmt"
	"testing"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/store"
)

// five returns a server with the configmaps c0 to c4 at the versions 2 to 6.
func five(t *testing.T, s settings) *bench {
	b := newBench(t, s)
	for i := range 5 {
		b.must(201, post(configmaps, "default", fmt.Sprint("c", i)))
	}
	b.run(second)
	return b
}

// The version in the query of a deletecollection without a body is that of the list, and a precondition of each
// deletion as well.
func TestCollectionVersions(t *testing.T) {
	collection := func(query string) apiRequest {
		return apiRequest{verb: "deletecollection", path: "default/", query: query}
	}
	b := five(t, settings{})
	b.want("0", collection("resourceVersion=0"), "409 Conflict", "1 get")
	b.want("N", collection("resourceVersion=2"), "200 2", "1 get, 1 txn") // c0 alone, which has it
	b.want("N", collection("resourceVersion=3"), "200 3", "2 get, 1 txn") // c0 is in the list, but gone; c1 has it
	b.want("N", collection("resourceVersion=6"), "409 Conflict", "3 get") // c0 and c1 are gone, c2 has another one
	if n := b.store.Resource(configmaps).Len(); n != 3 {
		t.Errorf("%d are left", n)
	}
	b = five(t, settings{})
	a := b.want("limit", collection("limit=2"), "200 6", "3 get, 2 txn")
	if _, start, err := store.DecodeToken(a.Continue); a.Items != 2 || err != nil || start != "c1\x00" {
		t.Errorf("limit: %+v", a)
	}
	b.want("ahead", collection("resourceVersion=100"), "504 Timeout RA 1", "")
	b.want("match", collection("resourceVersionMatch=Exact"), "422 Invalid", "")
	dry := b.must(200, collection("dryRun=All"))
	if dry.Items != 3 || b.store.Resource(configmaps).Len() != 3 {
		t.Errorf("dry run: %+v", dry)
	}
	b = five(t, settings{})
	first := collection("")
	first.pre = &request.Preconditions{UID: b.store.Resource(configmaps).Get("default", "c0").UID}
	b.want("an error after a deletion", first, "409 Conflict", "3 get, 1 txn")
	b = newBench(t, settings{})
	b.want("0 and empty", collection("resourceVersion=0"), "200 1", "")
}

// An object that another request deletes in between is ignored, and counts.
func TestCollectionRace(t *testing.T) {
	b := five(t, settings{readNs: millisecond, writeNs: millisecond})
	c := b.send(apiRequest{verb: "deletecollection", path: "default/"})
	b.run(3 * millisecond)
	b.must(200, remove("default/c4"))
	b.run(second)
	if c.answer.Status != 200 || c.answer.Items != 5 || b.store.Resource(configmaps).Len() != 0 {
		t.Errorf("%+v, %d left", c.answer, b.store.Resource(configmaps).Len())
	}
}

// A collection is deleted in pages of 10 000.
func TestPagesOfACollection(t *testing.T) {
	for _, c := range []struct {
		query   string
		objects int64
		calls   string
	}{{"", 10_000, "20000 get, 10000 txn, 1 range"}, {"limit=-5", 10_001, "20002 get, 10001 txn, 2 range"}} {
		b := newBench(t, settings{uncached: []api.Resource{widgets}})
		data := b.store.Resource(widgets)
		for i := range c.objects {
			data.Put(b.queue.NowNs(), &api.Object{Namespace: "default", Name: fmt.Sprint("o-", i), DeletionNs: -1}, 0)
		}
		a, took := b.do(apiRequest{verb: "deletecollection", resource: widgets, query: c.query})
		if a.Items != c.objects || data.Len() != 0 || took != c.calls {
			t.Errorf("?%s: %d of %d deleted, %d are left (%s), want %s", c.query, a.Items, c.objects, data.Len(), took, c.calls)
		}
	}
}

// Objects that are only counted are listed once and deleted, also if they and others fill several pages. With a
// limit, only those of one page are deleted.
func TestCollectionOfCountedObjects(t *testing.T) {
	for _, c := range []struct {
		query           string
		counted, named  int64
		path            string
		items, left     int64
		matches, ranges int64
	}{
		{"", 10_000, 0, "", 10_000, 0, 0, 1},
		{"", 10_001, 0, "", 10_001, 0, 0, 2},
		{"", 10_000, 3, "", 10_003, 0, 0, 2},
		{"", 20_001, 3, "", 20_004, 0, 0, 3},
		{"", 20_000, 3, "default/", 10_008, 9_995, 10_005, 2}, // 10 005 of those that are counted are in the namespace
		{"limit=4", 10_001, 0, "", 4, 9_997, 0, 1},
		{"limit=-5", 10_001, 0, "", 10_001, 0, 0, 2},
	} {
		b := newBench(t, settings{uncached: []api.Resource{widgets}, counts: []store.Count{{Resource: widgets, Objects: c.counted, AverageBytes: 100}}})
		data := b.store.Resource(widgets)
		for i := range c.named {
			data.Put(b.queue.NowNs(), &api.Object{Namespace: "default", Name: fmt.Sprint("o-", i), DeletionNs: -1}, 0)
		}
		a, took := b.do(apiRequest{verb: "deletecollection", resource: widgets, path: c.path, query: c.query, matches: c.matches})
		want := fmt.Sprintf("%d get, %d txn, %d range", 2*c.items, c.items, c.ranges)
		if a.Status != 200 || a.Items != c.items || data.Len() != c.left || took != want {
			t.Errorf("?%s of %d and %d: status %d, %d deleted, %d are left (%s); want %d and %d (%s)",
				c.query, c.counted, c.named, a.Status, a.Items, data.Len(), took, c.items, c.left, want)
		}
	}
}

// Objects with finalizers stay.
func TestCollectionOfFinalized(t *testing.T) {
	b := finalized(t)
	a := b.must(200, apiRequest{verb: "deletecollection", path: "default/"})
	if o := b.store.Resource(configmaps).Get("default", "a"); a.Items != 1 || o == nil || !o.Deleting() {
		t.Errorf("%+v, %+v", a, o)
	}
}

// Events are written under leases, which are granted in calls of their own.
func TestGrants(t *testing.T) {
	b := newBench(t, settings{writeNs: 5 * millisecond})
	grants := func() (n int64) {
		for _, w := range b.Work() {
			n += w.Grants
		}
		return n
	}
	for i, want := range []int64{1, 1, 2} {
		if i == 2 {
			b.run(70 * second) // 60 s are the longest that a lease is used
		}
		before := b.queue.NowNs()
		b.want("event", post(events, "default", fmt.Sprint("e", i)), fmt.Sprint("201 ", i+2), "1 txn")
		tookNs := b.queue.NowNs() - before
		if grants() != want || (i != 1) != (tookNs > 10*millisecond) {
			t.Errorf("event %d: %d grants, want %d; %d ns", i, grants(), want, tookNs)
		}
	}
	for i, want := range []int64{3, 3} {
		if i == 0 {
			b.run(70 * second)
		}
		before := b.queue.NowNs()
		b.want("update", apiRequest{verb: "update", resource: events, path: "default/e0", body: body("", "x", fmt.Sprint(i))}, fmt.Sprint("200 ", i+5), "1 get, 1 txn")
		tookNs := b.queue.NowNs() - before
		if grants() != want || (i == 0) != (tookNs > 10*millisecond) {
			t.Errorf("update %d: %d grants, want %d; %d ns", i, grants(), want, tookNs)
		}
	}
}

// Dry runs of updates that would create, and of those that meet a missing object.
func TestDryUpdates(t *testing.T) {
	b := newBench(t, settings{})
	q := apiRequest{verb: "update", resource: leases, path: "default/l", query: "dryRun=All", body: body("77", "x", "1")}
	a := b.want("creates", q, "201 77", "1 get")
	if a.UID >= 0 || // which an object can have
		b.store.Revision() != 1 {
		t.Errorf("%+v", a)
	}
	q.resource = configmaps
	b.want("missing", q, "404 NotFound", "1 get")
	for _, query := range []string{"dryRun=Some", "fieldValidation=No", "fieldManager=%07"} {
		q.query = query
		b.want(query, q, "422 Invalid", "")
	}
}

// An update that creates loses against a create.
func TestCreateRace(t *testing.T) {
	b := newBench(t, settings{readNs: millisecond, writeNs: 5 * millisecond})
	answers := b.all(apiRequest{verb: "update", resource: roles, path: "default/r", body: body("", "x", "1")},
		apiRequest{verb: "update", resource: roles, path: "default/r", body: body("", "x", "2")},
		apiRequest{verb: "update", resource: leases, path: "default/l", body: body("", "x", "1")},
		apiRequest{verb: "update", resource: leases, path: "default/l", body: body("", "x", "2")})
	var got []string
	for i := range answers {
		got = append(got, fmt.Sprint(describe(&answers[i]), " ", answers[i].Rounds))
	}
	if want := []string{"201 2 1", "200 4 2", "201 3 1", "422 Invalid 1"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if o := b.store.Resource(roles).Get("default", "r"); o.Fields["x"] != "2" {
		t.Errorf("%+v", o)
	}
}
