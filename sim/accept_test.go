package sim

import (
	"context"
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
