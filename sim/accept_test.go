package sim

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"apfsim/sim/server"
)

// How the clients of a workload ask reaches the server, whether their requests are those of a workload or of a behaviour: a list
// of 1 MB takes 1 ms for each way in which it is written.
func TestHowClientsAsk(t *testing.T) {
	const spec = `
  duration: 1s
  servers: {flowControl: None}
  store: {read: 0ns, costs: {request: 1ns, walkedObject: 0s, encodedKilobyte: 4us, protobufKilobyte: 1us, compressedKilobyte: 2us}}
  resources:
  - {resource: pods, objects: 1000, averageBytes: 1000}
  - {group: cilium.io, resource: ciliumendpoints, objects: 1000, averageBytes: 1000}
  workload:
  - {name: w, as: {user: a}, `
	for asks, resources := range map[string]map[string]string{
		"request: {verb: list, GROUPresource: RESOURCE, query: resourceVersion=0}, arrivals: {burst: {requests: 1}}": {
			"": "6.000001ms", "encoding: JSON": "6.000001ms", "encoding: Protobuf": "3.000001ms", "compression: None": "4.000001ms", "encoding: Protobuf, compression: None": "1.000001ms",
		},
		"behaviour: {lister: {resource: RESOURCE, every: 100ms, resourceVersion: \"0\"}}": {
			"": "6.000001ms", "encoding: Protobuf": "3.000001ms", "compression: None": "4.000001ms",
		},
	} {
		for how, want := range resources {
			text := strings.NewReplacer("GROUP", "", "RESOURCE", "pods").Replace(spec+asks) + ", " + how + "}\n"
			if got := firstExecution(t, text); got != want {
				t.Errorf("%s, %s: took %s, want %s", asks, how, got, want)
			}
		}
	}
	custom := spec + "request: {verb: list, group: cilium.io, resource: ciliumendpoints, query: resourceVersion=0}, arrivals: {burst: {requests: 1}}, encoding: Protobuf}\n"
	if got := firstExecution(t, custom); got != "6.000001ms" {
		t.Errorf("a custom resource: took %s, want that of JSON", got)
	}
}

// An informer that starts with a watch list gets 1 MB of initial events, and later an event of 1 kB for each of 1000 writes. Both are
// compressed since 1.37, unless it accepts no gzip, and take the processor time of that: 1 ms each. In the second after the
// events, they take their time from a get.
func TestCompressedWatchesTakeCores(t *testing.T) {
	for how, want := range map[string]struct {
		tookMs       int64
		processorNs  float64
		getsFinishMs int64
	}{
		"kubernetesVersion: \"1.37\"|":                  {2, 1e9 + 4e6, 3002},
		"kubernetesVersion: \"1.37\"|compression: None": {1, 1e9 + 2e6, 3001},
		"kubernetesVersion: \"1.36\"|":                  {1, 1e9 + 2e6, 3001},
	} {
		version, compression, _ := strings.Cut(how, "|")
		run := New(load(t, `
  duration: 6s
  servers: {flowControl: None, capacity: {cores: 1}, `+version+`}
  store: {read: 0ns, write: 0ns, costs: {request: 1ns, encodedKilobyte: 1us, compressedKilobyte: 1us, initialEvent: 0s, watchEvent: 1us, eventLatency: 0s}}
  resources: [{resource: pods, objects: 1000, averageBytes: 1000}]
  workload:
  - {name: informer, as: {user: a}, behaviour: {informer: {resource: pods, start: WatchList, perEvent: 0s}}, `+compression+`}
  - {name: writes, as: {user: b}, request: {verb: update, resource: pods, namespace: n, name: x}, execution: 0s, arrivals: {burst: {at: 1.5s, requests: 1000}}}
  - {name: get, as: {user: c}, request: {verb: get, path: /x}, execution: 1s, arrivals: {burst: {at: 2s, requests: 1}}}
`))
		var tookMs, getsFinishMs int64
		run.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
			switch {
			case r.IsWatch():
				tookMs = (nowNs - r.DispatchNs) / 1e6
			case r.Attributes.Path == "/x":
				getsFinishMs = nowNs / 1e6
			}
		}})
		if err := run.Execute(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		ns, ok := run.Server.ProcessorNs(6e9)
		if tookMs != want.tookMs || !ok || math.Abs(ns-want.processorNs) > 1e3 || getsFinishMs != want.getsFinishMs {
			t.Errorf("%s: the watch took %d ms, all took %v ns of the processor, the get finished at %d ms, want %+v", how, tookMs, ns, getsFinishMs, want)
		}
	}
}

// firstExecution returns how long the first request of a scenario is executed.
func firstExecution(t *testing.T, spec string) (took string) {
	t.Helper()
	r := New(load(t, spec))
	r.Observe(server.Observer{Executed: func(nowNs int64, r *server.Request) {
		if took == "" {
			took = time.Duration(nowNs - r.DispatchNs).String()
		}
	}})
	if err := r.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return took
}
