package reports_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"apfsim/reports/compare"
	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// limited is a scenario of one client with a rate limit, which wants to send so many requests at once and is alone.
func limited(requests int, limit string) string {
	return fmt.Sprintf(`
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: discovery}
spec:
  duration: 60s
  workload:
  - name: discovery
    as: {serviceAccount: monitoring/adapter}
    request: {verb: get, path: "/apis/example.org/v1"}
    execution: 2ms
    arrivals: {burst: {at: 0s, requests: %d}}
    rateLimit: %s
`, requests, limit)
}

// verdictOf judges the run of a scenario.
func verdictOf(t *testing.T, text string, set ...string) (*result.Overall, *result.Result) {
	t.Helper()
	r := resultOf(t, text, set...)
	judge.Verdict(r)
	return r.Summary.Verdict, r
}

// figureOf returns a figure of a cause, NaN without.
func figureOf(c *result.Cause, name string) float64 {
	for _, f := range c.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return math.NaN()
}

// Of n requests at once, a bucket of b tokens at q a second sends the last after (n − b + 1)/q less one token, (n − b)/q in all:
// 126 with 10 at 5 a second after 23.2 s. The server is idle all the time, and no seat helps.
func TestClientThatWaitsForItsOwnLimit(t *testing.T) {
	v, _ := verdictOf(t, limited(126, "{qps: 5, burst: 10}"))
	c := causeOf(v, result.ByClientLimit)
	if v.Status != result.Harm || c == nil || len(v.Causes) != 1 {
		t.Fatalf("got %s with the causes %v; want harm by the client's own limit alone", v.Status, v.Causes)
	}
	if want := "discovery waited 23.2 s for its own limit of 5/s, burst 10."; v.Sentence != want {
		t.Errorf("got %q, want %q", v.Sentence, want)
	}
	if got := figureOf(c, "limiterWaitMax"); got != 23.2e9 {
		t.Errorf("the longest wait is %v ns, want 23.2 s", got)
	}
	// With 116 a second, the last of the 116 requests that the burst leaves waits for one second.
	if len(v.Try) != 1 || v.Try[0].Remedy != result.RaiseClientLimit || v.Try[0].Sentence != "Raise the rate limit of discovery: its QPS to 116." {
		t.Errorf("advised is %+v", v.Try)
	}
	if len(v.Harmed) != 1 || v.Harmed[0].OwnLimitNs < 20e9 || len(v.Harmed[0].Causes) != 1 {
		t.Errorf("harmed are %+v", v.Harmed)
	}
}

// The table of effects holds for what clients see: p99 from 100 ms on is a warning, and from 1 s on harm.
func TestStatusOfWaitsForTheOwnLimit(t *testing.T) {
	for _, c := range []struct {
		requests int
		limit    string
		want     result.Status
	}{
		{1200, "{qps: -1}", result.OK},
		{1200, "{qps: 5, burst: 1200}", result.OK},
		{1200, "{qps: 12000, burst: 10}", result.OK},      // the p99 is (1188 − 10) / 12 000 s = 98 ms
		{1200, "{qps: 11000, burst: 10}", result.Warning}, // 107 ms
		{1200, "{qps: 1200, burst: 10}", result.Warning},  // 982 ms
		{1200, "{qps: 1150, burst: 10}", result.Harm},     // 1.02 s
		{1200, "{qps: 5, burst: 900}", result.Harm},
	} {
		exempt := strings.Replace(limited(c.requests, c.limit), "{serviceAccount: monitoring/adapter}", "{user: admin, groups: [\"system:masters\"]}", 1)
		if v, _ := verdictOf(t, exempt); v.Status != c.want {
			t.Errorf("%s: got %s (%s), want %s", c.limit, v.Status, v.Sentence, c.want)
		}
	}
}

// A client with 10 requests a second and a limit of 5 falls behind: after 60 s, about half are never sent.
func TestRequestsThatAreNeverSent(t *testing.T) {
	text := strings.Replace(limited(1, "{qps: 5, burst: 10}"), "burst: {at: 0s, requests: 1}", "constant: {rate: 10/s}", 1)
	v, r := verdictOf(t, text)
	c := causeOf(v, result.ByClientLimit)
	if v.Status != result.Harm || c == nil {
		t.Fatalf("got %s with the causes %v", v.Status, v.Causes)
	}
	// 10 + 5 · 60 have been sent of 600, and of the others those of the last second have not waited for long.
	sent := r.Summary.Total.Arrived
	if sent < 308 || sent > 310 || math.Abs(figureOf(c, "neverSent")-float64(590-sent)) > 1 {
		t.Errorf("%d are sent and %v never, want about 310 and 280", sent, figureOf(c, "neverSent"))
	}
	if got := figureOf(c, "neededQPS"); got != 13 { // 1.25 times the 10 that it wants
		t.Errorf("needed are %v/s, want 13", got)
	}
}

// leases is leaders that renew their leases each 2 s, and lose them after 7 s without. They share a bucket.
const leases = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: leases}
spec:
  duration: 5m
  warmup: 30s
  store: {}
  workload:
  - name: announcers
    clients: 51
    as: {serviceAccount: kube-system/agent}
    behaviour:
      leaderElection: {lease: "kube-system/announce-{i}", candidates: 1, leaseDuration: 15s, renewDeadline: 5s, retryPeriod: 2s}
    rateLimit: {qps: 5, burst: 10, shared: agent}
`

// 51 leaders want 25.5 renewals a second. A shared limit of 5 delays them for so long that they lose their leases again and again,
// and no limit, or one of 50, none. A comparison says so first.
func TestLeadersThatAreLostByTheirOwnLimit(t *testing.T) {
	v, slow := verdictOf(t, leases)
	c := causeOf(v, result.ByClientLimit)
	if v.Status != result.Harm || c == nil || v.Decided.Figure != "leaders lost" {
		t.Fatalf("got %s, decided by %+v, with the causes %v", v.Status, v.Decided, v.Causes)
	}
	if got := figureOf(c, "leadersLost"); got != 204 {
		t.Errorf("%v leaders are lost, want 204", got)
	}
	if got := figureOf(c, "neededQPS"); got != 32 { // 1.25 · 51 / 2 s
		t.Errorf("needed are %v/s, want 32", got)
	}
	v, fast := verdictOf(t, leases, "spec.workload[announcers].rateLimit.qps=50")
	if v.Status != result.OK {
		t.Errorf("with 50/s: got %s (%s)", v.Status, v.Sentence)
	}
	sides := compare.Compare("base", sideFrom(slow.Summary), "head", sideFrom(fast.Summary))
	if first := sides.Changes[0]; first.Name != "leaderLost.count" || first.Base != 204 || first.Head != 0 {
		t.Errorf("the first change is %s from %v to %v", first.Name, first.Base, first.Head)
	}
	var runs judge.Runs
	for range 3 {
		runs.Add(slow.Summary)
	}
	if all := runs.Verdict(); all.Status != result.Harm || causeOf(all, result.ByClientLimit) == nil || all.Judged[0].LeadersLost != 612 {
		t.Errorf("three runs: got %s (%s), %+v", all.Status, all.Sentence, all.Judged)
	}
}

// reconciled is writers that change 500 objects 20 times a second, and a controller that reconciles them.
const reconciled = `
apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: reconciled}
spec:
  duration: 2m
  warmup: 10s
  store: {}
  resources: [{resource: configmaps, objects: 3000, averageBytes: 500}]
  workload:
  - name: writers
    clients: 20
    as: {user: "writer-{i}"}
    behaviour: {writer: {resource: configmaps, namespace: a, objects: 2500, with: Patch, every: 1s}}
  - name: sync
    as: {serviceAccount: a/sync}
    behaviour: {controller: {watches: configmaps, workers: 2, work: 200ms, qps: -1, reconcile: [{verb: create, resource: events, name: changed}]}}
`

// Two workers that take 0.2 s for an item reconcile 10 a second at most, and 20 changes come, of which some are of items that wait already: the queue grows by 7 a second. Ten workers
// are enough, unless their client may send no more than 5 requests a second.
func TestQueueOfAControllerThatGrows(t *testing.T) {
	for _, c := range []struct {
		set    []string
		status result.Status
		cause  result.Kind
	}{
		{nil, result.Warning, result.ByWorkers},
		{[]string{"spec.workload[sync].behaviour.controller.workers=10"}, result.OK, ""},
		{[]string{"spec.workload[sync].behaviour.controller.workers=10", "spec.workload[sync].behaviour.controller.qps=5"}, result.Harm, result.ByClientLimit},
	} {
		v, r := verdictOf(t, reconciled, c.set...)
		q := r.Summary.Workloads[1].Clients.Queue
		if v.Status != c.status || c.cause != "" && (len(v.Causes) != 1 || v.Causes[0].Kind != c.cause) {
			t.Errorf("%v: got %s (%s) with the causes %v and the queue %+v; want %s by %q", c.set, v.Status, v.Sentence, v.Causes, q, c.status, c.cause)
			continue
		}
		if c.cause == result.ByWorkers {
			if q.Depth < 700 || q.OldestNs < 40e9 {
				t.Errorf("the queue is %+v; want about 800 items, the oldest of which is 40 s old or older", q)
			}
			if got := figureOf(&v.Causes[0], "neededWorkers"); math.Abs(got-5) > 1 {
				t.Errorf("needed are %v workers, want about 5", got)
			}
		}
	}
}
