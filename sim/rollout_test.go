package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/core/flowcontrol"
	"apfsim/core/queueset"
	"apfsim/sim/metric"
	"apfsim/sim/server"

	"pgregory.net/rapid"
)

// stages keeps the lines of a story that are about servers.
func (l *lives) stages() (lines []string) {
	for _, line := range l.lines {
		if strings.Contains(line, " server ") {
			at, _, _ := strings.Cut(line, ",")
			lines = append(lines, at)
		}
	}
	return lines
}

// A rollout stops one server after the other: each starts again as soon as its process has ended, and
// the next one is told to stop when it is ready and the interval is over, whichever comes later. The
// first process takes 3 s to end, because a request is in flight, and 10 s to start. A second rollout
// waits for the first.
func TestRollout(t *testing.T) {
	l := live(t, `
  duration: 100s
  servers: {replicas: 3, shutdown: {delay: 1s}, startup: {duration: 10s}}
  events: [{at: 10s, rollout: {interval: 12s}}, {at: 11s, rollout: {interval: 1s}}, {at: 15s, crash: {server: 2}}]
  workload:
  - {name: none, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 99s, requests: 1}}}
`)
	want := []string{
		"10.000 server 0 is stopping", "11.000 server 0 is not accepting", "11.000 server 0 is draining", "11.000 server 0 is off",
		"11.000 server 0 is starting",
		"15.000 server 2 is off", // and nobody starts it until its turn comes
		"21.000 server 0 is ready",
		"22.000 server 1 is stopping", "23.000 server 1 is not accepting", "23.000 server 1 is draining", "23.000 server 1 is off",
		"23.000 server 1 is starting", "33.000 server 1 is ready",
		"34.000 server 2 is starting", "44.000 server 2 is ready",
		// The second one, whose interval is shorter than a restart. The interval of the first is over at 46 s.
		"46.000 server 0 is stopping", "47.000 server 0 is not accepting", "47.000 server 0 is draining", "47.000 server 0 is off",
		"47.000 server 0 is starting", "57.000 server 0 is ready",
		"57.000 server 1 is stopping", "58.000 server 1 is not accepting", "58.000 server 1 is draining", "58.000 server 1 is off",
		"58.000 server 1 is starting", "68.000 server 1 is ready",
		"68.000 server 2 is stopping", "69.000 server 2 is not accepting", "69.000 server 2 is draining", "69.000 server 2 is off",
		"69.000 server 2 is starting", "79.000 server 2 is ready",
	}
	if got := l.stages(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A rollout can change the release, and with it what the servers decide and what they hold: up to 1.25 the
// levels neither lend nor borrow, and from 1.26 on all of these borrow without a bound. Flows keep their
// identity where the objects do not change, so that a flow of both servers has one index.
func TestRolloutToAnotherRelease(t *testing.T) {
	flows := map[string]map[*server.Flow]bool{}
	l := live(t, `
  duration: 60s
  servers: {replicas: 2, kubernetesVersion: "1.25", startup: {duration: 2s, objects: 1s}}
  events: [{at: 10s, rollout: {kubernetesVersion: "1.26"}}]
  config:
    objects:
    - apiVersion: flowcontrol.apiserver.k8s.io/v1beta2
      kind: PriorityLevelConfiguration
      metadata: {name: other}
      spec: {type: Limited, limited: {assuredConcurrencyShares: 5, limitResponse: {type: Reject}}}
  workload:
  - {name: gets, as: {user: u}, connection: PerRequest, request: {verb: get, resource: pods, name: x}, execution: 1ms, arrivals: {constant: {rate: 20/s}}}
`, func(run *Run) server.Observer {
		borrowing := func(want string) {
			for _, s := range run.servers {
				if s.Rules().Version != want {
					t.Errorf("server %d has release %s, want %s", s.Index(), s.Rules().Version, want)
				}
				for _, level := range s.Levels() {
					if limits := level.Limits(); (limits.Max > limits.Nominal) != (want == "1.26") && level.Name() != "exempt" {
						t.Errorf("server %d of %s: level %s has the limits %+v", s.Index(), want, level.Name(), limits)
					}
				}
				if other := s.Levels(); !slices.ContainsFunc(other, func(l *flowcontrol.Level) bool { return l.Name() == "other" }) {
					t.Errorf("server %d of %s does not hold the written level", s.Index(), want)
				}
			}
		}
		return server.Observer{
			Tick: func(nowNs int64, _ []*server.Server) int64 {
				switch nowNs {
				case 0:
					borrowing("1.25")
				case 60e9:
					borrowing("1.26")
				}
				return nowNs + 60e9
			},
			Arrived: func(_ int64, r *server.Request) {
				if flows[r.Flow.Name()] == nil {
					flows[r.Flow.Name()] = map[*server.Flow]bool{}
				}
				flows[r.Flow.Name()][r.Flow] = true
			},
		}
	})
	if len(flows) < 2 || l.ended["gets: 200"] < 1000 {
		t.Fatalf("there are the flows %v and the answers %v", flows, l.ended)
	}
	for name, all := range flows {
		if len(all) != 1 {
			t.Errorf("%s is %d flows", name, len(all))
		}
	}
}

// What is in flight at a server that crashes ends with it, whatever it was doing: a request that
// executes, one that waits, an open watch, one in additional latency. The server that takes its place
// has free seats.
func TestCrash(t *testing.T) {
	l := live(t, strings.Replace(oneSeat, "servers: {", "servers: {startup: {restartAfter: 5s, duration: 1s}, ", 1)+`
  duration: 60s
  events: [{at: 10s, crash: {server: 0}}]
  workload:
  - {name: watch, as: {user: u}, request: {verb: watch, resource: pods}, execution: 1ms, arrivals: {burst: {at: 1s, requests: 1}}}
  - {name: executes, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 20s, arrivals: {burst: {at: 8s, requests: 1}}}
  - {name: waits, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 20s, arrivals: {burst: {at: 9s, requests: 1}}}
  - {name: early, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 12s, requests: 1}}}
  - {name: later, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 17s, requests: 1}}}
`)
	want := []string{
		"10.000 server 0 is off, does not listen",
		"10.000 watch: connection broken",
		"10.000 executes: connection broken",
		"10.000 waits: connection broken",
		"12.000 early: refused",
		"15.000 server 0 is starting, /readyz 500 /livez 500",
		"16.000 server 0 is ready, /readyz 200 /livez 200",
		"18.000 later: 200",
	}
	if !slices.Equal(l.lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(l.lines, "\n"), strings.Join(want, "\n"))
	}
}

// The memory of a process ends with it, even if the clients of its watches do not notice that yet. One that
// needs more than there is crashes, and is started again.
func TestMemoryOfProcesses(t *testing.T) {
	used := map[int64]int64{}
	l := live(t, `
  duration: 60s
  servers: {memory: {limit: 1MB, watch: 300kB}, startup: {restartAfter: 3s}}
  events: [{at: 10s, lose: {server: 0}}, {at: 12s, start: {server: 0}}]
  workload:
  - {name: early, clients: 2, as: {user: u}, request: {verb: watch, resource: pods}, execution: 1ms, arrivals: {burst: {at: 1s, requests: 1}}, stop: 20s}
  - {name: late, clients: 4, as: {user: u}, request: {verb: watch, resource: pods}, execution: 1ms, arrivals: {burst: {at: 30s, requests: 1}}, stop: 40s}
`, func(run *Run) server.Observer {
		return server.Observer{Tick: func(nowNs int64, _ []*server.Server) int64 {
			used[nowNs/1e9], _, _ = run.Server.Memory(nowNs)
			return nowNs + 1e9
		}}
	})
	want := []string{
		"10.000 server 0 is off", "12.000 server 0 is starting", "12.000 server 0 is ready",
		"30.000 server 0 is off", "33.000 server 0 is starting", "33.000 server 0 is ready",
	}
	if got := l.stages(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if used[9] != 600_000 || used[20] != 0 || used[50] != 0 {
		t.Errorf("the server needs %d bytes at 9 s, %d at 20 s, %d at 50 s; want 600000, 0, 0", used[9], used[20], used[50])
	}
}

// A process that starts during the run counts its adjustments from when it has read its objects.
func TestAdjustmentsOfARestartedServer(t *testing.T) {
	var at []float64
	levels := 0 // at the last change
	live(t, `
  duration: 40s
  servers: {adjustmentPhase: 2s, startup: {duration: 3s, objects: 3s}}
  events: [{at: 13s, crash: {server: 0}}, {at: 15s, start: {server: 0}}]
  workload:
  - {name: none, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 39s, requests: 1}}}
`, func(*Run) server.Observer {
		return server.Observer{Adjusted: func(nowNs int64, s *server.Server) {
			if nowNs == 15e9 {
				levels = len(s.Levels())
			}
			if s := float64(nowNs) / 1e9; len(at) == 0 || at[len(at)-1] != s {
				at = append(at, s)
			}
		}}
	})
	// Levels change at the end, 13 s, at the start, 15 s, and when the objects have been read, 18 s.
	if want := []float64{0, 2, 12, 13, 15, 18, 28, 38}; !slices.Equal(at, want) {
		t.Errorf("the levels change at %v, want %v", at, want)
	}
	if levels != 2 {
		t.Errorf("%d levels at the start, want exempt and catch-all", levels)
	}
}

// census counts what becomes of requests.
type census struct{ arrived, executed, rejected, refused, lost int }

// Whatever happens to servers, no request is counted twice or not at all: what arrived was executed,
// rejected or lost, or is in flight at the end; and every request that is sent arrives or is refused.
func TestNoRequestIsForgotten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		replicas := rapid.IntRange(1, 3).Draw(rt, "replicas")
		var events []string
		for at, i := 0, rapid.IntRange(1, 8).Draw(rt, "events"); i > 0; i-- {
			at += rapid.IntRange(0, 8000).Draw(rt, "after")
			kind := rapid.SampledFrom([]string{"stop", "start", "crash", "lose", "rollout", "speed"}).Draw(rt, "event")
			target := fmt.Sprintf("{server: %d}", rapid.IntRange(0, replicas-1).Draw(rt, "server"))
			switch kind {
			case "rollout":
				target = fmt.Sprintf("{interval: %ds}", rapid.IntRange(0, 10).Draw(rt, "interval"))
			case "speed":
				target = "{factor: 0.7}"
			}
			events = append(events, fmt.Sprintf("{at: %dms, %s: %s}", at, kind, target))
		}
		spec := strings.Replace(oneSeat, "servers: {maxRequestsInflight: 1, ", fmt.Sprintf(
			"servers: {replicas: %d, maxRequestsInflight: %d, memory: {limit: 1450kB, watch: 300kB}, capacity: {cores: 4, contention: 0.01}, shutdown: {delay: %dms, sendRetryAfter: %v, watchTerminationGracePeriod: %ds, hooks: %dms, killAfter: %ds, audit: %dms}, startup: {duration: 2s, objects: %dms, caches: %ds, restartAfter: %ds}, ",
			replicas, rapid.IntRange(1, 20).Draw(rt, "seats"), rapid.IntRange(0, 5000).Draw(rt, "delay"), rapid.Bool().Draw(rt, "retryAfter"),
			rapid.IntRange(0, 4).Draw(rt, "grace"), rapid.IntRange(0, 5000).Draw(rt, "hooks"), rapid.IntRange(0, 20).Draw(rt, "killAfter"),
			rapid.IntRange(0, 1000).Draw(rt, "audit"), rapid.IntRange(0, 2000).Draw(rt, "objects"), rapid.IntRange(0, 5).Draw(rt, "caches"),
			rapid.IntRange(0, 5).Draw(rt, "restartAfter")), 1)
		spec = strings.Replace(spec, "requestTimeout: 60s", "requestTimeout: 6s", 1) + fmt.Sprintf(`
  duration: 80s
  seed: %d
  events: [%s]
  workload:
  - {name: gets, clients: 5, as: {user: "u{i}"}, request: {verb: get, resource: pods, name: x}, execution: {exponential: {mean: 300ms}}, arrivals: {poisson: {rate: 5/s}}, retry: ClientGo}
  - {name: writes, clients: 3, as: {user: "w{i}"}, request: {verb: create, resource: pods}, execution: {exponential: {mean: 1s}}, delay: 100ms, arrivals: {closed: {concurrency: 2, think: 100ms}}}
  - {name: watches, clients: 3, as: {user: "v{i}"}, request: {verb: watch, resource: pods, watch: {duration: 5s}}, execution: 10ms, arrivals: {closed: {concurrency: 2}}}
  - {name: slow, clients: 2, as: {user: "s{i}"}, request: {verb: get, resource: pods, name: x}, execution: {exponential: {mean: 3s}}, clientTimeout: 3s, arrivals: {poisson: {rate: 1/s}}}
  - {name: attached, as: {user: a}, request: {verb: create, resource: pods, subresource: attach, name: x}, execution: 5s, arrivals: {poisson: {rate: 1/s}}}
  - {name: health, as: {user: h}, request: {verb: get, path: /readyz}, execution: 1ms, connection: PerRequest, arrivals: {constant: {rate: 2/s}}}
`, rapid.Uint32().Draw(rt, "seed"), strings.Join(events, ", "))
		type life struct{ ended int }
		all := map[int64]*life{} // by number
		var c census
		inFlight := map[int64]bool{} // and whether flow control sees it
		over := func(r *server.Request) {
			l := all[r.Number]
			if l == nil {
				rt.Fatalf("request %d ends without having arrived", r.Number)
			}
			if l.ended++; l.ended > 1 {
				rt.Fatalf("request %d ends twice", r.Number)
			}
			delete(inFlight, r.Number)
		}
		answers := map[int64]int{}
		watches := map[int64]int{} // that are dispatched: their servers
		run := New(load(t, spec))
		run.Observe(server.Observer{
			Arrived: func(_ int64, r *server.Request) {
				c.arrived++
				all[r.Number] = &life{}
				inFlight[r.Number] = r.Level != nil
			},
			Rejected: func(_ int64, r *server.Request) { c.rejected++; over(r) },
			Executed: func(_ int64, r *server.Request) { c.executed++; over(r) },
			Dispatched: func(_ int64, r *server.Request) {
				if r.IsWatch() {
					watches[r.Number] = int(r.Server)
				}
			},
			GivenUp: func(_ int64, r *server.Request) {
				delete(watches, r.Number)
				if r.Lost {
					c.lost++
					over(r)
				}
				if r.Lost != (r.Outcome() == server.Lost) {
					rt.Fatalf("the outcome of a request that is given up is %v; lost: %v", r.Outcome(), r.Lost)
				}
			},
			Refused: func(_ int64, r *server.Request) {
				c.refused++
				if all[r.Number] != nil || r.Outcome() != server.Refused {
					rt.Fatalf("request %d arrives and is refused", r.Number)
				}
			},
			Answered: func(_ int64, r *server.Request) {
				delete(watches, r.Number)
				if answers[r.Number]++; answers[r.Number] > 1 {
					rt.Fatalf("request %d is answered twice", r.Number)
				}
				if r.Rejection == queueset.NotRejected && r.Refusal == metric.NotRefused && r.Status == server.StatusTooManyRequests && !r.IsWatch() {
					rt.Fatalf("request %d is answered 429 for no reason", r.Number)
				}
			},
		})
		if err := run.Execute(t.Context(), nil); err != nil {
			rt.Fatal(err)
		}
		if c.arrived != c.executed+c.rejected+c.lost+len(inFlight) {
			rt.Errorf("%+v, and %d in flight: the sum is wrong", c, len(inFlight))
		}
		// The memory of a server is that of its watches. Five of them are more than it has.
		taken := make([]int64, replicas)
		for _, server := range watches {
			taken[server] += 300_000
		}
		for i, s := range run.servers {
			if used, _, _ := s.Memory(int64(run.Scenario.Spec.Duration)); used != taken[i] {
				rt.Errorf("server %d needs %d bytes, but its watches %d", i, used, taken[i])
			}
		}
		// What the queues know at the end is what is in flight by then.
		held, want := 0, 0
		for _, seen := range inFlight {
			if seen {
				want++
			}
		}
		for _, s := range run.servers {
			for _, l := range s.Levels() {
				held += l.Queues().Waiting() + l.Queues().Executing()
			}
		}
		if held != want {
			rt.Errorf("the queues hold %d requests, but %d are in flight", held, want)
		}
	})
}
