package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"apfsim/sim/api"
	"apfsim/sim/machine"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// withStore gives the servers of a soleLevel a store, whose reads take 1 ms and writes 4 ms.
const withStore = "\n  store: {read: 1ms, write: 4ms}"

const storedWorkload = `
  workload:
  - {name: create, as: {user: u}, request: {verb: update, group: coordination.k8s.io, resource: leases, namespace: n, name: a}, arrivals: {burst: {at: 0s, requests: 1, over: 0s}}}
  - {name: other, as: {user: u}, request: {verb: create, resource: configmaps, namespace: n}, arrivals: {burst: {at: 210ms, requests: 1, over: 0s}}}
  - {name: get, as: {user: u}, request: {verb: get, group: coordination.k8s.io, resource: leases, namespace: n, name: a}, arrivals: {burst: {at: 220ms, requests: 1, over: 0s}}}
  - {name: list, as: {user: u}, request: {verb: list, group: coordination.k8s.io, resource: leases, namespace: n, query: limit=500}, arrivals: {burst: {at: 230ms, requests: 1, over: 0s}}}
  - {name: bad, as: {user: u}, request: {verb: list, group: coordination.k8s.io, resource: leases, namespace: n, query: resourceVersionMatch=Exact}, arrivals: {burst: {at: 240ms, requests: 1, over: 0s}}}
  - {name: watch, as: {user: u}, request: {verb: watch, group: coordination.k8s.io, resource: leases, namespace: n, watch: {duration: 100ms}}, arrivals: {burst: {at: 250ms, requests: 1, over: 0s}}}
  - {name: update, as: {user: u}, request: {verb: update, group: coordination.k8s.io, resource: leases, namespace: n, name: a}, arrivals: {burst: {at: 260ms, requests: 1, over: 0s}}}
  - {name: delete, as: {user: u}, request: {verb: delete, group: coordination.k8s.io, resource: leases, namespace: n, name: a}, arrivals: {burst: {at: 270ms, requests: 1, over: 0s}}}
  - {name: healthz, as: {user: u}, request: {verb: get, path: /healthz}, execution: 5ms, arrivals: {burst: {at: 280ms, requests: 1, over: 0s}}}
`

// A server with a store executes requests by what they ask for: their times follow from etcd and the costs, and
// their answers from what is stored. With a capacity it is the same, as each has the server for itself.
func TestStoredRequests(t *testing.T) {
	for _, capacity := range []bool{false, true} {
		sc := load(t, soleLevel(10, oneQueue, "  duration: 1s"+withStore)+storedWorkload)
		if capacity {
			on(machine.Capacity{}, sc)
		}
		run := New(sc)
		var got []string
		run.Observe(server.Observer{
			Executed: func(nowNs int64, r *server.Request) {
				a := &r.Details.Answer
				name := run.Scenario.Spec.Workload[r.Workload].Name
				got = append(got, fmt.Sprintf("%s %d %s %d items %d after %d µs", name, a.Status, a.Reason, a.Version, a.Items, (nowNs-r.ArrivalNs)/1000))
			},
			Answered: func(nowNs int64, r *server.Request) {
				if r.IsWatch() {
					got = append(got, fmt.Sprintf("watch ends at %d ms with %d", nowNs/1e6, r.Status))
				}
			},
		})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"create 201  2 items -1 after 5250 µs",
			"other 201  3 items -1 after 4250 µs",
			"get 200  2 items -1 after 1213 µs",
			"list 200  3 items 1 after 5200 µs", // 1 ms for the revision of the configmap, and 4 ms until the cache knows it
			"bad 422 Invalid 0 items -1 after 200 µs",
			"watch 200  0 items -1 after 1203 µs",
			"update 200  4 items -1 after 4250 µs",
			"delete 200  0 items -1 after 5213 µs",
			"healthz 0  0 items 0 after 6000 µs", // 1 ms for the read from etcd
			"watch ends at 351 ms with 200",
		}
		for i := range max(len(got), len(want)) {
			if i >= len(got) || i >= len(want) || got[i] != want[i] {
				t.Errorf("capacity %v: got\n%q\nwant\n%q", capacity, got, want)
				break
			}
		}
		if n := len(run.Handlers().Work(0)); n != 7 {
			t.Errorf("%d kinds of requests", n)
		}
	}
}

// The second list is rejected, because the first one has the only seat, and sent again after a second. It then takes
// the execution that the scenario gives it, and not what the store would need.
func TestRetryKeepsItsExecution(t *testing.T) {
	run := New(load(t, soleLevel(1, reject, "  duration: 5s"+withStore)+`
  workload:
  - {name: list, as: {user: u}, request: {verb: list, resource: configmaps, namespace: n}, execution: 300ms, retry: {maxRetries: 1, backoff: {initial: 1s, jitter: 0}},
    arrivals: {burst: {at: 0s, requests: 2, over: 0s}}}
`))
	var got []string
	run.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
		got = append(got, fmt.Sprintf("attempt %d from %d to %d ms", r.Attempt, r.DispatchNs/1e6, nowNs/1e6))
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if want := []string{"attempt 1 from 0 to 300 ms", "attempt 2 from 1000 to 1300 ms"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// The requests of a client that behaves take the execution that the scenario gives them, too.
func TestBehavingClientsHaveGivenExecutions(t *testing.T) {
	run := New(load(t, soleLevel(10, oneQueue, "  duration: 2500ms"+withStore)+`
  workload:
  - {name: lister, as: {user: u}, behaviour: {lister: {resource: configmaps, every: 1s}}, execution: 300ms}
`))
	lists := 0
	run.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
		if lists++; nowNs-r.DispatchNs != 300_000_000 {
			t.Errorf("a list took %d µs", (nowNs-r.DispatchNs)/1000)
		}
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if lists < 2 {
		t.Errorf("%d lists", lists)
	}
}

// The object does not exist, and the client asks again. Its first attempt shares the only core with a list, and takes
// about twice the time. The second one has the core for itself.
func TestRetryOfAnExecutedRequestKeepsItsExecution(t *testing.T) {
	spec := strings.Replace(soleLevel(10, oneQueue, "  duration: 5s"+withStore), "servers: {", "servers: {capacity: {cores: 1}, ", 1)
	run := New(load(t, spec+`
  workload:
  - {name: get, as: {user: u}, request: {verb: get, resource: configmaps, namespace: n, name: a}, execution: 300ms, retry: {maxRetries: 1, backoff: {initial: 1s, jitter: 0}},
    arrivals: {burst: {at: 0s, requests: 1, over: 0s}}}
  - {name: list, as: {user: u}, request: {verb: list, resource: configmaps, namespace: n}, execution: 300ms, arrivals: {burst: {at: 0s, requests: 1, over: 0s}}}
`))
	var got []int64
	run.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
		if r.Attributes.Verb == "get" {
			got = append(got, (nowNs-r.DispatchNs)/1e6)
		}
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] < 500 || got[1] > 310 {
		t.Errorf("executions of %d ms, want one of more than 500 ms and one of 300 ms", got)
	}
}

// A server that crashes while it executes requests takes nothing with it but what it has not sent to etcd.
func TestStoredRequestsAtACrash(t *testing.T) {
	spec := soleLevel(10, oneQueue, "  duration: 20s\n  events: [{at: 2s, crash: {server: 0}}]"+withStore) + `
  workload:
  - {name: w, clients: 20, as: {user: u}, request: {verb: create, resource: configmaps, namespace: n}, arrivals: {closed: {concurrency: 1, think: 10ms}}}
  - {name: watch, clients: 20, as: {user: u}, request: {verb: watch, group: coordination.k8s.io, resource: leases, namespace: n, watch: {duration: 300ms}}, arrivals: {closed: {concurrency: 1, think: 10ms}}}
`
	run := New(load(t, spec))
	outcomes := map[server.Outcome]int{}
	run.Observe(server.Observer{Answered: func(nowNs int64, r *server.Request) { outcomes[r.Outcome()]++ }})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if outcomes[server.Lost] == 0 || outcomes[server.Executed] < 1000 {
		t.Errorf("outcomes %v", outcomes)
	}
}

// A watch that is closed as slow while the machine encodes its initial events leaves the machine, which then serves
// others.
func TestWatchClosedBeforeItsInitialEvents(t *testing.T) {
	const workload = `
  workload:
  - {name: watch, as: {user: w}, request: {verb: watch, resource: services, query: "resourceVersion=0", watch: {duration: 10s}}, arrivals: {burst: {at: 0s, requests: 1, over: 0s}}}
  - {name: update, clients: 10, as: {user: u}, request: {verb: update, resource: services, namespace: n, name: "s-{i}"}, arrivals: {closed: {concurrency: 1, think: 1ms}}}
  resources:
  - {resource: services, objects: 100, averageBytes: 1000}
`
	for _, capacity := range []string{"", "capacity: {cores: 4}, "} {
		spec := soleLevel(20, oneQueue, "  duration: 11s\n  store: {read: 1ms, write: 4ms, costs: {initialEvent: 100ms}}") + workload
		spec = strings.Replace(spec, "servers: {", "servers: {"+capacity, 1)
		run := New(load(t, spec))
		endedNs := int64(-1)
		updates := 0
		run.Observe(server.Observer{
			Executed: func(nowNs int64, r *server.Request) {
				if !r.IsWatch() {
					updates++
				}
			},
			Answered: func(nowNs int64, r *server.Request) {
				if r.IsWatch() {
					endedNs = nowNs
				}
			},
		})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if endedNs < 0 || endedNs > 5e9 {
			t.Errorf("%q: the watch ends at %d ns, want before 5 s; its initial events take 10 s", capacity, endedNs)
		}
		if updates < 8_000 {
			t.Errorf("%q: %d updates", capacity, updates)
		}
	}
}

// The events that are sent to watches take what the store's costs say from the capacity.
func TestEventsTakeCapacity(t *testing.T) {
	const workload = `
  workload:
  - {name: watch, clients: 100, as: {user: w}, behaviour: {informer: {resource: services}}}
  - {name: update, clients: 10, as: {user: u}, request: {verb: update, resource: services, namespace: n, name: "s-{i}"}, arrivals: {poisson: {rate: 1/s}}}
  - {name: get, as: {user: g}, start: 2s, request: {verb: list, resource: configmaps, query: "resourceVersion=0"}, arrivals: {poisson: {rate: 20/s}}}
`
	var longest [2]int64
	for i, costs := range []string{"watchEvent: 1us", "watchEvent: 1500us"} { // of 1000 events a second
		spec := strings.Replace(soleLevel(200, oneQueue, "  duration: 10s\n  store: {costs: {"+costs+"}}"), "servers: {", "servers: {capacity: {cores: 1}, ", 1)
		run := New(load(t, spec+workload))
		run.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
			if r.Workload == 2 {
				longest[i] = max(longest[i], nowNs-r.DispatchNs)
			}
		}})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if longest[0] > 1_000_000 || longest[1] < 1_500_000 { // 0.2 ms of the processor each
		t.Errorf("lists take up to %d and %d ns", longest[0], longest[1])
	}
}

// The seats of a list follow from the objects that the server has counted: 300 of 1 kB at first, twice as many at most 132 s
// after others are created, and nothing if it never counts. Objects of unknown size that are created are small.
func TestSeatsFollowTheCounts(t *testing.T) {
	for _, c := range []struct {
		store string
		want  []int32
	}{
		{withStore + "\n  resources: [{resource: configmaps, objects: 300, averageBytes: 1000}]", []int32{3, 6}},
		{withStore, []int32{1, 1}},
		{"\n  store: {read: 1ms, write: 4ms, countInterval: 0s}\n  resources: [{resource: configmaps, objects: 300, averageBytes: 1000}]", []int32{1, 1}},
	} {
		run := New(load(t, soleLevel(100, oneQueue, "  duration: 3m"+c.store)+`
  workload:
  - {name: fill, as: {user: u}, request: {verb: create, resource: configmaps, namespace: n}, arrivals: {burst: {at: 2s, requests: 300, over: 3s}}}
  - {name: first, as: {user: u}, request: {verb: list, resource: configmaps, namespace: n}, arrivals: {burst: {at: 1s, requests: 1, over: 0s}}}
  - {name: second, as: {user: u}, request: {verb: list, resource: configmaps, namespace: n}, arrivals: {burst: {at: 150s, requests: 1, over: 0s}}}
`))
		var got []int32
		run.Observe(server.Observer{Executed: func(_ int64, r *server.Request) {
			if r.Attributes.Verb == "list" {
				got = append(got, int32(r.Work.InitialSeats))
			}
		}})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the lists take %v seats, want %v", c.store, got, c.want)
		}
	}
}

// What a server's watch caches have counted, and the watches that it has closed as slow, are those of all of its
// processes, and each process compacts the store anew.
func TestCountsOutliveARestart(t *testing.T) {
	const workload = `
  workload:
  - {name: watch, as: {user: w}, request: {verb: watch, resource: services, query: "resourceVersion=0", watch: {duration: 10s}}, arrivals: {burst: {at: 0s, requests: 1, over: 0s}}}
  - {name: update, clients: 10, as: {user: u}, request: {verb: update, resource: services, namespace: n, name: "s-{i}"}, stop: 10s, arrivals: {closed: {concurrency: 1, think: 1ms}}}
  resources:
  - {resource: services, objects: 100, averageBytes: 1000}
`
	var events, slow [2]int64
	for i, restart := range []string{"", "  events: [{at: 12s, crash: {server: 0}}, {at: 13s, start: {server: 0}}]\n"} {
		run := New(load(t, soleLevel(20, oneQueue, "  duration: 14s\n"+restart+"  store: {read: 1ms, write: 4ms, costs: {initialEvent: 100ms}}")+workload))
		execute(t, run, server.Observer{})
		events[i] = run.Handlers().Counters(0).Received
		for resource, n := range run.Handlers().SlowWatchers(0) {
			if resource.Name == "services" {
				slow[i] += n
			}
		}
	}
	if events[0] < 5_000 || events[1] != events[0] {
		t.Errorf("%d events of a server that is restarted after the last one, want %d, as of one that is not", events[1], events[0])
	}
	if slow != [2]int64{1, 1} {
		t.Errorf("%v watches were closed as slow, want 1 with and without a restart", slow)
	}
}

// counted notes the events that say that all initial ones have come.
type counted struct {
	server.Receiver
	ends []int64 // how many objects had no event
}

func (c *counted) Received(nowNs int64, r *server.Request, e *api.Event) {
	if e.InitialEnd {
		c.ends = append(c.ends, e.Counted)
	}
	c.Receiver.Received(nowNs, r, e)
}

// A watch that begins with all objects is told at their end how many there are that the scenario only counts, once for
// each watch.
func TestInitialEventsAreCounted(t *testing.T) {
	c := &counted{}
	run := newRun(load(t, `
  duration: 10s
  store: {}
  resources: [{resource: services, objects: 100, averageBytes: 1000}, {resource: configmaps, objects: 1, averageBytes: 1000}]
  workload:
  - {name: one, as: {user: w}, behaviour: {informer: {resource: configmaps, start: WatchList}}}
  - {name: all, clients: 2, as: {user: w}, behaviour: {informer: {resource: services, start: WatchList}}}
  - {name: none, as: {user: w}, behaviour: {informer: {resource: pods, start: WatchList}}}
`), func(clients *workload.Clients) server.Receiver {
		c.Receiver = clients
		return c
	})
	execute(t, run, server.Observer{})
	slices.Sort(c.ends)
	if !slices.Equal(c.ends, []int64{0, 1, 100, 100}) {
		t.Errorf("the initial events end with %v objects without an event, want 0, 1, 100 and 100", c.ends)
	}
}

// A watch that its handler ends, here after the five to ten minutes that an informer asks for, is not counted among those
// that a write is estimated by: there are never more than there are informers.
func TestEndedWatchesAreNotCounted(t *testing.T) {
	run := New(load(t, soleLevel(100, oneQueue, "  duration: 31m"+withStore)+`
  workload:
  - {name: watch, clients: 10, as: {user: w}, behaviour: {informer: {resource: services, start: WatchList}}}
  - {name: create, as: {user: u}, request: {verb: create, resource: services, namespace: n}, arrivals: {burst: {at: 1m, requests: 1, every: 1m}}}
`))
	var counts []int
	watches := 0
	execute(t, run, server.Observer{Arrived: func(_ int64, r *server.Request) {
		if n, ok := r.Watchers(); ok {
			counts = append(counts, n)
		} else if r.IsWatch() {
			watches++
		}
	}})
	if watches < 30 || len(counts) != 30 || slices.Min(counts) < 9 || slices.Max(counts) > 10 {
		t.Errorf("%d watches; the writes are estimated by %v of them, want 10 each", watches, counts)
	}
}

// The watches of a server with a store, which their handlers end, leave within the grace period of a stop: as many a second
// as it takes, and at least 200. Their clients open others at the other server.
func TestGracePeriodOfStoredWatches(t *testing.T) {
	run := New(load(t, `
  duration: 60s
  store: {}
  servers: {replicas: 2, shutdown: {watchTerminationGracePeriod: 10s}, loadBalancer: {policy: RoundRobin}}
  events: [{at: 20s, stop: {server: 0}}]
  workload:
  - {name: watch, clients: 100, as: {user: "u{i}", groups: ["system:masters"]}, behaviour: {informer: {resource: services, start: WatchList}}}
`))
	ended, lost := 0, 0
	execute(t, run, server.Observer{
		Answered: func(nowNs int64, r *server.Request) {
			if r.IsWatch() && r.Server == 0 {
				if ended++; nowNs < 20e9 || nowNs > 20.5e9 || r.Status != server.StatusOK {
					t.Errorf("a watch ends at %d ns with %d", nowNs, r.Status)
				}
			}
		},
		GivenUp: func(int64, *server.Request) { lost++ },
	})
	if stage := run.Servers()[0].Stage(); ended != 50 || lost > 0 || stage != server.Off {
		t.Errorf("%d watches have ended, %d requests were lost, and the server is %v; want 50, 0 and off", ended, lost, stage)
	}
}
