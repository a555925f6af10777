package sim

import (
	"fmt"
	"math"
	"testing"

	"apfsim/sim/server"
)

// 100 MB from etcd cost 1 s of a core, of which other goroutines work for 40 % at the same time. With two cores, the list takes 0.6 s. With
// one, both have half of it: at 0.8 s the 0.4 s of the others are over, when 0.2 s of the list are left, which ends at 1 s. Without
// any bound on the cores, it takes 0.6 s. The processor time is 1 s in all cases.
func TestGarbageCollectionOnOtherCores(t *testing.T) {
	for _, c := range []struct {
		capacity string
		want     float64
	}{{"capacity: {cores: 2}", 0.6}, {"capacity: {cores: 1}", 1}, {"capacity: {}", 0.6}, {"", 0.6}} {
		tookNs := int64(-1)
		run := execute(t, New(load(t, fmt.Sprintf(`
  duration: 5s
  servers: {kubernetesVersion: "1.30", %s}
  store: {watchCache: false, read: 1ns, costs: {request: 1ns, matchedObject: 0s, etcdObject: 0s, etcdKilobyte: 10us, rangedObject: 0s, etcdBackground: 0.4}}
  resources: [{resource: configmaps, objects: 100, averageBytes: 1000000}]
  workload:
  - {name: list, as: {user: u}, request: {verb: list, resource: configmaps, query: "labelSelector=a=b"}, arrivals: {burst: {at: 1s, requests: 1}}}
`, c.capacity))), server.Observer{Executed: func(nowNs int64, r *server.Request) { tookNs = nowNs - r.DispatchNs }})
		if got := float64(tookNs) / 1e9; math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%q: the list takes %.7f s; want %.1f s", c.capacity, got, c.want)
		}
		if ns, ok := run.Server.ProcessorNs(5e9); !ok || math.Abs(ns/1e9-1) > 1e-6 {
			t.Errorf("%q: the processor works for %.7f s; want 1 s", c.capacity, ns/1e9)
		}
	}
}

// What other goroutines do ends with their process: a server that crashes after 0.5 s, when the list has got 0.5 s of its 0.6 s on two cores
// and all of the 0.4 s behind it are done, has worked for 0.9 s; and one that crashes after 0.2 s for 0.4 s. The process that follows is idle.
func TestBackgroundEndsWithTheProcess(t *testing.T) {
	for at, want := range map[string]float64{"1500ms": 0.9, "1200ms": 0.4} {
		run := execute(t, New(load(t, fmt.Sprintf(`
  duration: 5s
  servers: {kubernetesVersion: "1.30", capacity: {cores: 2}, startup: {restartAfter: 1s}}
  store: {watchCache: false, read: 1ns, costs: {request: 1ns, matchedObject: 0s, etcdObject: 0s, etcdKilobyte: 10us, rangedObject: 0s, etcdBackground: 0.4}}
  resources: [{resource: configmaps, objects: 100, averageBytes: 1000000}]
  events: [{at: %s, crash: {server: 0}}]
  workload:
  - {name: list, as: {user: u}, request: {verb: list, resource: configmaps, query: "labelSelector=a=b"}, retry: {maxRetries: 0}, arrivals: {burst: {at: 1s, requests: 1}}}
`, at))), server.Observer{})
		ns, _ := run.Server.ProcessorNs(5e9)
		if math.Abs(ns/1e9-want) > 1e-6 || run.Server.Gauges(5e9).InService != 0 {
			t.Errorf("a crash at %s: the processor has worked for %.7f s, and %d are in service; want %.1f s, none", at, ns/1e9, run.Server.Gauges(5e9).InService, want)
		}
	}
}
