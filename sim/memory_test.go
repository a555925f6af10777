package sim

import (
	"context"
	"fmt"
	"math"
	"testing"

	"apfsim/sim/server"
)

// The objects of a list are 100 MB. It takes 500 MB while it executes before 1.33, and 110 MB from then on.
// A third list at a time is more than the 1 200 MB of the server, so that it ends with the others; with the
// newer release, there is room for nine and not for ten. A page of a tenth of the objects takes a tenth.
func TestListsNeedMemory(t *testing.T) {
	for _, c := range []struct {
		version, query string
		lists          int
		crashes        bool
		peakMB         int64
	}{
		{"1.32", "", 2, false, 1100},
		{"1.32", "", 3, true, 1600},
		{"1.37", "", 9, false, 1090},
		{"1.37", "", 10, false, 1200},
		{"1.37", "", 11, true, 1310},
		{"1.32", "limit=100", 22, false, 1200},
		{"1.32", "limit=100", 23, true, 1250},
		{"1.32", "limit=100&resourceVersion=0", 3, true, 1600},
	} {
		t.Run(fmt.Sprint(c.version, " ", c.query, " ", c.lists), func(t *testing.T) {
			run := New(load(t, fmt.Sprintf(`
  duration: 10s
  servers: {kubernetesVersion: "%s", flowControl: None, memory: {limit: 1200MB, base: 100MB}}
  resources: [{resource: pods, objects: 1000, averageBytes: 100000}]
  workload:
  - {name: lists, clients: %d, as: {user: u}, request: {verb: list, resource: pods, query: "%s"}, execution: 1s, retry: {maxRetries: 0}, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: gets, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 0s, requests: 1}}}
`, c.version, c.lists, c.query)))
			executed, lost := 0, 0
			run.Observe(server.Observer{
				Executed: func(nowNs int64, r *server.Request) { executed++ },
				GivenUp:  func(nowNs int64, r *server.Request) { lost++ },
			})
			if err := run.Execute(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			used, peak, _ := run.Server.Memory(10e9)
			if crashed := run.Server.Stage() == server.Off; crashed != c.crashes || peak != c.peakMB*1e6 {
				t.Errorf("crashed: %v, peak %d bytes; want %v, %d MB", crashed, peak, c.crashes, c.peakMB)
			}
			if c.crashes && (used != 0 || executed != 0 || lost == 0) || !c.crashes && (used != 100e6 || executed != c.lists+1 || lost != 0) {
				t.Errorf("%d bytes used at the end, %d executed, %d lost", used, executed, lost)
			}
		})
	}
}

// With a store, a list takes what is stored then: 1 000 objects of 100 kB at the start, of which ten are deleted before the
// list, takes 1.1 times 99 MB.
func TestListsOfAStoreNeedMemory(t *testing.T) {
	run := execute(t, New(load(t, `
  duration: 10s
  store: {}
  servers: {kubernetesVersion: "1.37", flowControl: None, memory: {base: 100MB}}
  resources: [{resource: pods, objects: 1000, averageBytes: 100000}]
  workload:
  - {name: deletes, clients: 10, as: {user: u}, request: {verb: delete, resource: pods, namespace: n, name: "x-{i}"}, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: list, as: {user: u}, request: {verb: list, resource: pods}, arrivals: {burst: {at: 5s, requests: 1}}}
`)), server.Observer{})
	if used, peak, _ := run.Server.Memory(10e9); used != 100e6 || peak != 208_900_000 {
		t.Errorf("%d bytes are used at the end, %d at most; want 100 MB and 208.9 MB", used, peak)
	}
}

// An open watch takes 75 kB from its dispatch to its end.
func TestWatchesNeedMemory(t *testing.T) {
	run := New(load(t, `
  duration: 10s
  servers: {memory: {base: 1MB}}
  workload:
  - {name: watches, clients: 4, as: {user: u}, request: {verb: watch, resource: pods, watch: {duration: 5s}}, execution: 1s, arrivals: {burst: {at: 0s, requests: 2, over: 4s}}}
`))
	var used []int64
	run.Observe(server.Observer{Tick: func(nowNs int64, servers []*server.Server) (nextNs int64) {
		bytes, _, _ := servers[0].Memory(nowNs)
		used = append(used, bytes)
		return nowNs + 3.5e9
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(used), "[1000000 1600000 1300000 1000000]"; got != want {
		t.Errorf("%s bytes are used at 0, 3.5, 7 and 10 s; want %s", got, want)
	}
	if _, peak, _ := run.Server.Memory(10e9); peak != 1_600_000 {
		t.Errorf("at most %d bytes were used, want 1600000", peak)
	}
}

// The most memory is that within the window of the statistics: a list that has ended before does not count, one that still
// executes when it begins does, and so does one that is the only one for a moment between two readings.
func TestMostMemoryIsThatOfTheWindow(t *testing.T) {
	for _, c := range []struct {
		warmup string
		peakMB int64
	}{
		{"0s", 1 + 4*110}, {"2500ms", 1 + 2*110}, {"4s", 1 + 2*110}, {"4500ms", 1 + 110}, {"6s", 1 + 110}, {"6500ms", 1},
	} {
		run := execute(t, New(load(t, fmt.Sprintf(`
  duration: 10s
  warmup: %s
  servers: {kubernetesVersion: "1.37", flowControl: None, memory: {base: 1MB}}
  resources: [{resource: pods, objects: 1000, averageBytes: 100000}]
  workload:
  - {name: early, clients: 4, as: {user: u}, request: {verb: list, resource: pods}, execution: 1s, arrivals: {burst: {at: 1s, requests: 1}}}
  - {name: across, clients: 2, as: {user: u}, request: {verb: list, resource: pods}, execution: 2s, arrivals: {burst: {at: 2001ms, requests: 1}}}
  - {name: short, as: {user: u}, request: {verb: list, resource: pods}, execution: 1ms, arrivals: {burst: {at: 6100ms, requests: 1}}}
`, c.warmup))), server.Observer{})
		if _, peak, ok := run.Server.Memory(10e9); peak != c.peakMB*1e6 || !ok {
			t.Errorf("warm-up %s: at most %d bytes, want %d MB", c.warmup, peak, c.peakMB)
		}
	}
}

// The processor time is what requests and events demand within the window, as far as it has been served: of 1 s per
// request here, on two cores. What is not given a capacity and has no store has none.
func TestProcessorTime(t *testing.T) {
	for _, c := range []struct {
		story, servers, warmup, workload string
		want                             float64 // seconds
		none                             bool
	}{
		{"four requests on two cores", "capacity: {cores: 2}", "0s", "clients: 4", 4, false},
		{"their second half", "capacity: {cores: 2}", "1s", "clients: 4", 2, false},
		{"after them", "capacity: {cores: 2}", "5s", "clients: 4", 0, false},
		{"not served by the end", "capacity: {cores: 2}", "0s", "clients: 40", 20, false},
		{"a slow server serves half as much per second", "capacity: {cores: 2, speed: [{at: 0s, factor: 0.5}]}", "0s", "clients: 40", 10, false},
		{"what they hinder each other is no work", "capacity: {cores: 2, contention: 0.5}", "0s", "clients: 2", 2, false},
		{"without a capacity", "memory: {}", "0s", "clients: 4", 0, true},
	} {
		run := execute(t, New(load(t, fmt.Sprintf(`
  duration: 10s
  warmup: %s
  servers: {%s, flowControl: None}
  workload:
  - {name: w, %s, as: {user: u}, request: {verb: get, resource: pods, name: x}, execution: 1s, arrivals: {burst: {at: 0s, requests: 1}}}
`, c.warmup, c.servers, c.workload))), server.Observer{})
		ns, ok := run.Server.ProcessorNs(10e9)
		if math.Abs(ns/1e9-c.want) > 1e-6 || ok == c.none {
			t.Errorf("%s: %v s, %v; want %v", c.story, ns/1e9, ok, c.want)
		}
	}
}

// With a store, the processor time is that of the costs, with a capacity and without, and that of a request whose server
// ends is what has been served of it.
func TestProcessorTimeOfAStore(t *testing.T) {
	for _, c := range []struct {
		story, servers, warmup, events, workload string
		want                                     float64 // seconds
	}{
		{"one at a time", "", "0s", "", "clients: 1", 2},
		{"three at a time", "", "0s", "", "clients: 3", 6},
		{"their second half", "", "1s", "", "clients: 3", 3},
		{"on two cores", "capacity: {cores: 2}, ", "0s", "", "clients: 3", 6},
		{"crashed in the middle", "startup: {restartAfter: 1m}, ", "0s", "events: [{at: 1s, crash: {server: 0}}]", "clients: 3", 3},
		{"crashed in the middle on two cores", "startup: {restartAfter: 1m}, capacity: {cores: 2}, ", "0s", "events: [{at: 1s, crash: {server: 0}}]", "clients: 3", 2},
	} {
		run := execute(t, New(load(t, fmt.Sprintf(`
  duration: 10s
  warmup: %s
  servers: {%sflowControl: None}
  store: {costs: {request: 2s}}
  %s
  workload:
  - {name: w, %s, as: {user: u}, request: {verb: get, resource: pods, namespace: n, name: x, query: "resourceVersion=0"}, retry: {maxRetries: 0}, arrivals: {burst: {at: 0s, requests: 1}}}
`, c.warmup, c.servers, c.events, c.workload))), server.Observer{})
		ns, ok := run.Server.ProcessorNs(10e9)
		if math.Abs(ns/1e9-c.want) > 1e-3 || !ok {
			t.Errorf("%s: %v s, %v; want %v", c.story, ns/1e9, ok, c.want)
		}
	}
}

// Each event to each watch takes its cost.
func TestProcessorTimeOfEvents(t *testing.T) {
	for _, capacity := range []string{"", "capacity: {cores: 4}, "} {
		seconds := func(watches int) float64 {
			run := execute(t, New(load(t, fmt.Sprintf(`
  duration: 30s
  warmup: 10s
  servers: {%sflowControl: None}
  store: {costs: {watchEvent: 1ms}}
  workload:
  - {name: watches, clients: %d, as: {user: u}, request: {verb: watch, resource: configmaps, query: "resourceVersion=1", watch: {duration: 1h}}, arrivals: {burst: {at: 0s, requests: 1}}}
  - {name: w, as: {user: u}, behaviour: {writer: {resource: configmaps, namespace: n, objects: 1, with: Patch, every: 1s}}}
`, capacity, watches))), server.Observer{})
			ns, _ := run.Server.ProcessorNs(30e9)
			return ns / 1e9
		}
		if got := seconds(200) - seconds(100); math.Abs(got-20*100*0.001) > 0.1*20*100*0.001 {
			t.Errorf("%s: 100 watches more took %v s, want 2", capacity, got)
		}
	}
}
