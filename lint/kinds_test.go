package lint

import (
	"testing"

	"apfsim/core/config"
)

// The resources of a rule have a scope if all are known and have the same one; that of namespaces is not known, because a
// request for one object of them has a namespace.
func TestScopeOfARule(t *testing.T) {
	for _, c := range []struct {
		groups, resources []string
		want              kindScope
	}{
		{[]string{""}, []string{"pods"}, namespacedScope},
		{[]string{""}, []string{"pods/status", "secrets"}, namespacedScope},
		{[]string{""}, []string{"nodes"}, clusterScope},
		{[]string{""}, []string{"nodes", "persistentvolumes"}, clusterScope},
		{[]string{""}, []string{"pods", "nodes"}, unknownScope},
		{[]string{""}, []string{"nodes", "pods"}, unknownScope},
		{[]string{""}, []string{"namespaces"}, unknownScope},
		{[]string{""}, []string{"nodes", "namespaces"}, unknownScope},
		{[]string{""}, []string{"gadgets"}, unknownScope},
		{[]string{""}, []string{"pods", "gadgets"}, unknownScope},
		{[]string{"apps"}, []string{"deployments"}, namespacedScope},
		{[]string{"example.com"}, []string{"widgets"}, unknownScope},
	} {
		if got := scope(&config.ResourceRule{APIGroups: c.groups, Resources: c.resources}); got != c.want {
			t.Errorf("%q in %q: %d, want %d", c.resources, c.groups, got, c.want)
		}
	}
}
