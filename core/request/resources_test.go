package request

import (
	"slices"
	"testing"
)

func TestParseResource(t *testing.T) {
	for text, want := range map[string]ResourceArgument{
		"pods":                       {Name: "pods"},
		"pods.v1":                    {Name: "pods", Version: "v1"},
		"pods.v1.":                   {Name: "pods", Version: "v1"},
		"deployments.apps":           {Name: "deployments", Group: "apps"},
		"deployments.v1.apps":        {Name: "deployments", Version: "v1", Group: "apps"},
		"x.v1alpha12.a.example.com":  {Name: "x", Version: "v1alpha12", Group: "a.example.com"},
		"x.v1beta.example.com":       {Name: "x", Group: "v1beta.example.com"},
		"x.v1alphabeta1.example.com": {Name: "x", Group: "v1alphabeta1.example.com"},
		"x.vault.example.com":        {Name: "x", Group: "vault.example.com"},
		"deployments/scale":          {Name: "deployments", Subresource: "scale"},
		"deployments.apps/scale":     {Name: "deployments", Group: "apps", Subresource: "scale"},
		"deployments/scale.apps":     {Name: "deployments", Group: "apps", Subresource: "scale"},
		"deployments.v1.apps/scale":  {Name: "deployments", Version: "v1", Group: "apps", Subresource: "scale"},
		"":                           {},
		"pods/proxy/more":            {Name: "pods", Subresource: "proxy/more"},
		"leases.coordination.k8s.io": {Name: "leases", Group: "coordination.k8s.io"},
		"deployments/scale.v1.apps":  {Name: "deployments", Version: "v1", Group: "apps", Subresource: "scale"},
	} {
		if got := ParseResource(text); got != want {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}

func TestFindResource(t *testing.T) {
	for _, c := range [][3]string{
		{"pods", "", "/pods"}, {"pod", "", "/pods"}, {"Pod", "", "/pods"}, {"PODS", "", "/pods"}, {"po", "", "/pods"},
		{"deploy", "", "apps/deployments"}, {"Deployment", "apps", "apps/deployments"}, {"deployments", "app", "apps/deployments"},
		{"deployments", "extensions", ""}, {"cm", "", "/configmaps"}, {"svc", "", "/services"}, {"no", "", "/nodes"}, {"ns", "", "/namespaces"},
		{"sa", "", "/serviceaccounts"}, {"ev", "", "/events"}, {"events", "events.k8s.io", "events.k8s.io/events"}, {"ing", "networking", "networking.k8s.io/ingresses"},
		{"endpoints", "", "/endpoints"}, {"ingress", "", "networking.k8s.io/ingresses"}, {"crds", "", "apiextensions.k8s.io/customresourcedefinitions"},
		{"depoyments", "", ""}, {"", "", ""},
	} {
		got := ""
		if r := FindResource(c[0], c[1]); r != nil {
			got = r.Group + "/" + r.Name
			if Builtin(r.Group, r.Name) != r {
				t.Errorf("Builtin does not find %s", got)
			}
		}
		if got != c[2] {
			t.Errorf("FindResource(%q, %q) is %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if !Builtin("", "nodes").Cluster || Builtin("", "pods").Cluster || !BuiltinGroup("apps") || BuiltinGroup("app") {
		t.Error("want nodes cluster-scoped and pods not, and a group apps but no group app")
	}
}

// A resource is joined of its parts and split again; some names are those of resources in two groups.
func TestGroupsOfResources(t *testing.T) {
	for text, parts := range map[string][2]string{"pods": {"", "pods"}, "deployments.apps": {"apps", "deployments"}, "leases.coordination.k8s.io": {"coordination.k8s.io", "leases"}} {
		group, name := SplitResource(text)
		if group != parts[0] || name != parts[1] || JoinResource(group, name) != text {
			t.Errorf("%s is split into %q and %q and joined to %s", text, group, name, JoinResource(group, name))
		}
	}
	for name, want := range map[string][]string{"events": {"", "events.k8s.io"}, "pods": {""}, "deployments": {"apps"}, "widgets": nil} {
		if got := GroupsWith(name); !slices.Equal(got, want) {
			t.Errorf("%s is in the groups %q, want %q", name, got, want)
		}
	}
}
