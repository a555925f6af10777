package loader

import (
	"strings"
	"testing"
	"testing/fstest"
)

// Each of these is one mistake in what is between clients and servers.
func TestMistakesOfConnections(t *testing.T) {
	for _, c := range []struct{ servers, workload, want string }{
		{"replicas: 0", "", "spec.servers.replicas: 0: want 1 to 100"},
		{"replicas: 101", "", "spec.servers.replicas: 101: want 1 to 100"},
		{"loadBalancer: {policy: Randm}", "", `spec.servers.loadBalancer.policy: "Randm": want Random, RoundRobin, LeastConnections (did you mean "Random"?)`},
		{"loadBalancer: {probe: {path: /ready}}", "", `spec.servers.loadBalancer.probe.path: "/ready": want /readyz, /healthz, /livez (did you mean "/readyz"?)`},
		{"loadBalancer: {probe: {interval: 0s}}", "", "spec.servers.loadBalancer.probe.interval: want more than 0s"},
		{"loadBalancer: {probe: {failures: 0}}", "", "spec.servers.loadBalancer.probe.failures: 0: want 1 to 32767"},
		{"loadBalancer: {probe: {successes: 40000}}", "", "spec.servers.loadBalancer.probe.successes: 40000: want 1 to 32767"},
		{"goawayChance: 0.5", "", "spec.servers.goawayChance: 0.5: want 0 to 0.02, as kube-apiserver accepts"},
		{"", "connection: HTTP1", `spec.workload[0].connection: "HTTP1": want HTTP2, PerRequest (did you mean "HTTP2"?)`},
		{"", "through: service", `spec.workload[0].through: "service": want LoadBalancer, Service (did you mean "Service"?)`},
	} {
		text := "apiVersion: apfsim/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  duration: 1m\n  servers: {" + c.servers + "}\n" +
			"  workload:\n  - name: w\n    as: {user: u}\n    request: {verb: get, path: /version}\n    execution: 1ms\n    arrivals: {closed: {}}\n    " + c.workload + "\n"
		_, mistakes := Load(fstest.MapFS{"s.yaml": {Data: []byte(text)}}, "s.yaml", Options{})
		if err := mistakes.Err(); err == nil || !strings.HasSuffix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s%s: got %v, want %s", c.servers, c.workload, err, c.want)
		}
	}
}
