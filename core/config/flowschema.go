package config

import (
	"slices"
	"strings"

	"apfsim/document"
)

const maxMatchingPrecedence = 10000

// verbs are the verbs that a rule may name besides the wildcard.
var verbs = []string{"get", "list", "create", "update", "delete", "deletecollection", "patch", "watch", "proxy"}

// flowSchema validates a FlowSchema whose defaults are filled in.
func (v *validator) flowSchema(s *FlowSchema) {
	spec := &s.Spec
	switch p := spec.MatchingPrecedence; {
	case p < 1 || p > maxMatchingPrecedence:
		v.fail("spec.matchingPrecedence", "%d is out of range; want 1 to %d", p, maxMatchingPrecedence)
	case p == 1 && s.Name != Exempt:
		v.fail("spec.matchingPrecedence", "1 is reserved for the FlowSchema %s", Exempt)
	}
	if m := spec.DistinguisherMethod; m != nil {
		v.oneOf("spec.distinguisherMethod.type", m.Type, ByUser, ByNamespace)
	}
	v.dnsSubdomain("spec.priorityLevelConfiguration.name", spec.PriorityLevelConfiguration.Name)
	for i := range spec.Rules {
		v.rule(document.Index("spec.rules", i), &spec.Rules[i])
	}
}

func (v *validator) rule(path string, r *PolicyRulesWithSubjects) {
	if len(r.Subjects) == 0 {
		v.fail(path+".subjects", "is empty; want at least one")
	}
	for i := range r.Subjects {
		v.subject(document.Index(path+".subjects", i), &r.Subjects[i])
	}
	if len(r.ResourceRules) == 0 && len(r.NonResourceRules) == 0 {
		v.fail(path, "has neither resourceRules nor nonResourceRules; want at least one of them")
	}
	for i := range r.ResourceRules {
		v.resourceRule(document.Index(path+".resourceRules", i), &r.ResourceRules[i])
	}
	for i := range r.NonResourceRules {
		v.nonResourceRule(document.Index(path+".nonResourceRules", i), &r.NonResourceRules[i])
	}
}

func (v *validator) subject(path string, s *Subject) {
	v.oneOf(path+".kind", s.Kind, SubjectUser, SubjectGroup, SubjectServiceAccount)
	if !slices.Contains([]string{SubjectUser, SubjectGroup, SubjectServiceAccount}, s.Kind) {
		return
	}
	for _, field := range []struct {
		kind, name string
		set        bool
	}{
		{SubjectUser, "user", s.User != nil},
		{SubjectGroup, "group", s.Group != nil},
		{SubjectServiceAccount, "serviceAccount", s.ServiceAccount != nil},
	} {
		switch {
		case field.kind == s.Kind && !field.set:
			v.fail(path+"."+field.name, "is missing from a subject of kind %s", s.Kind)
		case field.kind != s.Kind && field.set:
			v.fail(path+"."+field.name, "is not allowed for kind %s; remove it", s.Kind)
		}
	}
	switch {
	case s.Kind == SubjectUser && s.User != nil && s.User.Name == "":
		v.fail(path+".user.name", "is empty; want a user or %q", Wildcard)
	case s.Kind == SubjectGroup && s.Group != nil && s.Group.Name == "":
		v.fail(path+".group.name", "is empty; want a group or %q", Wildcard)
	case s.Kind == SubjectServiceAccount && s.ServiceAccount != nil:
		if s.ServiceAccount.Name != Wildcard {
			v.dnsSubdomain(path+".serviceAccount.name", s.ServiceAccount.Name)
		}
		v.dnsLabel(path+".serviceAccount.namespace", s.ServiceAccount.Namespace)
	}
}

func (v *validator) resourceRule(path string, r *ResourceRule) {
	v.verbs(path+".verbs", r.Verbs)
	v.choices(path+".apiGroups", r.APIGroups)
	v.choices(path+".resources", r.Resources)
	namespaces := path + ".namespaces"
	if len(r.Namespaces) == 0 {
		if !r.ClusterScope {
			v.fail(namespaces, "is empty; want at least one, or clusterScope: true")
		}
		return
	}
	if v.choices(namespaces, r.Namespaces) {
		for i, name := range r.Namespaces {
			v.dnsLabel(document.Index(namespaces, i), name)
		}
	}
}

func (v *validator) nonResourceRule(path string, r *NonResourceRule) {
	v.verbs(path+".verbs", r.Verbs)
	urls := path + ".nonResourceURLs"
	if v.choices(urls, r.NonResourceURLs) {
		for i, url := range r.NonResourceURLs {
			v.nonResourceURL(document.Index(urls, i), url)
		}
	}
}

// choices validates a list of values that a rule matches: it is not empty, and a wildcard is
// its only item. It reports whether the caller must validate each item, which is not so for
// a wildcard.
func (v *validator) choices(path string, list []string) bool {
	switch {
	case len(list) == 0:
		v.fail(path, "is empty; want at least one, or %q", Wildcard)
		return false
	case slices.Contains(list, Wildcard):
		if len(list) > 1 {
			v.fail(path, "has %q and other items; use %q alone, which matches everything", Wildcard, Wildcard)
		}
		return false
	}
	return true
}

func (v *validator) verbs(path string, list []string) {
	if v.choices(path, list) {
		for i, verb := range list {
			v.oneOf(document.Index(path, i), verb, verbs...)
		}
	}
}

// nonResourceURL validates a path. Only its last step may be a wildcard.
func (v *validator) nonResourceURL(path, url string) {
	switch wildcards := strings.Count(url, Wildcard); {
	case !strings.HasPrefix(url, "/"):
		v.fail(path, "%q does not begin with a slash", url)
	case strings.Contains(url, " "):
		v.fail(path, "%q contains a space", url)
	case strings.Contains(url, "//"):
		v.fail(path, "%q contains a double slash", url)
	case wildcards > 1 || wildcards == 1 && !strings.HasSuffix(url, "/*"):
		v.fail(path, "%q has a wildcard that is not the last step; use a path such as /healthz/*", url)
	}
}
