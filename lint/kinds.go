package lint

import (
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/lint/space"
)

// closedGroups are the API groups of Kubernetes that have no resources but those that are known
// here, in any release from 1.18 to 1.37, and to which nobody can add any.
var closedGroups = []string{"", "apps", "batch", "autoscaling", "policy", "coordination.k8s.io", "events.k8s.io", "discovery.k8s.io",
	"rbac.authorization.k8s.io", "authentication.k8s.io", "authorization.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
	"flowcontrol.apiserver.k8s.io"}

// otherResources are those of other releases than the one that classify knows, and those that a
// server does not serve unless it is told to.
var otherResources = []classify.Resource{
	{Group: "policy", Name: "podsecuritypolicies", Cluster: true},
	{Group: "coordination.k8s.io", Name: "leasecandidates"},
	{Group: "certificates.k8s.io", Name: "podcertificaterequests"},
}

// kindScope says whether objects of a resource are in namespaces.
type kindScope int

const (
	unknownScope kindScope = iota
	namespacedScope
	clusterScope
)

func scopeOf(group, resource string) kindScope {
	r := classify.Builtin(group, resource)
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

// plural returns the resource that a name in the singular or in the wrong case stands for, "" if
// none. Short names do not count: resources of others may be called so.
func plural(name string) string {
	if r := classify.FindResource(name, ""); r != nil && (strings.EqualFold(name, r.Name) || strings.EqualFold(name, r.Kind)) {
		return r.Name
	}
	return ""
}

// scope returns the scope that all resources of a rule have in common, by Kubernetes' own groups.
// It is unknown as soon as one of them is not known. A request for one namespace object counts as
// one in that namespace, so the resource namespaces has both scopes.
func scope(r *config.ResourceRule) kindScope {
	common := unknownScope
	for _, item := range r.Resources {
		resource, _, _ := strings.Cut(item, "/")
		found := unknownScope
		for _, group := range r.APIGroups {
			if !classify.BuiltinGroup(group) {
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

// createOnly are resources of which nothing is stored: they cannot be listed.
var createOnly = []string{"bindings", "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectreviews",
	"selfsubjectrulesreviews", "subjectaccessreviews", "tokenreviews"}

// lists reports whether requests of the box may be lists.
func lists(b space.Box) bool { return b[space.Verbs].Has("list") && listable(b[space.Resources]) }

// listable reports whether one of the resources may be listed or watched.
func listable(resources space.Set) bool {
	return resources.Infinite() || slices.ContainsFunc(resources.Items(), func(item string) bool {
		return !strings.Contains(item, "/") && !slices.Contains(createOnly, item)
	})
}
