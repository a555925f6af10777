package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/sim/calls"
	"apfsim/sim/server"
)

// aggregated is a workload of so many clients, each of which sends one list that is passed on to an
// aggregated server, and takes 20 ms there and 10 ms at the API server.
func aggregated(clients int, call string) string {
	return fmt.Sprintf(`
  workload:
  - name: w
    clients: %d
    as: {user: "u{i}"}
    request:
      verb: list
      group: metrics.k8s.io
      resource: pods
      calls: [{name: metrics, kind: AggregatedServer, latency: 20ms%s}]
    execution: 10ms
    arrivals: {burst: {requests: 1}}
`, clients, call)
}

// The aggregated server asks its API server whether the user may do that: the review takes another seat.
func TestAggregatedServerCallsBack(t *testing.T) {
	review := `, callback: {as: {serviceAccount: kube-system/metrics-server}, request: {verb: create, group: authorization.k8s.io, resource: subjectaccessreviews}, execution: 5ms}`
	happen(t, New(load(t, soleLevel(2, oneQueue, "  duration: 100s")+aggregated(1, review)))).want(t,
		"1 w dispatched at 0s",
		"1 w/metrics dispatched at 0s", "1 w/metrics answered 201 at 5ms",
		"1 w answered 200 at 35ms")
}

// The aggregated server has flow control of its own, with the same objects and 600 seats, of which the level
// has 597. Where the API server executes all 700 requests at once, 103 of them wait there, or are
// rejected there. The client gets that rejection.
func TestAggregatedServerHasFlowControl(t *testing.T) {
	happen(t, New(load(t, soleLevel(2000, oneQueue, "  duration: 100s")+aggregated(700, "")))).want(t,
		"700 w dispatched at 0s", "597 w answered 200 at 30ms", "103 w answered 200 at 50ms")
	happen(t, New(load(t, soleLevel(2000, reject, "  duration: 100s")+aggregated(700, "")))).want(t,
		"700 w dispatched at 0s", "103 w answered 429 at 0s", "597 w answered 200 at 30ms")
	// The wait limit is 1 min.
	slow := strings.Replace(aggregated(700, ""), "20ms", "80s", 1)
	happen(t, New(load(t, soleLevel(2000, oneQueue, "  duration: 100s")+slow))).want(t,
		"700 w dispatched at 0s", "103 w answered 429 at 1m0s", "597 w answered 200 at 1m20.01s")
}

// A client that retries sends again what the aggregated server has rejected.
func TestRejectionByAggregatedServerIsRetried(t *testing.T) {
	spec := soleLevel(2000, reject, "  duration: 100s") + aggregated(700, "") + "    retry: ClientGo\n"
	happen(t, New(load(t, spec))).want(t,
		"700 w dispatched at 0s", "103 w answered 429 at 0s", "597 w answered 200 at 30ms",
		"103 w dispatched at 1s", "103 w answered 200 at 1.03s")
}

// An event changes the configuration of the aggregated server, too, and its limits are adjusted: a level
// that borrows gets more than its nominal limit.
func TestAggregatedServerIsConfigured(t *testing.T) {
	spec := soleLevel(2000, oneQueue, "  duration: 100s") + strings.Replace(aggregated(700, ""), "requests: 1", "at: 1s, requests: 1", 1) + `
  events:
  - at: 500ms
    apply:
      objects:
      - apiVersion: flowcontrol.apiserver.k8s.io/v1
        kind: PriorityLevelConfiguration
        metadata: {name: sole}
        spec: {type: Limited, limited: {nominalConcurrencyShares: 995, lendablePercent: 0, borrowingLimitPercent: 0, limitResponse: {type: Reject}}}
`
	h := happen(t, New(load(t, spec)))
	if n := h.counts["w answered 429 at 1s"]; n != 103 {
		t.Errorf("%d requests are rejected after the change, want 103\n%q", n, h.order)
	}
}

// What happens to requests at an aggregated server: those execute at once that have seats there, and the others
// wait until these end, or are rejected. Who is rejected may try again. Those that wait longer than they may are
// rejected, in 1.20 only at the deadline of the request, which also ends those that execute.
func TestPassedToAggregatedServer(t *testing.T) {
	slow := strings.Replace(aggregated(700, ""), "20ms", "80s", 1)
	old := strings.Replace(soleLevel(2000, oneQueue, "  duration: 500s"), "{maxRequests", `{kubernetesVersion: "1.20", maxRequests`, 1)
	for _, c := range []struct{ spec, want string }{
		{soleLevel(2000, oneQueue, "  duration: 100s") + aggregated(700, ""),
			"700 arrived, 597 dispatched after 0s, 597 executed after 20ms, 103 dispatched after 20ms, 103 executed after 40ms"},
		{soleLevel(2000, reject, "  duration: 100s") + aggregated(700, "") + "    retry: ClientGo\n",
			"700 arrived, 700 dispatched after 0s, 103 rejected: concurrency-limit after 0s, 700 executed after 20ms, 103 arrived again"},
		{soleLevel(2000, oneQueue, "  duration: 100s") + slow,
			"700 arrived, 597 dispatched after 0s, 103 rejected: time-out after 1m0s, 597 executed after 1m20s"},
		{old + strings.Replace(slow, "80s", "300s", 1),
			"700 arrived, 597 dispatched after 0s, 103 rejected: time-out after 4m0s, 597 executed after 4m0s"},
	} {
		run := New(load(t, c.spec))
		if names := run.Calls().AggregatedServers(); !slices.Equal(names, []string{"metrics"}) {
			t.Fatalf("the aggregated servers are %q", names)
		}
		h := &happenings{run: run, counts: map[string]int{}}
		run.OnAggregatedEvent(func(nowNs int64, p calls.AggregatedEvent) {
			after := " after " + time.Duration(nowNs-p.ArrivalNs).String()
			what := map[calls.Passage]string{calls.PassedArrived: "arrived", calls.PassedDispatched: "dispatched" + after,
				calls.PassedRejected: "rejected: " + p.Rejection.String() + after, calls.PassedExecuted: "executed" + after}[p.What]
			if p.What == calls.PassedArrived && p.Again {
				what += " again"
			}
			if p.Server != 0 || p.What == calls.PassedExecuted && (p.DispatchNs < p.ArrivalNs || p.DispatchNs >= nowNs) {
				t.Errorf("at %d ns: %+v", nowNs, p)
			}
			if h.counts[what]++; h.counts[what] == 1 {
				h.order = append(h.order, what)
			}
		})
		execute(t, run, server.Observer{})
		var got []string
		for _, what := range h.order {
			got = append(got, fmt.Sprint(h.counts[what], " ", what))
		}
		if all := strings.Join(got, ", "); all != c.want {
			t.Errorf("%s; want %s", all, c.want)
		}
	}
}
