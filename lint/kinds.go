package lint

import (
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/request"
	"apfsim/lint/space"
)

// closedGroups are the API groups of Kubernetes that have, in the releases from 1.18 to 1.37, only
// resources which scopeOf knows, and to which custom resources cannot be added.
var closedGroups = []string{"", "apps", "batch", "autoscaling", "policy", "coordination.k8s.io", "events.k8s.io", "discovery.k8s.io",
	"rbac.authorization.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
	"flowcontrol.apiserver.k8s.io"}

// otherResources are resources that classify does not have, because a server of 1.37 serves them
// not at all or not by default.
var otherResources = []request.Resource{
	{Group: "policy", Name: "podsecuritypolicies", Cluster: true},
	{Group: "coordination.k8s.io", Name: "leasecandidates"},
	{Group: "certificates.k8s.io", Name: "podcertificaterequests"},
}

// kindScope says whether a resource is namespaced or cluster-scoped.
type kindScope int

const (
	unknownScope kindScope = iota
	namespacedScope
	clusterScope
)

// scopeOf returns the scope of a resource.
func scopeOf(group, resource string) kindScope {
	r := request.Builtin(group, resource)
	for i := range otherResources {
		if o := &otherResources[i]; o.Group == group && o.Name == resource {
			r = o
		}
	}
	switch {
	case r == nil:
		return unknownScope
	case r.Cluster:
		return clusterScope
	}
	return namespacedScope
}

// plural returns the resource that is meant by a name in the singular or in the wrong case, or "" if
// there is none. It does not resolve short names, because a custom resource may have such a name.
func plural(name string) string {
	if r := request.FindResource(name, ""); r != nil && (strings.EqualFold(name, r.Name) || strings.EqualFold(name, r.Kind)) {
		return r.Name
	}
	return ""
}

// scope returns the scope of all resources of a rule, or unknownScope if they differ or if that of
// one is unknown. The scope of the resource "namespaces" is unknown, because it is cluster-scoped,
// but a request for one object of it has that namespace.
func scope(r *config.ResourceRule) kindScope {
	common := unknownScope
	for _, item := range r.Resources {
		resource, _ := request.SplitSubresource(item)
		found := unknownScope
		for _, group := range r.APIGroups {
			if !request.BuiltinGroup(group) {
				return unknownScope
			}
			s := scopeOf(group, resource)
			if s == unknownScope && !slices.Contains(closedGroups, group) || s != unknownScope && found != unknownScope && s != found {
				return unknownScope
			}
			if s != unknownScope {
				found = s
			}
		}
		if found == unknownScope || resource == "namespaces" || common != unknownScope && common != found {
			return unknownScope
		}
		common = found
	}
	return common
}

// createOnly are the resources whose objects are not stored, so that they cannot be listed.
var createOnly = []string{"bindings", "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectreviews",
	"selfsubjectrulesreviews", "subjectaccessreviews", "tokenreviews"}

// lists reports whether the box contains lists.
func lists(b space.Box) bool { return b[space.Verbs].Has("list") && listable(b[space.Resources]) }

// listable reports whether at least one of the resources can be listed and watched.
func listable(resources space.Set) bool {
	return resources.Infinite() || slices.ContainsFunc(resources.Items(), func(item string) bool {
		return !strings.Contains(item, "/") && !slices.Contains(createOnly, item)
	})
}
