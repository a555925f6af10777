package lint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/lint/space"
)

// flowSchema adds the findings about a FlowSchema, except those that depend on other FlowSchemas.
func (l *linter) flowSchema(s *schema) {
	l.version("FlowSchema", s.Name, s.Origin)
	l.undone("FlowSchema", s.Name, s.Origin, l.sameSpec(suggestedSchema, s.Name, s.Spec))
	if mandatory(s.Name) {
		return
	}
	if len(s.Spec.Rules) == 0 {
		l.aboutSchema("no-rules", s.FlowSchema, "spec.rules", "has no rules, so that it matches no request; add rules, or remove it")
	}
	for i := range s.Spec.Rules {
		rule, path := &s.Spec.Rules[i], document.Index("spec.rules", i)
		for j := range rule.Subjects {
			l.subject(s, document.Index(path+".subjects", j), &rule.Subjects[j])
		}
		for j := range rule.ResourceRules {
			l.resourceRule(s, rule, document.Index(path+".resourceRules", j), &rule.ResourceRules[j])
		}
		for j := range rule.NonResourceRules {
			l.nonResourceRule(s, document.Index(path+".nonResourceRules", j), &rule.NonResourceRules[j])
		}
	}
	l.reference(s)
}

// usersOnly and groupsOnly are the names of users and of groups that are defined by Kubernetes.
var (
	usersOnly  = []string{classify.Anonymous, "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy", "system:apiserver"}
	groupsOnly = []string{classify.Authenticated, classify.Unauthenticated, classify.ServiceAccounts, classify.Nodes, "system:masters", "system:bootstrappers", "system:monitoring"}
)

// subject adds a finding if a subject has the name of another kind of subject.
func (l *linter) subject(s *schema, path string, subject *config.Subject) {
	fail := func(field, name, why string) {
		l.aboutSchema("subject-form", s.FlowSchema, path+field+".name", "%s %q matches no user: %s", subject.Kind, name, why)
	}
	switch subject.Kind {
	case config.SubjectUser:
		name := subject.User.Name
		_, _, valid := classify.SplitServiceAccount(name)
		switch {
		case slices.Contains(groupsOnly, name) || strings.HasPrefix(name, classify.ServiceAccounts+":"):
			fail(".user", name, "it is the name of a group; use kind: Group")
		case strings.HasPrefix(name, classify.ServiceAccountPrefix) && !valid:
			fail(".user", name, "the user name of a service account is system:serviceaccount:NAMESPACE:NAME; use kind: ServiceAccount")
		}
	case config.SubjectGroup:
		switch name := subject.Group.Name; {
		case strings.HasPrefix(name, classify.ServiceAccountPrefix):
			fail(".group", name, "it is the name of a service account; use kind: ServiceAccount, or the group system:serviceaccounts:NAMESPACE")
		case slices.Contains(usersOnly, name) || strings.HasPrefix(name, classify.NodePrefix):
			fail(".group", name, "it is the name of a user; use kind: User")
		case strings.HasPrefix(name, classify.ServiceAccounts+":") && strings.Contains(name[len(classify.ServiceAccounts)+1:], ":") || name == classify.ServiceAccounts+":":
			fail(".group", name, "the group of the service accounts of a namespace is system:serviceaccounts:NAMESPACE")
		}
	}
}

// bypasses reports whether a request bypasses flow control in every release; watches do so only in old ones.
func bypasses(a classify.Attributes) bool {
	return a.Bypasses(&rules.Rules{Estimation: rules.Estimation{QueueWatches: true}})
}

// resourceRule adds the findings about a resource rule. If it finds that the rule matches no request,
// it does not check the scope of the rule.
func (l *linter) resourceRule(s *schema, rule *config.PolicyRulesWithSubjects, path string, r *config.ResourceRule) {
	dead := false
	for i, group := range r.APIGroups {
		at := document.Index(path+".apiGroups", i)
		name, version, versioned := strings.Cut(group, "/")
		switch {
		case versioned:
			dead = true
			l.aboutSchema("api-group-form", s.FlowSchema, at, "apiGroups: %q matches no request: the name of a group does not include the version %q; use %q", group, version, name)
		case group == "core" || group == "v1":
			dead = true
			l.aboutSchema("api-group-form", s.FlowSchema, at, "apiGroups: %q matches no request: the name of the core group is \"\"", group)
		case group != strings.ToLower(group):
			dead = true
			l.aboutSchema("api-group-form", s.FlowSchema, at, "apiGroups: %q matches no request: API groups are in lower case; use %q", group, strings.ToLower(group))
		}
	}
	for i, item := range r.Resources {
		at := document.Index(path+".resources", i)
		name, sub := request.SplitSubresource(item)
		meant := plural(name)
		switch {
		case item == config.Wildcard:
			continue
		case name == config.Wildcard || strings.Contains(sub, config.Wildcard):
			l.aboutSchema("resource-form", s.FlowSchema, at, "resources: %q matches no request: a wildcard is supported only as the whole item; name each resource and subresource, or use \"*\"", item)
		case strings.Contains(name, "."):
			short, _, _ := strings.Cut(name, ".")
			l.aboutSchema("resource-form", s.FlowSchema, at, "resources: %q matches no request: the group belongs to apiGroups; use %q", item, short)
		case meant != "" && meant != name:
			l.aboutSchema("resource-form", s.FlowSchema, at, "resources: %q matches no request: the name of a resource is the plural in lower case; use %q", item, meant)
		case name != strings.ToLower(name):
			l.aboutSchema("resource-form", s.FlowSchema, at, "resources: %q matches no request: the name of a resource is in lower case; use %q", item, strings.ToLower(item))
		case bypasses(classify.Attributes{Resource: name, Subresource: sub}):
			l.aboutSchema("bypasses", s.FlowSchema, at, "resources: %q has no effect: these requests are long-running and bypass flow control; remove it", item)
			continue
		default:
			if !inGroups(r.APIGroups, name) {
				l.aboutSchema("resource-not-in-group", s.FlowSchema, at, "resources: %q matches no request: API group %s has no such resource; %s", item, list(r.APIGroups), groupHint(name))
				dead = true
			}
			continue
		}
		dead = true
	}
	for i, verb := range r.Verbs {
		if bypasses(classify.Attributes{Verb: verb}) {
			l.aboutSchema("bypasses", s.FlowSchema, document.Index(path+".verbs", i), "verbs: %q has no effect: these requests are long-running and bypass flow control; remove it", verb)
		}
	}
	if !dead {
		l.scope(s, rule, path, r)
	}
}

// inGroups reports whether at least one of the groups has the resource, or may have it.
func inGroups(groups []string, resource string) bool {
	for _, g := range groups {
		if !slices.Contains(closedGroups, g) || scopeOf(g, resource) != unknownScope {
			return true
		}
	}
	return false
}

// groupHint returns text that says which groups of Kubernetes have a resource.
func groupHint(resource string) string {
	groups := request.GroupsWith(resource)
	if len(groups) == 0 {
		return "kubectl api-resources prints the groups"
	}
	return "use " + list(groups)
}

// list returns names in quotes and separated by commas.
func list(names []string) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = strconv.Quote(n)
	}
	return strings.Join(texts, ", ")
}

// Verbs of requests for one object and for a collection. A request for one object of a namespaced
// resource always has a namespace; a request for a collection may be for all namespaces.
var (
	objectVerbs     = space.Of("create", "delete", "get", "patch", "update")
	collectionVerbs = space.Of("deletecollection", "list", "watch")
)

// scope adds a finding about a rule whose namespaces and clusterScope exclude requests for which the
// rule seems to be meant.
func (l *linter) scope(s *schema, rule *config.PolicyRulesWithSubjects, path string, r *config.ResourceRule) {
	kind, verbs, resources := scope(r), space.Matching(r.Verbs), space.Matching(r.Resources)
	switch {
	case kind == clusterScope && !r.ClusterScope:
		l.aboutSchema("scope", s.FlowSchema, path+".clusterScope",
			"%s matches no request: %s are cluster-scoped, and requests for them have no namespace; set clusterScope: true", path, list(r.Resources))
	case kind == namespacedScope && len(r.Namespaces) == 0 && verbs.And(collectionVerbs).Empty():
		l.aboutSchema("scope", s.FlowSchema, path+".namespaces",
			"%s matches no request: requests with verb %s for %s always have a namespace; add namespaces: [\"*\"]", path, list(r.Verbs), list(r.Resources))
	case kind != clusterScope && !r.ClusterScope && len(r.Namespaces) == 1 && r.Namespaces[0] == config.Wildcard:
		explicit := slices.Contains(r.Verbs, "list") || slices.Contains(r.Verbs, "watch")
		if listable(resources) && (explicit || verbs.Infinite() && resources.Infinite()) {
			l.missed("cluster-wide-list", s, rule, path+".clusterScope", path, r, space.Of("list", "watch"), space.Of(""), "add clusterScope: true",
				"%s does not match lists and watches over all namespaces: they have no namespace, and namespaces: [\"*\"] does not match them; for example %s goes to %s")
		}
	case r.ClusterScope && len(r.Namespaces) == 0 && (kind == namespacedScope || resources.Infinite()):
		l.missed("namespaces-missing", s, rule, path+".namespaces", path, r, objectVerbs, space.Except(""), `add namespaces: ["*"]`,
			"%s does not match requests in namespaces: clusterScope: true matches only requests without a namespace; for example %s goes to %s")
	}
}

// missed adds a finding if requests that differ from those of the rule only in verbs and namespaces
// are assigned to another priority level. It adds none if some FlowSchema assigns them to the same
// level as the rule.
func (l *linter) missed(id string, s *schema, rule *config.PolicyRulesWithSubjects, at, path string, r *config.ResourceRule, verbs, namespaces space.Set, remedy, format string) {
	if _, exists := l.levels[s.level()]; !exists {
		return // the FlowSchema is ignored, so that all its requests are assigned to other levels
	}
	wanted := space.BoxOf(r)
	wanted[space.Verbs] = wanted[space.Verbs].And(verbs)
	wanted[space.Namespaces] = namespaces
	if wanted[space.Verbs].Empty() {
		return
	}
	var sameLevel []space.Part
	for _, other := range l.ordered {
		if other.level() == s.level() {
			sameLevel = append(sameLevel, other.parts...)
		}
	}
	for i := range rule.Subjects {
		subject := &rule.Subjects[i]
		left, found := space.Uncovered(wanted, subject, sameLevel)
		if !found || space.Nobody(subject) {
			continue
		}
		request := left.Request(subject)
		if request.Subresource != "" {
			continue // subresources cannot be listed
		}
		if won := l.schemaOf(request); won != nil && won.level() != s.level() {
			if harm := l.widened(s, rule, r); harm != "" {
				remedy = "with that, " + harm
			}
			l.aboutSchema(id, s.FlowSchema, at, format+"; %s", path, sentence(request), describe(won), remedy)
			return
		}
	}
}

// httpVerbs are the verbs in a rule that can match a request that is not for a resource. The verb of
// such a request is its HTTP method in lower case; validation does not allow other methods in a rule.
var httpVerbs = []string{"get", "delete", "patch", config.Wildcard}

// nonResourceRule adds the findings about a non-resource rule.
func (l *linter) nonResourceRule(s *schema, path string, r *config.NonResourceRule) {
	for i, verb := range r.Verbs {
		if !slices.Contains(httpVerbs, verb) {
			l.aboutSchema("non-resource-verb", s.FlowSchema, document.Index(path+".verbs", i),
				"verbs: %q matches no request: the verb of a request that is not for a resource is its HTTP method in lower case, such as get; use get or \"*\"", verb)
		}
	}
	for i, url := range r.NonResourceURLs {
		at := document.Index(path+".nonResourceURLs", i)
		path := strings.TrimSuffix(url, "*")
		read, err := request.ReadURL("GET", path, "")
		switch {
		case read.IsResource() || err != nil:
			l.aboutSchema("resource-path", s.FlowSchema, at, "nonResourceURLs: %q matches no request: requests with this path are for resources; use resourceRules", url)
		case strings.ContainsAny(url, "?#"):
			l.aboutSchema("resource-path", s.FlowSchema, at, "nonResourceURLs: %q matches no request: the path of a request has no query; use %q", url, url[:strings.IndexAny(url, "?#")])
		case bypasses(classify.Attributes{Path: path}):
			l.aboutSchema("bypasses", s.FlowSchema, at, "nonResourceURLs: %q has no effect: these requests are long-running and bypass flow control; remove it", url)
		}
	}
}

// manyUsers reports whether a subject matches an unlimited number of users.
func manyUsers(s *config.Subject) bool {
	if space.Everyone(s) || s.Kind == config.SubjectServiceAccount && s.ServiceAccount.Name == config.Wildcard {
		return true
	}
	return s.Kind == config.SubjectGroup && (slices.Contains([]string{classify.Authenticated, classify.Unauthenticated, classify.ServiceAccounts, classify.Nodes}, s.Group.Name) ||
		strings.HasPrefix(s.Group.Name, classify.ServiceAccounts+":"))
}

// reference adds the findings about the priority level to which a FlowSchema refers.
func (l *linter) reference(s *schema) {
	const field = "spec.priorityLevelConfiguration.name"
	name := s.level()
	p, exists := l.levels[name]
	if !exists {
		if !l.in.Incomplete {
			var names []string
			for _, p := range l.all.PriorityLevels {
				names = append(names, p.Name)
			}
			l.aboutSchema("dangling", s.FlowSchema, field, "is ignored by the server: there is no priority level %q in the files or among those that a server creates%s; if something else brings it, use --assume-level %s", name, document.Suggest(name, names), name)
		}
		return
	}
	switch name {
	case config.CatchAll:
		l.aboutSchema("catch-all-used", s.FlowSchema, field,
			"refers to priority level %s, which has %d seats and no queues and is meant for requests that no other FlowSchema matches; use another level", name, p.Nominal)
	case config.Exempt:
		if !s.idle {
			l.exempt(s, field)
		}
	}
	l.oneFlow(s, p)
	if m := s.Spec.DistinguisherMethod; m != nil {
		q := p.Spec.Queuing()
		namespaced := slices.ContainsFunc(s.parts, func(p space.Part) bool {
			return p.Resource && !p.Box[space.Namespaces].And(space.Except("")).Empty()
		})
		at := "spec.distinguisherMethod.type"
		switch {
		case q == nil && name != config.CatchAll && !p.assumed || q != nil && q.Queues == 1:
			l.aboutSchema("distinguisher-ignored", s.FlowSchema, at, "%s has no effect: priority level %s has fewer than two queues, so that its flows are not separated", m.Type, name)
		case m.Type == config.ByNamespace && len(s.parts) > 0 && !namespaced:
			l.aboutSchema("distinguisher-ignored", s.FlowSchema, at, "%s makes all requests one flow: no request that the rules match has a namespace; use %s", m.Type, config.ByUser)
		}
	}
}

// exempt adds findings about requests that should not be exempt from limits.
func (l *linter) exempt(s *schema, field string) {
	many, found := "", false
	for i := range s.Spec.Rules {
		rule := &s.Spec.Rules[i]
		wide := len(rule.ResourceRules) > 0
		for _, r := range rule.NonResourceRules {
			wide = wide || slices.ContainsFunc(r.NonResourceURLs, func(url string) bool { return space.PathsOf(url).Prefix == "/" })
		}
		for j := range rule.Subjects {
			if wide && many == "" && manyUsers(&rule.Subjects[j]) {
				many = document.Index(document.Index("spec.rules", i)+".subjects", j)
				l.aboutSchema("exempt-many", s.FlowSchema, many,
					"exempts %s from all limits: a burst of its requests is not queued and delays all other requests; use a level with a limit, or fewer users", subjectName(&rule.Subjects[j]))
			}
		}
		for j := range rule.ResourceRules {
			if !found && lists(space.BoxOf(&rule.ResourceRules[j])) {
				found = true
				l.aboutSchema("exempt-lists", s.FlowSchema, document.Index(document.Index("spec.rules", i)+".resourceRules", j)+".verbs",
					"exempts lists from all limits: lists need more memory of the server than other requests, and any number of them may be executed at the same time; use a level with a limit for lists")
			}
		}
	}
}

// subjectName returns a subject with its kind.
func subjectName(s *config.Subject) string {
	switch s.Kind {
	case config.SubjectUser:
		return fmt.Sprintf("User %q", s.User.Name)
	case config.SubjectGroup:
		return fmt.Sprintf("Group %q", s.Group.Name)
	}
	return fmt.Sprintf("ServiceAccount %q", s.ServiceAccount.Namespace+"/"+s.ServiceAccount.Name)
}
