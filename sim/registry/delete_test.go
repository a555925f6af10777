package registry

import (
	"fmt"
	"slices"
	"testing"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/registry/change"
)

func remove(path string) apiRequest { return apiRequest{verb: "delete", path: path} }

func (b *bench) wantEvents(row string, r api.Resource, after int64, want ...string) {
	b.t.Helper()
	if got := b.eventsOf(r, after); !slices.Equal(got, want) {
		b.t.Errorf("%s: events %v, want %v", row, got, want)
	}
}

func TestDelete(t *testing.T) {
	t.Run("D1", func(t *testing.T) {
		b, o := at100(t, settings{})
		for _, p := range []request.Preconditions{{UID: o.UID + 1}, {Mismatch: true}, {Version: request.At(90)}, {Version: request.ParseVersion("abc")}} {
			q := remove("default/a")
			q.pre = &p
			b.want("D1", q, "409 Conflict", "1 get")
		}
		b.want("D1", remove("default/none"), "404 NotFound", "1 get")
		q := remove("default/a")
		q.pre = &request.Preconditions{UID: o.UID, Version: request.At(100)}
		b.want("D1 holds", q, "200", "1 get, 1 txn")
	})
	t.Run("D2", func(t *testing.T) {
		b, _ := at100(t, settings{})
		a := b.want("D2", remove("default/a"), "200", "1 get, 1 txn")
		if !a.Wrote || a.Object != nil {
			t.Errorf("D2: %+v", a)
		}
		b.wantEvents("D2", configmaps, 100, "DELETED 101")
	})
	t.Run("D3 D4 D5", func(t *testing.T) {
		b := finalized(t)
		b.want("D3", remove("default/a"), "200 101", "1 get, 1 txn")
		b.run(second)
		b.want("D3 again", remove("default/a"), "200 101", "2 get")
		b.wantEvents("D3", configmaps, 100, "MODIFIED 101")
		b.want("D5", post(configmaps, "default", "a"), "409 AlreadyExists", "1 get, 1 txn")
		another := apiRequest{verb: "patch", path: "default/a", body: &api.Body{Finalizers: []string{"f", "g"}, FinalizersGiven: true}}
		b.want("new finalizer", another, "422 Invalid", "1 get")
		last := apiRequest{verb: "patch", path: "default/a", body: &api.Body{FinalizersGiven: true}}
		a := b.want("D4", last, "200 101", "1 get, 1 txn")
		if !a.Wrote {
			t.Errorf("D4: %+v", a)
		}
		b.wantEvents("D4", configmaps, 101, "DELETED 102")
		b.want("D4 gone", apiRequest{verb: "get", path: "default/a"}, "404 NotFound", "1 get")
	})
	t.Run("202", func(t *testing.T) {
		b := finalized(t)
		q := remove("default/a")
		q.query = "orphanDependents=false"
		b.want("202", q, "202 101", "1 get, 1 txn")
	})
	t.Run("policy", func(t *testing.T) {
		b, _ := at100(t, settings{})
		q := remove("default/a")
		q.query = "propagationPolicy=Foreground"
		a := b.want("policy", q, "200 101", "1 get, 1 txn")
		if !a.Object.Deleting() || !slices.Equal(a.Object.Finalizers, []string{"foregroundDeletion"}) {
			t.Errorf("%+v", a.Object)
		}
	})
	t.Run("D6", func(t *testing.T) {
		b := newBench(t, settings{})
		b.must(201, post(pods, "default", "p", change.NodeField, "n1", "status.phase", "Running"))
		q := apiRequest{verb: "delete", resource: pods, path: "default/p"}
		a := b.want("D6", q, "200 3", "1 get, 1 txn")
		if a.Object.GraceSeconds != 30 || a.Object.DeletionNs < b.queue.NowNs()+29*second {
			t.Errorf("D6: %+v", a.Object)
		}
		b.run(second)
		b.want("D6 again", q, "200 3", "1 get")
		q.query = "orphanDependents=false"
		b.want("D6 again, 202", q, "202 3", "1 get")
		q.query = "gracePeriodSeconds=60"
		b.want("D6 longer", q, "200 3", "1 get")
		q.query = "gracePeriodSeconds=10"
		b.want("D6 shorter", q, "200 4", "1 get, 1 txn")
		b.run(second)
		q.query = "gracePeriodSeconds=0"
		// The facts say 2 transactions. That is so if the cache has the update when the object is removed; with
		// the version from before the update, the first try fails.
		b.want("D6 final", q, "200 6", "1 get, 3 txn")
		b.wantEvents("D6", pods, 2, "MODIFIED 3", "MODIFIED 4", "MODIFIED 5", "DELETED 6")
	})
	t.Run("D7", func(t *testing.T) {
		b := newBench(t, settings{})
		b.must(201, post(pods, "default", "p"))
		b.run(second)
		b.want("D7", apiRequest{verb: "delete", resource: pods, path: "default/p"}, "200 4", "1 get, 3 txn")
		b.wantEvents("D7", pods, 2, "MODIFIED 3", "DELETED 4")
		b.must(201, post(pods, "default", "q", change.NodeField, "n1"))
		b.run(second)
		q := apiRequest{verb: "delete", resource: pods, path: "default/q", query: "gracePeriodSeconds=-5"}
		if a := b.must(200, q); a.Object.GraceSeconds != 1 {
			t.Errorf("a negative period is %d s", a.Object.GraceSeconds)
		}
		if o := b.store.Resource(pods).Get("default", "q"); o == nil || !o.Deleting() {
			t.Errorf("after a deletion with a period of 1 s, the pod is %+v", o)
		}
	})
	t.Run("D8", func(t *testing.T) {
		b := newBench(t, settings{})
		for i := range 5 {
			b.must(201, post(configmaps, "default", fmt.Sprint("c", i)))
		}
		b.must(201, post(configmaps, "other", "c"))
		b.run(second)
		q := apiRequest{verb: "deletecollection", path: "default/"}
		a := b.want("D8", q, "200 7", "6 get, 5 txn")
		if a.Items != 5 || a.Continue != "" || !a.Wrote {
			t.Errorf("D8: %+v", a)
		}
		b.wantEvents("D8", configmaps, 7, "DELETED 8", "DELETED 9", "DELETED 10", "DELETED 11", "DELETED 12")
	})
	t.Run("D9", func(t *testing.T) {
		// The delete commits first: the PUT has lost. The PUT commits first: the delete is repeated.
		b, _ := at100(t, settings{writeNs: 5 * millisecond, readNs: millisecond})
		answers := b.all(remove("default/a"), apiRequest{verb: "patch", path: "default/a", body: body("", "x", "2")})
		if answers[1].Status != 200 || answers[0].Status != 200 || answers[0].Rounds != 2 {
			t.Errorf("D9: %+v", answers)
		}
		b, _ = at100(t, settings{writeNs: 5 * millisecond, readNs: millisecond})
		withVersion := remove("default/a")
		withVersion.pre = &request.Preconditions{Version: request.At(100)}
		if a := b.all(withVersion, put("default/a", "100", "x", "2")); a[0].Status != 409 || a[1].Status != 200 {
			t.Errorf("D9 with version: %+v", a)
		}
		b, _ = at100(t, settings{writeNs: 5 * millisecond})
		d := b.send(remove("default/a"))
		b.run(millisecond)
		p := b.send(put("default/a", "100", "x", "2"))
		b.run(second)
		if d.answer.Status != 200 || p.answer.Status != 404 {
			t.Errorf("D9: delete %d, PUT %d", d.answer.Status, p.answer.Status)
		}
	})
	t.Run("D10", func(t *testing.T) {
		for _, v := range []request.Version{{}, request.At(100)} {
			b, _ := at100(t, settings{writeNs: millisecond, readNs: millisecond})
			q := remove("default/a")
			q.pre = &request.Preconditions{Version: v}
			all := slices.Repeat([]apiRequest{q}, 10)
			want := append([]string{"200"}, slices.Repeat([]string{"404 NotFound"}, 9)...)
			b.together("D10", want, all...)
		}
	})
	t.Run("D11", func(t *testing.T) {
		b, _ := at100(t, settings{writeNs: millisecond, readNs: millisecond})
		var all []apiRequest
		for i := range 20 {
			all = append(all, apiRequest{verb: "patch", path: "default/a", body: body("", "f", fmt.Sprint(i))})
		}
		_, before, _ := b.calls()
		for _, a := range b.all(all...) {
			if a.Status != 200 {
				t.Errorf("D11: %d", a.Status)
			}
		}
		// In lockstep they need 20+19+…+1; clients of a real server do not come at the same time: 126 to 169.
		if _, txns, _ := b.calls(); txns-before != 210 {
			t.Errorf("D11: %d transactions", txns-before)
		}
	})
	t.Run("dry run", func(t *testing.T) {
		b, _ := at100(t, settings{})
		q := remove("default/a")
		q.query = "dryRun=All"
		b.want("dry", q, "200", "2 get")
		q.pre = &request.Preconditions{Version: request.At(90)}
		b.want("dry", q, "409 Conflict", "1 get")
		b.want("dry", apiRequest{verb: "delete", path: "default/none", query: "dryRun=All"}, "404 NotFound", "1 get")
		if b.store.Revision() != 100 {
			t.Error("a revision was made")
		}
	})
	t.Run("event", func(t *testing.T) {
		b := newBench(t, settings{})
		b.must(201, post(events, "default", "e"))
		b.want("event", apiRequest{verb: "delete", resource: events, path: "default/e"}, "200", "2 get, 1 txn")
	})
}

// finalized returns a server whose configmap default/a has a finalizer and the version 100.
func finalized(t *testing.T) *bench {
	b := newBench(t, settings{})
	for b.store.Revision() < 99 {
		b.must(201, post(configmaps, "filler", fmt.Sprint("f-", b.store.Revision())))
	}
	q := post(configmaps, "default", "a", "x", "1")
	q.body.Finalizers = []string{"f"}
	b.must(201, q)
	b.run(second)
	return b
}

// The eviction of a pod deletes it, at once or when its time is over, and is answered with a Status.
func TestEviction(t *testing.T) {
	b := newBench(t, settings{})
	evict := func(path, query string) apiRequest {
		return apiRequest{verb: "create", resource: pods, sub: "eviction", path: path, query: query, body: &api.Body{}}
	}
	b.want("a missing pod", evict("default/p", ""), "404 NotFound", "1 get")
	b.must(201, post(pods, "default", "p"))
	b.must(201, post(pods, "default", "q", change.NodeField, "n1", "status.phase", "Running"))
	b.run(second)
	b.want("dry", evict("default/p", "dryRun=All"), "201", "2 get")
	b.want("at once", evict("default/p", ""), "201", "1 get, 3 txn") // as D7
	b.want("gone", apiRequest{verb: "get", resource: pods, path: "default/p"}, "404 NotFound", "1 get")
	b.want("on a node", evict("default/q", ""), "201", "1 get, 1 txn")
	if o := b.store.Resource(pods).Get("default", "q"); o == nil || !o.Deleting() || o.GraceSeconds != 30 {
		t.Errorf("after its eviction, the pod on a node is %+v; want one that ends in 30 s", o)
	}
	b.run(second)
	b.want("again", evict("default/q", ""), "201", "1 get")
	b.wantEvents("evictions", pods, 3, "MODIFIED 4", "DELETED 5", "MODIFIED 6")
}
