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
