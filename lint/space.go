package lint

import (
	"cmp"
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/document"
)

// set is a set of strings: the items or, when inverted, all strings but the items.
type set struct {
	inverted bool
	items    []string // sorted, each once
}

// setOf returns what a list of a rule matches.
func setOf(list []string) set {
	if len(list) == 1 && list[0] == config.Wildcard {
		return set{inverted: true}
	}
	items := slices.Clone(list)
	slices.Sort(items)
	return set{items: slices.Compact(items)}
}

func (s set) empty() bool { return !s.inverted && len(s.items) == 0 }

func (s set) has(x string) bool {
	_, found := slices.BinarySearch(s.items, x)
	return found != s.inverted
}

func (s set) not() set { return set{!s.inverted, s.items} }

func (s set) and(t set) set {
	switch {
	case s.inverted && t.inverted:
		items := slices.Concat(s.items, t.items)
		slices.Sort(items)
		return set{true, slices.Compact(items)}
	case s.inverted:
		s, t = t, s
	}
	var items []string
	for _, x := range s.items {
		if t.has(x) {
			items = append(items, x)
		}
	}
	return set{items: items}
}

// example returns a member of a set that is not empty, one of the preferred if there is one.
func (s set) example(preferred ...string) string {
	for _, x := range preferred {
		if s.has(x) {
			return x
		}
	}
	if !s.inverted {
		return s.items[0]
	}
	x := "other"
	for !s.has(x) {
		x += "x"
	}
	return x
}

// Dimensions of a box of requests for resources.
const (
	verbs = iota
	apiGroups
	resources  // resource or resource/subresource
	namespaces // "" for requests without one
	dimensions
)

// box is the product of a set in each dimension.
type box [dimensions]set

// and returns what is in both boxes, and whether there is anything.
func (b box) and(c box) (both box, ok bool) {
	for d := range b {
		if both[d] = b[d].and(c[d]); both[d].empty() {
			return both, false
		}
	}
	return both, true
}

// uncovered returns a part of b that is in none of the others, and whether there is one. It cuts the
// first of them off b and looks at each piece, so it may take time exponential in the number of
// others: after steps cuts it gives up and takes b for uncovered.
func (b box) uncovered(others []box, steps *int) (part box, found bool) {
	for i, other := range others {
		both, ok := b.and(other)
		if !ok {
			continue
		}
		if *steps--; *steps < 0 {
			return b, true
		}
		rest := b
		for d := range rest {
			outside := rest
			outside[d] = rest[d].and(other[d].not())
			if !outside[d].empty() {
				if part, found := outside.uncovered(others[i+1:], steps); found {
					return part, true
				}
			}
			rest[d] = both[d]
		}
		return box{}, false
	}
	return b, true
}

// resourceBox returns the requests that a rule matches.
func resourceBox(r *config.ResourceRule) box {
	scope := set{}
	if len(r.Namespaces) > 0 {
		scope = setOf(r.Namespaces).and(set{true, []string{""}})
	}
	if r.ClusterScope && scope.inverted {
		scope = set{inverted: true}
	} else if r.ClusterScope {
		scope.items = slices.Insert(slices.Clone(scope.items), 0, "")
	}
	return box{setOf(r.Verbs), setOf(r.APIGroups), setOf(r.Resources), scope}
}

// paths is what an item of nonResourceURLs covers: one path, if it is not empty, and all that begin
// with the prefix.
type paths struct{ exact, prefix string }

func pathsOf(url string) paths {
	if url == config.Wildcard {
		return paths{prefix: "/"}
	}
	prefix := strings.TrimSuffix(url, "*")
	if strings.HasSuffix(prefix, "/") {
		return paths{prefix: prefix}
	}
	return paths{exact: url, prefix: prefix + "/"}
}

// contain reports whether p covers all that q does.
func (p paths) contain(q paths) bool {
	exact := q.exact == "" || q.exact == p.exact || strings.HasPrefix(q.exact, p.prefix)
	return exact && strings.HasPrefix(q.prefix, p.prefix)
}

// example returns a path that both cover, "" if p contains nothing of q.
func (p paths) example(q paths) string {
	switch {
	case p.contain(q):
		return cmp.Or(q.exact, q.prefix+"x")
	case q.contain(p):
		return q.example(p)
	}
	return ""
}

// cell is the part of a FlowSchema that one subject and one rule, or one path of it, make.
type cell struct {
	subjectPath, rulePath string // below the object
	subject               config.Subject
	resource              bool
	box                   box   // of a resource rule
	verbs                 set   // of a non-resource rule
	paths                 paths // of a non-resource rule
}

// cellsOf returns the cells of a FlowSchema. A subject that is everyone becomes two: the users that
// have authenticated and those that have not.
func cellsOf(s *config.FlowSchema) (cells []cell) {
	for i := range s.Spec.Rules {
		rule, path := &s.Spec.Rules[i], document.Index("spec.rules", i)
		for j := range rule.Subjects {
			subjects := []config.Subject{rule.Subjects[j]}
			if everyone(&rule.Subjects[j]) {
				subjects = []config.Subject{group(authenticated), group(unauthenticated)}
			}
			for _, subject := range subjects {
				at := cell{subjectPath: document.Index(path+".subjects", j), subject: subject}
				for k := range rule.ResourceRules {
					c := at
					c.rulePath, c.resource, c.box = document.Index(path+".resourceRules", k), true, resourceBox(&rule.ResourceRules[k])
					cells = append(cells, c)
				}
				for k := range rule.NonResourceRules {
					r := &rule.NonResourceRules[k]
					for m, url := range r.NonResourceURLs {
						c := at
						c.rulePath = document.Index(document.Index(path+".nonResourceRules", k)+".nonResourceURLs", m)
						c.verbs, c.paths = setOf(r.Verbs), pathsOf(url)
						cells = append(cells, c)
					}
				}
			}
		}
	}
	return cells
}

// Groups that a server's authenticators give to users.
const (
	authenticated   = "system:authenticated"
	unauthenticated = "system:unauthenticated"
	serviceAccounts = "system:serviceaccounts"
	nodes           = "system:nodes"
	anonymous       = "system:anonymous"
	accountPrefix   = "system:serviceaccount:"
)

func group(name string) config.Subject {
	return config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: name}}
}

func everyone(s *config.Subject) bool {
	return s.Kind == config.SubjectUser && s.User.Name == config.Wildcard ||
		s.Kind == config.SubjectGroup && s.Group.Name == config.Wildcard
}

// account returns the namespace and the name of the service account that a user name stands for.
func account(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, accountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}

// includes reports whether every user that is s is also t, by the groups that a server's
// authenticators give: each user is in system:authenticated or, the anonymous one, in
// system:unauthenticated, and a service account in the two groups of its kind; whoever is in that of
// its namespace is in that of all. Groups imply no users: who is in system:serviceaccounts:x may have
// come to it by impersonation.
func includes(t, s *config.Subject) bool {
	switch {
	case everyone(t):
		return true
	case everyone(s):
		return false
	}
	switch s.Kind {
	case config.SubjectUser:
		namespace, name, isAccount := account(s.User.Name)
		if isAccount {
			return includesAccount(t, namespace, name)
		}
		switch t.Kind {
		case config.SubjectUser:
			return t.User.Name == s.User.Name
		case config.SubjectGroup:
			if s.User.Name == anonymous {
				return t.Group.Name == unauthenticated
			}
			return t.Group.Name == authenticated
		}
	case config.SubjectServiceAccount:
		return includesAccount(t, s.ServiceAccount.Namespace, s.ServiceAccount.Name)
	case config.SubjectGroup:
		if t.Kind != config.SubjectGroup {
			return false
		}
		return t.Group.Name == s.Group.Name ||
			t.Group.Name == authenticated && s.Group.Name != unauthenticated ||
			t.Group.Name == serviceAccounts && strings.HasPrefix(s.Group.Name, serviceAccounts+":")
	}
	return false
}

// includesAccount reports whether t includes a service account, or with the name "*" all of a namespace.
func includesAccount(t *config.Subject, namespace, name string) bool {
	switch t.Kind {
	case config.SubjectUser:
		return name != config.Wildcard && t.User.Name == accountPrefix+namespace+":"+name
	case config.SubjectServiceAccount:
		return t.ServiceAccount.Namespace == namespace && (t.ServiceAccount.Name == config.Wildcard || t.ServiceAccount.Name == name)
	}
	return slices.Contains([]string{authenticated, serviceAccounts, serviceAccounts + ":" + namespace}, t.Group.Name)
}

// someone returns a user that is s, with the groups that an authenticator would give.
func someone(s *config.Subject) (user string, groups []string) {
	switch s.Kind {
	case config.SubjectUser:
		user = s.User.Name
	case config.SubjectServiceAccount:
		user = accountPrefix + s.ServiceAccount.Namespace + ":" + s.ServiceAccount.Name
		if s.ServiceAccount.Name == config.Wildcard {
			user = accountPrefix + s.ServiceAccount.Namespace + ":default"
		}
	case config.SubjectGroup:
		namespace, ofNamespace := strings.CutPrefix(s.Group.Name, serviceAccounts+":")
		switch {
		case s.Group.Name == unauthenticated:
			user = anonymous
		case s.Group.Name == nodes:
			user, groups = "system:node:node-1", []string{nodes}
		case s.Group.Name == serviceAccounts:
			user = accountPrefix + "default:default"
		case ofNamespace:
			user = accountPrefix + namespace + ":default"
		default:
			user = "someone"
			if s.Group.Name != authenticated {
				groups = []string{s.Group.Name}
			}
		}
	}
	if user == anonymous {
		return user, []string{unauthenticated}
	}
	if namespace, _, ok := account(user); ok {
		groups = append(groups, serviceAccounts, serviceAccounts+":"+namespace)
	}
	return user, append(groups, authenticated)
}

// request returns a request of the box by a user that is s.
func (b box) request(s *config.Subject) *classify.Attributes {
	a := &classify.Attributes{
		Verb:      b[verbs].example("get", "list", "watch", "create", "update"),
		APIGroup:  b[apiGroups].example("", "apps"),
		Namespace: b[namespaces].example("default", ""),
	}
	a.Resource, a.Subresource, _ = strings.Cut(b[resources].example("pods", "deployments", "nodes"), "/")
	a.User, a.Groups = someone(s)
	return a
}
