package classify

import (
	"testing"

	"apfsim/core/request"
)

// No name of a resource of Kubernetes itself is unknown, and each singular, short name and name without its group is.
func TestUnknownResource(t *testing.T) {
	for _, name := range request.ResourceNames() {
		for _, group := range request.GroupsWith(name) {
			if problem := UnknownResource(group, name); problem != "" {
				t.Errorf("%s in %q: %s", name, group, problem)
			}
			for _, other := range append([]string{request.Builtin(group, name).Kind}, request.Builtin(group, name).ShortNames...) {
				if UnknownResource(group, other) == "" {
					t.Errorf("%s in %q: want a warning", other, group)
				}
			}
		}
	}
	for _, custom := range [][2]string{{"example.com", "widget"}, {"", ""}, {"metrics.k8s.io", "pods"}, {"apps", "gadgets"}} {
		if problem := UnknownResource(custom[0], custom[1]); problem != "" {
			t.Errorf("%v: %s", custom, problem)
		}
	}
	if UnknownResource("", "widgets") == "" {
		t.Error("widgets in the core group: want a warning")
	}
}

// What is said of a name that no resource has: where it was looked for, and what is probably meant.
func TestUnknownResourceSaysWhatIsMeant(t *testing.T) {
	for _, c := range []struct{ group, name, want string }{
		{"", "pod", `no server has a resource "pod" in the core group (did you mean "pods"?)`},
		{"", "deployments", `no server has a resource "deployments" in the core group; write group: apps beside it`},
		{"", "deployment", `no server has a resource "deployment" in the core group (did you mean "deployments" with group: apps?)`},
		{"", "configmapz", `no server has a resource "configmapz" in the core group (did you mean "configmaps"?)`},
		{"", "widgets", `no server has a resource "widgets" in the core group; for a custom resource, write its group beside it`},
		{"apps", "deployment", `no server has a resource "deployment" in the group apps (did you mean "deployments"?)`},
		{"apps", "deploymentz", `no server has a resource "deploymentz" in the group apps (did you mean "deployments"?)`},
		{"apps", "configmapz", ""}, // another release may have it, and nothing in apps is like it
	} {
		if got := UnknownResource(c.group, c.name); got != c.want {
			t.Errorf("%q in %q:\ngot  %s\nwant %s", c.name, c.group, got, c.want)
		}
	}
}
