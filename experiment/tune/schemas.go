package tune

import (
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/sim/workload"
)

// mostSubjects is how many users a FlowSchema names one by one.
const mostSubjects = 100

// schemaOf returns a FlowSchema for the requests of a workload that match old now: old itself, changed, if it is for no
// other workload and servers do not maintain it, otherwise a new one just before it. It is nil if no FlowSchema can tell
// the workload from others.
func (p *problem) schemaOf(w string, old *config.FlowSchema, purpose string) *config.FlowSchema {
	shared := slices.ContainsFunc(p.routes, func(r route) bool { return r.schema == old.Name && r.workload != w })
	if !shared && p.builtIn.FlowSchema(old.Name) == nil {
		if slices.ContainsFunc(old.Spec.Rules, func(r config.PolicyRulesWithSubjects) bool { return slices.ContainsFunc(r.Subjects, isMasters) }) {
			return nil
		}
		own := *old
		return &own
	}
	s := p.newSchema(old, nameOf(w)+"-"+purpose, p.subjectsOf(p.workload(w)))
	if s == nil || !p.narrow(s, p.workload(w)) {
		return nil
	}
	return s
}

// narrow restricts a FlowSchema for the users of a workload to its requests if other workloads are of the same users: it would
// catch theirs, too. It returns false if the requests cannot be told apart.
func (p *problem) narrow(s *config.FlowSchema, w *workload.Workload) bool {
	rule := &s.Spec.Rules[0]
	narrowed := false
	for i := range p.Spec.Workload {
		other := &p.Spec.Workload[i]
		if other.Name == w.Name || other.Added || !sameUsers(rule.Subjects, w, other) {
			continue
		}
		own, others := requestsOf(w), requestsOf(other)
		if len(own) == 0 || len(others) == 0 || slices.ContainsFunc(others, func(o *workload.Request) bool {
			return slices.ContainsFunc(own, func(r *workload.Request) bool { return alike(r, o) })
		}) {
			return false
		}
		narrowed = true
	}
	if narrowed {
		rule.ResourceRules, rule.NonResourceRules = rulesOf(w)
	}
	return true
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

// requestsOf returns what a workload asks for; none if that is not known.
func requestsOf(w *workload.Workload) (all []*workload.Request) {
	if w.Behaviour != nil && w.Behaviour.LeaderElection != nil {
		for _, verb := range []string{"get", "create", "update"} {
			all = append(all, &workload.Request{Verb: verb, Group: leaseGroup, Resource: leases})
		}
	}
	for i := range w.Requests {
		all = append(all, &w.Requests[i].Request)
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

// rulesOf returns the rules of a FlowSchema that match the requests of a workload.
func rulesOf(w *workload.Workload) (resources []config.ResourceRule, others []config.NonResourceRule) {
	var seen []*workload.Request
	for _, r := range requestsOf(w) {
		if slices.ContainsFunc(seen, func(other *workload.Request) bool { return alike(r, other) }) {
			continue
		}
		seen = append(seen, r)
		if r.Resource == "" {
			others = append(others, config.NonResourceRule{Verbs: []string{r.Verb}, NonResourceURLs: []string{r.Path}})
			continue
		}
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		resources = append(resources, config.ResourceRule{Verbs: []string{r.Verb}, APIGroups: []string{r.Group}, Resources: []string{resource},
			ClusterScope: true, Namespaces: []string{config.Wildcard}})
	}
	return resources, others
}

// newSchema returns a FlowSchema just before old that matches all requests of some subjects. It is nil without subjects, if
// there is no room before old, and for those who are exempt.
func (p *problem) newSchema(old *config.FlowSchema, name string, subjects []config.Subject) *config.FlowSchema {
	if len(subjects) == 0 || old.Spec.MatchingPrecedence < 2 || old.Name == config.Exempt || slices.ContainsFunc(subjects, isMasters) {
		return nil
	}
	for p.Objects.FlowSchema(name) != nil {
		name += "-1"
	}
	all := []string{config.Wildcard}
	return &config.FlowSchema{Name: name, Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: old.Spec.PriorityLevelConfiguration, MatchingPrecedence: old.Spec.MatchingPrecedence - 1,
		DistinguisherMethod: old.Spec.DistinguisherMethod,
		Rules: []config.PolicyRulesWithSubjects{{
			Subjects:         subjects,
			ResourceRules:    []config.ResourceRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
			NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
		}},
	}}
}

// isMasters says whether a subject is the group of those for whom there is no flow control.
func isMasters(s config.Subject) bool {
	return s.Group != nil && s.Group.Name == "system:masters"
}

// subjectsOf returns subjects that match the clients of a workload and no others; nil if there are none.
func (p *problem) subjectsOf(w *workload.Workload) []config.Subject {
	if w.As.Anonymous || slices.Contains(w.As.Groups, "system:masters") {
		return nil
	}
	if namespace, name, ok := strings.Cut(w.As.ServiceAccount, "/"); ok && strings.Contains(name, "{i}") && !strings.Contains(namespace, "{i}") {
		// The namespace has more than the scenario's clients in a real cluster: the components of its control plane.
		alone := namespace != "kube-system" && !slices.ContainsFunc(p.Spec.Workload, func(other workload.Workload) bool {
			return other.Name != w.Name && strings.HasPrefix(other.As.ServiceAccount, namespace+"/")
		})
		if alone {
			return []config.Subject{{Kind: config.SubjectServiceAccount, ServiceAccount: &config.ServiceAccountSubject{Namespace: namespace, Name: config.Wildcard}}}
		}
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
		if user == "" {
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
