package registry

import (
	"testing"

	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/registry/change"
)

func pod(name string, fields ...string) apiRequest { return post(pods, "default", name, fields...) }

// A list of an old version has the nodes that pods had then.
func TestExactOfNode(t *testing.T) {
	b := newBench(t, settings{})
	b.must(201, pod("p"))
	b.must(200, apiRequest{verb: "patch", resource: pods, path: "default/p", body: body("", change.NodeField, "n1")})
	b.run(second)
	q := apiRequest{verb: "list", resource: pods, path: "default/", query: "resourceVersion=2&resourceVersionMatch=Exact&fieldSelector=spec.nodeName%3Dn1"}
	b.wantList("exact", q, "200 2", 0, api.FromSnapshot, 0, "")
}

// The version in the preconditions of a deletion in two steps is that before the first one.
func TestVersionOfForcedDeletion(t *testing.T) {
	b := newBench(t, settings{})
	b.must(201, pod("p"))
	b.run(second)
	b.want("forced", apiRequest{verb: "delete", resource: pods, path: "default/p", pre: &request.Preconditions{Version: request.At(2)}}, "200 4", "2 get, 2 txn")
}

// A write that changes nothing of the object as the cache has it, or that is wrong there, looks at etcd's before it says so.
func TestWritesThatTheCacheWouldAnswer(t *testing.T) {
	same, wrong := put("default/a", "", "x", "1"), put("default/a", "90", "x", "9")
	b, _ := stale(t)
	b.want("the same as in the cache, which is old", same, "200 102", "1 get, 1 txn")
	b, _ = at100(t, settings{lagNs: 100 * second})
	b.want("the same as in the cache, which is new", same, "200 100", "1 get")
	b, _ = stale(t)
	b.want("wrong in the cache, which is old", wrong, "409 Conflict", "1 get")
	for _, q := range []apiRequest{same, wrong} {
		b, _ := stale(t)
		b.must(200, remove("default/a"))
		c := b.send(q)
		b.run(second)
		if c.answers != 1 || c.answer.Status != 404 {
			t.Errorf("an object that is only in the cache: %d answers: %s", c.answers, describe(&c.answer))
		}
	}
}

// Of two deletions of a pod, the one that finds that the other has been faster is answered like it: that the pod is to end,
// or that it is gone.
func TestDeletionsRace(t *testing.T) {
	for _, c := range []struct {
		fields  []string // of the pod
		afterNs int64    // of the second one
		status  int
		left    int64
	}{{[]string{change.NodeField, "n1"}, 0, 202, 1}, {nil, 7 * millisecond, 200, 0}} {
		b := newBench(t, settings{readNs: millisecond, writeNs: 5 * millisecond})
		b.must(201, pod("p", c.fields...))
		b.run(second)
		q := apiRequest{verb: "delete", resource: pods, path: "default/p", query: "orphanDependents=false"}
		first := b.send(q)
		b.run(c.afterNs)
		for i, d := range []*client{first, b.send(q)} {
			b.run(second)
			if d.answers != 1 || d.answer.Status != c.status || d.answer.Object == nil {
				t.Errorf("deletion %d of a pod with %q: %s, %+v, want %d", i, c.fields, describe(&d.answer), d.answer.Object, c.status)
			}
		}
		if n := b.store.Resource(pods).Len(); n != c.left {
			t.Errorf("%d are left, want %d", n, c.left)
		}
	}
	b := five(t, settings{})
	gone := remove("default/c1")
	gone.query = "orphanDependents=false"
	b.want("a configmap, which is gone at once", gone, "200", "1 get, 1 txn")
}

// Whoever has removed the last finalizer does not mind that another one was faster.
func TestFinalizersRace(t *testing.T) {
	b := newBench(t, settings{readNs: millisecond, writeNs: 5 * millisecond})
	q := post(configmaps, "default", "a")
	q.body.Finalizers = []string{"f"}
	b.must(201, q)
	b.must(200, remove("default/a"))
	b.run(second)
	last := apiRequest{verb: "patch", path: "default/a", body: &api.Body{FinalizersGiven: true}}
	for i, a := range b.all(last, last) {
		if a.Status != 200 || a.Version != 3 || a.Wrote != (i == 0) {
			t.Errorf("patch %d: %+v", i, a)
		}
	}
}

// A pod that is being deleted is not assigned, stays for its grace period whatever is written, and its period may
// be shortened, but not into the past.
func TestTerminatingPod(t *testing.T) {
	b := newBench(t, settings{})
	q := pod("held")
	q.body.Finalizers = []string{"f"}
	b.must(201, q)
	b.must(200, apiRequest{verb: "delete", resource: pods, path: "default/held"})
	b.run(second)
	b.want("binding", apiRequest{verb: "create", resource: pods, sub: "binding", path: "default/held", body: body("", change.NodeField, "n1")}, "409 Conflict", "1 get")

	b.must(201, pod("p", change.NodeField, "n1"))
	b.must(200, apiRequest{verb: "delete", resource: pods, path: "default/p"})
	b.run(25 * second)
	if o := b.must(200, apiRequest{verb: "patch", resource: pods, path: "default/p", body: body("", "x", "1")}).Object; !o.Deleting() || b.store.Resource(pods).Get("default", "p") == nil {
		t.Errorf("a PATCH has removed the pod: %+v", o)
	}
	b.run(second)
	now := b.queue.NowNs()
	o := b.must(200, apiRequest{verb: "delete", resource: pods, path: "default/p", query: "gracePeriodSeconds=10"}).Object
	if o.DeletionNs < now || o.GraceSeconds != 1 {
		t.Errorf("at %d until %d, %d s", now, o.DeletionNs, o.GraceSeconds)
	}
}

// A client that hangs up while it gets its answer, and a write whose time is over before the machine has begun it.
func TestHost(t *testing.T) {
	b := three(t, settings{})
	b.hangsUp = true
	b.watches("")
	b.send(apiRequest{verb: "get", path: "default/a"})
	b.run(second)
	b.hangsUp = false
	first, other := b.NewOperation(), b.NewOperation()
	if first == other {
		t.Fatal("an operation is used twice")
	}
	b.slow = 1_000_000
	c := b.send(put("default/a", "", "x", "1"))
	b.run(34 * second)
	c.op.Abandon(b.queue.NowNs())
	b.run(100 * second)
	if c.answers != 0 {
		t.Errorf("%d answers: %s", c.answers, describe(&c.answer))
	}
	if b.store.Revision() != 4 {
		t.Error("a write that had not begun was carried out")
	}
}
