package registry

import (
	"fmt"
	"testing"

	"apfsim/sim/api"
)

// over are requests that end in all ways; each returns when its operation is over.
var over = []struct {
	name string
	do   func(*bench) *Operation
}{
	{"an answer of etcd", func(b *bench) *Operation { return b.sent(apiRequest{verb: "get", path: "default/a"}) }},
	{"an answer of the cache", func(b *bench) *Operation {
		return b.sent(apiRequest{verb: "get", path: "default/a", query: "resourceVersion=0"})
	}},
	{"a version that does not come", func(b *bench) *Operation { return b.sent(lists("resourceVersion=9000")) }},
	{"a write", func(b *bench) *Operation { return b.sent(put("default/a", "", "x", fmt.Sprint(b.queue.NowNs()))) }},
	{"a refusal", func(b *bench) *Operation { return b.sent(lists("resourceVersion=x")) }},
	{"a watch that ends", func(b *bench) *Operation {
		return b.sent(apiRequest{verb: "watch", path: "default/", query: "timeoutSeconds=3"})
	}},
	{"a watch that fails", func(b *bench) *Operation {
		return b.sent(apiRequest{verb: "watch", path: "default/", query: "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=9000"})
	}},
	{"a watch whose client goes", func(b *bench) *Operation {
		c := b.watches("")
		b.run(second)
		c.op.Abandon(b.queue.NowNs())
		return c.op
	}},
	{"a watch that the server does not keep open", func(b *bench) *Operation {
		b.closes = true
		defer func() { b.closes = false }()
		return b.sent(apiRequest{verb: "watch", path: "default/"})
	}},
	{"a client that goes while it gets its answer", func(b *bench) *Operation {
		b.hangsUp = true
		defer func() { b.hangsUp = false }()
		return b.sent(apiRequest{verb: "get", path: "default/a"})
	}},
	{"a client that goes before etcd answers", func(b *bench) *Operation {
		c := b.send(apiRequest{verb: "get", path: "default/a"})
		b.run(2 * millisecond)
		c.op.Abandon(b.queue.NowNs())
		b.run(second)
		return c.op
	}},
	{"a client that goes while its request waits for the cache", func(b *bench) *Operation {
		c := b.send(lists("resourceVersion=9000"))
		b.run(second)
		c.op.Abandon(b.queue.NowNs())
		b.run(5 * second)
		return c.op
	}},
	{"a client that goes while the machine works", func(b *bench) *Operation {
		c := b.send(apiRequest{verb: "get", path: "default/a"})
		b.run(microsecond)
		b.alarms.Cancel(&c.serving) // as a server does
		c.op.Abandon(b.queue.NowNs())
		return c.op
	}},
}

// sent sends a request, and returns its operation after ten seconds.
func (b *bench) sent(q apiRequest) *Operation {
	c := b.send(q)
	b.run(10 * second)
	if c.answers != 1 {
		b.t.Fatalf("%s %s?%s: %d answers", q.verb, q.path, q.query, c.answers)
	}
	return c.op
}

// An operation is used again when it is over, however it has ended: requests that come one after the other need no
// second one.
func TestOperationsAreUsedAgain(t *testing.T) {
	b, _ := at100(t, settings{readNs: 5 * millisecond, writeNs: 5 * millisecond})
	only := b.sent(apiRequest{verb: "get", path: "default/a"})
	for _, c := range over {
		if op := c.do(b); op != only {
			t.Errorf("%s: it had another operation than the request before", c.name)
			only = op
		}
		if next := b.NewOperation(); next != only {
			t.Errorf("%s: the next request gets another operation", c.name)
			only = next
		} else {
			b.free = append(b.free, next)
		}
		if n := len(b.free); n != 1 {
			t.Fatalf("%s: %d operations are free, want 1", c.name, n)
		}
	}
}

// An operation that etcd or the cache still owes an answer is not used again.
func TestOperationsThatAreOwedAnAnswer(t *testing.T) {
	b, _ := at100(t, settings{readNs: 5 * millisecond, writeNs: 5 * millisecond})
	for _, q := range []apiRequest{{verb: "get", path: "default/a"}, put("default/a", "", "x", "2"), lists("resourceVersion=9000")} {
		c := b.send(q)
		b.run(2 * millisecond)
		c.op.Abandon(b.queue.NowNs())
		if b.NewOperation() == c.op {
			t.Errorf("%s ?%s: the operation is used again too early", q.verb, q.query)
		}
		b.run(10 * second)
		if c.answers != 0 {
			t.Errorf("%s ?%s: %d answers", q.verb, q.query, c.answers)
		}
	}
}

// The same is so before 1.31, where requests wait until the cache is ready.
func TestOperationsThatWaitForTheCache(t *testing.T) {
	for _, verb := range []string{"list", "get", "watch"} {
		b := newBench(t, settings{release: "1.30", initNs: 60 * second})
		c := b.send(apiRequest{verb: verb, path: "default/a", query: "resourceVersion=1"})
		b.run(second)
		c.op.Abandon(b.queue.NowNs())
		if b.NewOperation() == c.op {
			t.Errorf("%s: the operation is used again too early", verb)
		}
		b.run(100 * second)
		if b.NewOperation() != c.op || c.answers != 0 {
			t.Errorf("%s: the operation is not used again, or answered: %d answers", verb, c.answers)
		}
	}
}

// A watch that the server does not keep open when it is answered is closed: nothing is sent to it.
func TestWatchThatIsNotKeptOpen(t *testing.T) {
	for _, r := range []api.Resource{configmaps, events} {
		b := three(t, settings{})
		b.closes = true
		c := b.send(apiRequest{verb: "watch", resource: r, path: "default/"})
		b.run(second)
		n := len(c.events)
		b.must(201, post(r, "default", "d"))
		b.run(5000 * second)
		if c.answers != 1 || len(c.events) != n || c.ended || b.dispatched != 0 {
			t.Errorf("%s: %d answers, received %v, ended %v, %d events sent", r.Name, c.answers, c.eventTexts(), c.ended, b.dispatched)
		}
		// One that fails before it is answered is answered, too.
		c = b.send(apiRequest{verb: "watch", resource: r, path: "default/", query: "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=120"})
		b.run(10 * second)
		if c.answers != 1 || c.ended {
			t.Errorf("%s: %d answers, ended %v", r.Name, c.answers, c.ended)
		}
	}
}

// A server that has run for long has the caches of the resources that it knows; they are filled once.
func TestKnownCachesAreFilled(t *testing.T) {
	b := newBench(t, settings{resources: []api.Resource{}})
	b.must(201, post(configmaps, "default", "a"))
	now := b.queue.NowNs()
	b.Know(now, configmaps)
	b.Know(now, configmaps)
	b.runTo(now)
	if c := b.Cache(configmaps); !c.Ready() || c.Counters.Initializations != 1 {
		t.Errorf("ready %v, filled %d times", c.Ready(), c.Counters.Initializations)
	}
	if ns := b.Fill(now, configmaps, second); ns != 0 {
		t.Errorf("a cache that is filled takes %d ns to fill", ns)
	}
	if ns := b.Fill(now, leases, second); ns != second {
		t.Errorf("a cache takes %d ns to fill, want 1 s", ns)
	}
	if ns := b.Fill(now, leases, second); ns != 0 {
		t.Errorf("a cache that is being filled takes %d ns more", ns)
	}
	b.Stop(now)
	b.Know(now, pods)
	b.run(longestNs)
	if c := b.Cache(pods); c.Ready() || b.Cache(configmaps).Ready() {
		t.Error("a cache is filled while no process runs")
	}
	if _, ok := b.known[pods]; ok {
		t.Error("objects are counted while no process runs")
	}
	b.Open()
	if ns := b.Fill(b.queue.NowNs(), configmaps, 7*second); ns != 7*second {
		t.Errorf("the cache of the next process takes %d ns to fill, want 7 s", ns)
	}
	b.run(7*second - 1)
	if b.Cache(configmaps).Ready() {
		t.Error("the cache is ready too early")
	}
	b.run(1)
	if !b.Cache(configmaps).Ready() {
		t.Error("the cache is not ready after 7 s")
	}
}

// What the caches, and the watches of resources without one, have counted is summed over the resources, and can be
// forgotten. The kinds of requests stay, also for the next process.
func TestCountersOfAllResources(t *testing.T) {
	b := three(t, settings{})
	b.must(201, post(events, "default", "e"))
	b.watches("resourceVersion=2")
	b.send(apiRequest{verb: "watch", resource: events, path: "default/"})
	b.run(second)
	if c := b.Counters(); c.InitialEvents != 3 {
		t.Errorf("%d initial events, want 2 of configmaps and one of events", c.InitialEvents)
	}
	kinds := len(b.Work())
	b.Reset()
	if c := b.Counters(); c.InitialEvents != 0 {
		t.Errorf("%d initial events after all was forgotten", c.InitialEvents)
	}
	for _, w := range b.Work() {
		if w.Verb == "" || *w != (Work{Verb: w.Verb, Resource: w.Resource, Class: w.Class, Selects: w.Selects}) {
			t.Errorf("not forgotten: %+v", *w)
		}
	}
	next := newBench(t, settings{})
	next.KeepWork(b.Registry)
	next.must(201, post(configmaps, "default", "x"))
	if work := next.Work(); len(work) != kinds || work[0].Requests != 1 {
		t.Errorf("the next process has %d kinds, want %d; the creates are %+v", len(work), kinds, *work[0])
	}
}

// Watches that were closed because their clients read too slowly are counted by resource.
func TestSlowWatchersByResource(t *testing.T) {
	b := newBench(t, settings{})
	for _, r := range []api.Resource{configmaps, pods} {
		for range 2 {
			c := b.send(apiRequest{verb: "watch", resource: r, path: "default/", query: "resourceVersion=1"})
			if r == pods {
				c.op.ReadNs = 3600 * second
			}
		}
	}
	b.run(second)
	for i := range 300 {
		b.must(201, post(configmaps, "default", fmt.Sprint("o", i)))
		b.must(201, post(pods, "default", fmt.Sprint("o", i)))
	}
	b.run(10 * second)
	got := ""
	for r, n := range b.SlowWatchers() {
		got += fmt.Sprint(r.Name, " ", n, ";")
	}
	if want := "pods 2;"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
