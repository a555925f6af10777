package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"apfsim/sim/server"

	"pgregory.net/rapid"
)

// drawCalls draws the calls of a request.
func drawCalls(t *rapid.T) string {
	kinds := []string{"Authorization", "MutatingWebhook", "ValidatingWebhook", "ValidatingWebhook", "Conversion"}
	duration := func(name string, ms ...int) string { return fmt.Sprintf("%dms", rapid.SampledFrom(ms).Draw(t, name)) }
	var calls []string
	for i := range rapid.IntRange(1, 4).Draw(t, "calls") {
		call := fmt.Sprintf("name: call-%d, kind: %s, latency: %s, failurePolicy: %s, timeout: %s", i, rapid.SampledFrom(kinds).Draw(t, "kind"),
			duration("latency", 0, 10, 2000), rapid.SampledFrom([]string{"Fail", "Ignore"}).Draw(t, "policy"), duration("timeout", 5, 1000, 40000))
		if rapid.Bool().Draw(t, "callback") {
			call += fmt.Sprintf(", callback: {as: {user: hook}, request: {verb: %s}, execution: %s, retry: %s, whenGivenUp: %s}",
				rapid.SampledFrom([]string{"get, resource: pods, name: x", "update, resource: pods, name: x"}).Draw(t, "verb"), duration("execution", 0, 50, 3000),
				rapid.SampledFrom([]string{"None", "ClientGo", "{maxRetries: 2, backoff: {initial: 300ms}}"}).Draw(t, "retry"),
				rapid.SampledFrom([]string{"Cancel", "Continue"}).Draw(t, "given up"))
		}
		calls = append(calls, "{"+call+"}")
	}
	if rapid.Bool().Draw(t, "aggregated") {
		calls = append(calls, "{name: aggregated, kind: AggregatedServer, latency: 20ms, callback: {as: {user: review}, request: {verb: create, resource: pods}, execution: 1ms}}")
	}
	return strings.Join(calls, ", ")
}

// Whatever is called, and whatever happens to the servers, each request is answered once, and has no seats at the
// end, when all have had the time to end.
func TestEachRequestWithCallsEndsOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		response := rapid.SampledFrom([]string{reject, oneQueue, `{type: Queue, queuing: {queues: 1, handSize: 1, queueLengthLimit: 3}}`}).Draw(rt, "response")
		servers := rapid.IntRange(1, 3).Draw(rt, "replicas")
		spec := withServers(soleLevel(rapid.IntRange(1, 6).Draw(rt, "seats"), response, "  duration: 400s\n"), fmt.Sprintf("replicas: %d", servers))
		var events []string
		at := 0
		for range rapid.IntRange(0, 4).Draw(rt, "events") {
			at += rapid.IntRange(1, 8000).Draw(rt, "after")
			what := rapid.SampledFrom([]string{"stop", "start", "crash", "lose"}).Draw(rt, "what")
			events = append(events, fmt.Sprintf("{at: %dms, %s: {server: %d}}", at, what, rapid.IntRange(0, servers-1).Draw(rt, "server")))
		}
		spec += fmt.Sprintf(`
  events: [%s]
  workload:
  - name: w
    clients: 3
    as: {user: "u{i}"}
    request: {verb: %s, calls: [%s]}
    execution: 20ms
    clientTimeout: %s
    arrivals: {burst: {requests: %d, over: %dms}}
`, strings.Join(events, ", "), rapid.SampledFrom([]string{"create, resource: pods", "list, resource: pods", "watch, resource: pods, watch: {duration: 5s}"}).Draw(rt, "verb"),
			drawCalls(rt), rapid.SampledFrom([]string{"1s", "10s", "3m"}).Draw(rt, "client timeout"), rapid.IntRange(1, 12).Draw(rt, "requests"), rapid.SampledFrom([]int{0, 100, 5000}).Draw(rt, "over"))
		run := New(load(t, spec))
		answers, seats := map[int64]int{}, map[int64]int{}
		begin := func(_ int64, r *server.Request) { answers[r.Number] = 0 }
		run.Observe(server.Observer{
			Arrived: begin, Refused: begin,
			Dispatched: func(_ int64, r *server.Request) { seats[r.Number]++ },
			Released:   func(_ int64, r *server.Request) { seats[r.Number]-- },
			GivenUp: func(_ int64, r *server.Request) {
				if r.DispatchNs >= 0 {
					seats[r.Number] = 0
				}
			},
			Answered: func(_ int64, r *server.Request) { answers[r.Number]++ },
		})
		if err := run.Execute(context.Background(), nil); err != nil {
			rt.Fatal(err)
		}
		if len(answers) == 0 {
			rt.Fatalf("nothing arrives\n%s", spec)
		}
		for number := range answers {
			if answers[number] != 1 || seats[number] != 0 {
				rt.Fatalf("request %d has %d answers and is dispatched %d times more than released\n%s", number, answers[number], seats[number], spec)
			}
		}
	})
}
