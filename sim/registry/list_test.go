package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/registry/change"
	"apfsim/sim/store"
)

// history returns a server whose revision is 100, with a resource that has been written with most revisions
// since 2 and nothing of which above 50 has been compacted.
func history(t *testing.T, s settings, resource api.Resource) *bench {
	t.Helper()
	s.compactionNs = 300 * second
	b := newBench(t, s)
	grow := func(to int64) {
		for b.store.Revision() < to {
			b.must(201, post(resource, "default", fmt.Sprintf("o-%03d", b.store.Revision()+1)))
		}
	}
	grow(48)
	b.runTo(301 * second) // 49 is the compactor's, which notes it
	grow(98)
	b.runTo(602 * second) // 99 is its next one: compaction to 49
	grow(100)
	b.run(second)
	if b.store.Revision() != 100 || b.store.Compacted() != 49 {
		t.Fatalf("revision %d, compacted %d", b.store.Revision(), b.store.Compacted())
	}
	return b
}

// upTo returns how many objects of history there are at a revision.
func upTo(revision int64) int64 {
	n := revision - 1
	if revision >= 49 {
		n--
	}
	if revision >= 99 {
		n--
	}
	return n
}

func lists(query string) apiRequest {
	return apiRequest{verb: "list", path: "default/", query: query}
}

func token(revision int64, start string) string {
	return "&continue=" + store.EncodeToken(revision, start)
}

// wantList checks a list: its answer as for want, how many items it has, its source, and the revision of its
// token, 0 for none.
func (b *bench) wantList(row string, q apiRequest, answer string, items int64, source api.Source, continues int64, etcd string) {
	b.t.Helper()
	a := b.want(row, q, answer, etcd)
	if a.Status != 200 {
		items, source = -1, a.Source
	}
	if a.Items != items || a.Source != source {
		b.t.Errorf("%s: ?%s: %d items from %v, want %d from %v", row, q.query, a.Items, a.Source, items, source)
	}
	revision := int64(0)
	if a.Continue != "" {
		revision, _, _ = store.DecodeToken(a.Continue)
	}
	if revision != continues {
		b.t.Errorf("%s: ?%s: token of revision %d, want %d", row, q.query, revision, continues)
	}
}

func TestLists(t *testing.T) {
	b := history(t, settings{}, configmaps)
	all := upTo(100)
	const cache, snapshot, etcd, none = api.FromCache, api.FromSnapshot, api.FromEtcd, api.FromNowhere
	b.wantList("L1", lists(""), "200 100", all, cache, 0, "1 get")
	b.wantList("L2", lists("limit=10"), "200 100", 10, cache, 100, "1 get")
	b.wantList("L3", lists("resourceVersion=0"), "200 100", all, cache, 0, "")
	b.wantList("L3", lists("resourceVersion=0&limit=10"), "200 100", all, cache, 0, "")
	b.wantList("L4", lists("resourceVersion=90"), "200 100", all, cache, 0, "")
	b.wantList("L5", lists("resourceVersion=90&limit=10"), "200 90", 10, snapshot, 90, "")
	b.wantList("L5", lists("resourceVersion=90&limit=1"), "200 90", 1, snapshot, 90, "")
	b.wantList("L5", lists("resourceVersion=90&limit=500"), "200 90", upTo(90), snapshot, 0, "")
	b.wantList("L6", lists("resourceVersion=40"), "200 100", all, cache, 0, "")
	b.wantList("L7", lists("resourceVersion=40&limit=10"), "410 Expired", 0, none, 0, "1 range")
	for _, query := range []string{"resourceVersion=120", "resourceVersion=120&limit=10", "resourceVersion=120&resourceVersionMatch=Exact"} {
		before := b.queue.NowNs()
		b.wantList("L8", lists(query), "504 Timeout RA 1", 0, none, 0, "")
		if waited := b.queue.NowNs() - before; waited < 3*second || waited > 4*second {
			t.Errorf("L8: ?%s: waited %d ns", query, waited)
		}
	}
	b.wantList("L9", lists("limit=10"+token(90, "o-010\x00")), "200 90", 10, snapshot, 90, "")
	b.wantList("L10", lists("limit=10"+token(40, "o-010\x00")), "410 Expired", 0, none, -1, "1 range")
	b.wantList("L11", lists("limit=10"+token(-1, "o-010\x00")), "200 100", 10, cache, 100, "1 get")
	b.wantList("L12", lists("resourceVersion=0&limit=10"+token(90, "o-010\x00")), "200 90", upTo(90)-9, snapshot, 0, "")
	b.wantList("L13", lists("resourceVersion=90"+token(90, "o-010\x00")), "400 BadRequest", 0, none, 0, "")
	b.wantList("L14", lists("continue=nonsense"), "400 BadRequest", 0, none, 0, "")
	b.wantList("L14", lists("limit=10"+token(0, "o-010\x00")), "400 BadRequest", 0, none, 0, "")
	b.wantList("L14", lists("limit=10"+token(90, "../o")), "400 BadRequest", 0, none, 0, "")
	b.wantList("L15", lists("resourceVersion=90&resourceVersionMatch=Exact"), "200 90", upTo(90), snapshot, 0, "")
	b.wantList("L15", lists("resourceVersion=90&resourceVersionMatch=Exact&limit=10"), "200 90", 10, snapshot, 90, "")
	b.wantList("L16", lists("resourceVersionMatch=Exact"), "422 Invalid", 0, none, 0, "")
	b.wantList("L16", lists("resourceVersionMatch=Exact&resourceVersion=0"), "422 Invalid", 0, none, 0, "")
	b.wantList("L17", lists("resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=10"), "200 100", all, cache, 0, "")
	b.wantList("L18", lists("resourceVersion=90&resourceVersionMatch=NotOlderThan&limit=10"), "200 100", 10, cache, 100, "")
	b.wantList("L19", lists("resourceVersionMatch=NotOlderThan"), "422 Invalid", 0, none, 0, "")
	b.wantList("L20", lists("resourceVersion=90&resourceVersionMatch=Exact"+token(90, "a")), "422 Invalid", 0, none, 0, "")
	b.wantList("L20", lists("resourceVersion=0&resourceVersionMatch=NotOlderThan"+token(90, "a")), "422 Invalid", 0, none, 0, "")
	b.wantList("L21", lists("resourceVersion=90&resourceVersionMatch=Latest"), "422 Invalid", 0, none, 0, "")
	b.wantList("L21", lists("sendInitialEvents=true"), "422 Invalid", 0, none, 0, "")
	b.wantList("word", lists("resourceVersion=abc"), "400 BadRequest", 0, none, 0, "")
	b.wantList("word", lists("limit=abc"), "400 BadRequest", 0, none, 0, "")
	b.wantList("single exact", lists("resourceVersion=90&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Do-010"), "200 90", 1, etcd, 0, "1 range")
	b.wantList("single", lists("resourceVersion=0&fieldSelector=metadata.name%3Do-010"), "200 100", 1, cache, 0, "")
	b.wantList("single", lists("resourceVersion=0&fieldSelector=metadata.name%3Dnone"), "200 100", 0, cache, 0, "")
	b.wantList("single, N", lists("resourceVersion=90&fieldSelector=metadata.name%3Do-010"), "200 100", 1, cache, 0, "")
	b.wantList("single, 0 and limit", lists("resourceVersion=0&limit=10&fieldSelector=metadata.name%3Do-010"), "200 100", 1, cache, 0, "")
	b.wantList("single, NotOlderThan", lists("resourceVersion=90&resourceVersionMatch=NotOlderThan&limit=10&fieldSelector=metadata.name%3Do-010"), "200 100", 1, cache, 0, "")
	b.wantList("single, N and limit", lists("resourceVersion=90&limit=10&fieldSelector=metadata.name%3Do-100"), "200 100", 1, etcd, 0, "1 range")
	b.wantList("single, not yet", lists("resourceVersion=90&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Do-100"), "200 90", 0, etcd, 0, "1 range")
	var walked int64
	for _, w := range b.Work() {
		if w.Class == Any && w.Selects {
			walked += w.Walked
		}
	}
	if walked != 2 { // of the lists of version 0, one for each that exists
		t.Errorf("lists of one object have walked %d", walked)
	}
}

// L8: the revision reaches the one that was asked for while the list waits.
func TestListWaits(t *testing.T) {
	b := history(t, settings{}, configmaps)
	c := b.send(lists("resourceVersion=101"))
	b.run(second)
	if c.answers != 0 {
		t.Fatal("answered before the revision existed")
	}
	b.must(201, post(pods, "default", "p"))
	b.run(second)
	if c.answers != 1 || c.answer.Status != 200 || c.answer.Version != 101 {
		t.Errorf("%+v", c.answer)
	}
}

// All pages of a list have the revision of the first, and together all objects once.
func TestPages(t *testing.T) {
	for _, release := range []string{"1.37", "1.33", "1.30", "1.18"} {
		b := history(t, settings{release: release}, configmaps)
		seen := map[string]bool{}
		query, pages := "limit=10", 0
		for {
			a := b.must(200, lists(query))
			pages++
			if pages == 2 {
				b.must(201, post(configmaps, "default", "o-050-new"))
			}
			for _, o := range a.Objects {
				if seen[o.Name] {
					t.Fatalf("%s: %s comes twice", release, o.Name)
				}
				seen[o.Name] = true
			}
			if a.Version != 100 {
				t.Errorf("%s: page %d has the revision %d", release, pages, a.Version)
			}
			if a.Continue == "" {
				break
			}
			query = "limit=10&continue=" + a.Continue
		}
		if int64(len(seen)) != upTo(100) || pages != 10 {
			t.Errorf("%s: %d objects in %d pages", release, len(seen), pages)
		}
	}
}

// Events have no cache: everything comes from etcd.
func TestListsWithoutCache(t *testing.T) {
	for _, release := range []string{"1.37", "1.33"} {
		b := history(t, settings{release: release, resources: []api.Resource{configmaps}}, events)
		ahead, aheadCalls := "504 Timeout", "2 range"
		if release == "1.33" {
			ahead, aheadCalls = "500", "1 range"
		}
		list := func(query string) apiRequest {
			return apiRequest{verb: "list", resource: events, path: "default/", query: query}
		}
		const etcd = api.FromEtcd
		all := upTo(100)
		b.wantList("", list(""), "200 100", all, etcd, 0, "1 range")
		b.wantList("0", list("resourceVersion=0&limit=10"), "200 100", 10, etcd, 100, "1 range")
		b.wantList("N", list("resourceVersion=90"), "200 100", all, etcd, 0, "1 range")
		b.wantList("N ahead", list("resourceVersion=120"), "504 Timeout", 0, etcd, 0, "1 range")
		b.wantList("N, limit", list("resourceVersion=90&limit=10"), "200 90", 10, etcd, 90, "1 range")
		b.wantList("Exact", list("resourceVersion=90&resourceVersionMatch=Exact"), "200 90", upTo(90), etcd, 0, "1 range")
		b.wantList("c", list("limit=10"+token(90, "o-010\x00")), "200 90", 10, etcd, 90, "1 range")
		b.wantList("compacted", list("resourceVersion=40&limit=10"), "410 Expired", 0, etcd, 0, "1 range")
		b.wantList("c compacted", list("limit=10"+token(40, "o-010\x00")), "410 Expired", 0, etcd, -1, "1 range")
		b.wantList("Exact ahead", list("resourceVersion=120&resourceVersionMatch=Exact"), ahead, 0, etcd, 0, aheadCalls)
		b.wantList("limit ahead", list("resourceVersion=120&limit=10"), ahead, 0, etcd, 0, aheadCalls)
	}
}

// What the releases serve from the cache.
func TestListsByRelease(t *testing.T) {
	for _, test := range []struct {
		query              string
		r130, r133, r137   api.Source
		answer130, etcd130 string
	}{
		{"", api.FromEtcd, api.FromCache, api.FromCache, "200 100", "1 range"},
		{"resourceVersion=0", api.FromCache, api.FromCache, api.FromCache, "200 100", ""},
		{"resourceVersion=90", api.FromCache, api.FromCache, api.FromCache, "200 100", ""},
		{"resourceVersion=0&limit=10", api.FromCache, api.FromCache, api.FromCache, "200 100", ""},
		{"resourceVersion=90&limit=10", api.FromEtcd, api.FromEtcd, api.FromSnapshot, "200 90", "1 range"},
		{"resourceVersion=90&limit=10&resourceVersionMatch=NotOlderThan", api.FromEtcd, api.FromCache, api.FromCache, "200 100", "1 range"},
		{"resourceVersion=90&resourceVersionMatch=Exact", api.FromEtcd, api.FromEtcd, api.FromSnapshot, "200 90", "1 range"},
		{"limit=10" + token(90, "o-010\x00"), api.FromEtcd, api.FromEtcd, api.FromSnapshot, "200 90", "1 range"},
		{"limit=10" + token(-1, "o-010\x00"), api.FromEtcd, api.FromEtcd, api.FromCache, "200 100", "1 range"},
	} {
		for i, release := range []string{"1.30", "1.33", "1.37"} {
			b := history(t, settings{release: release}, configmaps)
			a, etcd := b.do(lists(test.query))
			if want := []api.Source{test.r130, test.r133, test.r137}[i]; a.Source != want || describe(&a) != test.answer130 {
				t.Errorf("%s ?%s: %s from %v, want %s from %v", release, test.query, describe(&a), a.Source, test.answer130, want)
			}
			if i == 0 && etcd != test.etcd130 {
				t.Errorf("%s ?%s: %s, want %s", release, test.query, etcd, test.etcd130)
			}
		}
	}
}

// A cache that is not ready.
func TestUnready(t *testing.T) {
	const etcd = api.FromEtcd
	b := newBench(t, settings{initNs: 12 * second})
	b.must(201, post(configmaps, "default", "a"))
	b.wantList("L1", lists(""), "429 TooManyRequests RA 1", 0, etcd, 0, "")
	b.wantList("L4", lists("resourceVersion=1"), "429 TooManyRequests RA 1", 0, etcd, 0, "")
	b.wantList("L2", lists("limit=500"), "200 2", 1, etcd, 0, "1 range")
	b.wantList("L2", lists("limit=1"), "200 2", 1, etcd, 0, "1 range")
	b.wantList("reflector", lists("resourceVersion=0&limit=500"), "200 2", 1, etcd, 0, "1 range")
	b.wantList("selector", lists("limit=500&labelSelector=app%3Dweb"), "429 TooManyRequests RA 1", 0, etcd, 0, "")
	get := func(query string) apiRequest { return apiRequest{verb: "get", path: "default/a", query: query} }
	b.want("GET", get("resourceVersion=0"), "200 2", "1 get")
	b.want("GET", get("resourceVersion=120"), "504 Timeout", "1 get")
	b.want("GET", get("resourceVersion=abc"), "400 BadRequest", "1 get")
	b.want("write", put("default/a", "2", "x", "1"), "200 3", "1 get, 1 txn")
	b.runTo(13 * second)
	b.wantList("ready", lists(""), "200 3", 1, api.FromCache, 0, "1 get")
}

// A cache that is filled again has no snapshots: the versions that it has had are read from etcd, and it must be ready for
// a later one.
func TestVersionsWithoutASnapshot(t *testing.T) {
	b := three(t, settings{})
	b.Cache(configmaps).Relist(b.queue.NowNs(), 60*second)
	for version := int64(1); version <= 4; version++ {
		b.wantList("old", lists(fmt.Sprint("resourceVersionMatch=Exact&resourceVersion=", version)), fmt.Sprint("200 ", version), version-1, api.FromEtcd, 0, "1 range")
	}
	b.want("new", lists("resourceVersionMatch=Exact&resourceVersion=5"), "429 TooManyRequests RA 1", "")
}

// The first version is one like any other: the cache has a snapshot of it, in which there is nothing.
func TestTheFirstVersion(t *testing.T) {
	b := three(t, settings{})
	for _, query := range []string{"resourceVersionMatch=Exact&resourceVersion=1", "resourceVersion=1&limit=10"} {
		b.wantList("first", lists(query), "200 1", 0, api.FromSnapshot, 0, "")
	}
}

// The causes of a refusal are all that is wrong.
func TestCausesOfARefusal(t *testing.T) {
	const match, initial = "FieldValueForbidden resourceVersionMatch", "FieldValueForbidden sendInitialEvents"
	const unknown = "FieldValueNotSupported resourceVersionMatch"
	for _, c := range []struct {
		verb, query string
		want        []string
	}{
		{"list", "resourceVersionMatch=NotOlderThan", []string{match}},
		{"list", "resourceVersionMatch=Exact&resourceVersion=0", []string{match}},
		{"list", "resourceVersionMatch=Some&resourceVersion=1", []string{unknown}},
		{"list", "resourceVersionMatch=Some&sendInitialEvents=false" + token(1, "a"), []string{match, match, unknown, initial}},
		{"watch", "sendInitialEvents=true", []string{match}},
		{"watch", "resourceVersion=1&resourceVersionMatch=NotOlderThan", []string{match}},
		{"watch", "resourceVersion=1&resourceVersionMatch=Exact&continue=x", []string{match, unknown, match}},
	} {
		b := newBench(t, settings{})
		a := b.want(c.verb, apiRequest{verb: c.verb, path: "default/", query: c.query}, "422 Invalid", "")
		var got []string
		for _, cause := range a.Causes {
			got = append(got, cause.Reason+" "+cause.Field)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s ?%s: causes %q, want %q", c.verb, c.query, got, c.want)
		}
	}
}

// Releases ignore the parameters that they do not know: sendInitialEvents before 1.27, resourceVersionMatch before 1.19.
func TestParametersThatReleasesDoNotKnow(t *testing.T) {
	for _, c := range []struct{ release, verb, query, want string }{
		{"1.18", "list", "resourceVersionMatch=Some", "200 4"},
		{"1.19", "list", "resourceVersionMatch=Some&resourceVersion=1", "422 Invalid"},
		{"1.26", "list", "sendInitialEvents=true", "200 4"},
		{"1.27", "list", "sendInitialEvents=true", "422 Invalid"},
		{"1.26", "watch", "sendInitialEvents=true", "200"},
		{"1.27", "watch", "sendInitialEvents=true", "422 Invalid"},
	} {
		b := three(t, settings{release: c.release})
		a, _ := b.do(apiRequest{verb: c.verb, path: "default/", query: c.query})
		if got := describe(&a); got != c.want {
			t.Errorf("%s %s ?%s: %s, want %s", c.release, c.verb, c.query, got, c.want)
		}
	}
}

// Before 1.31 requests for a cache that is not ready wait for it, except those that anything will do for.
func TestUnreadyBefore131(t *testing.T) {
	b := newBench(t, settings{initNs: 12 * second, release: "1.30"})
	b.must(201, post(configmaps, "default", "a"))
	b.wantList("0", lists("resourceVersion=0"), "200 2", 1, api.FromEtcd, 0, "1 range")
	b.wantList("N", lists("resourceVersion=2"), "200 2", 1, api.FromCache, 0, "")
	if b.queue.NowNs() < 12*second {
		t.Error("did not wait")
	}
	b = newBench(t, settings{initNs: 12 * second, release: "1.30"})
	b.must(201, post(configmaps, "default", "a"))
	b.want("GET", apiRequest{verb: "get", path: "default/a", query: "resourceVersion=0"}, "200 2", "1 get")
	b.want("GET", apiRequest{verb: "get", path: "default/a", query: "resourceVersion=2"}, "200 2", "")
}

func TestGet(t *testing.T) {
	b, _ := at100(t, settings{})
	get := func(query string) apiRequest { return apiRequest{verb: "get", path: "default/a", query: query} }
	b.want("GET", get(""), "200 100", "1 get")
	b.want("GET 0", get("resourceVersion=0"), "200 100", "")
	b.want("GET 90", get("resourceVersion=90"), "200 100", "")
	before := b.queue.NowNs()
	b.want("GET 120", get("resourceVersion=120"), "504 Timeout RA 1", "")
	if b.queue.NowNs()-before < 3*second {
		t.Error("did not wait for 3 s")
	}
	b.want("GET abc", get("resourceVersion=abc"), "500", "")
	b.want("missing", apiRequest{verb: "get", path: "default/none"}, "404 NotFound", "1 get")
	b.want("missing", apiRequest{verb: "get", path: "default/none", query: "resourceVersion=0"}, "404 NotFound", "")
	event := func(query string) apiRequest {
		return apiRequest{verb: "get", resource: events, path: "default/e", query: query}
	}
	b.must(201, post(events, "default", "e"))
	b.want("event 0", event("resourceVersion=0"), "200 101", "1 get")
	b.want("event 101", event("resourceVersion=101"), "200 101", "1 get")
	b.want("event 120", event("resourceVersion=120"), "504 Timeout", "1 get")
	b.want("event abc", event("resourceVersion=abc"), "400 BadRequest", "1 get")
}

// Selectors: with a limit, etcd is asked again as long as a page is not full, for twice as many each time.
func TestSelectors(t *testing.T) {
	b := newBench(t, settings{uncached: []api.Resource{widgets}})
	for _, r := range []api.Resource{pods, widgets} {
		for i := range 100 {
			b.must(201, post(r, "default", fmt.Sprintf("o-%03d", i), "metadata.labels.n", fmt.Sprint(i%10), change.NodeField, fmt.Sprint("n", i%20)))
		}
	}
	b.run(second)
	q := apiRequest{verb: "list", resource: pods, path: "default/", query: "labelSelector=n%3D9"}
	b.wantList("label", q, "200 201", 10, api.FromCache, 0, "1 get")
	q.query += "&limit=4"
	b.wantList("label, limit", q, "200 201", 4, api.FromCache, 201, "1 get")
	q.resource = widgets
	b.wantList("etcd", q, "200 201", 4, api.FromEtcd, 201, "4 range") // 4 + 8 + 16 + 32
	// A page that is full with the last object is the last one; if objects follow, they may be selected or not.
	for _, full := range []struct {
		query     string
		continues int64
	}{{"labelSelector=n%3D9&limit=10", 0}, {"labelSelector=n%3D8&limit=10", 201}} {
		b.wantList("full", apiRequest{verb: "list", resource: pods, path: "default/", query: full.query}, "200 201", 10, api.FromCache, full.continues, "1 get")
		b.wantList("full", apiRequest{verb: "list", resource: widgets, path: "default/", query: full.query}, "200 201", 10, api.FromEtcd, full.continues, "4 range")
	}
	before := b.walked()
	b.wantList("node", apiRequest{verb: "list", resource: pods, query: "resourceVersion=0&fieldSelector=spec.nodeName%3Dn7"}, "200 201", 5, api.FromCache, 0, "")
	if n := b.walked() - before; n != 5 {
		t.Errorf("%d objects were walked, want those of the node", n)
	}
	before = b.walked()
	b.wantList("page", apiRequest{verb: "list", resource: pods, path: "default/", query: "limit=10&resourceVersion=101&resourceVersionMatch=NotOlderThan"}, "200 201", 10, api.FromCache, 201, "")
	if n := b.walked() - before; n != 100 {
		t.Errorf("a page walked %d objects, want all that follow", n)
	}
}

// Up to 1.37, a page walks all objects that follow its start. From 1.38 on, one without a selector only counts those behind it, at
// 41/97 of the cost, and one with a selector ends with the object behind the one that fills it.
func TestPagesByRelease(t *testing.T) {
	const all, page = 100, 10
	work := func(release, query string) (walked, cpuNs int64) {
		b := newBench(t, settings{release: release})
		for i := range all {
			b.must(201, post(pods, "default", fmt.Sprintf("o-%03d", i), "metadata.labels.n", fmt.Sprint(i%10)))
		}
		b.run(second)
		before := len(b.Work())
		b.must(200, apiRequest{verb: "list", resource: pods, path: "default/", query: "resourceVersion=101&resourceVersionMatch=NotOlderThan" + query})
		if n := len(b.Work()); n != before+1 {
			t.Fatalf("%d kinds of work, want one more than %d", n, before)
		}
		w := b.Work()[before]
		return w.Walked, w.CPUNs
	}
	for _, c := range []struct {
		query  string
		walked int64 // from 1.38 on
	}{
		{"&limit=10", all},
		{"&labelSelector=n%3D9&limit=4", 41}, // the fourth is the object 40
		{"&labelSelector=n%3D8&limit=10", 100},
		{"&labelSelector=n%3D9&limit=10", 100}, // nothing follows
		{"&labelSelector=n%3D9&limit=11", 100},
		{"&labelSelector=n%3D9", 100},
		{"", all},
	} {
		walked, cpuNs := work("1.38", c.query)
		before, beforeNs := work("1.37", c.query)
		if walked != c.walked || before != all {
			t.Errorf("%q: %d objects are walked, and %d in 1.37; want %d and %d", c.query, walked, before, c.walked, all)
		}
		costs := defaultCosts()
		saved := (all - walked) * int64(costs.WalkedObject+costs.MatchedObject)
		if c.query == "&limit=10" {
			saved = int64(costs.WalkedObject)*(all-page) - int64(costs.WalkedObject)*all*41/97
		}
		if got := beforeNs - cpuNs; got < saved-1 || got > saved+1 {
			t.Errorf("%q: %d ns less than in 1.37, want %d", c.query, got, saved)
		}
	}
}

// The handlers read selectors as the estimate does: a list that is estimated as one for a single object is one, and one
// that the estimate cannot read is answered 400.
func TestSelectorsAreReadAsTheyAreEstimated(t *testing.T) {
	store := estimate.Store{{Name: "pods"}: {Objects: 40_000, AverageBytes: 1000}}
	for query, want := range map[string]struct {
		seats, status int
	}{
		`fieldSelector=metadata.name%3Da%5C%2Cb`: {1, 200},
		`fieldSelector=metadata.name%3D`:         {10, 200},
		`fieldSelector=metadata.name%3Da%2Cx`:    {10, 400},
		`labelSelector=a%3E5`:                    {10, 200},
		`labelSelector=a%3Ex`:                    {10, 400},
	} {
		r, err := estimate.NewEstimator(rules.Latest(), store).NewRequest(&classify.Attributes{Verb: "list", Resource: "pods"}, query)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Estimate(0).InitialSeats; got != want.seats {
			t.Errorf("%s: %d seats, want %d", query, got, want.seats)
		}
		b := newBench(t, settings{})
		client := b.send(lists(query))
		if b.run(second); client.answer.Status != want.status {
			t.Errorf("%s: status %d, want %d", query, client.answer.Status, want.status)
		}
	}
}

// Objects that are only counted are in lists by their number.
func TestCounted(t *testing.T) {
	b := newBench(t, settings{counts: []store.Count{{Resource: pods, Objects: 1000, AverageBytes: 2000}}})
	q := apiRequest{verb: "list", resource: pods, query: "resourceVersion=0"}
	a := b.must(200, q)
	if a.Items != 1000 || a.Bytes != 2_000_000 {
		t.Errorf("all: %d items, %d bytes", a.Items, a.Bytes)
	}
	q.query, q.matches = "resourceVersion=0&fieldSelector=spec.nodeName%3Dn1", 30
	if a = b.must(200, q); a.Items != 30 {
		t.Errorf("of a node: %d items", a.Items)
	}
	q.query, q.matches = "resourceVersion=0&labelSelector=app%3Dweb", 40
	if a = b.must(200, q); a.Items != 40 {
		t.Errorf("by label: %d items", a.Items)
	}
	// Pages by a label come to the same sum.
	query, sum, pages := "limit=7&labelSelector=app%3Dweb", int64(0), 0
	for token := ""; pages == 0 || token != ""; pages++ {
		q.query = query + token
		a = b.must(200, q)
		sum += a.Items
		if token = ""; a.Continue != "" {
			token = "&continue=" + a.Continue
		}
		if pages > 10 {
			t.Fatal("it does not end")
		}
	}
	if sum != 40 || pages != 6 {
		t.Errorf("%d items in %d pages", sum, pages)
	}
	get := apiRequest{verb: "get", resource: pods, path: "default/p"}
	if a = b.must(200, get); a.Version != 1 || b.store.Resource(pods).Counted() != 999 {
		t.Errorf("%+v, %d counted", a, b.store.Resource(pods).Counted())
	}
	single := apiRequest{verb: "list", resource: pods, path: "default/", query: "resourceVersion=0&fieldSelector=metadata.name%3Dq"}
	if a = b.must(200, single); a.Items != 1 || b.store.Resource(pods).Counted() != 998 {
		t.Errorf("by name: %d items, %d counted", a.Items, b.store.Resource(pods).Counted())
	}
	b.must(200, apiRequest{verb: "delete", resource: pods, path: "default/q"})
	b.run(second)
	if a = b.must(200, single); a.Items != 0 || b.store.Resource(pods).Len() != 999 {
		t.Errorf("one that is deleted: %d items, %d left", a.Items, b.store.Resource(pods).Len())
	}
	a = b.must(200, apiRequest{verb: "deletecollection", resource: pods, path: "default/", matches: 20})
	if a.Items != 21 || b.store.Resource(pods).Len() != 978 {
		t.Errorf("%d items deleted, %d are left", a.Items, b.store.Resource(pods).Len())
	}
	// Each page of a collection has others, in one request or in several ones.
	for _, c := range []struct {
		query       string
		items, left int64
	}{{"limit=500", 500, 478}, {"limit=100", 100, 378}, {"", 378, 0}} {
		if a = b.must(200, apiRequest{verb: "deletecollection", resource: pods, query: c.query}); a.Items != c.items || b.store.Resource(pods).Len() != c.left {
			t.Errorf("%q: %d items deleted, %d are left; want %d, %d", c.query, a.Items, b.store.Resource(pods).Len(), c.items, c.left)
		}
	}
}

// Of a single object that is only counted, selectors may match none.
func TestSelectorThatMatchesNoCountedObject(t *testing.T) {
	b := newBench(t, settings{counts: []store.Count{{Resource: pods, Objects: 1, AverageBytes: 100}}})
	for matches := range int64(2) {
		a := b.must(200, apiRequest{verb: "list", resource: pods, query: "resourceVersion=0&labelSelector=app%3Dweb", matches: matches})
		if a.Items != matches {
			t.Errorf("%d items, want %d", a.Items, matches)
		}
	}
}

// The cache does not have an object yet that etcd has; it is not one of those that are only counted.
func TestObjectThatTheCacheDoesNotHaveYet(t *testing.T) {
	b := newBench(t, settings{lagNs: 100 * second, counts: []store.Count{{Resource: pods, Objects: 10, AverageBytes: 100}}})
	b.must(201, post(pods, "default", "p"))
	b.want("GET", apiRequest{verb: "get", resource: pods, path: "default/p", query: "resourceVersion=0"}, "404 NotFound", "")
	b.wantList("list", apiRequest{verb: "list", resource: pods, path: "default/", query: "resourceVersion=0&fieldSelector=metadata.name%3Dp"}, "200 1", 0, api.FromCache, 0, "")
	if n := b.store.Resource(pods).Counted(); n != 10 {
		t.Errorf("%d are only counted, want 10", n)
	}
	b.run(100 * second)
	b.want("later", apiRequest{verb: "get", resource: pods, path: "default/p", query: "resourceVersion=0"}, "200 2", "")
}

// A list of one name is read by its key, from etcd if an old version is asked for, where the key is known: with a
// namespace, or of a resource without namespaces, and if the name can be part of a path.
func TestListsOfOneName(t *testing.T) {
	nodes := api.Resource{Name: "nodes"}
	for _, c := range []struct {
		resource api.Resource
		path     string
		field    string
		from     api.Source
	}{
		{configmaps, "default/", "metadata.name%3Da", api.FromEtcd},
		{configmaps, "/", "metadata.name%3Da", api.FromSnapshot},
		{configmaps, "/", "metadata.name%3Da,metadata.namespace%3Ddefault", api.FromEtcd},
		{configmaps, "default/", "metadata.name%3Da%2Fb", api.FromSnapshot},
		{configmaps, "default/", "metadata.name%3Da%25", api.FromSnapshot},
		{configmaps, "default/", "metadata.namespace%3Ddefault", api.FromSnapshot},
		{nodes, "/", "metadata.name%3Da", api.FromEtcd},
		{nodes, "/", "metadata.name%3Da%2Fb", api.FromSnapshot},
	} {
		b := newBench(t, settings{resources: []api.Resource{configmaps, nodes}})
		b.must(201, post(configmaps, "default", "x"))
		b.run(second)
		a := b.must(200, apiRequest{verb: "list", resource: c.resource, path: c.path, query: "resourceVersionMatch=Exact&resourceVersion=1&fieldSelector=" + c.field})
		if a.Source != c.from {
			t.Errorf("%s %s?%s: from %v, want %v", c.resource.Name, c.path, c.field, a.Source, c.from)
		}
	}
}

// L1: a list of a cache that does not become fresh within 3 s goes to etcd.
func TestListFallsBack(t *testing.T) {
	b, _ := stale(t)
	before := b.queue.NowNs()
	a := b.want("L1", lists(""), "200 101", "1 get, 1 range")
	if tookNs := b.queue.NowNs() - before; a.Source != api.FromEtcd || tookNs < 3*second || tookNs > 4*second {
		t.Errorf("from %v after %d ns", a.Source, tookNs)
	}
	b.want("GET of a newer version", apiRequest{verb: "get", path: "default/a", query: "resourceVersion=101"}, "504 Timeout RA 1", "")
}

// How many objects a list answers does not depend on where it is read: of those that are only counted, as many as its
// selector matches. A watch cache has an index of the pods of a node, and etcd and its snapshots have none.
func TestCountedObjectsAreSelectedInOneWay(t *testing.T) {
	for _, release := range []string{"1.18", "1.24", "1.30", "1.31", "1.34", "1.37"} {
		for _, uncached := range [][]api.Resource{nil, {pods}} {
			b := newBench(t, settings{release: release, counts: []store.Count{{Resource: pods, Objects: 1000, AverageBytes: 100}}, uncached: uncached})
			b.must(201, post(pods, "default", "p"))
			b.run(second)
			for _, version := range []string{"", "resourceVersion=0&", "resourceVersion=1&", "resourceVersionMatch=Exact&resourceVersion=2&"} {
				for _, selector := range []string{"fieldSelector=spec.nodeName%3Dn1", "labelSelector=app%3Dweb"} {
					for _, limit := range []string{"", "&limit=7", " in a namespace", "&limit=7 in a namespace"} {
						q := apiRequest{verb: "list", resource: pods, matches: 30}
						if where := " in a namespace"; strings.HasSuffix(limit, where) {
							q.path, limit = "default/", strings.TrimSuffix(limit, where)
						}
						q.query = version + selector + limit
						items := int64(0)
						for pages := 0; ; pages++ {
							a := b.must(200, q)
							items += a.Items
							if a.Continue == "" {
								break
							}
							if pages == 10 {
								t.Fatalf("%s ?%s: more than ten pages", release, q.query)
							}
							q.query = selector + limit + "&continue=" + a.Continue
						}
						if items != 30 {
							t.Errorf("%s, without a cache: %v, ?%s: %d objects, want 30", release, uncached, q.query, items)
						}
					}
				}
			}
		}
	}
}

// The cache has an index of the pods of a node, by which a list, or a page that begins anywhere, has the same pods as by a
// look at all of them.
func TestIndexOfNodes(t *testing.T) {
	b := newBench(t, settings{})
	var starts []string
	for i := range 12 {
		namespace, name := []string{"a", "b"}[i%2], fmt.Sprintf("o-%02d", i)
		b.must(201, post(pods, namespace, name, change.NodeField, fmt.Sprint("n", i%3)))
		starts = append(starts, name, name+"\x00", namespace+"/"+name, namespace+"/"+name+"\x00")
	}
	b.run(second)
	names := func(objects []*api.Object, start string, inNamespace bool) (names []string) {
		for _, o := range objects {
			key := o.Namespace + "/" + o.Name
			if inNamespace {
				key = o.Name
			}
			if o.Fields[change.NodeField] == "n1" && key >= start {
				names = append(names, o.Namespace+"/"+o.Name)
			}
		}
		return names
	}
	for _, namespace := range []string{"", "a", "b"} {
		all := b.must(200, apiRequest{verb: "list", resource: pods, path: namespace + "/"}).Objects
		for _, start := range append(starts, "") {
			q := apiRequest{verb: "list", resource: pods, path: namespace + "/", query: "fieldSelector=spec.nodeName%3Dn1"}
			if start != "" {
				q.query += token(-1, start)
			}
			a := b.must(200, q)
			if got, want := names(a.Objects, "", false), names(all, start, namespace != ""); a.Source != api.FromCache || len(a.Objects) != len(got) || !slices.Equal(got, want) {
				t.Errorf("namespace %q from %q: %q, want %q", namespace, start, got, want)
			}
		}
	}
}

// A page can begin among the objects that are only counted, of which the selectors match every so many, or behind them; by
// the index of nodes it has as many as by a look at all.
func TestPagesThatBeginAmongCountedObjects(t *testing.T) {
	for start, items := range map[string]int64{countedStart + "500": 16, countedStart + "1000": 1, countedStart + "5000": 1, "default/o": 1, "default/q": 0} {
		for _, selector := range []string{"fieldSelector=spec.nodeName%3Dn1", "labelSelector=app%3Dweb"} {
			b := newBench(t, settings{counts: []store.Count{{Resource: pods, Objects: 1000, AverageBytes: 100}}})
			b.must(201, post(pods, "default", "p", change.NodeField, "n1", "metadata.labels.app", "web"))
			b.run(second)
			a := b.must(200, apiRequest{verb: "list", resource: pods, query: selector + token(-1, start), matches: 30})
			if a.Items != items || a.Source != api.FromCache {
				t.Errorf("%s from %q: %d objects from %v, want %d", selector, start, a.Items, a.Source, items)
			}
		}
	}
}

// Pages have together as many of the objects that are only counted as the selectors match.
func TestPagesOfCountedObjects(t *testing.T) {
	for _, uncached := range [][]api.Resource{nil, {pods}} {
		b := newBench(t, settings{counts: []store.Count{{Resource: pods, Objects: 1000, AverageBytes: 100}}, uncached: uncached})
		for _, matches := range []int64{1, 2, 3, 40, 999, 1000} {
			for _, limit := range []int64{1, 2, 7, 100} {
				query, items, pages := fmt.Sprint("labelSelector=app%3Dweb&limit=", limit), int64(0), int64(0)
				for token := ""; pages == 0 || token != "" && pages <= matches; pages++ {
					a := b.must(200, apiRequest{verb: "list", resource: pods, query: query + token, matches: matches})
					items += a.Items
					if token = ""; a.Continue != "" {
						token = "&continue=" + a.Continue
					}
				}
				if items != matches {
					t.Errorf("limit %d, without a cache: %v: %d objects in %d pages, want %d", limit, uncached, items, pages, matches)
				}
			}
		}
	}
}
