package sim

import (
	"context"
	"fmt"
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
			used, peak := run.Server.Memory()
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
	if used, peak := run.Server.Memory(); used != 100e6 || peak != 208_900_000 {
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
		bytes, _ := servers[0].Memory()
		used = append(used, bytes)
		return nowNs + 3.5e9
	}})
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(used), "[1000000 1600000 1300000 1000000]"; got != want {
		t.Errorf("%s bytes are used at 0, 3.5, 7 and 10 s; want %s", got, want)
	}
	if _, peak := run.Server.Memory(); peak != 1_600_000 {
		t.Errorf("at most %d bytes were used, want 1600000", peak)
	}
}
