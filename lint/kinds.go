package lint

import (
	"slices"
	"strings"

	"apfsim/core/config"
)

// apiGroup is what is known of the resources of one of Kubernetes' own API groups, in all releases
// from 1.18 to 1.37.
type apiGroup struct {
	namespaced, cluster string
	closed              bool // has no other resources, and nobody can add any
}

// knownGroups are Kubernetes' own API groups.
var knownGroups = map[string]apiGroup{
	"": {"bindings configmaps endpoints events limitranges persistentvolumeclaims pods podtemplates " +
		"replicationcontrollers resourcequotas secrets serviceaccounts services",
		"componentstatuses namespaces nodes persistentvolumes", true},
	"apps":                         {"controllerrevisions daemonsets deployments replicasets statefulsets", "", true},
	"batch":                        {"cronjobs jobs", "", true},
	"autoscaling":                  {"horizontalpodautoscalers", "", true},
	"policy":                       {"poddisruptionbudgets", "podsecuritypolicies", true},
	"coordination.k8s.io":          {"leases leasecandidates", "", true},
	"events.k8s.io":                {"events", "", true},
	"discovery.k8s.io":             {"endpointslices", "", true},
	"rbac.authorization.k8s.io":    {"roles rolebindings", "clusterroles clusterrolebindings", true},
	"authentication.k8s.io":        {"", "tokenreviews selfsubjectreviews", true},
	"authorization.k8s.io":         {"localsubjectaccessreviews", "selfsubjectaccessreviews selfsubjectrulesreviews subjectaccessreviews", true},
	"apiextensions.k8s.io":         {"", "customresourcedefinitions", true},
	"apiregistration.k8s.io":       {"", "apiservices", true},
	"flowcontrol.apiserver.k8s.io": {"", "flowschemas prioritylevelconfigurations", true},
	"networking.k8s.io":            {"ingresses networkpolicies", "ingressclasses ipaddresses servicecidrs", false},
	"storage.k8s.io":               {"csistoragecapacities", "storageclasses volumeattachments csidrivers csinodes volumeattributesclasses", false},
	"node.k8s.io":                  {"", "runtimeclasses", false},
	"scheduling.k8s.io":            {"", "priorityclasses", false},
	"certificates.k8s.io":          {"podcertificaterequests", "certificatesigningrequests clustertrustbundles", false},
	"admissionregistration.k8s.io": {"", "mutatingwebhookconfigurations validatingwebhookconfigurations validatingadmissionpolicies " +
		"validatingadmissionpolicybindings mutatingadmissionpolicies mutatingadmissionpolicybindings", false},
}

// kindScope says whether objects of a resource are in namespaces.
type kindScope int

const (
	unknownScope kindScope = iota
	namespacedScope
	clusterScope
)

func scopeOf(group, resource string) kindScope {
	g := knownGroups[group]
	switch {
	case slices.Contains(strings.Fields(g.namespaced), resource):
		return namespacedScope
	case slices.Contains(strings.Fields(g.cluster), resource):
		return clusterScope
	}
	return unknownScope
}

// plurals are the names of all resources of knownGroups.
var plurals = func() (all []string) {
	for _, g := range knownGroups {
		all = append(all, strings.Fields(g.namespaced+" "+g.cluster)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}()

// plural returns the resource that a name in the singular or in the wrong case stands for, "" if none.
func plural(name string) string {
	name = strings.ToLower(name)
	candidates := []string{name, name + "s", name + "es"}
	if stem, ok := strings.CutSuffix(name, "y"); ok {
		candidates = append(candidates, stem+"ies")
	}
	for _, c := range candidates {
		if slices.Contains(plurals, c) {
			return c
		}
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
			if _, known := knownGroups[group]; !known {
				return unknownScope
			}
			s := scopeOf(group, resource)
			if s == unknownScope && !knownGroups[group].closed || s != unknownScope && found != unknownScope && s != found {
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
func lists(b box) bool { return b[verbs].has("list") && listable(b[resources]) }

// listable reports whether one of the resources may be listed or watched.
func listable(resources set) bool {
	return resources.inverted || slices.ContainsFunc(resources.items, func(item string) bool {
		return !strings.Contains(item, "/") && !slices.Contains(createOnly, item)
	})
}
