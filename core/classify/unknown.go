package classify

import (
	"fmt"
	"slices"

	"apfsim/core/request"
	"apfsim/document"
)

// UnknownResource says why no server has a resource of this name in an API group, and which one is probably meant;
// "" if a server may have it. Names are those of requests: plural, in lower case. The core group has no resources
// besides those of Kubernetes itself. The other groups of Kubernetes may have some in another release, so that only
// names that are like one of this release are reported; any other group may have custom resources.
func UnknownResource(group, name string) string {
	if name == "" || group != "" && !request.BuiltinGroup(group) || request.Builtin(group, name) != nil {
		return ""
	}
	in := "the core group"
	if group != "" {
		in = "the group " + group
	}
	text := fmt.Sprintf("no server has a resource %q in %s", document.Abridge(name), in)
	meant := request.FindResource(name, group)
	switch {
	case meant != nil && meant.Group == group:
		return fmt.Sprintf("%s (did you mean %q?)", text, meant.Name)
	case meant != nil && group == "" && meant.Name == name:
		return fmt.Sprintf("%s; write group: %s beside it", text, meant.Group)
	case meant != nil && group == "":
		return fmt.Sprintf("%s (did you mean %q with group: %s?)", text, meant.Name, meant.Group)
	}
	names := request.ResourceNames()
	if near := document.Suggest(name, slices.DeleteFunc(names, func(n string) bool { return request.Builtin(group, n) == nil })); near != "" {
		return text + near
	}
	if group != "" {
		return ""
	}
	return text + "; for a custom resource, write its group beside it"
}
