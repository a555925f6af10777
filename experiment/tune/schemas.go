package tune

import (
	"reflect"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/request"
	"apfsim/reports/result"
	"apfsim/sim/workload"
)

// mostSubjects is how many users a FlowSchema names one by one.
const mostSubjects = 100

// schemaOf returns a FlowSchema for the requests of a workload that match old now: old itself, changed, if it is for no
// other workload, names whose requests it matches, and servers do not maintain it, otherwise a new one just before it. It is nil if
// no FlowSchema can tell the workload from others.
func (p *problem) schemaOf(w string, old *config.FlowSchema, purpose string) *config.FlowSchema {
	if slices.ContainsFunc(old.Spec.Rules, func(r config.PolicyRulesWithSubjects) bool { return slices.ContainsFunc(r.Subjects, isMasters) }) {
		return nil
	}
	shared := slices.ContainsFunc(p.routes, func(r route) bool { return r.schema == old.Name && r.workload != w })
	if !shared && p.builtIn.FlowSchema(old.Name) == nil && namesWhom(old) {
		own := *old
		return &own
	}
	return p.newSchema(old, nameOf(w)+"-"+purpose, p.subjectsOf(p.workload(w)), w)
}

// namesWhom says whether a FlowSchema is for users, service accounts or groups of somebody's own: groups of Kubernetes
// have members that no scenario has.
func namesWhom(s *config.FlowSchema) bool {
	return !slices.ContainsFunc(s.Spec.Rules, func(r config.PolicyRulesWithSubjects) bool {
		return slices.ContainsFunc(r.Subjects, func(s config.Subject) bool {
			name := nameOfSubject(&s)
			return name == config.Wildcard || strings.HasPrefix(name, "system:") && !strings.HasPrefix(name, accountPrefix) && !strings.HasPrefix(name, groupPrefix)
		})
	})
}

// isApart says whether no workload of some subjects but those that are meant sends requests like theirs.
func (p *problem) isApart(subjects []config.Subject, meant []string) bool {
	w, own := p.workload(meant[0]), p.requestsOf(meant...)
	return !slices.ContainsFunc(p.Spec.Workload, func(other workload.Workload) bool {
		if slices.Contains(meant, other.Name) || other.Added || !sameUsers(subjects, w, &other) {
			return false
		}
		others := p.requestsOf(other.Name)
		return len(own) == 0 || len(others) == 0 || slices.ContainsFunc(others, func(o *workload.Request) bool {
			return slices.ContainsFunc(own, func(r *workload.Request) bool { return alike(r, o) })
		})
	})
}

// sameUsers says whether the subjects for the clients of a workload match clients of another one.
func sameUsers(subjects []config.Subject, w, other *workload.Workload) bool {
	if w.As.User == other.As.User && w.As.ServiceAccount == other.As.ServiceAccount && w.As.Node == other.As.Node {
		return true
	}
	user, groups := other.As.For(0)
	return slices.ContainsFunc(subjects, func(s config.Subject) bool {
		name := nameOfSubject(&s)
		return name == user || slices.Contains(groups, name)
	})
}

// requestsOf returns what workloads ask for, with the placeholder {i} of their clients; none if that is not known of each.
func (p *problem) requestsOf(workloads ...string) (all []*workload.Request) {
	for _, w := range workloads {
		own, known := p.requests[w]
		if !known {
			own = requestsOf(p.workload(w))
			p.requests[w] = own
		}
		if len(own) == 0 {
			return nil
		}
		all = append(all, own...)
	}
	return all
}

// requestsOf returns what a workload asks for; none if that is not known. Requests for objects of other names are alike.
func requestsOf(w *workload.Workload) (all []*workload.Request) {
	if b := w.Behaviour; b != nil {
		add := func(group, resource string, verbs ...string) {
			for _, verb := range verbs {
				all = append(all, &workload.Request{Verb: verb, Group: group, Resource: resource})
			}
		}
		switch {
		case b.LeaderElection != nil:
			add(leaseGroup, leases, "get", "create", "update")
		case b.Lister != nil:
			add(b.Lister.Group, b.Lister.Resource, "list")
		case b.Informer != nil:
			add(b.Informer.Group, b.Informer.Resource, "list", "watch")
		}
		return all
	}
	for i := range w.Requests {
		all = append(all, &w.Requests[i].Request)
	}
	if t := w.Arrivals.Trace; t != nil {
		seen := map[request.Info]bool{}
		for i := range t.Requests {
			a := t.Requests[i].Kind.Attributes.Info()
			if a.Name = ""; !seen[a] {
				seen[a] = true
				all = append(all, &workload.Request{Verb: a.Verb, Group: a.APIGroup, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace, Path: a.Path})
			}
		}
	}
	return all
}

// Leases, by which candidates elect a leader.
const (
	leaseGroup = "coordination.k8s.io"
	leases     = "leases"
)

// alike says whether a rule for one request matches another one.
func alike(a, b *workload.Request) bool {
	return a.Verb == b.Verb && a.Group == b.Group && a.Resource == b.Resource && a.Subresource == b.Subresource && a.Path == b.Path
}

// Bounds of what a FlowSchema names one by one. Beyond them it matches all namespaces, or all requests of its subjects.
const (
	mostNamespaces = 50
	mostRules      = 20
)

// rulesFor returns the rules of a FlowSchema that match requests of the clients of a workload and no others, as far as it can name
// them.
func rulesFor(requests []*workload.Request, w *workload.Workload) (resources []config.ResourceRule, others []config.NonResourceRule) {
	all := []string{config.Wildcard}
	ofAll := func() ([]config.ResourceRule, []config.NonResourceRule) {
		return []config.ResourceRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
			[]config.NonResourceRule{{Verbs: all, NonResourceURLs: all}}
	}
	if len(requests) == 0 {
		return ofAll()
	}
	for _, r := range requests {
		if r.Resource == "" {
			at := slices.IndexFunc(others, func(o config.NonResourceRule) bool { return o.Verbs[0] == r.Verb })
			if at < 0 {
				at = len(others)
				others = append(others, config.NonResourceRule{Verbs: []string{r.Verb}})
			}
			addName(&others[at].NonResourceURLs, r.Path)
			continue
		}
		name := r.Resource
		if r.Subresource != "" {
			name += "/" + r.Subresource
		}
		at := slices.IndexFunc(resources, func(o config.ResourceRule) bool {
			return o.Verbs[0] == r.Verb && o.APIGroups[0] == r.Group && o.Resources[0] == name
		})
		if at < 0 {
			at = len(resources)
			resources = append(resources, config.ResourceRule{Verbs: []string{r.Verb}, APIGroups: []string{r.Group}, Resources: []string{name}})
		}
		rule := &resources[at]
		if w.Behaviour != nil { // whose namespaces are not looked at
			rule.ClusterScope, rule.Namespaces = true, all
		} else if r.Namespace == "" {
			rule.ClusterScope = true
		} else if !slices.Equal(rule.Namespaces, all) {
			for i := range w.Clients {
				a, _ := r.AttributesWithoutPath("", nil, i)
				if addName(&rule.Namespaces, a.Namespace); len(rule.Namespaces) > mostNamespaces {
					rule.Namespaces = all
					break
				}
			}
		}
	}
	resources = joined(resources, func(r *config.ResourceRule) *[]string { return &r.Verbs })
	resources = joined(resources, func(r *config.ResourceRule) *[]string { return &r.Resources })
	if len(resources) > mostRules || slices.ContainsFunc(others, func(o config.NonResourceRule) bool { return len(o.NonResourceURLs) > mostNamespaces }) {
		return ofAll()
	}
	return resources, others
}

// joined joins rules that differ in one list only.
func joined(rules []config.ResourceRule, list func(*config.ResourceRule) *[]string) (all []config.ResourceRule) {
	for _, r := range rules {
		at := slices.IndexFunc(all, func(o config.ResourceRule) bool {
			x, y := o, r
			*list(&x), *list(&y) = nil, nil
			return reflect.DeepEqual(x, y)
		})
		if at < 0 {
			all = append(all, r)
			continue
		}
		for _, name := range *list(&r) {
			addName(list(&all[at]), name)
		}
	}
	return all
}

// newSchema returns a FlowSchema just before old that matches the requests of workloads from some subjects. It is nil without
// subjects, if there is no room before old, for those who are exempt, and if others of the subjects send such requests, too.
func (p *problem) newSchema(old *config.FlowSchema, name string, subjects []config.Subject, workloads ...string) *config.FlowSchema {
	if len(subjects) == 0 || old.Spec.MatchingPrecedence < 2 || old.Name == config.Exempt || slices.ContainsFunc(subjects, isMasters) || !p.isApart(subjects, workloads) {
		return nil
	}
	for p.Objects.FlowSchema(name) != nil {
		name += "-1"
	}
	s := &config.FlowSchema{Name: name, Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: old.Spec.PriorityLevelConfiguration, MatchingPrecedence: old.Spec.MatchingPrecedence - 1,
		DistinguisherMethod: old.Spec.DistinguisherMethod, Rules: []config.PolicyRulesWithSubjects{{Subjects: subjects}},
	}}
	s.Spec.Rules[0].ResourceRules, s.Spec.Rules[0].NonResourceRules = rulesFor(p.requestsOf(workloads...), p.workload(workloads[0]))
	return s
}

// isMasters says whether a subject is the group of those for whom there is no flow control.
func isMasters(s config.Subject) bool {
	return s.Group != nil && s.Group.Name == "system:masters"
}

// subjectsOf returns subjects that match the clients of a workload and no others, neighbours in their namespace least of all; nil if
// there are none.
func (p *problem) subjectsOf(w *workload.Workload) []config.Subject {
	if w.As.Anonymous || slices.Contains(w.As.Groups, "system:masters") {
		return nil
	}
	return namedUsers(p.users(w, w.Clients))
}

// users returns the names of the first clients of a workload; nil if one has none, or if they are too many.
func (p *problem) users(w *workload.Workload, clients int) (users []string) {
	if w.As.Anonymous || slices.Contains(w.As.Groups, "system:masters") {
		return nil
	}
	if !named(w) {
		clients = min(clients, 1)
	}
	if clients > mostSubjects {
		return nil
	}
	for i := range clients {
		user, _ := w.As.For(i)
		if user == "" || strings.HasPrefix(user, result.UnknownUser) { // nobody whom a server knows
			return nil
		}
		addName(&users, user)
	}
	return users
}

// named says whether each client of a workload has a name of its own.
func named(w *workload.Workload) bool {
	return strings.Contains(w.As.User+w.As.ServiceAccount+w.As.Node, "{i}")
}

// namedUsers returns a subject for each user.
func namedUsers(users []string) (all []config.Subject) {
	for _, user := range users {
		all = append(all, config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: user}})
	}
	return all
}
