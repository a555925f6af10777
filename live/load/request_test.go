package load

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"apfsim/core/classify"
	"apfsim/live/cluster"
)

// A recorded request keeps its path and its version. Others have the version that the server prefers.
func TestPaths(t *testing.T) {
	calls := Calls{Resources: map[cluster.GroupResource]cluster.Resource{
		{Group: "apps", Resource: "deployments"}: {Group: "apps", Version: "v2", APIVersion: "apps/v2", Kind: "Deployment"},
	}}
	of := func(path string) classify.Attributes {
		return classify.Attributes{User: "u", Verb: "list", APIGroup: "apps", Resource: "deployments", Namespace: "a", Path: path}
	}
	for _, c := range []struct{ path, want string }{
		{"/apis/apps/v1/namespaces/a/deployments", "/apis/apps/v2/namespaces/a/deployments"},
		{"/apis/apps/v1beta1/namespaces/a/deployments", "/apis/apps/v1beta1/namespaces/a/deployments"},
	} {
		a := of(c.path)
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

// A parameter is set once, and the others remain as they are.
func TestWith(t *testing.T) {
	for query, want := range map[string]string{
		"":                             "dryRun=All",
		"a=1&b=%2F":                    "a=1&b=%2F&dryRun=All",
		"dryRun=None&a=1&dryRun=x":     "a=1&dryRun=All",
		"dry%52un=None&dryRunner=x":    "dryRunner=x&dryRun=All",
		"&&a":                          "a&dryRun=All",
		"broken=%zz&%zz=1&dryRun=None": "broken=%zz&%zz=1&dryRun=All",
	} {
		if got := with(query, "dryRun", "All"); got != want {
			t.Errorf("%q: got %q, want %q", query, got, want)
		}
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
