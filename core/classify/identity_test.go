package classify

import (
	"strings"
	"testing"
)

// The groups that follow from the name of a user, with and without impersonation.
func TestGroups(t *testing.T) {
	const account = "system:serviceaccount:ops:x"
	for _, c := range []struct{ user, given, authenticated, impersonated string }{
		{"jane", "", "system:authenticated", "system:authenticated"},
		{"jane", "a", "a system:authenticated", "a system:authenticated"},
		{"jane", "system:authenticated a", "system:authenticated a", "system:authenticated a"},
		{"jane", "system:unauthenticated", "system:unauthenticated system:authenticated", "system:unauthenticated"},
		{account, "", "system:serviceaccounts system:serviceaccounts:ops system:authenticated", "system:serviceaccounts system:serviceaccounts:ops system:authenticated"},
		{account, "a", "a system:serviceaccounts system:serviceaccounts:ops system:authenticated", "a system:authenticated"},
		{"system:serviceaccount:ops", "", "system:authenticated", "system:authenticated"},
		{"system:serviceaccount:ops:x:y", "", "system:authenticated", "system:authenticated"},
		{"system:node:n", "", "system:nodes system:authenticated", "system:authenticated"},
		{"system:node:", "", "system:authenticated", "system:authenticated"},
		{"system:kube-scheduler", "", "system:authenticated", "system:authenticated"},
		{"system:anonymous", "", "system:unauthenticated", "system:unauthenticated"},
		{"system:anonymous", "a", "a system:unauthenticated", "a system:unauthenticated"},
	} {
		given := strings.Fields(c.given)
		if got := strings.Join(GroupsOf(c.user, given), " "); got != c.authenticated {
			t.Errorf("%s with %q: groups %s, want %s", c.user, c.given, got, c.authenticated)
		}
		if got := strings.Join(ImpersonatedGroups(c.user, given), " "); got != c.impersonated {
			t.Errorf("%s impersonated with %q: groups %s, want %s", c.user, c.given, got, c.impersonated)
		}
	}
}

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
