package sim

import (
	"fmt"
	"strings"
	"testing"

	"apfsim/sim/server"

	"pgregory.net/rapid"
)

// Whatever happens to the servers, each request is answered once: over HTTP/2 by the end of the run, and
// with a connection of its own perhaps later, because silence is noticed later there. No server has a negative
// number of connections.
func TestConnectionsWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		servers := rapid.IntRange(1, 4).Draw(rt, "servers")
		var events []string
		at := 0
		for range rapid.IntRange(1, 8).Draw(rt, "events") {
			at += rapid.IntRange(1, 8).Draw(rt, "after")
			what := rapid.SampledFrom([]string{"stop", "start", "crash", "lose"}).Draw(rt, "what")
			events = append(events, fmt.Sprintf("{at: %ds, %s: {server: %d}}", at, what, rapid.IntRange(0, servers-1).Draw(rt, "server")))
		}
		spec := fmt.Sprintf(`
  seed: %d
  duration: 400s
  servers: {replicas: %d, goawayChance: %v, shutdown: {sendRetryAfter: %v}, loadBalancer: {policy: %s%s}}
  events: [%s]
  workload:
  - name: w
    clients: 10
    as: {user: "u{i}"}
    requests:
    - {verb: get, resource: pods, namespace: n, name: x}
    - {verb: update, resource: pods, namespace: n, name: x}
    - {verb: watch, resource: pods, watch: {duration: 20s}, weight: 0.2}
    execution: {exponential: {mean: 300ms}}
    connection: %s
    stop: 70s
    arrivals: {closed: {concurrency: %d, think: {exponential: {mean: 2s}}}}
    retry: %s
`,
			rapid.IntRange(1, 1000).Draw(rt, "seed"), servers, rapid.SampledFrom([]float64{0, 0.02}).Draw(rt, "goaway"), rapid.Bool().Draw(rt, "retryAfter"),
			rapid.SampledFrom([]string{"Random", "RoundRobin", "LeastConnections"}).Draw(rt, "policy"),
			rapid.SampledFrom([]string{"", ", probe: {interval: 1s}"}).Draw(rt, "probe"), strings.Join(events, ", "),
			rapid.SampledFrom([]string{"HTTP2", "PerRequest"}).Draw(rt, "connection"), rapid.SampledFrom([]int{1, 5, 120}).Draw(rt, "concurrency"),
			rapid.SampledFrom([]string{"None", "ClientGo", "{maxRetries: 3, backoff: {initial: 1s}}"}).Draw(rt, "retry"))
		run := New(load(t, spec))
		began, answered := map[int64]bool{}, map[int64]bool{}
		check := func(nowNs int64) {
			for i := range servers {
				if run.Network().Connections(i) < 0 {
					rt.Fatalf("%d ns: server %d has %d connections", nowNs, i, run.Network().Connections(i))
				}
			}
		}
		begin := func(nowNs int64, r *server.Request) {
			if r.Server < 0 || int(r.Server) >= servers {
				rt.Fatalf("request %d is sent to server %d", r.Number, r.Server)
			}
			began[r.Number] = true
			check(nowNs)
		}
		execute(t, run, server.Observer{Arrived: begin, Refused: begin, Answered: func(nowNs int64, r *server.Request) {
			if !began[r.Number] || answered[r.Number] {
				rt.Fatalf("%d ns: request %d is answered, though it was already (%v) or has not begun", nowNs, r.Number, answered[r.Number])
			}
			answered[r.Number] = true
			check(nowNs)
		}})
		// The last requests come at 70 s. Each is tried four times at most: watches last 20 s, and silence is noticed
		// within 45 s.
		if n := len(began) - len(answered); n > 0 && !strings.Contains(spec, "PerRequest") {
			rt.Fatalf("%d of %d requests were never answered", n, len(began))
		}
	})
}
