package filter

import (
	"fmt"
	"slices"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/core/queueset"
	"apfsim/core/rules"
)

const second = int64(1_000_000_000)

// named is a request as the host has it.
type named struct {
	Request
	name string
}

// host is a server that notes by name which requests are dispatched.
type host struct {
	filter     *Filter // for those that time out in a queue
	dispatched []string
	heldBack   []string
	timedOut   []string // with their Retry-After
}

func (h *host) Dispatched(r *Request) {
	h.dispatched = append(h.dispatched, r.Owner().(*named).name)
}

func (h *host) HeldBack(r *Request) {
	h.heldBack = append(h.heldBack, r.Owner().(*named).name)
}

func (h *host) TimedOut(nowNs int64, q *Request) {
	r := q.Owner().(*named)
	h.timedOut = append(h.timedOut, fmt.Sprint(r.name, " ", h.filter.Dropped(nowNs, &r.Request)))
}

// took returns the names of the requests that were dispatched since the last call.
func (h *host) took() []string {
	all := h.dispatched
	h.dispatched = nil
	return all
}

// oneLevel is a configuration in which everybody's requests go to a level with one queue, which
// has all seats but those of the mandatory levels.
func oneLevel() config.Objects {
	shares, none := int32(995), int32(0)
	o := config.Mandatory(rules.Latest())
	o.PriorityLevels = append(o.PriorityLevels, &config.PriorityLevel{Name: "one", Spec: config.PriorityLevelSpec{Type: config.TypeLimited,
		Limited: &config.LimitedSpec{NominalConcurrencyShares: &shares, LendablePercent: &none, BorrowingLimitPercent: &none,
			LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 1, HandSize: 1, QueueLengthLimit: 2}}}}})
	all := []string{config.Wildcard}
	o.FlowSchemas = append(o.FlowSchemas, &config.FlowSchema{Name: "all", Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: config.PriorityLevelReference{Name: "one"}, MatchingPrecedence: 100,
		Rules: []config.PolicyRulesWithSubjects{{
			Subjects:      []config.Subject{{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: config.Wildcard}}},
			ResourceRules: []config.ResourceRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
		}}}})
	return o
}

// settings are those of a server with so many seats and the level above.
func settings(mode Mode, seats int) Settings {
	return Settings{Rules: rules.Latest(), Mode: mode, MaxRequestsInFlight: seats, RequestTimeoutNs: 60 * second, Objects: oneLevel()}
}

func pods(verb string) *classify.Attributes {
	return &classify.Attributes{User: "u", Groups: []string{"system:authenticated"}, Verb: verb, Resource: "pods", Namespace: "n", Name: "x"}
}

func kind(t testing.TB, f *Filter, a *classify.Attributes, query string) *Kind {
	t.Helper()
	k, err := f.NewKind(a, query)
	if err != nil {
		t.Fatal(err)
	}
	return &k
}

// send lets a request of a kind arrive.
func send(f *Filter, nowNs int64, name string, k *Kind) (*Request, queueset.Rejection, int) {
	r := &named{name: name}
	r.Bind(r)
	f.Receive(&r.Request, k)
	rejection, retryAfterSeconds := f.Arrive(nowNs, &r.Request)
	return &r.Request, rejection, retryAfterSeconds
}

// One seat: the first request executes, the second and the third wait, the fourth finds the queue
// full. The client of the second hangs up, and so does the first's: only the former is rejected.
func TestWayOfARequest(t *testing.T) {
	h := &host{}
	adjusted, s := 0, settings(PriorityAndFairness, 1)
	s.Adjusted = func(int64) { adjusted++ }
	f := New(0, s, h)
	if adjusted != 1 {
		t.Errorf("New notifies of %d adjustments, want 1", adjusted)
	}
	k := kind(t, f, pods("get"), "")
	first, _, _ := send(f, 0, "first", k)
	other, _, _ := send(f, 0, "second", k)
	third, _, _ := send(f, 0, "third", k)
	if got := h.took(); len(got) != 1 || got[0] != "first" || !other.Waiting() || !third.Waiting() {
		t.Fatalf("dispatched %v, waiting %v and %v; want first alone to execute", got, other.Waiting(), third.Waiting())
	}
	if _, rejection, retryAfter := send(f, 0, "fourth", k); rejection != queueset.QueueFull || retryAfter != 1 {
		t.Errorf("the fourth: rejection %q, Retry-After %d; want queue-full and 1", rejection, retryAfter)
	}
	if rejection, retryAfter := f.Cancel(second/2, first); rejection != queueset.NotRejected || retryAfter != 0 || first.Waiting() {
		t.Errorf("the first, which executes, is rejected as %q when its client goes", rejection)
	}
	if rejection, retryAfter := f.Cancel(second/2, other); rejection != queueset.TimedOut || retryAfter != 1 || other.Waiting() {
		t.Errorf("the second, which waits: rejection %q, Retry-After %d; want time-out and 1", rejection, retryAfter)
	}
	// That was the second drop of this second. With the third, the advice rises in the next.
	send(f, second/2, "fifth", k)
	if _, rejection, _ := send(f, second/2, "sixth", k); rejection != queueset.QueueFull {
		t.Errorf("the sixth: rejection %q, want queue-full", rejection)
	}
	if rejection, retryAfter := f.TimeOut(15*second, third); rejection != queueset.TimedOut || retryAfter != 1 {
		t.Errorf("the third: rejection %q, Retry-After %d; want time-out and 1: the last drops are long ago", rejection, retryAfter)
	}
	if f.Adjust(15 * second); adjusted != 2 {
		t.Errorf("%d adjustments after Adjust, want 2", adjusted)
	}
	if additionalNs := f.Finish(16*second, first); additionalNs != 0 {
		t.Errorf("the first keeps its seat for %d ns, want none", additionalNs)
	}
	if got := h.took(); len(got) != 1 || got[0] != "fifth" {
		t.Errorf("dispatched %v at the finish of the first, want the fifth", got)
	}
}

// The kind of the requests for another object is the one that it would have alone: with a change of the object that
// eleven clients watch it keeps two seats, of the other one only its own.
func TestNamedKind(t *testing.T) {
	f := New(0, settings(PriorityAndFairness, 10), &host{})
	end := func(r *Request) {
		if f.Finish(0, r) > 0 {
			f.Release(0, r)
		}
	}
	watched := pods("watch")
	watched.Name = "watched"
	for range 11 {
		w, _, _ := send(f, 0, "watch", kind(t, f, watched, ""))
		f.Finish(0, w)
	}
	for _, verb := range []string{"get", "create", "update", "patch", "delete"} {
		for _, from := range []string{"watched", "other"} {
			for to, want := range map[string]int{"watched": 2, "other": 0} {
				a, b := pods(verb), pods(verb)
				a.Name, b.Name = from, to
				k := kind(t, f, a, "timeout=10s")
				before, _, _ := send(f, 0, "before", k) // which has counted the watches of the first name
				end(before)
				named := k.Named(b)
				got, _, _ := send(f, 0, "named", &named)
				alone, _, _ := send(f, 0, "alone", kind(t, f, b, "timeout=10s"))
				if verb == "get" {
					want = 0
				}
				if got.Work != alone.Work || got.Work.FinalSeats != want || named.DeadlineNs(0, 0) != 10*second {
					t.Errorf("%s %s after %s: %+v, alone %+v, want %d final seats; deadline %d", verb, to, from, got.Work, alone.Work, want, named.DeadlineNs(0, 0))
				}
				end(got)
				end(alone)
			}
		}
	}
}

// A quarter of the time until the deadline, a minute at most; a watch has no deadline.
func TestWaitLimit(t *testing.T) {
	for _, c := range []struct {
		requestTimeoutNs int64
		verb, query      string
		want             int64
	}{
		{60 * second, "get", "", 15 * second},
		{60 * second, "get", "timeout=10s", 10 * second / 4},
		{60 * second, "get", "timeout=90s", 15 * second},
		{60 * second, "get", "timeout=-1s", 15 * second},
		{60 * second, "get", "timeout=1ns", 0},
		{60 * second, "get", "timeout=many", 15 * second},
		{60 * second, "watch", "timeout=10s", 15 * second},
		{300 * second, "get", "", 60 * second},
		{300 * second, "watch", "", 60 * second},
	} {
		s := settings(PriorityAndFairness, 1)
		s.RequestTimeoutNs = c.requestTimeoutNs
		f := New(0, s, &host{})
		if got := kind(t, f, pods(c.verb), c.query).WaitLimitNs(); got != c.want {
			t.Errorf("%s?%s with a request timeout of %d s: wait limit %d ns, want %d", c.verb, c.query, c.requestTimeoutNs/second, got, c.want)
		}
	}
	for _, c := range []struct { // of another share than a quarter
		share       float64
		version     string
		verb, query string
		want        int64
	}{
		{0.75, "1.37", "get", "", 45 * second},
		{0.75, "1.37", "get", "timeout=10s", 7500 * second / 1000},
		{0.75, "1.37", "watch", "", 45 * second},
		{1, "1.37", "get", "", 60 * second},
		{0.25, "1.37", "get", "timeout=10s", 10 * second / 4},
		{0.75, "1.28.4", "get", "", 60 * second}, // as without it, until its deadline
	} {
		s := settingsOf(t, c.version)
		changed := *s.Rules
		changed.WhatIf.QueueWaitShare = c.share
		s.Rules = &changed
		if got := kind(t, New(0, s, &host{}), pods(c.verb), c.query).WaitLimitNs(); got != c.want {
			t.Errorf("%s: %s?%s with a share of %v: wait limit %d ns, want %d", c.version, c.verb, c.query, c.share, got, c.want)
		}
	}
	f := New(0, settings(PriorityAndFairness, 1), &host{})
	if _, err := f.NewKind(pods("list"), "limit=%zz"); err == nil {
		t.Error("a query that is not URL encoding is accepted")
	}
}

// What is long-running takes no seat, unless it is a watch, which takes one until it is
// initialised.
func TestLongRunningRequests(t *testing.T) {
	h := &host{}
	f := New(0, settings(PriorityAndFairness, 1), h)
	logs := pods("get")
	logs.Subresource = "log"
	for range 3 {
		if r, rejection, _ := send(f, 0, "logs", kind(t, f, logs, "")); rejection != queueset.NotRejected || r.Level != nil {
			t.Errorf("a log is limited: rejection %q, level %v", rejection, r.Level)
		}
	}
	watch, _, _ := send(f, 0, "watch", kind(t, f, pods("watch"), "resourceVersion=7"))
	get, _, _ := send(f, 0, "get", kind(t, f, pods("get"), ""))
	if len(h.took()) != 4 || !get.Waiting() || !watch.IsWatch() {
		t.Fatal("want the logs and the watch to execute, and the get to wait")
	}
	f.Finish(1, watch)
	if got := h.took(); len(got) != 1 || got[0] != "get" {
		t.Errorf("dispatched %v when the watch is initialised, want the get", got)
	}
	f.EndWatch(watch)
}

// A watch counts as a watcher from its dispatch until its end: ten of them give a write a final
// seat, and nine do not.
func TestWatchesCountWhileTheyAreOpen(t *testing.T) {
	f := New(0, settings(PriorityAndFairness, 100), &host{})
	all := pods("watch")
	all.Name, all.Namespace = "", ""
	watches, writes := kind(t, f, all, "resourceVersion=7"), kind(t, f, pods("update"), "")
	var open []*Request
	for range 10 {
		r, _, _ := send(f, 0, "watch", watches)
		f.Finish(0, r)
		open = append(open, r)
	}
	write, _, _ := send(f, 0, "write", writes)
	if write.Work.FinalSeats != 1 || !write.KeepsSeats() {
		t.Errorf("work %+v with ten watchers, want one final seat", write.Work)
	}
	if n, ok := write.Kind().Watchers(); n != 10 || !ok {
		t.Errorf("%d watchers (%v), want 10", n, ok)
	}
	additionalNs := f.Finish(second, write)
	if additionalNs != 5_000_000 {
		t.Errorf("the write keeps its seat for %d ns, want 5 ms", additionalNs)
	}
	f.Release(second+additionalNs, write)
	f.EndWatch(open[0])
	if write, _, _ = send(f, 2*second, "write", writes); write.Work.FinalSeats != 0 || write.KeepsSeats() {
		t.Errorf("work %+v with nine watchers, want no final seats", write.Work)
	}
}

// A kind is routed for its first request and again after a change of the configuration.
func TestRouteIsRemembered(t *testing.T) {
	h := &host{}
	f := New(0, settings(PriorityAndFairness, 600), h)
	k := kind(t, f, pods("get"), "")
	r := &Request{}
	r.Bind(r)
	var rerouted []bool
	receive := func() { rerouted = append(rerouted, f.Receive(r, k)) }
	receive()
	receive()
	level := r.Level.Name()
	f.Adjust(second)
	receive()
	f.Configure(second, config.Suggested(rules.Latest()))
	if _, rejection, waits := f.Probe(second, k); rejection != queueset.NotRejected || waits {
		t.Errorf("a probe by the new configuration is rejected (%q) or waits (%v), want it dispatched", rejection, waits)
	}
	receive()
	receive()
	if want := []bool{true, false, false, true, false}; !slices.Equal(rerouted, want) {
		t.Errorf("rerouted %v, want %v", rerouted, want)
	}
	if level != "one" || r.Level.Name() != "global-default" || k.Route().Schema.Name != "global-default" {
		t.Errorf("routed to %s, then to %s; want one, then global-default", level, r.Level.Name())
	}
}

// A probe meets what a request would that arrived in its place: a free seat, a wait, a full queue.
func TestProbe(t *testing.T) {
	f := New(0, settings(PriorityAndFairness, 1), &host{})
	k := kind(t, f, pods("get"), "")
	expect := func(when string, want queueset.Rejection, wantWait bool) {
		t.Helper()
		if _, rejection, waits := f.Probe(0, k); rejection != want || waits != wantWait {
			t.Errorf("%s: the probe is rejected as %q, waits %v; want %q, %v", when, rejection, waits, want, wantWait)
		}
	}
	expect("before the first request of its kind", queueset.NotRejected, false)
	send(f, 0, "first", k)
	expect("the seat is taken", queueset.NotRejected, true)
	send(f, 0, "second", k)
	send(f, 0, "third", k)
	expect("the queue is full", queueset.QueueFull, false)

	f = New(0, settings(NoLimits, 1), &host{})
	k = kind(t, f, pods("get"), "")
	send(f, 0, "first", k)
	expect("nothing is limited", queueset.NotRejected, false)
}

// The seats of a server are the sum of its two flags, and nearly all are those of the only level with shares.
func TestSeatsOfTheServer(t *testing.T) {
	s := settings(PriorityAndFairness, 400)
	s.MaxMutatingRequestsInFlight = 200
	nominal := map[string]int{}
	for _, l := range New(0, s, &host{}).Levels() {
		nominal[l.Name()] = l.Limits().Nominal
	}
	if nominal["one"] != 597 || nominal["catch-all"] != 3 { // 995 and 5 of 1000 shares
		t.Errorf("nominal limits %v, want 597 seats for level one and 3 for catch-all", nominal)
	}
}

// A request can be used again for another kind: nothing of the first one's route is left.
func TestRequestIsUsedAgain(t *testing.T) {
	f := New(0, settings(PriorityAndFairness, 10), &host{})
	logs := pods("get")
	logs.Subresource = "log"
	r, _, _ := send(f, 0, "r", kind(t, f, pods("get"), ""))
	f.Finish(0, r)
	if rerouted := f.Receive(r, kind(t, f, logs, "")); rerouted || r.Level != nil || r.Work != (estimate.Work{}) {
		t.Errorf("a log after a get: rerouted %v, level %v, work %+v; want none", rerouted, r.Level, r.Work)
	}
}

// A server knows how many bytes a list of its objects reads.
func TestListBytes(t *testing.T) {
	f := New(0, settings(PriorityAndFairness, 1), &host{})
	list := pods("list")
	list.Name, list.Namespace = "", ""
	if got := kind(t, f, list, "resourceVersion=0").ListBytes(estimate.Stats{Objects: 10, AverageBytes: 30_000}); got != 300_000 {
		t.Errorf("a list of 10 objects of 30000 bytes reads %d, want 300000", got)
	}
}

// A list takes more seats once the server knows of more objects.
func TestUpdateOfObjects(t *testing.T) {
	f := New(0, settings(PriorityAndFairness, 100), &host{})
	list := pods("list")
	list.Name, list.Namespace = "", ""
	k := kind(t, f, list, "resourceVersion=0")
	before, _, _ := send(f, 0, "before", k)
	f.Update(estimate.Resource{Name: "pods"}, estimate.Stats{Objects: 10, AverageBytes: 30_000})
	after, _, _ := send(f, 0, "after", k)
	if before.Work.InitialSeats != 1 || after.Work.InitialSeats != 3 {
		t.Errorf("%d seats before, %d after; want 1 and 3", before.Work.InitialSeats, after.Work.InitialSeats)
	}
}

// The two counters of max-in-flight apply to neither long-running requests nor to administrators.
func TestMaxInFlight(t *testing.T) {
	h := &host{}
	s := settings(MaxInFlight, 1)
	s.MaxMutatingRequestsInFlight = 2
	f := New(0, s, h)
	if f.Levels() != nil {
		t.Error("there are priority levels under max-in-flight")
	}
	admin := pods("get")
	admin.Groups = []string{"system:masters"}
	get := kind(t, f, pods("get"), "")
	for _, c := range []struct {
		kind *Kind
		want queueset.Rejection
	}{
		{get, queueset.NotRejected},
		{get, queueset.ConcurrencyLimit},
		{kind(t, f, admin, ""), queueset.NotRejected},
		{kind(t, f, pods("watch"), ""), queueset.NotRejected},
		{kind(t, f, pods("update"), ""), queueset.NotRejected},
		{kind(t, f, pods("update"), ""), queueset.NotRejected},
		{kind(t, f, pods("update"), ""), queueset.ConcurrencyLimit},
	} {
		if _, probed, waits := f.Probe(0, c.kind); probed != c.want || waits {
			t.Errorf("a probe is rejected as %q, waits %v; want %q, and no wait", probed, waits, c.want)
		}
		r, rejection, retryAfter := send(f, 0, "r", c.kind)
		if rejection != c.want || (retryAfter == 1) != (rejection != queueset.NotRejected) || retryAfter > 1 || r.Level != nil {
			t.Errorf("rejection %q, Retry-After %d, level %v; want %q", rejection, retryAfter, r.Level, c.want)
		}
		if rejection, _ := f.Cancel(0, r); rejection != queueset.NotRejected {
			t.Error("a request is rejected when its client goes, though nothing waits")
		}
	}
	r, _, _ := send(f, 0, "r", kind(t, f, admin, ""))
	f.Finish(1, r) // frees nothing: it is not counted
	if _, rejection, _ := send(f, 1, "r", get); rejection != queueset.ConcurrencyLimit {
		t.Errorf("rejection %q after an administrator's finish, want concurrency-limit", rejection)
	}
	f = New(0, settings(MaxInFlight, 1), h)
	get = kind(t, f, pods("get"), "")
	r, _, _ = send(f, 0, "r", get)
	f.Finish(1, r)
	if _, rejection, retryAfter := send(f, 1, "r", get); rejection != queueset.NotRejected || retryAfter != 0 {
		t.Errorf("rejection %q, Retry-After %d after the finish of the only request, want none", rejection, retryAfter)
	}
}

func TestNoLimits(t *testing.T) {
	h := &host{}
	f := New(0, settings(NoLimits, 1), h)
	for range 5 {
		if r, rejection, _ := send(f, 0, "r", kind(t, f, pods("get"), "")); rejection != queueset.NotRejected || f.Finish(1, r) != 0 {
			t.Errorf("rejection %q, want none", rejection)
		}
	}
	if len(h.took()) != 5 {
		t.Error("want all requests dispatched")
	}
}

// A request that is too wide for the free seats is reported as held back.
func TestHeldBack(t *testing.T) {
	h := &host{}
	s := settings(PriorityAndFairness, 20)
	s.Store = estimate.Store{{Name: "pods"}: {Objects: 10, AverageBytes: 30_000}}
	f := New(0, s, h)
	list := pods("list")
	list.Name = ""
	for range 20 {
		send(f, 0, "get", kind(t, f, pods("get"), ""))
	}
	limit := len(h.took())
	f = New(0, s, h)
	for range limit - 1 {
		send(f, 0, "get", kind(t, f, pods("get"), ""))
	}
	send(f, 0, "list", kind(t, f, list, "resourceVersion=0"))
	if len(h.heldBack) != 1 || h.heldBack[0] != "list" {
		t.Errorf("held back: %v, want the list", h.heldBack)
	}
}

// A request's way allocates nothing once its kind is known.
func TestWayAllocatesNothing(t *testing.T) {
	f := New(0, settings(PriorityAndFairness, 10), quiet{})
	k := kind(t, f, pods("get"), "")
	r := &Request{}
	r.Bind(r)
	now := int64(0)
	if n := testing.AllocsPerRun(1000, func() {
		now++
		f.Receive(r, k)
		f.Arrive(now, r)
		f.Finish(now, r)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

type quiet struct{ Host }

func (quiet) Dispatched(*Request) {}

// settingsOf returns the settings for the rules of a release.
func settingsOf(t *testing.T, version string) Settings {
	t.Helper()
	s := settings(PriorityAndFairness, 1)
	var err error
	if s.Rules, err = rules.For(version); err != nil {
		t.Fatal(err)
	}
	return s
}

// Until 1.28.4 the host's TimeOut is due at the deadline, which the parameter timeout shortens from
// 1.21 on. A watch has none.
func TestLazyWaitLimit(t *testing.T) {
	for _, c := range []struct {
		version, verb, query string
		want                 int64
	}{
		{"1.20", "get", "timeout=10s", 60 * second},
		{"1.21", "get", "timeout=10s", 10 * second},
		{"1.21", "get", "timeout=90s", 60 * second},
		{"1.27", "get", "", 60 * second},
		{"1.27", "watch", "", NoLimitNs},
		{"1.28.4", "get", "", 60 * second},
		{"1.28.5", "get", "", 15 * second},
	} {
		if got := kind(t, New(0, settingsOf(t, c.version), &host{}), pods(c.verb), c.query).WaitLimitNs(); got != c.want {
			t.Errorf("%s?%s by the rules of %s: wait limit %d ns, want %d", c.verb, c.query, c.version, got, c.want)
		}
	}
}

// The second request waits, and is overdue after a quarter of the request timeout. It is thrown out
// when the third one comes, which counts as a drop: in 1.28.4 the third of a second raises Retry-After.
func TestOverdueRequestTimesOutAtAnArrival(t *testing.T) {
	h := &host{}
	f := New(0, settingsOf(t, "1.28.4"), h)
	h.filter = f
	k := kind(t, f, pods("get"), "timeout=50s")
	send(f, 0, "first", k)
	other, _, _ := send(f, 0, "second", k)
	send(f, 15*second, "third", k)
	if len(h.timedOut) > 0 || !other.Waiting() {
		t.Fatalf("%v timed out exactly at the wait limit, want none", h.timedOut)
	}
	fourth, rejection, _ := send(f, 15*second+1, "fourth", k)
	if !slices.Equal(h.timedOut, []string{"second 1"}) || other.Waiting() || !fourth.Waiting() {
		t.Errorf("timed out: %v; the fourth is rejected as %q; want the second to make room for it", h.timedOut, rejection)
	}
	send(f, 15*second+2, "fifth", k)
	send(f, 15*second+2, "sixth", k)
	if _, _, retryAfter := send(f, 16*second, "seventh", k); retryAfter != 2 {
		t.Errorf("Retry-After is %d after three drops in a second, want 2", retryAfter)
	}
	if rejection, _ := f.TimeOut(65*second+1, fourth); rejection != queueset.Cancelled || fourth.Waiting() {
		t.Errorf("the fourth, at its deadline: rejection %q, want cancelled", rejection)
	}
}

// Until 1.21 a watch is not subject to flow control; from 1.22 on it waits.
func TestWatchesBypassOlderReleases(t *testing.T) {
	for version, waits := range map[string]bool{"1.18": false, "1.21": false, "1.22": true, "1.37": true} {
		h := &host{}
		f := New(0, settingsOf(t, version), h)
		send(f, 0, "get", kind(t, f, pods("get"), ""))
		watch, rejection, _ := send(f, 0, "watch", kind(t, f, pods("watch"), ""))
		if rejection != queueset.NotRejected || watch.Waiting() != waits || (watch.Level != nil) != waits {
			t.Errorf("%s: the watch waits: %v, rejection %q; want %v and none", version, watch.Waiting(), rejection, waits)
		}
		if !waits {
			if f.Finish(second, watch) != 0 || len(h.took()) != 2 {
				t.Errorf("%s: the watch is not dispatched at once", version)
			}
			f.EndWatch(watch)
		}
	}
}

// Until 1.27 the requests of the exempt level take no seats, and their work is not estimated; from
// 1.28 on they do.
func TestExemptRequestsAreNotCountedInOlderReleases(t *testing.T) {
	for version, seats := range map[string]int{"1.18": 0, "1.27": 0, "1.28": 1, "1.37": 1} {
		f := New(0, settingsOf(t, version), &host{})
		a := pods("get")
		a.Groups = []string{"system:masters"}
		k := kind(t, f, a, "")
		r, rejection, _ := send(f, 0, "exempt", k)
		level := r.Level
		if rejection != queueset.NotRejected || r.Waiting() || level.Name() != "exempt" {
			t.Errorf("%s: the request is not dispatched at once", version)
		}
		used, _, _ := send(f, 0, "used", kind(t, f, pods("get"), ""))
		f.Finish(0, used)
		if f.Receive(used, k); used.Seats() != seats {
			t.Errorf("%s: a request that is used again takes %d seats, want %d", version, used.Seats(), seats)
		}
		if again := f.Receive(&Request{}, kind(t, f, a, "")); !again {
			t.Errorf("%s: another kind has no other route than before", version)
		}
		if r.Seats() != seats || level.Queues().SeatsInUse() != seats {
			t.Errorf("%s: the request takes %d seats, and the level uses %d; want %d", version, r.Seats(), level.Queues().SeatsInUse(), seats)
		}
		if _, rejection, waits := f.Probe(0, k); rejection != queueset.NotRejected || waits {
			t.Errorf("%s: a probe is rejected or waits", version)
		}
		if f.Finish(second, r) != 0 {
			t.Errorf("%s: the request keeps its seats", version)
		}
	}
}
