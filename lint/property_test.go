package lint_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/request"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/lint"
)

// generator draws configurations and requests from few values, so that rules often match.
type generator struct{ *rand.Rand }

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }

func (g *generator) some(from ...string) []string {
	if g.IntN(3) == 0 {
		return []string{"*"}
	}
	var items []string
	for _, x := range from {
		if g.IntN(2) == 0 {
			items = append(items, x)
		}
	}
	if len(items) == 0 {
		items = []string{from[0]}
	}
	return items
}

func (g *generator) subject() config.Subject {
	switch g.IntN(3) {
	case 0:
		return config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{
			Name: pick(g, "*", "alice", "system:anonymous", "system:serviceaccount:a:x", "system:serviceaccount:a:y", "system:node:n")}}
	case 1:
		return config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{
			Name: pick(g, "*", "dev", "system:authenticated", "system:unauthenticated", "system:serviceaccounts", "system:serviceaccounts:a", "system:nodes")}}
	}
	return config.Subject{Kind: config.SubjectServiceAccount, ServiceAccount: &config.ServiceAccountSubject{
		Namespace: pick(g, "a", "b"), Name: pick(g, "*", "x", "y")}}
}

func (g *generator) schema(name string) *config.FlowSchema {
	s := &config.FlowSchema{Name: name, Origin: &config.Origin{Document: document.Document{Root: &document.Node{Line: 1}}}}
	s.Spec.MatchingPrecedence = int32(2 + g.IntN(4))
	s.Spec.PriorityLevelConfiguration.Name = pick(g, "workload-low", "workload-high", "global-default")
	for range 1 + g.IntN(2) {
		var r config.PolicyRulesWithSubjects
		for range 1 + g.IntN(3) {
			r.Subjects = append(r.Subjects, g.subject())
		}
		for range g.IntN(3) {
			rule := config.ResourceRule{Verbs: g.some("get", "list", "update"), APIGroups: g.some("", "apps"),
				Resources: g.some("pods", "pods/status", "nodes"), ClusterScope: g.IntN(2) == 0}
			if !rule.ClusterScope || g.IntN(2) == 0 {
				rule.Namespaces = g.some("a", "b")
			}
			r.ResourceRules = append(r.ResourceRules, rule)
		}
		if len(r.ResourceRules) == 0 || g.IntN(3) == 0 {
			r.NonResourceRules = append(r.NonResourceRules, config.NonResourceRule{Verbs: g.some("get", "patch"),
				NonResourceURLs: g.some("/healthz", "/healthz/*", "/healthz/etcd", "/", "/met")})
		}
		s.Spec.Rules = append(s.Spec.Rules, r)
	}
	return s
}

// request draws a request of a user with the groups that authenticators give.
func (g *generator) request() *classify.Attributes {
	a := &classify.Attributes{Verb: pick(g, "get", "list", "update", "patch", "watch")}
	switch g.IntN(5) {
	case 0:
		a.User, a.Groups = "system:anonymous", []string{"system:unauthenticated"}
	case 1, 2:
		namespace := pick(g, "a", "b", "c")
		a.User = "system:serviceaccount:" + namespace + ":" + pick(g, "x", "y", "z")
		a.Groups = []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	case 3:
		a.User, a.Groups = "system:node:n", []string{"system:nodes", "system:authenticated"}
	default:
		a.User, a.Groups = pick(g, "alice", "bob"), []string{"system:authenticated"}
		// By impersonation a user may be in a group of service accounts.
		if g.IntN(2) == 0 {
			a.Groups = append(a.Groups, pick(g, []string{"dev"}, []string{"system:nodes"}, []string{"system:serviceaccounts"},
				[]string{"system:serviceaccounts", "system:serviceaccounts:a"})...)
		}
	}
	if g.IntN(3) == 0 {
		a.Path = pick(g, "/healthz", "/healthz/", "/healthz/etcd", "/healthz/*", "/met", "/metrics", "/", "/x")
		return a
	}
	a.APIGroup, a.Resource, a.Namespace = pick(g, "", "apps", "batch"), pick(g, "pods", "nodes", "jobs"), pick(g, "", "a", "b", "c")
	a.Subresource = pick(g, "", "status", "log")
	return a
}

// The classifier assigns no request to a FlowSchema with the finding "shadowed". Most FlowSchemas to
// which it assigns no request have this finding.
func TestShadowedFlowSchemasGetNoRequests(t *testing.T) {
	g := &generator{rand.New(rand.NewPCG(1, 2))}
	found, missed := 0, 0
	for range 800 {
		var objects config.Objects
		for i := range 2 + g.IntN(4) {
			objects.FlowSchemas = append(objects.FlowSchemas, g.schema(fmt.Sprintf("s%d", i)))
		}
		in := input(objects)
		in.Base = config.Suggested(rules.Latest())
		findings := lint.Check(in)
		classifier := classify.New(config.Merge(in.Base, objects).FlowSchemas)
		wins := map[string]bool{}
		for range 1000 {
			wins[classifier.Match(g.request()).Name] = true
		}
		for _, s := range objects.FlowSchemas {
			shadowed := slices.ContainsFunc(findings, func(f lint.Finding) bool {
				return f.Rule == "shadowed" && f.Name == s.Name && strings.Contains(f.Message, "never takes effect")
			})
			switch {
			case shadowed && wins[s.Name]:
				t.Fatalf("%s has the finding shadowed, but gets a request: %s", s.Name, describe(objects))
			case shadowed:
				found++
			case !wins[s.Name]:
				missed++
			}
		}
	}
	t.Logf("%d FlowSchemas are shadowed; %d others got no request", found, missed)
	if found < 100 || missed > found {
		t.Errorf("%d FlowSchemas are shadowed, and %d others got no request; want at least 100, and fewer others", found, missed)
	}
}

func describe(o config.Objects) string {
	var b strings.Builder
	for _, s := range o.FlowSchemas {
		text, _ := json.Marshal(s.Spec)
		fmt.Fprintf(&b, "\n%s: %s", s.Name, text)
	}
	return b.String()
}

// quoted returns the parts of the example in a message: "list" of pods of apps in namespace a by USER.
func quoted(t *testing.T, message string) (verb, resource, user string) {
	t.Helper()
	_, example, _ := strings.Cut(message, "for example ")
	verb, example, found := strings.Cut(strings.TrimPrefix(example, `"`), `" of `)
	what, who, ok := strings.Cut(example, " by ")
	if !found || !ok {
		t.Fatalf("no example in %q", message)
	}
	user, _, _ = strings.Cut(who, " goes to ")
	return verb, what, strings.TrimSuffix(user, ")")
}

// groupsOf returns the groups of the users in examples. The message does not name the groups of the
// user "someone".
func groupsOf(user string) []string {
	switch {
	case user == "system:anonymous":
		return []string{"system:unauthenticated"}
	case strings.HasPrefix(user, "system:serviceaccount:"):
		namespace, _, _ := strings.Cut(strings.TrimPrefix(user, "system:serviceaccount:"), ":")
		return []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}
	case user == "system:node:node-1":
		return []string{"system:nodes", "system:authenticated"}
	case user == "someone":
		return []string{"dev", "system:authenticated"}
	}
	return []string{"system:authenticated"}
}

// The example of an overlap or of a shadowed part is assigned to the FlowSchema that the message
// names. If the FlowSchema that the finding is about came first, the example would be assigned to it.
func TestExamplesOfFindingsAreClassifiedAsStated(t *testing.T) {
	g := &generator{rand.New(rand.NewPCG(3, 4))}
	seen := map[string]int{}
	for range 300 {
		var objects config.Objects
		for i := range 2 + g.IntN(4) {
			objects.FlowSchemas = append(objects.FlowSchemas, g.schema(fmt.Sprintf("s%d", i)))
		}
		in := input(objects)
		all := config.Merge(in.Base, objects)
		for _, f := range lint.Check(in) {
			if f.Rule != "overlap" && f.Rule != "shadowed-part" {
				continue
			}
			verb, what, user := quoted(t, f.Message)
			a := &classify.Attributes{Verb: verb, User: user, Groups: groupsOf(user)}
			if strings.HasPrefix(what, "/") {
				a.Path = what
			} else {
				resource, namespace, _ := strings.Cut(what, " in namespace ")
				resource = strings.TrimSuffix(resource, " without a namespace")
				a.Namespace = namespace
				resource, a.APIGroup, _ = strings.Cut(resource, " of ")
				a.Resource, a.Subresource = request.SplitSubresource(resource)
			}
			_, named, _ := strings.Cut(f.Message, " goes to ")
			named, _, _ = strings.Cut(named, " ")
			if won := classify.New(all.FlowSchemas).Match(a).Name; won != named && user != "someone" {
				t.Fatalf("%s\n%+v goes to %s: %s", f.Message, a, won, describe(objects))
			}
			first := *all.FlowSchema(f.Name)
			first.Spec.MatchingPrecedence = -1
			if won := classify.New(append([]*config.FlowSchema{&first}, all.FlowSchemas...)).Match(a); won != &first {
				t.Fatalf("%s\n%+v does not match %s: %s", f.Message, a, f.Name, describe(objects))
			}
			seen[f.Rule]++
		}
	}
	t.Log(seen)
	if seen["overlap"] < 100 || seen["shadowed-part"] < 100 {
		t.Errorf("findings: %v; want at least 100 of each", seen)
	}
}
