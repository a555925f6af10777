package loader

import (
	"strings"
	"testing"
)

// What no machine can keep in memory, and what no clock can count, is an error where the scenario asks for it.
func TestBounds(t *testing.T) {
	const head = "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  duration: 1m\n"
	w := func(fields string) string {
		return "  workload: [{name: w, " + fields + "}]\n"
	}
	const request, poisson = "as: {user: u}, request: {verb: list, resource: pods}, execution: 1ms, ", "arrivals: {poisson: {rate: 1/s}}"
	queues := func(n, replicas string) string {
		return "  servers: {replicas: " + replicas + "}\n  config: {objects: [{apiVersion: flowcontrol.apiserver.k8s.io/v1, kind: PriorityLevelConfiguration, metadata: {name: l}, spec: " +
			"{type: Limited, limited: {nominalConcurrencyShares: 7, limitResponse: {type: Queue, queuing: {queues: " + n + ", handSize: 1, queueLengthLimit: 1}}}}}]}\n"
	}
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]struct{ text, want string }{
		"queues": {queues("10000000", "100") + w(request+poisson),
			"spec.config: the run would take about 159 GiB of memory, 159 GiB of them for the queues of l; want at most 32 GiB"},
		"clients with long names": {w("clients: 10000000, as: {user: \"" + long[:1024] + "\"}, request: {verb: list, resource: pods, query: \"a=" + long + long + "\"}, execution: 1ms, " + poisson),
			"spec.workload[0].clients: the run would take about 55 GiB"},
		"requests": {w(request + "clients: 10000, arrivals: {closed: {concurrency: 10000}, think: 1s}"),
			"spec.workload[0].arrivals"},
		"secrets of kubelets": {"  store: {}\n" + w("clients: 100000, as: {node: \"n-{i}\"}, behaviour: {kubelet: {pods: 1000, secrets: 1000}}"),
			"spec.workload[0].behaviour.kubelet.secrets: the run would take about 152 GiB of memory, 122 GiB of them for the secrets; want at most 32 GiB"},
		"candidates": {"  store: {}\n" + w("clients: 10000000, as: {user: u}, behaviour: {leaderElection: {lease: \"a/b-{i}\", candidates: 1000}}"),
			"spec.workload[0].behaviour.leaderElection.candidates: the run would take about"},
		"workers": {"  store: {}\n" + w("clients: 10000000, as: {user: u}, behaviour: {controller: {watches: pods, workers: 10000}}"),
			"spec.workload[0].behaviour.controller.workers: the run would take about"},
		"calls": {w("as: {user: u}, execution: 1ms, " + poisson + ", request: {verb: get, resource: pods, calls: [" + strings.Repeat("{name: a, kind: Conversion}, ", 1001) + "]}"),
			"spec.workload[0].request.calls: 1001 calls: want at most 1000"},
		"name of a user": {w("as: {user: " + long + "}, request: {verb: get, resource: pods}, execution: 1ms, " + poisson),
			"is 2000 characters long; want at most 1024"},
		"name of an object": {w("as: {user: u}, requests: [{verb: get, resource: pods, namespace: a, name: " + long + "}], execution: 1ms, " + poisson),
			"spec.workload[0].requests[0].name: \"xxx"},
		"objects": {"  resources: [{resource: pods, objects: 9223372036854775807}]\n" + w(request+poisson),
			"spec.resources[0].objects: 9223372036854775807: want at most 1000000000"},
		"large objects": {"  resources: [{resource: pods, objects: 1, averageBytes: 10000000000}]\n" + w(request+poisson),
			"spec.resources[0].averageBytes: 10000000000: want at most 1 GiB, 1073741824"},
		"objects and their size": {"  store: {}\n  resources: [{resource: pods, objects: 1000000000, averageBytes: 1000000}]\n" + w("as: {user: u}, request: {verb: list, resource: pods}, "+poisson),
			"spec.resources[0].objects: 1000000000 of 1000000 bytes: reading them all takes about 220 days by spec.store.costs; want at most 30"},
		"costs": {"  store: {costs: {walkedObject: 2s}}\n" + w("as: {user: u}, request: {verb: list, resource: pods}, "+poisson),
			"spec.store.costs.walkedObject: 2s: want at most 1s"},
	} {
		_, wrong := Load(files("s.yaml", head+c.text), "s.yaml", Options{})
		if err := wrong.Err(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "s.yaml:") {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	for name, text := range map[string]string{
		"ten million clients":    w("clients: 10000000, " + request + poisson),
		"queues of three":        queues("10000000", "3") + w(request+poisson),
		"five thousand kubelets": "  store: {}\n" + w("clients: 5000, as: {node: \"n-{i}\"}, behaviour: {kubelet: {pods: 110, secrets: 20}}"),
		"etcd that is full":      "  store: {}\n  resources: [{resource: pods, objects: 10000, averageBytes: 1500000}]\n" + w("as: {user: u}, request: {verb: list, resource: pods}, "+poisson),
	} {
		if _, wrong := Load(files("s.yaml", head+text), "s.yaml", Options{}); len(wrong) > 0 {
			t.Errorf("%s: %v", name, wrong)
		}
	}
}
