package sim

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/sim/server"
)

// happenings counts what happens to the requests of workloads at each instant.
type happenings struct {
	run    *Run
	order  []string
	counts map[string]int
	parent map[int64]int64 // of callbacks: the ID of the request during which they are sent, by their own
}

func (h *happenings) note(nowNs int64, what string, r *server.Request) {
	key := fmt.Sprintf("%s %s at %v", h.run.Scenario.Spec.Workload[r.Workload].Name, what, time.Duration(nowNs))
	if h.counts[key]++; h.counts[key] == 1 {
		h.order = append(h.order, key)
	}
	if r.Details.Parent != 0 {
		h.parent[r.ID] = r.Details.Parent
	}
}

// happen executes a run and returns what has happened, without arrivals.
func happen(t *testing.T, run *Run) *happenings {
	t.Helper()
	h := &happenings{run: run, counts: map[string]int{}, parent: map[int64]int64{}}
	run.Observe(server.Observer{
		Dispatched: func(nowNs int64, r *server.Request) { h.note(nowNs, "dispatched", r) },
		Rejected:   func(nowNs int64, r *server.Request) { h.note(nowNs, "rejected: "+r.Rejection.String(), r) },
		Answered:   func(nowNs int64, r *server.Request) { h.note(nowNs, fmt.Sprintf("answered %d", r.Status), r) },
	})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// want compares what has happened with lines such as "10 outers dispatched at 0s".
func (h *happenings) want(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, key := range h.order {
		got = append(got, fmt.Sprintf("%d %s", h.counts[key], key))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// webhook is a workload of outers that create pods, one each at 0 s, with an execution of 100 ms. Each
// waits for the webhook policy, which reads a namespace in 50 ms. call has further fields of the call.
func webhook(outers int, call, back string) string {
	return fmt.Sprintf(`
  workload:
  - name: outers
    clients: %d
    as: {user: "u{i}"}
    request:
      verb: create
      resource: pods
      namespace: a
      calls:
      - name: policy
        kind: ValidatingWebhook
        timeout: 10s
        %s
        callback: {as: {serviceAccount: policy/webhook}, request: {verb: get, resource: namespaces, name: a}, execution: 50ms%s}
    execution: 100ms
    arrivals: {burst: {requests: 1}}
`, outers, call, back)
}

// tenSeats is a level of ten seats for everybody.
var tenSeats = soleLevel(10, oneQueue, "  duration: 100s")

// Ten outers hold all seats of their level. Their callbacks wait for the seats of the same level, and
// none is dispatched: the webhook is given up after 10 s, all outers fail, and the callbacks leave their
// queue before the first seat is free.
func TestR1Deadlock(t *testing.T) {
	h := happen(t, New(load(t, tenSeats+webhook(10, "", ""))))
	h.want(t,
		"10 outers dispatched at 0s",
		"10 outers/policy rejected: time-out at 10s",
		"10 outers/policy answered 0 at 10s",
		"10 outers answered 500 at 10s")
	if len(h.parent) != 10 {
		t.Errorf("%d callbacks have a parent, want 10", len(h.parent))
	}
	for id, parent := range h.parent {
		if parent != id-10 { // the outers have the IDs 1 to 10
			t.Errorf("callback %d is for request %d, want %d", id, parent, id-10)
		}
	}
}

// A webhook that does not hang up goes on with callbacks that nobody needs.
func TestR1DeadlockWithoutHangUp(t *testing.T) {
	happen(t, New(load(t, tenSeats+webhook(10, "", ", whenGivenUp: Continue")))).want(t,
		"10 outers dispatched at 0s",
		"10 outers/policy dispatched at 10s",
		"10 outers answered 500 at 10s",
		"10 outers/policy answered 200 at 10.05s")
}

// Callbacks that are exempt are dispatched at once: all outers are done after 50 ms and 100 ms.
func TestR2ExemptCallbacks(t *testing.T) {
	spec := strings.Replace(webhook(10, "", ""), "{serviceAccount: policy/webhook}", `{user: policy, groups: ["system:masters"]}`, 1)
	happen(t, New(load(t, tenSeats+spec))).want(t,
		"10 outers dispatched at 0s",
		"10 outers/policy dispatched at 0s",
		"10 outers/policy answered 200 at 50ms",
		"10 outers answered 201 at 150ms")
}

// With nine outers the callbacks go through the tenth seat, and through those of the outers that are
// done: after 150 ms the first of them.
func TestR3OneSeatIsLeft(t *testing.T) {
	spec := strings.Replace(webhook(9, "", ""), "execution: 100ms", "execution: 1s", 1)
	var want []string
	want = append(want, "9 outers dispatched at 0s", "1 outers/policy dispatched at 0s")
	for k := 1; k <= 9; k++ {
		at := time.Duration(k) * 50 * time.Millisecond
		if k < 9 {
			want = append(want, fmt.Sprintf("1 outers/policy dispatched at %v", at))
		}
		want = append(want, fmt.Sprintf("1 outers/policy answered 200 at %v", at))
	}
	for k := 1; k <= 9; k++ {
		want = append(want, fmt.Sprintf("1 outers answered 201 at %v", time.Second+time.Duration(k)*50*time.Millisecond))
	}
	happen(t, New(load(t, tenSeats+spec))).want(t, want...)
}

// With Ignore the outers go on after 10 s as if the webhook had allowed them.
func TestR4Ignore(t *testing.T) {
	happen(t, New(load(t, tenSeats+webhook(10, "failurePolicy: Ignore", "")))).want(t,
		"10 outers dispatched at 0s",
		"10 outers/policy rejected: time-out at 10s",
		"10 outers/policy answered 0 at 10s",
		"10 outers answered 201 at 10.1s")
}

// Mutating webhooks are called one after another, then validating ones in parallel, whatever their order in
// the file: 1 ms of authorization, 10 + 20 ms, then 40 ms, the longer of two, 3 ms of conversion and 100 ms of
// execution.
func TestOrderOfCalls(t *testing.T) {
	spec := tenSeats + `
  workload:
  - name: w
    as: {user: u}
    request:
      verb: create
      resource: pods
      namespace: a
      calls:
      - {name: convert, kind: Conversion, latency: 3ms}
      - {name: validate-a, kind: ValidatingWebhook, latency: 30ms}
      - {name: mutate-a, kind: MutatingWebhook, latency: 10ms}
      - {name: validate-b, kind: ValidatingWebhook, latency: 40ms}
      - {name: mutate-b, kind: MutatingWebhook, latency: 20ms}
      - {name: allow, kind: Authorization, latency: 1ms}
    execution: 100ms
    arrivals: {burst: {requests: 1}}
`
	happen(t, New(load(t, spec))).want(t, "1 w dispatched at 0s", "1 w answered 201 at 174ms")
}

// Of validating webhooks one fails at once, as its callback is rejected; the request waits for the
// other one, and fails then. The call that comes next is not made.
func TestFailureWaitsForParallelCalls(t *testing.T) {
	spec := soleLevel(1, reject, "  duration: 100s") + `
  workload:
  - name: w
    as: {user: u}
    request:
      verb: create
      resource: pods
      namespace: a
      calls:
      - {name: slow, kind: ValidatingWebhook, latency: 3s}
      - {name: broken, kind: ValidatingWebhook, callback: {as: {user: b}, request: {verb: get, resource: pods, name: x}, execution: 1ms}}
      - {name: convert, kind: Conversion, latency: 1s}
    execution: 100ms
    arrivals: {burst: {requests: 1}}
`
	happen(t, New(load(t, spec))).want(t,
		"1 w dispatched at 0s", "1 w/broken rejected: concurrency-limit at 0s", "1 w/broken answered 429 at 0s", "1 w answered 500 at 3s")
}

// A callback that is rejected is sent again after its Retry-After, while the outer request keeps its
// seat; the callback of the other client, which does not retry, fails that client's request. Here the only
// seat besides is busy for half a second.
func TestCallbacksRetry(t *testing.T) {
	for _, c := range []struct{ retry, ends string }{
		{"", "1 outers answered 500 at 0s"},
		{", retry: ClientGo", "1 outers answered 201 at 1.15s"},
	} {
		spec := soleLevel(2, reject, "  duration: 100s") + `
  workload:
  - name: busy
    as: {user: busy}
    request: {verb: get, resource: pods, name: x}
    execution: 500ms
    arrivals: {burst: {requests: 1}}
` + strings.TrimPrefix(webhook(1, "", c.retry), "\n  workload:\n")
		h := happen(t, New(load(t, spec)))
		if !slices.Contains(h.order, strings.TrimPrefix(c.ends, "1 ")) {
			t.Errorf("retry %q: got %q, want %s", c.retry, h.order, c.ends)
		}
	}
}

// Of the requests of a workload some may have calls. The others execute without waiting for any: a create takes 5 ms of a
// webhook longer than a get.
func TestRequestsBesideThoseWithCalls(t *testing.T) {
	took := map[string]map[int64]int{"create": {}, "get": {}}
	execute(t, New(load(t, soleLevel(100, oneQueue, "  duration: 10s")+`
  workload:
  - name: w
    as: {user: u}
    requests:
    - {verb: create, resource: pods, namespace: n, calls: [{name: c, kind: MutatingWebhook, latency: 5ms}]}
    - {verb: get, resource: pods, namespace: n, name: x}
    execution: 20ms
    arrivals: {constant: {rate: 10/s}}
`)), server.Observer{Executed: func(nowNs int64, r *server.Request) {
		took[r.Attributes.Verb][nowNs-r.ArrivalNs]++
	}})
	if creates, gets := took["create"][25_000_000], took["get"][20_000_000]; creates+gets < 95 || creates < 20 || gets < 20 {
		t.Errorf("the requests took so many nanoseconds: %v; want 25 ms for a create and 20 ms for a get", took)
	}
}

// A webhook that is given up while it waits to send its callback again does not send it; one that goes
// on does.
func TestGivenUpBeforeRetry(t *testing.T) {
	for when, want := range map[string]int{"Cancel": 2, "Continue": 3} {
		spec := soleLevel(1, reject, "  duration: 100s") +
			strings.Replace(webhook(1, "", ", retry: {maxRetries: 2, backoff: {initial: 4s, factor: 2}}, whenGivenUp: "+when), "arrivals", "retry: None\n    arrivals", 1)
		h := happen(t, New(load(t, spec)))
		arrived := 0
		for key, n := range h.counts {
			if strings.HasPrefix(key, "outers/policy answered") {
				arrived += n
			}
		}
		if arrived != want || h.counts["outers answered 500 at 10s"] != 1 {
			t.Errorf("%s: %d callbacks are answered, want %d: at 0 s, 4 s and 12 s\n%q", when, arrived, want, h.order)
		}
	}
}

// Deadlock under a closed loop: all seats are freed at once, by failures, each time the webhook is given
// up, so that c outers end in 10 s. Without callbacks, or with exempt ones, they end in 100 or 150 ms.
func TestThroughputInDeadlock(t *testing.T) {
	loop := func(spec string) string {
		return strings.Replace(spec, "burst: {requests: 1}", "closed: {think: 1ms}", 1)
	}
	h := happen(t, New(load(t, tenSeats+loop(webhook(40, "", "")))))
	failed, succeeded := h.answers("outers", 500), h.answers("outers", 201)
	// 100 s in rounds of 10 s, of which the run does not see the end of the last one.
	if failed < 90 || failed > 100 || succeeded > 0 {
		t.Errorf("%d outers fail and %d succeed in 100 s, want 90 to 100 and none\n%q", failed, succeeded, h.order)
	}
}

// answers counts the answers of a status to a workload's requests.
func (h *happenings) answers(workload string, status int) (n int) {
	for key, count := range h.counts {
		if strings.HasPrefix(key, fmt.Sprintf("%s answered %d ", workload, status)) {
			n += count
		}
	}
	return n
}

// A level of c seats carries outers with own work w and one callback of h, at a rate λ, only if
// λ(w + 2h) < c: an outer holds its seat for w + h at least, its callback for h. Above it the queue grows.
// A sufficient condition is that the outers that execute are bounded below c: with c − 1 clients, each of
// which waits for its response, none fails.
func TestStability(t *testing.T) {
	const seats, workNs, callbackNs = 20, 0.1, 0.05 // seconds
	most := seats / (workNs + 2*callbackNs)         // 100/s
	for _, c := range []struct {
		load   float64
		stable bool
	}{{0.5, true}, {1.3, false}} {
		spec := soleLevel(seats, oneQueue, "  duration: 200s") +
			strings.Replace(webhook(1, "", ""), "burst: {requests: 1}", fmt.Sprintf("poisson: {rate: %v/s}", c.load*most), 1)
		h := happen(t, New(load(t, spec)))
		failed, succeeded := h.answers("outers", 500), h.answers("outers", 201)
		carried := float64(succeeded) / 200 / most
		if c.stable && (failed > 0 || math.Abs(carried-c.load) > 0.05) || !c.stable && (failed == 0 || carried > 1) {
			t.Errorf("load %v: %d outers fail, and those that succeed are %v of what the level can carry", c.load, failed, carried)
		}
	}
	closed := soleLevel(seats, oneQueue, "  duration: 200s") +
		strings.Replace(webhook(seats-1, "", ""), "burst: {requests: 1}", "closed: {}", 1)
	if n := happen(t, New(load(t, closed))).answers("outers", 500); n > 0 {
		t.Errorf("with %d outers for %d seats %d fail, want none", seats-1, seats, n)
	}
}

// The inverted order of priorities: requests of a controller at workload-high wait for a webhook that is at
// workload-low, where tenants ask for more than there is. The requests have their seats at once, and last as
// long as their callbacks wait. A FlowSchema that makes the webhook exempt is the cure.
func TestInversion(t *testing.T) {
	spec := `
  duration: 60s
  config:
    objects: [%s]
  workload:
  - name: outers
    as: {user: "system:kube-controller-manager"}
    request:
      verb: create
      resource: pods
      namespace: a
      calls:
      - name: policy
        kind: ValidatingWebhook
        timeout: 30s
        callback: {as: {serviceAccount: policy/webhook}, request: {verb: get, resource: namespaces, name: a}, execution: 50ms}
    execution: 100ms
    arrivals: {constant: {rate: 1/s}}
  - name: tenants
    clients: 3000
    as: {serviceAccount: "tenant-{i}/app"}
    request: {verb: get, resource: pods, namespace: "tenant-{i}", name: x}
    execution: 1s
    arrivals: {closed: {}}
`
	for _, c := range []struct {
		cure            string
		atLeast, atMost time.Duration // that outers last
	}{
		{"", 500 * time.Millisecond, 30 * time.Second},
		{exemptWebhook, 150 * time.Millisecond, 150 * time.Millisecond},
	} {
		run := New(load(t, fmt.Sprintf(spec, c.cure)))
		waits := map[int64]int64{} // of the callback, by the ID of the outer
		n := 0
		run.Observe(server.Observer{
			Dispatched: func(nowNs int64, r *server.Request) {
				if r.Details.Parent != 0 {
					waits[r.Details.Parent] = nowNs - r.ArrivalNs
				}
			},
			Executed: func(nowNs int64, r *server.Request) {
				if r.Workload != 0 || r.ArrivalNs < 20e9 {
					return
				}
				n++
				got := time.Duration(nowNs - r.ArrivalNs)
				if want := 150*time.Millisecond + time.Duration(waits[r.ID]); r.DispatchNs != r.ArrivalNs || got != want {
					t.Errorf("request %d waits for %v and lasts %v; want 0s and %v, as its callback waits for %v",
						r.ID, time.Duration(r.DispatchNs-r.ArrivalNs), got, want, time.Duration(waits[r.ID]))
				}
				if got < c.atLeast || got > c.atMost {
					t.Errorf("request %d lasts %v, want %v to %v", r.ID, got, c.atLeast, c.atMost)
				}
			},
		})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if n < 30 {
			t.Errorf("only %d outers are executed", n)
		}
	}
}

// exemptWebhook is a FlowSchema that makes the service account policy/webhook exempt.
const exemptWebhook = `
      {apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: FlowSchema, metadata: {name: webhook}, spec: {
        priorityLevelConfiguration: {name: exempt}, matchingPrecedence: 500,
        rules: [{subjects: [{kind: ServiceAccount, serviceAccount: {namespace: policy, name: webhook}}],
          resourceRules: [{verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true}]}]}}`

// A callback goes to any of the servers. With two, ten requests that fill all seats of the first one are
// saved by those callbacks that go to the second one.
func TestCallbacksGoToAnyServer(t *testing.T) {
	spec := withServers(tenSeats, "replicas: 2") + strings.Replace(webhook(1, "", ""), "requests: 1", "requests: 20", 1)
	run := New(load(t, spec))
	at := map[string]int{}
	run.Observe(server.Observer{Arrived: func(_ int64, r *server.Request) {
		at[fmt.Sprint(run.Scenario.Spec.Workload[r.Workload].Name, r.Server)]++
	}})
	h := happen(t, run)
	// One client has one connection, so that ten of its requests wait at the same server.
	if at["outers0"]+at["outers1"] != 20 || at["outers0"]*at["outers1"] != 0 {
		t.Errorf("requests arrive at %v, want all of outers at one server", at)
	}
	if at["outers/policy0"] < 4 || at["outers/policy1"] < 4 || h.answers("outers", 201) == 0 {
		t.Errorf("requests arrive at %v, and %d of outers succeed; want callbacks at both servers", at, h.answers("outers", 201))
	}
}

// When a server crashes while its requests wait for calls, the calls are given up: the callbacks leave the
// queue of their server, or end with it, and no response reaches the clients. A handler that has begun to
// read goes on, but nobody waits for it.
func TestCrashGivesCallsUp(t *testing.T) {
	spec := withServers(tenSeats, "replicas: 2") + strings.Replace(webhook(1, "", ""), "requests: 1", "requests: 10", 1)
	tested := false
	for crash := range 2 {
		run := New(load(t, spec+fmt.Sprintf("  events: [{at: 20ms, crash: {server: %d}}]\n", crash)))
		its := false // the requests are at the server that crashes
		run.Observe(server.Observer{Arrived: func(_ int64, r *server.Request) { its = its || r.Workload == 0 && int(r.Server) == crash }})
		h := happen(t, run)
		if !its {
			continue
		}
		tested = true
		elsewhere := h.counts["outers/policy dispatched at 0s"]
		if h.answers("outers", 0) != 10 || h.counts["outers/policy answered 0 at 20ms"] != 10 || elsewhere == 0 || elsewhere == 10 || len(h.counts) != 4 {
			t.Errorf("got %v, want 10 outers and 10 callbacks without answer, and some callbacks dispatched by the other server", h.counts)
		}
	}
	if !tested {
		t.Error("the requests are at none of the servers")
	}
}

// The deadline of a request ends its calls with it: for a write 34 s after its dispatch, for a read that
// asks for 5 s after these. Its seat is free again, also if its handler would otherwise go on.
func TestDeadlineEndsCalls(t *testing.T) {
	slow := strings.Replace(webhook(1, "", ""), "timeout: 10s", "timeout: 60s", 1)
	happen(t, New(load(t, soleLevel(1, oneQueue, "  duration: 100s")+slow))).want(t,
		"1 outers dispatched at 0s",
		"1 outers answered 504 at 34s",
		"1 outers/policy rejected: time-out at 34s",
		"1 outers/policy answered 0 at 34s")
	read := `
  workload:
  - name: w
    as: {user: u}
    request: {verb: list, resource: pods, query: "timeout=5s", calls: [{name: convert, kind: Conversion, latency: 20s}]}
    execution: 1s
    arrivals: {burst: {requests: 2}}
`
	happen(t, New(load(t, soleLevel(1, oneQueue, "  duration: 100s")+read))).want(t,
		"1 w dispatched at 0s",
		"1 w rejected: time-out at 1.25s", "1 w answered 429 at 1.25s",
		"1 w answered 504 at 5s")
}

// Calls allocate nothing for each request: a run of twice the length, with ten thousand more calls and
// callbacks, allocates as much but for some periodic adjustments.
func TestCallsAllocateNothing(t *testing.T) {
	allocations := func(duration string) uint64 {
		spec := strings.Replace(soleLevel(50, oneQueue, "  duration: 100s")+webhook(10, "", ""), "burst: {requests: 1}", "poisson: {rate: 10/s}", 1)
		run := New(load(t, strings.Replace(spec, "duration: 100s", "duration: "+duration, 1)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	short, long := allocations("100s"), allocations("200s")
	if long > short+1000 {
		t.Errorf("%d allocations in 100 s and %d in 200 s, want about the same", short, long)
	}
	t.Logf("%d allocations in 100 s, %d in 200 s", short, long)
}
