package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/registry/change"
)

// watches opens a watch of configmaps.
func (b *bench) watches(query string) *client {
	return b.send(apiRequest{verb: "watch", path: "default/", query: query})
}

// eventTexts returns what a client has received: "ADDED o-002 2", "BOOKMARK 100 end", "ERROR 410".
func (c *client) eventTexts() []string {
	var texts []string
	for _, e := range c.events {
		switch {
		case e.Type == api.Error:
			texts = append(texts, fmt.Sprint("ERROR ", e.Failure.Status))
		case e.InitialEnd:
			texts = append(texts, fmt.Sprint("BOOKMARK ", e.Version, " end"))
		case e.Type == api.Bookmark:
			texts = append(texts, fmt.Sprint("BOOKMARK ", e.Version))
		default:
			texts = append(texts, fmt.Sprint(e.Type, " ", e.Object.Name, " ", e.Version))
		}
	}
	return texts
}

func (c *client) wantEvents(t *testing.T, row string, want ...string) {
	t.Helper()
	if got := c.eventTexts(); !slices.Equal(got, want) {
		t.Errorf("%s: received %v, want %v", row, got, want)
	}
}

// three returns a server at revision 4 with the configmaps a, b and c.
func three(t *testing.T, s settings) *bench {
	b := newBench(t, s)
	for _, name := range []string{"c", "a", "b"} {
		b.must(201, post(configmaps, "default", name))
	}
	b.run(second)
	return b
}

func TestWatches(t *testing.T) {
	state := []string{"ADDED a 3", "ADDED b 4", "ADDED c 2"}
	with := func(more ...string) []string { return slices.Concat(state, more) }
	for _, test := range []struct {
		row, query string
		want       []string // before another configmap is created, at 5
		live       bool     // whether that is received
	}{
		{"W1", "", state, true},
		{"W1", "resourceVersion=0", state, true},
		{"W2", "allowWatchBookmarks=true", with("BOOKMARK 4 end"), true},
		{"W3", "resourceVersion=2", []string{"ADDED a 3", "ADDED b 4"}, true},
		{"W5", "resourceVersion=120", nil, false},
		{"W6", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=120", []string{"ERROR 504"}, false},
		{"W7", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=3&allowWatchBookmarks=true", with("BOOKMARK 4 end"), true},
		{"W8", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan", nil, true},
		{"W8", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0", nil, true},
		{"W8", "sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=3", []string{"ADDED b 4"}, true},
		{"W10", "resourceVersion=2&continue=nonsense", []string{"ADDED a 3", "ADDED b 4"}, true},
	} {
		b := three(t, settings{})
		c := b.watches(test.query)
		b.run(4 * second)
		if !c.open || c.answer.Status != 200 || c.answers != 1 {
			t.Errorf("%s ?%s: %+v", test.row, test.query, c.answer)
		}
		c.wantEvents(t, test.row+" ?"+test.query, test.want...)
		if failed := slices.ContainsFunc(test.want, func(e string) bool { return strings.HasPrefix(e, "ERROR") }); failed != c.ended {
			t.Errorf("%s: ended: %v", test.row, c.ended)
		}
		b.must(201, post(configmaps, "default", "d"))
		b.run(second)
		want := test.want
		if test.live {
			want = append(slices.Clone(want), "ADDED d 5")
		}
		c.wantEvents(t, test.row+" live ?"+test.query, want...)
	}
	b := three(t, settings{})
	for _, query := range []string{"resourceVersion=3&resourceVersionMatch=NotOlderThan", "resourceVersion=3&sendInitialEvents=true",
		"resourceVersion=3&resourceVersionMatch=Exact", "sendInitialEvents=true&resourceVersionMatch=Exact", "continue=x", "resourceVersion=0&continue=x"} {
		row := "W9"
		if strings.Contains(query, "continue") {
			row = "W10"
		}
		b.want(row, apiRequest{verb: "watch", path: "default/", query: query}, "422 Invalid", "")
	}
	b.want("word", apiRequest{verb: "watch", path: "default/", query: "resourceVersion=abc"}, "500", "")
}

// W4: a version that the cache does not have any more is an event, and the end.
func TestWatchExpired(t *testing.T) {
	b := history(t, settings{resources: []api.Resource{pods}}, pods)
	b.Stop(b.queue.NowNs()) // the cache begins again, with the list at 100
	b.Open()
	b.Fill(b.queue.NowNs(), pods, 0)
	b.run(second)
	c := b.send(apiRequest{verb: "watch", resource: pods, path: "default/", query: "resourceVersion=90"})
	b.run(second)
	c.wantEvents(t, "W4", "ERROR 410")
	if !c.ended || c.answer.Status != 200 || c.events[0].Failure.Reason != api.Expired {
		t.Errorf("W4: %+v", c)
	}
}

// W11: a cache that is not ready.
func TestWatchUnready(t *testing.T) {
	b := newBench(t, settings{initNs: 60 * second})
	b.runTo(20 * second)
	b.want("W11", apiRequest{verb: "watch", path: "default/"}, "429 TooManyRequests RA 3", "")
}

// W13: events come from etcd, and expire with its history.
func TestWatchWithoutCache(t *testing.T) {
	b := history(t, settings{resources: []api.Resource{configmaps}}, events)
	old := b.send(apiRequest{verb: "watch", resource: events, path: "default/", query: "resourceVersion=40"})
	b.run(second)
	old.wantEvents(t, "W13", "ERROR 410")
	if !old.ended || old.answer.Status != 200 {
		t.Errorf("W13: %+v", old.answer)
	}
	c := b.send(apiRequest{verb: "watch", resource: events, path: "default/", query: "resourceVersion=98"})
	b.run(second)
	b.must(201, post(events, "default", "new"))
	b.run(second)
	c.wantEvents(t, "events", "ADDED o-100 100", "ADDED new 101")
	all := b.send(apiRequest{verb: "watch", resource: events, path: "default/"})
	b.run(second)
	if len(all.events) != int(upTo(100)+1) {
		t.Errorf("%d initial events", len(all.events))
	}
}

// W14: an object that leaves the selector, or enters it.
func TestWatchSelector(t *testing.T) {
	b := newBench(t, settings{})
	b.must(201, post(configmaps, "default", "a", "metadata.labels.app", "web"))
	b.run(second)
	c := b.watches("labelSelector=app%3Dweb")
	b.run(second)
	b.must(200, put("default/a", "", "metadata.labels.app", "db"))
	b.run(second)
	b.must(200, put("default/a", "", "metadata.labels.app", "db", "x", "1"))
	b.run(second)
	b.must(200, put("default/a", "", "metadata.labels.app", "web"))
	b.run(second)
	c.wantEvents(t, "W14", "ADDED a 2", "DELETED a 3", "ADDED a 5")
}

// W16, W17: the ends of watches.
func TestWatchEnds(t *testing.T) {
	b := three(t, settings{})
	begins := b.queue.NowNs()
	c := b.watches("resourceVersion=4&timeoutSeconds=300")
	random := b.watches("resourceVersion=4")
	b.runTo(begins + 299*second)
	if c.ended {
		t.Error("ended too early")
	}
	b.runTo(begins + 301*second)
	if !c.ended {
		t.Error("W16: has not ended after 300 s")
	}
	b.runTo(begins + 1800*second)
	if random.ended {
		t.Error("without a time, a watch lasts 1800 s at least")
	}
	b.runTo(begins + 3601*second)
	if !random.ended {
		t.Error("a watch has not ended after 3600 s")
	}
	c = b.watches("resourceVersion=4")
	b.run(second)
	b.Stop(b.queue.NowNs())
	if !c.ended || len(c.events) != 0 {
		t.Errorf("W17: %+v", c)
	}
}

// A process that ends takes all watches with it, also those of resources without a cache.
func TestWatchesEndWithTheProcess(t *testing.T) {
	b := newBench(t, settings{})
	c := b.send(apiRequest{verb: "watch", resource: events, path: "default/"})
	b.run(second)
	b.Stop(b.queue.NowNs())
	if !c.open || !c.ended {
		t.Errorf("open %v, ended %v", c.open, c.ended)
	}
}

// The deadline of a watch that has ended before is not that of the next one.
func TestDeadlineOfAnEndedWatch(t *testing.T) {
	b := newBench(t, settings{})
	first := b.watches("timeoutSeconds=5")
	b.run(second)
	now := b.queue.NowNs()
	b.Stop(now)
	b.Open()
	b.Fill(now, configmaps, 0)
	b.run(millisecond)
	next := b.watches("timeoutSeconds=100")
	b.run(50 * second)
	if !first.ended || !next.open || next.ended {
		t.Errorf("first: ended %v; next: open %v, ended %v", first.ended, next.open, next.ended)
	}
}

// A server without a least time-out ends no watch that does not ask for it.
func TestWatchWithoutATimeout(t *testing.T) {
	b := three(t, settings{endless: true})
	c := b.watches("resourceVersion=4")
	b.run(1000 * 3600 * second)
	if !c.open || c.ended {
		t.Errorf("open %v, ended %v", c.open, c.ended)
	}
}

// The server is told how many events it has sent to watches: a watch of etcd sends the initial ones after its answer, when
// its seats are free again; those of a cache are part of the execution.
func TestEventsThatWereSent(t *testing.T) {
	for _, c := range []struct {
		resource            api.Resource
		initial, dispatched int
		from                api.Source
	}{{configmaps, 0, 2, api.FromCache}, {events, 3, 2, api.FromEtcd}} {
		b := newBench(t, settings{})
		for i := range 3 {
			b.must(201, post(c.resource, "default", fmt.Sprint("o", i)))
		}
		b.run(second)
		w := b.send(apiRequest{verb: "watch", resource: c.resource, path: "default/"})
		b.run(second)
		for i := range 2 {
			b.must(201, post(c.resource, "default", fmt.Sprint("n", i)))
		}
		b.run(second)
		if b.initial != c.initial || b.dispatched != c.dispatched || len(w.events) != 5 || w.answer.Source != c.from {
			t.Errorf("%s: %d initial events and %d others were sent, want %d and %d; %d received, from %v",
				c.resource.Name, b.initial, b.dispatched, c.initial, c.dispatched, len(w.events), w.answer.Source)
		}
	}
}

// Whoever hangs up gets nothing more.
func TestAbandonedWatch(t *testing.T) {
	b := three(t, settings{})
	c := b.watches("")
	b.run(second)
	n := len(c.events)
	c.op.Abandon(b.queue.NowNs())
	b.must(201, post(configmaps, "default", "d"))
	b.run(5000 * second)
	if len(c.events) != n || c.ended {
		t.Errorf("received %v", c.eventTexts())
	}
}

// A watch of etcd is answered before it opens. If its client has gone by then, it does not open.
func TestWatchWithoutCacheOfClientThatHasGone(t *testing.T) {
	for _, query := range []string{"", "resourceVersion=2", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=90"} {
		b := newBench(t, settings{readNs: 5 * millisecond})
		b.must(201, post(events, "default", "a"))
		b.hangsUp = true
		c := b.send(apiRequest{verb: "watch", resource: events, path: "default/", query: query})
		b.run(second)
		b.hangsUp = false
		b.must(201, post(events, "default", "b"))
		b.run(5000 * second)
		if c.answers != 1 || c.ended || len(c.events) != 0 {
			t.Errorf("?%s: %d answers, ended %v, received %v", query, c.answers, c.ended, c.eventTexts())
		}
	}
}

// A watch whose time is over when it can open begins, and ends at once: here up to 1.30, because the cache was not
// ready, and without a cache, because the machine was slow.
func TestWatchThatOpensAfterItsTime(t *testing.T) {
	b := newBench(t, settings{release: "1.30", initNs: 60 * second})
	late := b.watches("timeoutSeconds=5")
	b.run(58 * second)
	if late.answers != 0 {
		t.Errorf("it is answered %d before the cache is ready", late.answer.Status)
	}
	b.run(2 * second)
	direct := newBench(t, settings{})
	direct.slow = 6 * second / int64(defaultCosts().Request)
	slow := direct.send(apiRequest{verb: "watch", resource: events, path: "default/", query: "timeoutSeconds=5"})
	direct.run(7 * second)
	for _, c := range []*client{late, slow} {
		if c.answers != 1 || c.answer.Status != 200 || !c.ended || c.endedNs != c.doneNs {
			t.Errorf("%d answers, status %d, ended %v at %d, answered at %d", c.answers, c.answer.Status, c.ended, c.endedNs, c.doneNs)
		}
	}
}

// What has been sent to etcd is written although nobody waits for it, but nothing is done after that.
func TestAbandonedWrites(t *testing.T) {
	b, _ := at100(t, settings{writeNs: 5 * millisecond, readNs: 5 * millisecond})
	c := b.send(put("default/a", "100", "x", "2"))
	b.run(millisecond)
	c.op.Abandon(b.queue.NowNs())
	b.run(second)
	if c.answers != 0 || b.store.Resource(configmaps).Get("default", "a").Fields["x"] != "2" {
		t.Errorf("%d answers, %v", c.answers, b.store.Resource(configmaps).Get("default", "a"))
	}
	c = b.send(remove("default/a"))
	b.run(millisecond)
	c.op.Abandon(b.queue.NowNs()) // it has only read so far
	b.run(second)
	if b.store.Resource(configmaps).Get("default", "a") == nil {
		t.Error("a deletion goes on without its client")
	}
}

// A write that the server gives up after 34 s is written nevertheless.
func TestWriteThatTakesTooLong(t *testing.T) {
	b := newBench(t, settings{writeNs: 40 * second})
	c := b.send(post(configmaps, "default", "a"))
	b.run(34 * second)
	c.op.Abandon(b.queue.NowNs())
	b.run(60 * second)
	if c.answers != 0 {
		t.Errorf("it is answered: %s", describe(&c.answer))
	}
	if b.store.Resource(configmaps).Get("default", "a") == nil {
		t.Error("it has not been written")
	}
}

func TestBinding(t *testing.T) {
	b := newBench(t, settings{})
	p := b.must(201, post(pods, "default", "p")).Object
	b.run(second)
	bind := func(node string) apiRequest {
		return apiRequest{verb: "create", resource: pods, sub: "binding", path: "default/p", body: body("", change.NodeField, node)}
	}
	wrong := bind("n1")
	wrong.body.UID = p.UID + 1
	b.want("other UID", wrong, "409 Conflict", "1 get")
	b.want("binding", bind("n1"), "201", "1 txn")
	if o := b.store.Resource(pods).Get("default", "p"); o.Fields[change.NodeField] != "n1" {
		t.Errorf("bound to %q", o.Fields[change.NodeField])
	}
	b.run(second)
	b.want("assigned already", bind("n2"), "409 Conflict", "1 get")
	missing := bind("n1")
	missing.path = "default/q"
	b.want("missing", missing, "404 NotFound", "1 get")
}
