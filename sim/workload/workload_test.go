package workload

import (
	"math"
	"strings"
	"testing"
	"time"

	"apfsim/document/yaml"
	"apfsim/sim/quantity"

	"pgregory.net/rapid"
)

func TestIdentitiesBringTheirGroups(t *testing.T) {
	for _, c := range []struct {
		as, user, groups string
	}{
		{"{user: alice}", "alice", "system:authenticated"},
		{`{user: "u-{i}", groups: ["g-{i}", dev]}`, "u-7", "g-7 dev system:authenticated"},
		{"{user: root, groups: [system:authenticated, system:masters]}", "root", "system:authenticated system:masters"},
		{`{serviceAccount: "tenant-{i}/default"}`, "system:serviceaccount:tenant-7:default",
			"system:serviceaccounts system:serviceaccounts:tenant-7 system:authenticated"},
		{`{node: "node-{i}"}`, "system:node:node-7", "system:nodes system:authenticated"},
		{"{anonymous: true}", "system:anonymous", "system:unauthenticated"},
	} {
		var id Identity
		if mistakes := yaml.Decode("x", []byte(c.as), &id); len(mistakes) > 0 {
			t.Errorf("%s: %v", c.as, mistakes)
		}
		if node := id.NodeOf(7); node != strings.TrimPrefix(c.user, "system:node:") && strings.HasPrefix(c.user, "system:node:") {
			t.Errorf("%s acts as the node %q", c.as, node)
		}
		if user, groups := id.For(7); user != c.user || strings.Join(groups, " ") != c.groups {
			t.Errorf("%s is %s in %v, want %s in %s", c.as, user, groups, c.user, c.groups)
		}
	}
}

func TestRequestsHaveKubernetesPaths(t *testing.T) {
	for _, c := range []struct{ request, want string }{
		{"{verb: list, resource: pods}", "/api/v1/pods"},
		{`{verb: get, resource: pods, namespace: "ns-{i}", name: "p-{i}", subresource: status}`, "/api/v1/namespaces/ns-7/pods/p-7/status"},
		{"{verb: update, group: coordination.k8s.io, resource: leases, namespace: a, name: b}",
			"/apis/coordination.k8s.io/v1/namespaces/a/leases/b"},
		{"{verb: get, resource: nodes, name: n}", "/api/v1/nodes/n"},
		{"{verb: get, resource: namespaces, namespace: a, name: a}", "/api/v1/namespaces/a"},
		{`{verb: get, path: "/healthz/{i}"}`, "/healthz/7"},
	} {
		var r Request
		if mistakes := yaml.Decode("x", []byte(c.request), &r); len(mistakes) > 0 {
			t.Errorf("%s: %v", c.request, mistakes)
		}
		a, _ := r.Attributes(&Identity{User: "alice"}, 7)
		if a.Path != c.want || a.User != "alice" {
			t.Errorf("%s: path %s of %s, want %s", c.request, a.Path, a.User, c.want)
		}
	}
}

func TestRetries(t *testing.T) {
	for text, want := range map[string]Retry{
		"None":            {},
		"ClientGo":        {MaxRetries: 10},
		"{}":              {MaxRetries: 10},
		"{maxRetries: 3}": {MaxRetries: 3},
		"{backoff: {initial: 1s, max: 30s, jitter: 0.1}}": {MaxRetries: 10,
			Backoff: &Backoff{Initial: quantity.Duration(time.Second), Factor: 2, Max: quantity.Duration(30 * time.Second), Jitter: 0.1}},
	} {
		var got Retry
		mistakes := yaml.Decode("x", []byte(text), &got)
		if len(mistakes) > 0 || got.MaxRetries != want.MaxRetries || (got.Backoff == nil) != (want.Backoff == nil) ||
			got.Backoff != nil && *got.Backoff != *want.Backoff {
			t.Errorf("%s is %+v %v, want %+v", text, got, mistakes, want)
		}
	}
	var got Retry
	want := `"clientgo": want None, ClientGo or an object with maxRetries and backoff (did you mean "ClientGo"?)`
	if mistakes := yaml.Decode("x", []byte("clientgo"), &got); len(mistakes) == 0 || mistakes[0].Message != want {
		t.Errorf("%v, want %s", mistakes, want)
	}
}

// The integral over ramps is what adding the rate up in small steps comes to.
func TestRampsAreIntegrated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := func(name string) quantity.Rate { return quantity.Rate(rapid.Float64Range(0, 100).Draw(t, name)) }
		r := RampingArrivals{StartRate: rate("start")}
		for range rapid.IntRange(1, 4).Draw(t, "stages") {
			r.Stages = append(r.Stages, Stage{quantity.Duration(rapid.IntRange(0, 20).Draw(t, "length")) * 1e9, rate("rate")})
		}
		seconds := rapid.IntRange(1, 60).Draw(t, "seconds")
		sum, stage, begin, before := 0.0, 0, 0.0, float64(r.StartRate)
		const step = 1.0 / 16
		for at := step / 2; at < float64(seconds); at += step {
			for stage < len(r.Stages) && at >= begin+float64(r.Stages[stage].Duration)/1e9 {
				begin += float64(r.Stages[stage].Duration) / 1e9
				before = float64(r.Stages[stage].Rate)
				stage++
			}
			now := before
			if stage < len(r.Stages) {
				now += (float64(r.Stages[stage].Rate) - before) * (at - begin) / (float64(r.Stages[stage].Duration) / 1e9)
			}
			sum += now * step
		}
		if got := r.expected(float64(seconds)); math.Abs(got-sum) > 1e-6*(1+sum) {
			t.Fatalf("%+v: %v within %d s, want %v", r, got, seconds, sum)
		}
	})
}

// The resources of workloads are those of their requests and of what their clients do. A trace may ask for others.
func TestResourcesOfWorkloads(t *testing.T) {
	ofDeployments := Selection{Group: "apps", Resource: "deployments"}
	for want, w := range map[string]Workload{
		"pods deployments.apps":      {Requests: []WeightedRequest{{Request: Request{Resource: "pods"}}, {Request: Request{Path: "/healthz"}}, {Request: Request{Group: "apps", Resource: "deployments"}}}},
		"deployments.apps":           {Behaviour: &Behaviour{Lister: &Lister{Selection: ofDeployments}}},
		"daemonsets.apps":            {Behaviour: &Behaviour{Writer: &Writer{Group: "apps", Resource: "daemonsets"}}},
		"configmaps":                 {Behaviour: &Behaviour{Kubectl: &Kubectl{Resource: "configmaps"}}},
		"services":                   {Behaviour: &Behaviour{Informer: &Informer{Selection: Selection{Resource: "services"}}}},
		"jobs.batch pods endpoints":  {Behaviour: &Behaviour{Controller: &Controller{Watches: "jobs.batch", Reconcile: []Step{{Resource: "pods"}, {Resource: "endpoints"}}}}},
		"leases.coordination.k8s.io": {Behaviour: &Behaviour{LeaderElection: &LeaderElection{}}},
		"events":                     {Behaviour: &Behaviour{EventRecorder: &EventRecorder{}}},
		"nodes leases.coordination.k8s.io pods services secrets configmaps": {Behaviour: &Behaviour{Kubelet: &Kubelet{}}},
	} {
		names, all := Resources([]Workload{w})
		if got := strings.Join(names, " "); got != want || !all {
			t.Errorf("%s, all of them: %v; want %s", got, all, want)
		}
		if again, all := Resources([]Workload{w, {Arrivals: Arrivals{Trace: &TraceArrivals{}}}}); len(again) != len(names) || all {
			t.Errorf("%v beside a trace, all of them: %v", again, all)
		}
	}
}
