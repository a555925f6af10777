package sim

import (
	"fmt"
	"strings"
	"testing"
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
		"1 w/metrics dispatched at 0s", "1 w/metrics answered 200 at 5ms",
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
