package registry

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/document"
	"apfsim/sim/api"
	"apfsim/sim/quantity"
	"apfsim/sim/store"
)

// Costs are Default, which is said or not, or those that differ from it.
func TestCostsOfADocument(t *testing.T) {
	fewer := defaultCosts()
	fewer.Request = quantity.Duration(time.Millisecond)
	for _, c := range []struct {
		node document.Node
		want Costs
		fail string
	}{
		{node: document.Node{Kind: document.String, Text: "Default"}, want: defaultCosts()},
		{node: document.Node{Kind: document.Object, Fields: []document.Field{{Name: "request", Value: &document.Node{Kind: document.String, Text: "1ms"}}}}, want: fewer},
		{node: document.Node{Kind: document.String, Text: "Defualt"}, want: defaultCosts(), fail: `costs: "Defualt": want Default or an object (did you mean "Default"?)`},
		{node: document.Node{Kind: document.Number, Text: "5"}, want: defaultCosts(), fail: `costs: is a number; want Default or an object`},
	} {
		var d document.Decoder
		var got Costs
		d.Decode(&c.node, "costs", &got)
		if got != c.want {
			t.Errorf("%+v: got %+v, want %+v", c.node, got, c.want)
		}
		if fail := strings.TrimPrefix(d.Errors.Error(), ":0:0: "); c.fail != fail {
			t.Errorf("%+v: got the error %q, want %q", c.node, fail, c.fail)
		}
	}
}

func defaultCosts() (c Costs) {
	document.SetDefaults(&c)
	return c
}

// Requests take the processor as long as their parts cost, and etcd's latencies besides.
func TestCosts(t *testing.T) {
	const objects, size = 1000, 2000
	counts := []store.Count{{Resource: pods, Objects: objects, AverageBytes: size}, {Resource: events, Objects: objects, AverageBytes: size}}
	c := defaultCosts()
	const readNs, writeNs = 2 * millisecond, 5 * millisecond
	encode := func(bytes int64) int64 { return bytes * 9 / 2 }
	compress := func(bytes int64) int64 { return encode(bytes) + bytes*44/10 }
	for _, test := range []struct {
		what    string
		request apiRequest
		cpuNs   int64
		etcdNs  int64
	}{
		{"an object from etcd", apiRequest{verb: "get", resource: pods, path: "default/p"}, int64(c.EtcdObject) + size*10 + encode(size), readNs},
		{"an object from the cache", apiRequest{verb: "get", resource: pods, path: "default/p", query: "resourceVersion=0"}, encode(size), 0},
		{"a missing object", apiRequest{verb: "get", path: "default/p"}, 0, readNs},
		{"a list", apiRequest{verb: "list", resource: pods, query: "resourceVersion=0"}, objects*int64(c.WalkedObject) + compress(objects*size), 0},
		{"a list that matches nothing", apiRequest{verb: "list", resource: pods, query: "resourceVersion=0&labelSelector=a"}, objects * int64(c.WalkedObject+c.MatchedObject), 0},
		{"the pods of a node", apiRequest{verb: "list", resource: pods, query: "resourceVersion=0&fieldSelector=spec.nodeName%3Dn", matches: 3},
			3*int64(c.WalkedObject+c.MatchedObject) + encode(3*size), 0},
		{"a page", apiRequest{verb: "list", resource: pods, query: "resourceVersion=1&resourceVersionMatch=NotOlderThan&limit=10"},
			objects*int64(c.WalkedObject) + encode(10*size), 0},
		{"a list from etcd", apiRequest{verb: "list", resource: events},
			objects*(int64(c.EtcdObject)+size*10) + compress(objects*size), readNs + objects*int64(c.RangedObject)},
		{"a list from etcd that selects", apiRequest{verb: "list", resource: events, query: "labelSelector=a", matches: 3},
			objects*(int64(c.EtcdObject)+size*10+int64(c.MatchedObject)) + encode(3*size), readNs + objects*int64(c.RangedObject)},
		{"a create", post(pods, "default", "p"), 50_000 + encode(size), writeNs},
		{"an update", apiRequest{verb: "update", resource: pods, path: "default/p", body: body("", "x", "1")},
			int64(c.EtcdObject) + size*10 + 50_000 + encode(size), readNs + writeNs},
		{"a page that is refused", apiRequest{verb: "list", resource: pods, query: "resourceVersionMatch=Exact"}, 0, 0},
	} {
		b := newBench(t, settings{counts: counts, readNs: readNs, writeNs: writeNs, resources: []api.Resource{configmaps, pods}})
		before := b.queue.NowNs()
		cl := b.send(test.request)
		b.run(10 * second)
		if cl.answers != 1 {
			t.Fatalf("%s: no answer", test.what)
		}
		cpuNs := test.cpuNs + int64(c.Request)
		if tookNs := cl.doneNs - before; tookNs != cpuNs+test.etcdNs {
			t.Errorf("%s: took %d ns, want %d + %d", test.what, tookNs, cpuNs, test.etcdNs)
		}
		if w := b.Work()[0]; w.CPUNs != cpuNs || w.Requests != 1 || w.Answered != 1 || w.HeldNs != cpuNs+test.etcdNs {
			t.Errorf("%s: %+v, want %d ns of the processor", test.what, *w, cpuNs)
		}
		if w := b.Work()[0]; w.Bytes != cl.answer.Bytes || w.Returned != max(0, cl.answer.Items) {
			t.Errorf("%s: %d bytes and %d objects of lists, want those of %+v", test.what, w.Bytes, w.Returned, cl.answer)
		}
		fetched := int64(0)
		if cl.answer.Source == api.FromEtcd && cl.answer.Status == 200 {
			fetched = map[string]int64{"get": 1, "list": objects}[test.request.verb]
		}
		if test.request.verb == "update" {
			fetched = 1
		}
		if w := b.Work()[0]; w.Fetched != fetched {
			t.Errorf("%s: %d objects from etcd, want %d", test.what, w.Fetched, fetched)
		}
	}
}

// An answer is compressed if it has more than 128 KiB.
func TestCompression(t *testing.T) {
	c := defaultCosts()
	for size, perKilobyte := range map[int64]int64{2048: int64(c.EncodedKilobyte), 2049: int64(c.EncodedKilobyte + c.CompressedKilobyte)} {
		b := newBench(t, settings{counts: []store.Count{{Resource: pods, Objects: 64, AverageBytes: size}}})
		b.must(200, apiRequest{verb: "list", resource: pods, query: "resourceVersion=0"})
		if got, want := b.Work()[0].CPUNs, int64(c.Request+64*c.WalkedObject)+64*size*perKilobyte/1000; got != want {
			t.Errorf("64 objects of %d bytes take %d ns of the processor, want %d", size, got, want)
		}
	}
}

// A client that accepts protobuf gets it of what is built in, and JSON of custom resources. One that accepts no gzip gets
// large answers as they are. Initial events of watches are encoded as the client wants.
func TestAccept(t *testing.T) {
	const objects, size = 100, 2000 // 200 kB, more than 128 KiB
	c := defaultCosts()
	custom := api.Resource{Group: "cilium.io", Name: "ciliumendpoints"}
	b := newBench(t, settings{counts: []store.Count{{Resource: pods, Objects: objects, AverageBytes: size}, {Resource: custom, Objects: objects, AverageBytes: size}},
		resources: []api.Resource{pods, custom}})
	kilobytes := quantity.Duration(objects * size / 1000)
	for _, test := range []struct {
		resource api.Resource
		verb     string
		accept   Accept
		want     quantity.Duration // of encoding
	}{
		{pods, "list", Accept{}, kilobytes * (c.EncodedKilobyte + c.CompressedKilobyte)},
		{pods, "list", Accept{Uncompressed: true}, kilobytes * c.EncodedKilobyte},
		{pods, "list", Accept{Protobuf: true}, kilobytes * (c.ProtobufKilobyte + c.CompressedKilobyte)},
		{pods, "list", Accept{Protobuf: true, Uncompressed: true}, kilobytes * c.ProtobufKilobyte},
		{custom, "list", Accept{Protobuf: true, Uncompressed: true}, kilobytes * c.EncodedKilobyte},
		{pods, "watch", Accept{}, kilobytes * c.EncodedKilobyte},
		{pods, "watch", Accept{Protobuf: true}, kilobytes * c.ProtobufKilobyte},
		{custom, "watch", Accept{Protobuf: true}, kilobytes * c.EncodedKilobyte},
	} {
		before := b.queue.NowNs()
		cl := b.send(apiRequest{verb: test.verb, resource: test.resource, query: "resourceVersion=0", accept: test.accept})
		b.run(second)
		want := int64(c.Request+test.want) + objects*int64(c.WalkedObject)
		if test.verb == "watch" {
			want = int64(c.Request+test.want) + objects*int64(c.InitialEvent)
		}
		if got := cl.doneNs - before; got != want {
			t.Errorf("%s %s, %+v: took %d ns, want %d", test.verb, test.resource.Name, test.accept, got, want)
		}
	}
}

// Since 1.37, a watch that asks for initial events and bookmarks is compressed, from its first event to its last and whatever their
// size, if its client accepts gzip; no other watch is. A watch from no version or from 0 asks for initial events.
func TestCompressionOfWatches(t *testing.T) {
	const objects, size = 10, 2000
	c := defaultCosts()
	for _, test := range []struct {
		release, query string
		resource       api.Resource
		accept         Accept
		compressed     bool
	}{
		{"1.37", "allowWatchBookmarks=true", pods, Accept{}, true},
		{"1.37", "allowWatchBookmarks=true&resourceVersion=0", pods, Accept{Protobuf: true}, true},
		{"1.37", "allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=1", pods, Accept{}, true},
		{"1.37", "allowWatchBookmarks=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", pods, Accept{}, false},
		{"1.37", "allowWatchBookmarks=true&resourceVersion=1", pods, Accept{}, false},
		{"1.37", "", pods, Accept{}, false},
		{"1.37", "allowWatchBookmarks=true", pods, Accept{Uncompressed: true}, false},
		{"1.36", "allowWatchBookmarks=true", pods, Accept{}, false},
		{"1.37", "allowWatchBookmarks=true", events, Accept{}, true},
		{"1.36", "allowWatchBookmarks=true", events, Accept{}, false},
	} {
		b := newBench(t, settings{release: test.release, counts: []store.Count{{Resource: test.resource, Objects: objects, AverageBytes: size}}})
		before := b.queue.NowNs()
		cl := b.send(apiRequest{verb: "watch", resource: test.resource, query: test.query, accept: test.accept})
		b.run(second)
		compressesNs := int64(0) // 1000 bytes
		if test.compressed {
			compressesNs = int64(c.CompressedKilobyte)
		}
		var wantNs, wantBehindNs int64
		switch {
		case test.resource == events: // the answer comes before its initial events
			wantNs, wantBehindNs = int64(c.Request), objects*size/1000*compressesNs
		case cl.counted == objects:
			encodedNs := int64(c.EncodedKilobyte)
			if test.accept.Protobuf {
				encodedNs = int64(c.ProtobufKilobyte)
			}
			wantNs = int64(c.Request) + objects*int64(c.InitialEvent) + objects*size/1000*(encodedNs+compressesNs)
		default:
			wantNs = int64(c.Request)
		}
		if took := cl.doneNs - before; took != wantNs || b.compressionNs != wantBehindNs {
			t.Errorf("%s, %s, %+v: the request took %d ns and compression after it %d ns, want %d and %d",
				test.release, test.query, test.accept, took, b.compressionNs, wantNs, wantBehindNs)
		}
		b.must(201, post(test.resource, "default", "new"))
		b.run(second)
		i := slices.IndexFunc(cl.events, func(e api.Event) bool { return e.Object != nil })
		if want := wantBehindNs + cl.events[i].Object.Bytes*compressesNs/1000; cl.events[i].Object.Bytes == 0 || b.compressionNs != want {
			t.Errorf("%s, %s, %+v: compression took %d ns after %v, want %d", test.release, test.query, test.accept, b.compressionNs, cl.eventTexts(), want)
		}
	}
}

// A watch walks all objects for its initial events, and encodes and sends those that match.
func TestCostsOfWatch(t *testing.T) {
	b := newBench(t, settings{counts: []store.Count{{Resource: pods, Objects: 1000, AverageBytes: 2000}}})
	before := b.queue.NowNs()
	cl := b.send(apiRequest{verb: "watch", resource: pods, query: "resourceVersion=0&fieldSelector=spec.nodeName%3Dn", matches: 30})
	b.run(second)
	c := defaultCosts()
	if want := int64(c.Request + 30*(c.InitialEvent+2*c.EncodedKilobyte) + 970*c.InitialWalk); cl.doneNs-before != want || cl.counted != 30 {
		t.Errorf("took %d ns, want %d; %d initial events", cl.doneNs-before, want, cl.counted)
	}
	if w := b.Work()[0]; w.Walked != 1000 || w.Initial != 30 || w.Bytes != 30*2000 {
		t.Errorf("%+v", *w)
	}
}

// An execution time that is given is what a request takes, and its answer is the same.
func TestGivenExecution(t *testing.T) {
	for _, givenNs := range []int64{7 * millisecond, 0} {
		b := newBench(t, settings{readNs: second, writeNs: second, counts: []store.Count{{Resource: events, Objects: 1000, AverageBytes: 100}}})
		for _, q := range []apiRequest{post(configmaps, "default", "a"), {verb: "get", path: "default/a"}, put("default/a", "", "x", "1"), remove("default/a"),
			{verb: "list", resource: events}} {
			b.givenNs = givenNs
			before := b.queue.NowNs()
			b.Reset()
			cl := b.send(q)
			b.run(second)
			if cl.doneNs-before != givenNs || cl.answer.Status/100 != 2 {
				t.Errorf("%s: %d after %d ns, want %d", q.verb, cl.answer.Status, cl.doneNs-before, givenNs)
			}
			for _, w := range b.Work() {
				if w.Requests > 0 && w.CPUNs != givenNs {
					t.Errorf("%s: %d ns of the processor, want %d", q.verb, w.CPUNs, givenNs)
				}
			}
		}
	}
}

// The kinds of requests are told apart by verb, resource and options, and their seats are counted.
func TestWork(t *testing.T) {
	b := newBench(t, settings{})
	for _, query := range []string{"", "limit=5", "limit=1", "resourceVersion=1&limit=1", "resourceVersion=0", "resourceVersion=1", "resourceVersion=1&limit=5",
		"resourceVersion=1&resourceVersionMatch=Exact", token(1, "a"), "", "labelSelector=a"} {
		b.do(lists(query))
	}
	b.do(put("default/a", "1"))
	b.send(apiRequest{verb: "watch", path: "default/"})
	b.send(apiRequest{verb: "watch", path: "default/", query: "resourceVersion=1"})
	want := []string{"list latest false 2", "list latest, page false 2", "list exact false 3", "list any false 1", "list not older false 1",
		"list continued false 1", "list latest true 1", "update  false 1", "watch initial events false 1", "watch resumed false 1"}
	work := b.Work()
	if len(work) != len(want) {
		t.Fatalf("%d kinds, want %d", len(work), len(want))
	}
	for i, w := range work {
		if got := fmt.Sprint(w.Verb, " ", w.Class, " ", w.Selects, " ", w.Requests); got != want[i] {
			t.Errorf("kind %d is %q, want %q", i, got, want[i])
		}
	}
	b = newBench(t, settings{})
	b.givenNs = millisecond
	b.seats, b.finalSeats, b.additionalNs = 3, 2, second
	b.do(lists(""))
	if w := b.Work()[0]; w.EstimatedSeatNs != 3*millisecond+2*second || w.MaxSeats != 3 {
		t.Errorf("%+v", *w)
	}
}
