package classify

import (
	"slices"
	"strings"

	"apfsim/core/config"
)

// matches reports whether the schema matches the request. Explain uses the same predicates, so
// that an explanation cannot contradict the classification.
func matches(s *config.FlowSchema, a *Attributes) bool {
	for i := range s.Spec.Rules {
		rule := &s.Spec.Rules[i]
		if subjectOf(rule, a) >= 0 && ruleOf(rule, a) >= 0 {
			return true
		}
	}
	return false
}

// subjectOf returns the index of the first subject that matches the request's user, or −1.
func subjectOf(rule *config.PolicyRulesWithSubjects, a *Attributes) int {
	for i := range rule.Subjects {
		if isSubject(&rule.Subjects[i], a) {
			return i
		}
	}
	return -1
}

// ruleOf returns the index of the first rule that matches the request, or −1. It is a resource
// rule if the request is for a resource, and a non-resource rule otherwise.
func ruleOf(rule *config.PolicyRulesWithSubjects, a *Attributes) int {
	if a.IsResource() {
		for i := range rule.ResourceRules {
			if matchesResourceRule(&rule.ResourceRules[i], a) {
				return i
			}
		}
		return -1
	}
	for i := range rule.NonResourceRules {
		if matchesNonResourceRule(&rule.NonResourceRules[i], a) {
			return i
		}
	}
	return -1
}

func matchesResourceRule(r *config.ResourceRule, a *Attributes) bool {
	return contains(r.Verbs, a.Verb) && containsResource(r.Resources, a) &&
		contains(r.APIGroups, a.APIGroup) && inScope(r, a)
}

func matchesNonResourceRule(r *config.NonResourceRule, a *Attributes) bool {
	return contains(r.Verbs, a.Verb) && containsPath(r.NonResourceURLs, a.Path)
}

func isSubject(s *config.Subject, a *Attributes) bool {
	switch {
	case s.Kind == config.SubjectUser && s.User != nil:
		return s.User.Name == config.Wildcard || s.User.Name == a.User
	case s.Kind == config.SubjectGroup && s.Group != nil:
		return s.Group.Name == config.Wildcard || slices.Contains(a.Groups, s.Group.Name)
	case s.Kind == config.SubjectServiceAccount && s.ServiceAccount != nil:
		name, ok := strings.CutPrefix(a.User, ServiceAccountPrefix)
		if ok {
			name, ok = strings.CutPrefix(name, s.ServiceAccount.Namespace)
		}
		if ok {
			name, ok = strings.CutPrefix(name, ":")
		}
		return ok && (s.ServiceAccount.Name == config.Wildcard || s.ServiceAccount.Name == name)
	}
	return false
}

// contains reports whether list contains x or consists of the wildcard.
func contains(list []string, x string) bool {
	return len(list) == 1 && list[0] == config.Wildcard || slices.Contains(list, x)
}

// containsResource is contains for the value of resourcePath. It compares the two parts
// separately, because joining them would allocate memory for each request.
func containsResource(list []string, a *Attributes) bool {
	if a.Subresource == "" {
		return contains(list, a.Resource)
	}
	if len(list) == 1 && list[0] == config.Wildcard {
		return true
	}
	for _, item := range list {
		if after, ok := strings.CutPrefix(item, a.Resource); ok {
			if after, ok = strings.CutPrefix(after, "/"); ok && after == a.Subresource {
				return true
			}
		}
	}
	return false
}

// inScope reports whether the rule covers the request's namespace. A request without a
// namespace is covered only if ClusterScope is true, even if Namespaces is the wildcard.
func inScope(r *config.ResourceRule, a *Attributes) bool {
	if a.Namespace == "" {
		return r.ClusterScope
	}
	return contains(r.Namespaces, a.Namespace)
}

// containsPath reports whether one of urls covers path.
func containsPath(urls []string, path string) bool {
	for _, url := range urls {
		if coversPath(url, path) {
			return true
		}
	}
	return false
}

// coversPath reports whether path is url or is below it. A trailing asterisk in url makes a
// difference only in that /x/* does not cover /x, because every url covers the paths below it.
func coversPath(url, path string) bool {
	if url == config.Wildcard || url == path {
		return true
	}
	prefix := strings.TrimSuffix(url, "*")
	if strings.HasSuffix(prefix, "/") {
		return strings.HasPrefix(path, prefix)
	}
	return len(path) > len(prefix) && strings.HasPrefix(path, prefix) && path[len(prefix)] == '/'
}
