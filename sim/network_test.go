package sim

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"apfsim/sim/metric"
	"apfsim/sim/network"
	"apfsim/sim/server"
	"apfsim/sim/trace"
	"apfsim/sim/workload"
)

// execute runs a scenario to its end, with an observer.
func execute(t testing.TB, run *Run, o server.Observer) *Run {
	t.Helper()
	run.Observe(o)
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return run
}

// proportion fails the test if n of all is not the share p but for a chance of 1 in 1000.
func proportion(t *testing.T, what string, n, all int, p float64) {
	t.Helper()
	got, most := float64(n)/float64(all), 3.29*math.Sqrt(p*(1-p)/float64(all))
	if math.IsNaN(got) || math.Abs(got-p) > most {
		t.Errorf("%s: %d of %d, a share of %.4f; want %.4f ± %.4f", what, n, all, got, p, most)
	}
}

// In a rolling restart of n servers each client keeps its connection until its server stops, and then
// chooses one of the others at random. When server k has stopped, its share of the clients is divided among the
// other n-1. At the end the server that was restarted last has none, and before it stopped it had most.
func TestSharesAfterARollingRestart(t *testing.T) {
	const clients, seeds = 300, 20
	for n, want := range map[int][]float64{
		2: {1, 0},
		3: {5. / 8, 3. / 8, 0},
		4: {37. / 81, 28. / 81, 16. / 81, 0},
		5: {369. / 1024, 305. / 1024, 225. / 1024, 125. / 1024, 0},
	} {
		shares := make([]float64, n)
		for i := range shares {
			shares[i] = 1 / float64(n)
		}
		var most float64
		for k := range n {
			most = shares[k]
			for i := range shares {
				shares[i] += most / float64(n-1)
			}
			shares[k] = 0
		}
		for i := range want {
			if math.Abs(shares[i]-want[i]) > 1e-12 {
				t.Fatalf("of %d servers, server %d should have %v, and not %v", n, i, shares[i], want[i])
			}
		}
		got, before := make([]int, n), 0
		for seed := range seeds {
			run := New(load(t, fmt.Sprintf(`
  seed: %d
  duration: 70s
  servers: {replicas: %d}
  events: [{at: 10s, rollout: {interval: 10s}}]
  workload:
  - name: w
    clients: %d
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    arrivals: {closed: {think: 1s}}
`, seed+1, n, clients)))
			execute(t, run, server.Observer{Changed: func(_ int64, s *server.Server) {
				if s.Index() == n-1 && s.Stage() == server.Stopping {
					before += run.Network().Connections(n - 1)
				}
			}})
			for i := range got {
				got[i] += run.Network().Connections(i)
			}
		}
		for i := range want {
			proportion(t, fmt.Sprintf("clients of server %d of %d", i, n), got[i], clients*seeds, want[i])
		}
		proportion(t, fmt.Sprintf("clients of the last of %d servers before its restart", n), before, clients*seeds, most)
		if n == 3 && most != 0.75 {
			t.Errorf("the last of 3 servers should have 3/4 of the clients before its restart, not %v", most)
		}
	}
}

// independent is a workload of which each request has a connection of its own.
const independent = `
  workload:
  - name: w
    clients: 20
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    connection: PerRequest
    arrivals: {poisson: {rate: 5/s}}
`

// A load balancer that probes /readyz every 10 s, and needs two failures, sends connections to a server for up
// to 20 s after it has been told to stop. Without a delay they are refused, with one of 30 s none is. Probes
// of /healthz find out only when the listener has closed, so that the delay does not help.
func TestDelayOfAStopAndProbes(t *testing.T) {
	const stopNs = 52_000_000_000
	for _, c := range []struct {
		delay, path string
		fromNs      int64 // refused between; both 0 for never
		toNs        int64
		noticedNs   int64
	}{
		{"0s", "/readyz", stopNs, 70e9, 70e9},
		{"30s", "/readyz", 0, 0, 70e9},
		{"30s", "/healthz", 82e9, 100e9, 100e9},
	} {
		t.Run(c.delay+c.path, func(t *testing.T) {
			run := New(load(t, fmt.Sprintf(`
  duration: 150s
  servers: {replicas: 3, shutdown: {delay: %s}, loadBalancer: {probe: {path: %s}}}
  events: [{at: 52s, stop: {server: 1}}, {at: 121s, start: {server: 1}}]
`, c.delay, c.path)+independent))
			var refused []int64
			arrived := make([]int64, 3) // the last time
			execute(t, run, server.Observer{
				Refused: func(nowNs int64, r *server.Request) {
					if r.Server != 1 || r.Refusal != metric.ConnectionRefused || r.Status != 0 {
						t.Errorf("%d ns: %v at server %d, status %d", nowNs, r.Refusal, r.Server, r.Status)
					}
					refused = append(refused, nowNs)
				},
				Arrived: func(nowNs int64, r *server.Request) { arrived[r.Server] = nowNs },
			})
			dials, failed := run.Network().Dials(1)
			if int(failed) != len(refused) || dials <= failed {
				t.Errorf("%d connections to server 1, %d failed; %d refusals", dials, failed, len(refused))
			}
			if c.toNs == 0 && len(refused) > 0 || c.toNs > 0 && len(refused) < 300 {
				t.Errorf("%d connections were refused", len(refused))
			}
			for _, ns := range refused {
				if ns < c.fromNs || ns > c.toNs {
					t.Errorf("a connection was refused at %d ns, want between %d and %d", ns, c.fromNs, c.toNs)
				}
			}
			// The server is ready at once when it starts again, and gets connections after two probes.
			want := []network.Notice{{AtNs: c.noticedNs, Server: 1}, {AtNs: 140e9, Server: 1, Up: true}}
			if got := run.Network().Noticed(); !slices.Equal(got, want) {
				t.Errorf("the load balancer noticed %v, want %v", got, want)
			}
			if arrived[1] < 140e9 {
				t.Errorf("the last request of server 1 arrived at %d ns", arrived[1])
			}
		})
	}
}

// A load balancer that wants three failures and two successes notices a stop at the third probe after it, and a start at
// the second.
func TestProbesWantFailuresAndSuccesses(t *testing.T) {
	run := New(load(t, `
  duration: 150s
  servers: {replicas: 3, loadBalancer: {probe: {failures: 3, successes: 2}}}
  events: [{at: 52s, stop: {server: 1}}, {at: 121s, start: {server: 1}}]
`+independent))
	execute(t, run, server.Observer{})
	want := []network.Notice{{AtNs: 80e9, Server: 1}, {AtNs: 140e9, Server: 1, Up: true}}
	if got := run.Network().Noticed(); !slices.Equal(got, want) {
		t.Errorf("the load balancer noticed %v, want %v", got, want)
	}
}

// Without probes, a load balancer goes on to choose a server that has crashed: a third of the
// connections are refused. Without a load balancer, clients choose among the servers that listen.
func TestConnectionsToACrashedServer(t *testing.T) {
	for balancer, share := range map[string]float64{"loadBalancer: {}, ": 1. / 3, "": 0} {
		run := New(load(t, `
  duration: 100s
  servers: {`+balancer+`replicas: 3}
  events: [{at: 10s, crash: {server: 1}}]
`+independent))
		refused, all := 0, 0
		execute(t, run, server.Observer{
			Refused: func(int64, *server.Request) { refused++; all++ },
			Arrived: func(nowNs int64, r *server.Request) {
				if nowNs >= 10e9 {
					all++
				}
			},
		})
		proportion(t, "connections refused with "+balancer, refused, all, share)
	}
}

// The watches of a server that crashes are opened again at once: two thirds elsewhere, and a third is refused,
// as the load balancer does not know of the crash. These wait as reflectors do, between 0.8 and 1.6 s, and
// then twice as long.
func TestWatchesOfACrashedServer(t *testing.T) {
	run := New(load(t, `
  duration: 20s
  servers: {replicas: 3, loadBalancer: {}}
  events: [{at: 10s, crash: {server: 1}}]
  workload:
  - name: w
    clients: 3000
    as: {user: "u{i}", groups: ["system:masters"]}
    request: {verb: watch, resource: pods, watch: {duration: 1h}}
    execution: 1ms
    arrivals: {closed: {}}
    retry: ClientGo
`))
	var before, at, refused, again, early int
	arrived := func(nowNs int64) {
		switch {
		case nowNs < 10e9:
			before++
		case nowNs == 10e9:
			at++
		case nowNs < 10.8e9:
			early++
		case nowNs <= 11.6e9:
			again++
		}
	}
	lost := 0
	execute(t, run, server.Observer{
		Arrived: func(nowNs int64, r *server.Request) { arrived(nowNs) },
		Refused: func(nowNs int64, r *server.Request) {
			arrived(nowNs)
			if nowNs == 10e9 {
				refused++
			}
		},
		GivenUp: func(int64, *server.Request) { lost++ },
	})
	proportion(t, "watches of the server", lost, before, 1./3)
	if before != 3000 || at != lost || early > 0 || again != refused {
		t.Errorf("of %d watches, %d broke; %d were opened again at once, %d too early, and of %d that were refused %d after a back-off",
			before, lost, at, early, refused, again)
	}
	proportion(t, "refused at once", refused, lost, 1./3)
}

// With a chance of 0.001 that a request makes its client connect anew, a client of 10 requests per
// second does so every 100 s. The watch of a client stays where it is until it ends.
func TestGoaway(t *testing.T) {
	const clients, seconds = 100, 500
	run := New(load(t, fmt.Sprintf(`
  duration: %ds
  servers: {replicas: 3, goawayChance: 0.001}
  workload:
  - name: w
    clients: %d
    as: {serviceAccount: "n/u{i}"}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    arrivals: {constant: {rate: 10/s}}
`, seconds, clients)))
	requests, dials := 0, 0
	execute(t, run, server.Observer{Arrived: func(int64, *server.Request) { requests++ }})
	for i := range 3 {
		all, _ := run.Network().Dials(i)
		dials += int(all)
	}
	proportion(t, "requests that connect anew", dials-clients, requests, 0.001)
}

// A client of which each fifth request is a watch: the requests that come after a hit go to
// another server, and all watches last as long as they would otherwise.
func TestGoawayLeavesWatches(t *testing.T) {
	run := New(load(t, `
  duration: 100s
  servers: {replicas: 2, goawayChance: 0.02, loadBalancer: {policy: RoundRobin}}
  workload:
  - name: w
    as: {serviceAccount: "n/u"}
    requests:
    - {verb: watch, resource: pods, watch: {duration: 9s}, weight: 0.2}
    - {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    arrivals: {constant: {rate: 20/s}}
`))
	moves, watches, draining := 0, 0, 0
	last := int16(0)
	execute(t, run, server.Observer{
		Arrived: func(_ int64, r *server.Request) {
			if r.Server != last {
				moves++
				last = r.Server
			}
			draining = max(draining, run.Network().Connections(int(1-r.Server)))
		},
		Answered: func(nowNs int64, r *server.Request) {
			if r.IsWatch() {
				watches++
				if nowNs != r.FinishNs+9e9 || r.Status != server.StatusOK {
					t.Errorf("a watch that began at %d ns was answered %d at %d ns", r.FinishNs, r.Status, nowNs)
				}
			}
		},
	})
	if moves < 20 || moves > 65 || watches < 200 || draining == 0 {
		t.Errorf("%d moves, %d watches, %d connections that were left to watches", moves, watches, draining)
	}
}

// n servers whose clients are divided among them decide as n runs of one server with its clients: nothing but
// the connections connects the servers.
func TestServersAreIndependent(t *testing.T) {
	const clients, servers = 12, 3
	workload := func(i int) string {
		return fmt.Sprintf(`
  - name: w%d
    as: {user: "u%d"}
    requests:
    - {verb: get, resource: pods, namespace: n, name: x}
    - {verb: update, resource: pods, namespace: n, name: x, execution: {exponential: {mean: 30ms}}, weight: 0.3}
    - {verb: watch, resource: pods, watch: {duration: 2s}, weight: 0.3}
    execution: {exponential: {mean: 10ms}}
    arrivals: {poisson: {rate: %d/s}}
    retry: ClientGo
`, i, i, 10+i)
	}
	// decisions returns what each server does, and which workloads are its.
	decisions := func(seed, replicas int, workloads []int) (lines [][]string, byServer [][]int) {
		text := strings.Replace(oneSeat, "servers: {", fmt.Sprintf("servers: {replicas: %d, ", replicas), 1) +
			fmt.Sprintf("  seed: %d\n  duration: 40s\n  workload:", seed)
		for _, w := range workloads {
			text += workload(w)
		}
		lines, byServer = make([][]string, replicas), make([][]int, replicas)
		note := func(what string) func(int64, *server.Request) {
			return func(nowNs int64, r *server.Request) {
				lines[r.Server] = append(lines[r.Server], fmt.Sprint(nowNs, what, workloads[r.Workload], r.Attempt, r.Attributes.Verb, r.Seats(), r.Rejection, r.RetryAfterSeconds))
				if w := workloads[r.Workload]; !slices.Contains(byServer[r.Server], w) {
					byServer[r.Server] = append(byServer[r.Server], w)
				}
			}
		}
		execute(t, New(load(t, text)), server.Observer{Arrived: note("arrives"), Dispatched: note("starts"), Rejected: note("rejected"), Executed: note("executed"), Released: note("released")})
		return lines, byServer
	}
	var all []int
	for i := range clients {
		all = append(all, i)
	}
	rejected := 0
	for seed := range 3 {
		together, byServer := decisions(seed+1, servers, all)
		for i, workloads := range byServer {
			slices.Sort(workloads)
			alone, _ := decisions(seed+1, 1, workloads)
			if !slices.Equal(together[i], alone[0]) {
				t.Errorf("seed %d: server %d of %d makes other decisions than alone with the workloads %v", seed+1, i, servers, workloads)
			}
			rejected += strings.Count(strings.Join(alone[0], "\n"), "rejected")
		}
	}
	if rejected == 0 {
		t.Error("no server was busy enough to reject requests")
	}
}

// A client has as many requests in progress on one connection as the release of the server allows; beyond that it
// opens another one. The watches that end make room on the first.
func TestStreamsOfAConnection(t *testing.T) {
	for version, want := range map[string]int{"1.37": 3, "1.29": 3, "1.28": 3, "1.28.2": 1, "1.25.14": 1, "1.25.15": 3, "1.24": 1} {
		run := New(load(t, fmt.Sprintf(`
  duration: 10s
  servers: {kubernetesVersion: %q, loadBalancer: {}}
  workload:
  - name: w
    as: {user: u, groups: ["system:masters"]}
    request: {verb: watch, resource: pods, watch: {duration: 5s}}
    execution: 1ms
    arrivals: {burst: {requests: 250}}
  - name: x
    as: {user: u, groups: ["system:masters"]}
    request: {verb: watch, resource: pods, watch: {duration: 5s}}
    execution: 1ms
    arrivals: {burst: {requests: 50, every: 6s}}
`, version)))
		var got []int
		execute(t, run, server.Observer{Tick: func(nowNs int64, _ []*server.Server) int64 {
			got = append(got, run.Network().Connections(0))
			return 1e9
		}})
		if got[1] != want+1 || got[2] != want+1 {
			t.Errorf("%s: %v connections, want %d for 250 watches and 1 for 50", version, got, want)
		}
	}
}

// Clients and servers close connections that have had no request for 90 s.
func TestIdleConnections(t *testing.T) {
	run := New(load(t, `
  duration: 400s
  servers: {loadBalancer: {}}
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1s
    arrivals: {burst: {requests: 1, every: 85s}}
    stop: 100s
  - name: watch
    as: {user: u}
    request: {verb: watch, resource: pods, watch: {duration: 200s}}
    execution: 1s
    arrivals: {burst: {requests: 1}}
`))
	var changes []string
	n := -1
	execute(t, run, server.Observer{Tick: func(nowNs int64, _ []*server.Server) int64 {
		if now := run.Network().Connections(0); now != n {
			n = now
			changes = append(changes, fmt.Sprintf("%ds: %d", nowNs/1e9, n))
		}
		return nowNs + 1e9
	}})
	// The second request ends at 86 s, the watch at 201 s. A tick comes before what happens at its time.
	if got, want := strings.Join(changes, ", "), "0s: 0, 1s: 2, 177s: 1, 292s: 0"; got != want {
		t.Errorf("connections over time: %s; want %s", got, want)
	}
}

// Round robin gives each server its turn. Least connections gives the new connections to the server
// that had lost its own.
func TestPolicies(t *testing.T) {
	for policy, want := range map[string][][]int{
		"RoundRobin":       {{10, 10, 10}, {15, 0, 15}, {25, 10, 25}},
		"LeastConnections": {{10, 10, 10}, {15, 0, 15}, {20, 20, 20}},
	} {
		run := New(load(t, `
  duration: 80s
  servers: {replicas: 3, loadBalancer: {policy: `+policy+`, probe: {interval: 1s}}}
  events: [{at: 20s, stop: {server: 1}}, {at: 40s, start: {server: 1}}]
  workload:
  - name: old
    clients: 30
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    arrivals: {closed: {think: 5s}}
  - name: new
    clients: 30
    start: 50s
    as: {user: "u{i}"}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    arrivals: {closed: {think: 5s}}
`))
		var got [][]int
		execute(t, run, server.Observer{Tick: func(nowNs int64, servers []*server.Server) int64 {
			if nowNs > 0 && nowNs < 80e9 {
				var now []int
				for i := range servers {
					now = append(now, run.Network().Connections(i))
				}
				got = append(got, now)
			}
			return map[int64]int64{0: 15e9, 15e9: 35e9, 35e9: 75e9}[nowNs]
		}})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v connections before the stop, after it, and after the new clients; want %v", policy, got, want)
		}
	}
}

// The node of a server is lost. A client notices within 45 s that nothing comes: what it sends until
// then is lost, and what was in progress breaks. A connection that it opens to the server has no answer
// either, and is given up after 30 s. A client with a time-out does not wait so long.
func TestSilence(t *testing.T) {
	run := New(load(t, `
  duration: 200s
  servers: {replicas: 2, loadBalancer: {policy: RoundRobin}}
  events: [{at: 20s, lose: {server: 0}}]
  workload:
  - name: writes
    as: {user: u}
    request: {verb: update, resource: pods, namespace: n, name: x}
    execution: 2s
    arrivals: {burst: {at: 1s, requests: 1, every: 20s}}
    stop: 70s
  - name: elsewhere
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    connection: PerRequest
    arrivals: {burst: {at: 2s, requests: 1, every: 16s}}
    stop: 20s
  - name: reads
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 4s
    arrivals: {burst: {at: 17s, requests: 1}}
    retry: ClientGo
  - name: impatient
    as: {user: u}
    request: {verb: update, resource: pods, namespace: n, name: x}
    execution: 2s
    arrivals: {burst: {at: 18500ms, requests: 1, every: 4s}}
    clientTimeout: 10s
    stop: 24s
  - name: perRequest
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 10s
    connection: PerRequest
    arrivals: {burst: {at: 15s, requests: 2}}
`))
	wants(t, learned(t, run, 20e9), `
25s perRequest/1 at server 1: 200 executed
28.5s impatient/1 at server 0: 0 lost
32.5s impatient/1 at server 0: 0 refused connection-reset
48s writes/1 at server 0: 0 refused connection-reset
48s writes/1 at server 0: 0 refused connection-reset
1m2s reads/1 at server 0: 0 lost
1m3s writes/1 at server 1: 200 executed
1m33s reads/2 at server 0: 0 refused connection-refused
3m5s perRequest/1 at server 0: 0 lost
`)
}

// learned runs a scenario to its end and returns what its clients learn from a time on.
func learned(t *testing.T, run *Run, fromNs int64) string {
	t.Helper()
	var lines []string
	execute(t, run, server.Observer{Answered: func(nowNs int64, r *server.Request) {
		if nowNs >= fromNs {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%v %s/%d at server %d: %d %v %v", time.Duration(nowNs),
				run.Scenario.Spec.Workload[r.Workload].Name, r.Attempt, r.Server, r.Status, r.Outcome(), r.Refusal)))
		}
	}})
	return strings.Join(lines, "\n")
}

// Of the requests that a crash breaks, client-go sends those again that only read, a second later. A
// connection that is refused is an error: only a client with a back-off of its own tries again. One without
// retries gives up, too.
func TestRetriesAfterACrash(t *testing.T) {
	workload := func(name, verb, retry string) string {
		return `
  - name: ` + name + `
    as: {user: u}
    request: {verb: ` + verb + `, resource: pods, namespace: n, name: x}
    execution: 2s
    arrivals: {burst: {at: 9s, requests: 1}}
    retry: ` + retry
	}
	wants(t, learned(t, New(load(t, `
  duration: 20s
  servers: {}
  events: [{at: 10s, crash: {server: 0}}, {at: 11500ms, start: {server: 0}}]
  workload:`+
		workload("reads", "get", "ClientGo")+
		workload("writes", "update", "ClientGo")+
		workload("once", "get", "None")+
		workload("persistent", "update", "{maxRetries: 2, backoff: {initial: 400ms, factor: 3}}")+`
`)), 0), `
10s reads/1 at server 0: 0 lost
10s writes/1 at server 0: 0 lost
10s once/1 at server 0: 0 lost
10s persistent/1 at server 0: 0 lost
10.4s persistent/2 at server 0: 0 refused connection-refused
11s reads/2 at server 0: 0 refused connection-refused
13.6s persistent/3 at server 0: 200 executed
`)
}

// A server that stops and sends Retry-After closes the connection with its answer: client-go comes back 5 s
// later, on a new connection to a server that is ready.
func TestRetriesAfterAStop(t *testing.T) {
	wants(t, learned(t, New(load(t, `
  duration: 40s
  servers: {replicas: 2, shutdown: {sendRetryAfter: true}, loadBalancer: {policy: RoundRobin, probe: {interval: 1s}}}
  events: [{at: 10s, stop: {server: 0}}]
  workload:
  - name: writes
    as: {user: u}
    request: {verb: update, resource: pods, namespace: n, name: x}
    execution: 100ms
    arrivals: {burst: {at: 1s, requests: 1, every: 11s}}
    retry: ClientGo
  - name: first
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 1ms
    arrivals: {burst: {at: 2s, requests: 1}}
  - name: slow
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 4500ms
    arrivals: {burst: {at: 9s, requests: 1}}
`)), 0), `
1.1s writes/1 at server 0: 200 executed
2.001s first/1 at server 1: 200 executed
12s writes/1 at server 0: 429 refused shutting-down
13.5s slow/1 at server 0: 200 executed
17.1s writes/2 at server 1: 200 executed
23.1s writes/1 at server 1: 200 executed
34.1s writes/1 at server 1: 200 executed
`)
}

// In a replay, each request has a connection of its own. The servers are chosen in turn, unless the trace says
// which one a request is for, and the scenario has it.
func TestReplayWithServers(t *testing.T) {
	sc := load(t, `
  duration: 10s
  servers: {replicas: 2, loadBalancer: {policy: RoundRobin}}
  workload:
  - name: w
    as: {user: u}
    request: {verb: get, resource: pods, namespace: n, name: x}
    execution: 100ms
    arrivals: {constant: {rate: 1/s}}
`)
	sc.Spec.Workload[0].Arrivals = workload.Arrivals{Trace: &workload.TraceArrivals{Open: func() (*trace.Reader, error) {
		const line = `{"arrivalNs":1000000000,"user":"u","verb":"get","resource":"pods","namespace":"n","name":"x","executionNs":1000000%s}` + "\n"
		var lines strings.Builder
		for _, more := range []string{"", "", "", `,"server":0`, `,"server":0`, `,"server":1`, `,"server":2`} {
			fmt.Fprintf(&lines, line, more)
		}
		return trace.NewReader(io.NopCloser(strings.NewReader(lines.String())), "t"), nil
	}}}
	wants(t, learned(t, New(sc), 0), `
1.001s w/1 at server 0: 200 executed
1.001s w/1 at server 1: 200 executed
1.001s w/1 at server 0: 200 executed
1.001s w/1 at server 0: 200 executed
1.001s w/1 at server 0: 200 executed
1.001s w/1 at server 1: 200 executed
1.001s w/1 at server 1: 200 executed
`)
}

// A request of a trace that is rejected is sent again, as its workload says: here once, after the second that the answer
// names. Each has its place in the trace, whatever becomes of those before.
func TestReplayRetries(t *testing.T) {
	for retry, want := range map[string]string{
		"None": `
1s w/1 at server 0: 429 rejected
1.2s w/1 at server 0: 200 executed
2.5s w/1 at server 0: 200 executed`,
		"{maxRetries: 1}": `
1s w/1 at server 0: 429 rejected
1.2s w/1 at server 0: 200 executed
2.2s w/2 at server 0: 200 executed
2.5s w/1 at server 0: 200 executed`,
	} {
		sc := load(t, soleLevel(1, reject, "  duration: 10s")+`
  workload:
  - {name: w, as: {user: u}, request: {verb: get, resource: pods, namespace: n, name: x}, execution: 100ms, arrivals: {constant: {rate: 1/s}}, retry: `+retry+"}\n")
		sc.Spec.Workload[0].Arrivals = workload.Arrivals{Trace: &workload.TraceArrivals{Open: func() (*trace.Reader, error) {
			var lines strings.Builder
			for _, ms := range []int{1000, 1000, 2300} {
				fmt.Fprintf(&lines, `{"arrivalNs":%d000000,"user":"u","verb":"get","resource":"pods","namespace":"n","name":"x","executionNs":200000000}`+"\n", ms)
			}
			return trace.NewReader(io.NopCloser(strings.NewReader(lines.String())), "t"), nil
		}}}
		wants(t, learned(t, New(sc), 0), want)
	}
}

// decided returns what the servers of a run decide, line by line.
func decided(t *testing.T, spec string) string {
	t.Helper()
	d := &diary{}
	execute(t, New(load(t, spec)), d.observer())
	return strings.Join(d.lines, "\n")
}

// Connections alone change no decision of one server: a load balancer, GOAWAY and clients that connect
// for each request make no difference to a server that is always there.
func TestConnectionsToOneServer(t *testing.T) {
	spec := func(servers, workload string) string {
		return strings.Replace(oneSeat, "servers: {", "servers: {"+servers, 1) + `
  duration: 50s
  workload:
  - name: w
    clients: 5
    as: {user: "u{i}"}
    requests:
    - {verb: get, resource: pods, namespace: n, name: x}
    - {verb: watch, resource: pods, watch: {duration: 2s}}
    execution: {exponential: {mean: 30ms}}
    arrivals: {poisson: {rate: 5/s}}
    rateLimit: {qps: 8, burst: 4}
    retry: ClientGo
    ` + workload
	}
	want := decided(t, spec("", ""))
	if !strings.Contains(want, "rejected") || !strings.Contains(want, "attempt 2") {
		t.Fatal("the server is not busy enough")
	}
	for _, c := range [][2]string{
		{"loadBalancer: {}, ", ""},
		{"loadBalancer: {policy: LeastConnections, probe: {}}, ", "connection: PerRequest"},
		{"goawayChance: 0.02, ", ""},
	} {
		if decided(t, spec(c[0], c[1])) != want {
			t.Errorf("with %s%s, the server makes other decisions", c[0], c[1])
		}
	}
}

// Two runs of servers that stop, crash and are lost are the same.
func TestConnectionsAreDeterministic(t *testing.T) {
	const spec = `
  duration: 150s
  servers: {replicas: 4, goawayChance: 0.01, loadBalancer: {policy: LeastConnections, probe: {interval: 3s}}, startup: {duration: 2s}}
  events: [{at: 10s, rollout: {}}, {at: 60s, crash: {server: 1}}, {at: 70s, lose: {server: 2}}, {at: 120s, start: {server: 2}}]
  workload:
  - name: w
    clients: 20
    as: {user: "u{i}"}
    requests:
    - {verb: get, resource: pods, namespace: n, name: x}
    - {verb: watch, resource: pods, watch: {duration: 20s}, weight: 0.05}
    execution: {exponential: {mean: 30ms}}
    arrivals: {closed: {concurrency: 10, think: {exponential: {mean: 1s}}}}
    retry: {backoff: {initial: 1s, jitter: 1}}
`
	first := decided(t, spec)
	if second := decided(t, spec); first != second {
		t.Error("the second run makes other decisions")
	}
	if len(first) < 100_000 {
		t.Errorf("only %d bytes were decided", len(first))
	}
}

// While no server is ready, a load balancer sends connections to all: one of the two listens.
func TestNoServerIsHealthy(t *testing.T) {
	run := New(load(t, `
  duration: 85s
  servers: {replicas: 2, startup: {duration: 60s}, loadBalancer: {probe: {interval: 1s}}}
  events: [{at: 10s, crash: {server: 0}}, {at: 10s, crash: {server: 1}}, {at: 30s, start: {server: 0}}]
`+independent))
	var before, refused, all int
	execute(t, run, server.Observer{
		Refused: func(nowNs int64, _ *server.Request) {
			if nowNs >= 30e9 {
				refused++
				all++
			} else if nowNs >= 10e9 {
				before++
			}
		},
		Arrived: func(nowNs int64, r *server.Request) {
			switch {
			case nowNs >= 30e9:
				all++
			case nowNs >= 10e9:
				t.Errorf("a request reaches server %d at %d ns", r.Server, nowNs)
			}
		},
	})
	proportion(t, "connections refused by the other server", refused, all, 0.5)
	if before < 1000 || all < 3000 {
		t.Errorf("%d and %d connections", before, all)
	}
}
