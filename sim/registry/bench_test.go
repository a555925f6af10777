package registry

import (
	"fmt"
	"testing"

	"apfsim/core/estimate"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/sim/api"
	"apfsim/sim/clock"
	"apfsim/sim/quantity"
	"apfsim/sim/store"
)

const (
	microsecond = int64(1e3)
	millisecond = int64(1e6)
	second      = int64(1e9)
)

// bench is one server with a store, and clients that do one thing after another.
type bench struct {
	*Registry
	t      testing.TB
	queue  clock.Queue[int32]
	alarms *clock.Alarms
	store  *store.Store

	hangsUp bool  // clients hang up while they get their answers
	closes  bool  // the server does not keep a watch open that is answered
	slow    int64 // how many times as long the machine works; 0 for once

	givenNs, additionalNs int64 // of the requests that are sent next
	seats, finalSeats     int32

	initial, dispatched int   // events that were sent to watches, as the server is told
	compressionNs       int64 // of both

	known    map[api.Resource]estimate.Stats // by the counts of the server
	countsNs []int64                         // when it counted
}

// client is who waits for an answer.
type client struct {
	answer  api.Answer
	answers int
	open    bool
	ended   bool
	endedNs int64
	doneNs  int64
	op      *Operation
	serving clock.AlarmID // the machine works for the operation
	events  []api.Event
	counted int64
}

type settings struct {
	release      string
	lagNs        int64
	readNs       int64
	writeNs      int64
	counts       []store.Count
	resources    []api.Resource
	initNs       int64
	compactionNs int64
	uncached     []api.Resource
	endless      bool // the server ends no watch that does not say how long it lasts
}

var (
	configmaps = api.Resource{Name: "configmaps"}
	pods       = api.Resource{Name: "pods"}
	leases     = api.Resource{Group: "coordination.k8s.io", Name: "leases"}
	roles      = api.Resource{Group: "rbac.authorization.k8s.io", Name: "roles"}
	events     = api.Resource{Name: "events"}
	widgets    = api.Resource{Group: "example.com", Name: "widgets"}
)

// newBench returns a server of 1.37 unless said otherwise, with a cache of configmaps, pods, leases, roles and
// widgets that is ready, at 1 s.
func newBench(t *testing.T, s settings) *bench { return newBenchFor(t, s) }

func newBenchFor(t testing.TB, s settings) *bench {
	t.Helper()
	if s.release == "" {
		s.release = "1.37"
	}
	v, err := rules.For(s.release)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, givenNs: -1}
	b.alarms = clock.NewAlarms(func(atNs int64, slot int32) clock.Handle { return b.queue.Schedule(atNs, 0, slot) }, b.queue.Cancel)
	b.store = store.New(b.alarms, store.Settings{Read: quantity.Constant(quantity.Duration(s.readNs)), Write: quantity.Constant(quantity.Duration(s.writeNs)),
		EventTTL: quantity.Duration(3600 * second), CompactionInterval: quantity.Duration(s.compactionNs)}, 1, s.counts)
	b.store.NewCompactor().Start(0)
	if s.resources == nil {
		s.resources = []api.Resource{configmaps, pods, leases, roles, widgets}
	}
	settings := Settings{Rules: v, Costs: defaultCosts(), Uncached: s.uncached, FeedLagNs: s.lagNs,
		MinRequestTimeoutNs: 1800 * second, CountEveryNs: 60 * second, Seed: 1}
	if s.endless {
		settings.MinRequestTimeoutNs = 0
	}
	b.Registry = New(b.alarms, b.store, b, settings)
	b.Open()
	for _, r := range s.resources {
		b.Fill(0, r, s.initNs)
	}
	b.runTo(second)
	return b
}

// served resumes an operation.
type served struct{ op *Operation }

func (s served) Ring(nowNs int64) {
	s.op.Request.(*client).serving = clock.AlarmID{}
	s.op.Served(nowNs)
}

func (b *bench) Serve(nowNs int64, op *Operation, demandNs int64) {
	if demandNs < 0 {
		b.t.Fatalf("a demand of %d ns", demandNs)
	}
	op.Request.(*client).serving = b.alarms.Set(nowNs+demandNs*max(b.slow, 1), served{op})
}

func (b *bench) ServeBehind(int64, int64) {}

func (b *bench) Send(int64, *Operation, int64) bool { return false }

func (b *bench) Done(nowNs int64, op *Operation) bool {
	c := op.Request.(*client)
	c.answer = op.Answer
	c.answers++
	c.doneNs = nowNs
	b.alarms.Cancel(&c.serving) // of a watch that ends before its initial events are encoded
	if b.hangsUp {
		op.Abandon(nowNs)
	}
	if b.hangsUp || b.closes {
		return false
	}
	c.open = op.Verb == "watch" && op.Answer.Status == 200
	return c.open
}

func (b *bench) Received(_ int64, op *Operation, e *api.Event) {
	c := op.Request.(*client)
	c.events = append(c.events, *e)
}

func (b *bench) Counted(_ int64, op *Operation, n int64) { op.Request.(*client).counted += n }

func (b *bench) Ended(nowNs int64, op *Operation) {
	c := op.Request.(*client)
	c.ended, c.endedNs = true, nowNs
}

func (b *bench) Dispatched(_ int64, e *api.Event, watchers int, compressionNs int64) {
	b.compressionNs += compressionNs
	if e == nil {
		b.initial += watchers
	} else {
		b.dispatched += watchers
	}
}

func (b *bench) Known(r api.Resource, stats estimate.Stats) {
	if b.known == nil {
		b.known = map[api.Resource]estimate.Stats{}
	}
	b.known[r] = stats
	b.countsNs = append(b.countsNs, b.queue.NowNs())
}

// runTo lets all happen that comes until a time.
func (b *bench) runTo(untilNs int64) {
	for {
		atNs, ok := b.queue.NextNs()
		if !ok || atNs > untilNs {
			break
		}
		slot, _ := b.queue.Next()
		b.alarms.Ring(b.queue.NowNs(), slot)
	}
	if b.queue.NowNs() < untilNs { // time passes although nothing happens
		b.queue.Schedule(untilNs, 0, -1)
		b.queue.Next()
	}
}

// run lets ns pass.
func (b *bench) run(ns int64) { b.runTo(b.queue.NowNs() + ns) }

// apiRequest is what a client asks for. Path is namespace/name, or namespace/ for a list.
type apiRequest struct {
	verb     string
	resource api.Resource
	sub      string
	path     string
	query    string
	body     *api.Body
	matches  int64
	pre      *request.Preconditions
	accept   Accept
}

// send sends a request, and does not wait.
func (b *bench) send(q apiRequest) *client {
	b.t.Helper()
	options, err := request.ParseOptions(q.verb, q.query)
	if err != nil {
		b.t.Fatal(err)
	}
	if q.pre != nil {
		options.Preconditions = *q.pre
	}
	if q.resource == (api.Resource{}) {
		q.resource = configmaps
	}
	c := &client{}
	op := b.NewOperation()
	op.Accept = q.accept
	c.op = op
	op.Verb, op.Resource, op.Subresource = q.verb, q.resource, q.sub
	op.Call = &api.Call{Options: options, Body: q.body, Matches: q.matches}
	op.Request = c
	op.GivenNs, op.Seats, op.FinalSeats, op.AdditionalNs = b.givenNs, b.seats, b.finalSeats, b.additionalNs
	for i := range q.path {
		if q.path[i] == '/' {
			op.Namespace, op.Name = q.path[:i], q.path[i+1:]
		}
	}
	b.Begin(b.queue.NowNs(), op)
	return c
}

// calls are the calls to etcd so far.
func (b *bench) calls() (gets, txns, ranges int64) {
	for _, w := range b.Work() {
		gets, txns, ranges = gets+w.Gets, txns+w.Txns, ranges+w.Ranges
	}
	return
}

// walked is how many objects of caches have been looked at so far.
func (b *bench) walked() (n int64) {
	for _, w := range b.Work() {
		n += w.Walked
	}
	return n
}

// do sends a request, waits for the answer and returns it with the calls to etcd that it took, as
// "1 get, 1 txn".
func (b *bench) do(q apiRequest) (api.Answer, string) {
	b.t.Helper()
	gets, txns, ranges := b.calls()
	revision, walked := b.store.Revision(), b.walked()
	c := b.send(q)
	for c.answers == 0 {
		slot, ok := b.queue.Next()
		if !ok {
			b.t.Fatalf("%+v: no answer", q)
		}
		b.alarms.Ring(b.queue.NowNs(), slot)
	}
	g, t, r := b.calls()
	b.wantWhole(q, &c.answer)
	if wrote := b.store.Revision() > revision; wrote != c.answer.Wrote {
		b.t.Errorf("%s %s?%s: has written: %v; the answer says %v", q.verb, q.path, q.query, wrote, c.answer.Wrote)
	}
	if q.verb == "get" && (c.answer.Status == 200 || c.answer.Status == 404) {
		from := api.FromCache
		if g > gets {
			from = api.FromEtcd
		}
		if c.answer.Source != from {
			b.t.Errorf("%s %s?%s: from %v, with %d calls to etcd", q.verb, q.path, q.query, c.answer.Source, g-gets)
		}
	}
	if status := c.answer.Status; (status == 400 || status == 422) && b.walked() != walked {
		b.t.Errorf("%s %s?%s: %d, and objects were walked", q.verb, q.path, q.query, status)
	}
	return c.answer, calls(g-gets, t-txns, r-ranges)
}

// wantWhole checks what holds of all answers: those of lists have a number of items, and no others; and the bytes are
// those of the objects.
func (b *bench) wantWhole(q apiRequest, a *api.Answer) {
	b.t.Helper()
	isList := a.Status == 200 && (q.verb == "list" || q.verb == "deletecollection")
	if isList != (a.Items >= 0) || !isList && a.Items != -1 {
		b.t.Errorf("%s %s?%s: %d with %d items", q.verb, q.path, q.query, a.Status, a.Items)
	}
	bytes := int64(0)
	switch {
	case a.Object != nil:
		bytes = a.Object.Bytes
	case isList && q.verb == "list":
		for _, o := range a.Objects {
			bytes += o.Bytes
		}
		resource := q.resource
		if resource == (api.Resource{}) {
			resource = configmaps
		}
		bytes += (a.Items - int64(len(a.Objects))) * b.store.Resource(resource).AverageBytes()
	default:
		return
	}
	if a.Bytes != bytes {
		b.t.Errorf("%s %s?%s: %d bytes, want those of the objects, %d", q.verb, q.path, q.query, a.Bytes, bytes)
	}
}

func calls(gets, txns, ranges int64) string {
	text := ""
	for _, n := range []struct {
		n    int64
		name string
	}{{gets, "get"}, {txns, "txn"}, {ranges, "range"}} {
		if n.n > 0 {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprint(n.n, " ", n.name)
		}
	}
	return text
}

// must does a request that must be answered with a status.
func (b *bench) must(status int, q apiRequest) api.Answer {
	b.t.Helper()
	a, _ := b.do(q)
	if a.Status != status {
		b.t.Fatalf("%s %s?%s: %d %s, want %d", q.verb, q.path, q.query, a.Status, a.Reason, status)
	}
	return a
}

// want checks an answer: "200 101" is the status and the version, if there is one, "409 Conflict" the reason.
func (b *bench) want(row string, q apiRequest, answer, etcd string) api.Answer {
	b.t.Helper()
	a, took := b.do(q)
	if got := describe(&a); got != answer || took != etcd {
		b.t.Errorf("%s: %s %s?%s: got %s (%s), want %s (%s)", row, q.verb, q.path, q.query, got, took, answer, etcd)
	}
	return a
}

func describe(a *api.Answer) string {
	text := fmt.Sprint(a.Status)
	if a.Reason != "" {
		text += " " + a.Reason
	}
	if a.Version != 0 {
		text += fmt.Sprint(" ", a.Version)
	}
	if a.RetryAfterSeconds > 0 {
		text += fmt.Sprintf(" RA %d", a.RetryAfterSeconds)
	}
	return text
}

// put returns a PUT of a configmap with a version, "" for none.
func put(path, version string, fields ...string) apiRequest {
	return apiRequest{verb: "update", path: path, body: body(version, fields...)}
}

// body returns a body with a version and fields, name and value in turn.
func body(version string, fields ...string) *api.Body {
	b := &api.Body{Version: request.ParseVersion(version), Fields: map[string]string{}}
	for i := 0; i+1 < len(fields); i += 2 {
		b.Fields[fields[i]] = fields[i+1]
	}
	return b
}

func post(resource api.Resource, namespace, name string, fields ...string) apiRequest {
	bd := body("", fields...)
	bd.Name = name
	return apiRequest{verb: "create", resource: resource, path: namespace + "/", body: bd}
}

// eventsOf returns the events of a resource's history as "MODIFIED 101".
func (b *bench) eventsOf(r api.Resource, after int64) []string {
	all, ok := b.store.Resource(r).Since(after)
	if !ok {
		b.t.Fatal("compacted")
	}
	var texts []string
	for e := range all {
		texts = append(texts, fmt.Sprint(e.Type, " ", e.Version))
	}
	return texts
}
