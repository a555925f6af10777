package load

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/classify"
	"apfsim/live/cluster"
	"apfsim/sim/scenario/loader"
)

// A recorded request keeps its path and its version. Others have the version that the server prefers.
func TestPaths(t *testing.T) {
	calls := Calls{Resources: map[cluster.GroupResource]cluster.Resource{
		{Group: "apps", Resource: "deployments"}: {Group: "apps", Version: "v2", APIVersion: "apps/v2", Kind: "Deployment"},
	}}
	attributes := func(path string) classify.Attributes {
		return classify.Attributes{User: "u", Verb: "list", APIGroup: "apps", Resource: "deployments", Namespace: "a", Path: path}
	}
	for _, c := range []struct{ path, want string }{
		{"/apis/apps/v1/namespaces/a/deployments", "/apis/apps/v2/namespaces/a/deployments"},
		{"/apis/apps/v1beta1/namespaces/a/deployments", "/apis/apps/v1beta1/namespaces/a/deployments"},
	} {
		a := attributes(c.path)
		call, err := calls.Of(&a, "limit=5")
		if err != nil || call.URL() != c.want+"?limit=5" {
			t.Errorf("%s: got %+v (%v), want %s", c.path, call, err, c.want)
		}
	}
	unknown := classify.Attributes{User: "u", Verb: "list", Resource: "pods", Path: "/api/v1/pods"}
	if _, err := calls.Of(&unknown, ""); err == nil {
		t.Error("a resource that the server does not have is no error")
	}
}

// The server sees the groups of the scenario, with what it adds to those that are asked for.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		user  string
		given []string
		want  []string
	}{
		{"u", nil, nil},
		{"u", []string{"g"}, []string{"g"}},
		{"system:serviceaccount:a:b", nil, nil},
		{"system:serviceaccount:a:b", []string{"g"}, []string{"g", "system:serviceaccounts", "system:serviceaccounts:a"}},
		{"system:node:n", nil, []string{"system:nodes"}},
		{"system:anonymous", nil, nil},
	} {
		groups := classify.GroupsOf(c.user, c.given)
		asked := impersonated(c.user, groups)
		if d := cmp.Diff(c.want, asked); d != "" {
			t.Errorf("%s: want (-), got (+):\n%s", c.user, d)
		}
		if seen := classify.ImpersonatedGroups(c.user, asked); !sameGroups(seen, groups) {
			t.Errorf("%s: the server sees %v, want %v", c.user, seen, groups)
		}
	}
}

// All requests of a scenario and its traces that cannot be sent are errors at their places, up to 20 of them.
func TestPlanNamesThePlaces(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var lines strings.Builder
	for i := range 30 {
		name := "p"
		if i >= 5 {
			name = fmt.Sprintf("p%d#", i)
		}
		fmt.Fprintf(&lines, `{"id": %d, "arrivalNs": %d, "user": "u", "verb": "delete", "resource": "pods", "namespace": "a", "name": "%s", "path": "/api/v1/namespaces/a/pods/q%d", "executionNs": 1}`+"\n",
			i+1, i, name, i)
	}
	write("trace.jsonl", lines.String())
	file := write("story.yaml", `apiVersion: apfsim/v1alpha1
kind: Scenario
metadata: {name: story}
spec:
  duration: 1s
  warmup: 0s
  workload:
  - name: one
    as: {user: u}
    request: {verb: get, path: /debug/pprof}
    execution: 1ms
    arrivals: {constant: {rate: 1/s}}
  - name: several
    as: {user: u}
    requests:
    - {verb: get, path: /healthz}
    - {verb: create, resource: pods, namespace: a, query: "x#"}
    execution: 1ms
    arrivals: {constant: {rate: 1/s}}
  - name: recorded
    arrivals: {trace: {file: trace.jsonl}}
`)
	loaded, wrong := loader.Load(nil, file, loader.Options{})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	_, err := NewPlan(t.Context(), loaded[0], 1000, false)
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	got := strings.Split(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""), "\n")
	for i, want := range []string{
		"story.yaml:10:14: spec.workload[0].request: get /debug/pprof: reads the inside of the server, which is not sent",
		"story.yaml:17:7: spec.workload[1].requests[1]: create pods: '#' cannot be in an address; write it in URL encoding, such as %23 for #",
		`trace.jsonl:1: delete pods: the server reads the path /api/v1/namespaces/a/pods/q0 as delete pods, with the name "q0" and not "p"`,
	} {
		if got[i] != want {
			t.Errorf("got  %s\nwant %s", got[i], want)
		}
	}
	if last := got[len(got)-1]; len(got) != 21 || last != "and 12 more" {
		t.Errorf("%d lines, the last one %q; want 20, and 12 more", len(got), last)
	}
}
