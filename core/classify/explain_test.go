package classify

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"apfsim/core/config"
	"pgregory.net/rapid"
)

// A kubelet deletes a lease in the wrong namespace. Three schemas do not match, the fourth
// does, and the schemas after it have verdicts too.
func TestExplainAllSchemas(t *testing.T) {
	a := node(Attributes{Verb: "delete", APIGroup: "coordination.k8s.io", Resource: "leases", Namespace: "default", Name: "n1"})
	want := strings.TrimSpace(`
exempt (precedence 1, priority level workload-low): no match
  rules[0].subjects[0]: group "system:masters": the user is not a member
probes (precedence 2, priority level workload-low): no match
  rules[0].resourceRules: is empty, and the request is for a resource
system-node-high (precedence 400, priority level workload-low): no match
  rules[0].resourceRules[0].resources: "leases" is not among "nodes", "nodes/status"
  rules[0].resourceRules[0].apiGroups: "coordination.k8s.io" is not among ""
  rules[0].resourceRules[1].verbs: "delete" is not among "get", "create", "update"
  rules[0].resourceRules[1].namespaces: "default" is not among "kube-node-lease"
system-nodes (precedence 500, priority level workload-low): matched by group "system:nodes" at rules[0].subjects[0] and rules[0].resourceRules[0]
kube-scheduler (precedence 800, priority level workload-low): no match
  rules[0].subjects[0]: user "system:kube-scheduler": the user is "system:node:n1"
  rules[0].subjects[1]: service account "kube-system/kube-scheduler": the user is "system:node:n1"
kube-system-service-accounts (precedence 900, priority level workload-low): no match
  rules[0].subjects[0]: any service account of namespace "kube-system": the user is "system:node:n1"
service-accounts (precedence 9000, priority level workload-low): no match
  rules[0].subjects[0]: group "system:serviceaccounts": the user is not a member
global-default (precedence 9900, priority level workload-low): matched by group "system:authenticated" at rules[0].subjects[1] and rules[0].resourceRules[0]; not chosen because an earlier FlowSchema matched
catch-all (precedence 10000, priority level workload-low): matched by group "system:authenticated" at rules[0].subjects[1] and rules[0].resourceRules[0]; not chosen because an earlier FlowSchema matched
`)
	var lines []string
	for _, v := range cluster().Explain(a) {
		lines = append(lines, v.String())
	}
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExplainFailures(t *testing.T) {
	alice := Attributes{User: "alice", Verb: "get", Path: "/version"}
	nodes := Attributes{User: "alice", Verb: "list", Resource: "nodes"}
	log := Attributes{User: "alice", Verb: "get", Resource: "pods", Subresource: "log", Namespace: "shop"}
	anyone := []config.Subject{user("*")}
	for _, test := range []struct {
		request Attributes
		rule    *config.PolicyRulesWithSubjects
		want    string
	}{
		{alice, nil, "rules: is empty"},
		{alice, &config.PolicyRulesWithSubjects{NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}}},
			"rules[0].subjects: is empty"},
		{alice, &config.PolicyRulesWithSubjects{Subjects: anyone},
			"rules[0].nonResourceRules: is empty, and the request is not for a resource"},
		{alice, &config.PolicyRulesWithSubjects{Subjects: anyone, NonResourceRules: []config.NonResourceRule{{Verbs: []string{"post"}, NonResourceURLs: []string{"/healthz", "/livez"}}}},
			`rules[0].nonResourceRules[0].verbs: "get" is not among "post"` + "\n" +
				`rules[0].nonResourceRules[0].nonResourceURLs: "/version" is not at or below "/healthz", "/livez"`},
		{nodes, &config.PolicyRulesWithSubjects{Subjects: anyone, ResourceRules: []config.ResourceRule{{Verbs: all, APIGroups: all, Resources: all, Namespaces: all}}},
			"rules[0].resourceRules[0].clusterScope: is false, and the request has no namespace"},
		{log, &config.PolicyRulesWithSubjects{Subjects: anyone, ResourceRules: []config.ResourceRule{{Verbs: all, APIGroups: all, Resources: []string{"pods"}, ClusterScope: true}}},
			`rules[0].resourceRules[0].resources: "pods/log" is not among "pods"` + "\n" +
				`rules[0].resourceRules[0].namespaces: is empty, and the request has "shop"`},
		{alice, &config.PolicyRulesWithSubjects{Subjects: []config.Subject{user("alice"), user("bob")}, NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: []string{"/livez"}}}},
			`rules[0].nonResourceRules[0].nonResourceURLs: "/version" is not at or below "/livez"`}, // nothing of the subjects
		{alice, &config.PolicyRulesWithSubjects{Subjects: []config.Subject{user("bob")},
			NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}, {Verbs: all, NonResourceURLs: []string{"/livez"}}}},
			`rules[0].subjects[0]: user "bob": the user is "alice"`}, // nothing of the second path, as the first one matches
		{alice, &config.PolicyRulesWithSubjects{Subjects: []config.Subject{{Kind: "Robot"}}, NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}}},
			`rules[0].subjects[0]: subject of kind "Robot": the user is "alice"`},
	} {
		s := schema("one", 1)
		if test.rule != nil {
			s.Spec.Rules = append(s.Spec.Rules, *test.rule)
		}
		var got []string
		for _, f := range New([]*config.FlowSchema{s}).Explain(&test.request)[0].Failures {
			got = append(got, f.String())
		}
		if strings.Join(got, "\n") != test.want {
			t.Errorf("%+v: got\n%s\nwant\n%s", test.request, strings.Join(got, "\n"), test.want)
		}
	}
}

// A match says which rule it is by.
func TestExplainWhichRuleMatches(t *testing.T) {
	rule := config.PolicyRulesWithSubjects{Subjects: []config.Subject{user("*")},
		ResourceRules:    []config.ResourceRule{{Verbs: []string{"get"}}, {Verbs: all, APIGroups: all, Resources: all, ClusterScope: true}},
		NonResourceRules: []config.NonResourceRule{{Verbs: []string{"get"}}, {Verbs: all, NonResourceURLs: all}}}
	c := New([]*config.FlowSchema{schema("one", 1, rule)})
	for want, a := range map[string]Attributes{
		"rules[0].resourceRules[1]":    {User: "u", Verb: "list", Resource: "nodes"},
		"rules[0].nonResourceRules[1]": {User: "u", Verb: "get", Path: "/version"},
	} {
		if m := c.Explain(&a)[0].Match; m == nil || m.RulePath != want {
			t.Errorf("%+v is matched by %+v, want %s", a, m, want)
		}
	}
	if one, none := c.Named("one"), c.Named("two"); one == nil || one.Name != "one" || none != nil {
		t.Errorf("the schemas one and two are %v and %v, want one and none", one, none)
	}
}

// A schema with only one failure is a near miss if it is tried before the chosen schema and may
// have been meant for the user.
func TestNearMisses(t *testing.T) {
	const account = "system:serviceaccount:ops:backup"
	list := func(scope bool, namespaces ...string) config.ResourceRule {
		return config.ResourceRule{Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"pods"}, ClusterScope: scope, Namespaces: namespaces}
	}
	resources := func(subject config.Subject, rules ...config.ResourceRule) config.PolicyRulesWithSubjects {
		return config.PolicyRulesWithSubjects{Subjects: []config.Subject{subject}, ResourceRules: rules}
	}
	request := Attributes{User: account, Groups: GroupsOf(account, nil), Verb: "list", Resource: "pods"}
	in := func(namespace string) Attributes { a := request; a.Namespace = namespace; return a }
	watch := request
	watch.Verb = "watch"
	health := Attributes{User: account, Groups: request.Groups, Verb: "get", Path: "/healthy"}
	for _, c := range []struct {
		request Attributes
		rule    config.PolicyRulesWithSubjects
		want    string
	}{
		{request, resources(serviceAccount("ops", "*"), list(false, "*")), "rules[0].resourceRules[0].clusterScope: is false, and the request has no namespace"},
		{in("b"), resources(serviceAccount("ops", "*"), list(true, "a")), `rules[0].resourceRules[0].namespaces: "b" is not among "a"`},
		{watch, resources(serviceAccount("ops", "*"), list(true)), `rules[0].resourceRules[0].verbs: "watch" is not among "list"`},
		{watch, resources(serviceAccount("ops", "*"), list(false, "*")), "<nil>"}, // two failures
		{request, resources(serviceAccount("ops", "backups"), list(true)), `rules[0].subjects[0]: service account "ops/backups": the user is "` + account + `"`},
		{request, resources(group("admins"), list(true)), `rules[0].subjects[0]: group "admins": the user is not a member`},
		{request, everything(group("system:masters")), "<nil>"}, // clearly meant for other users
		{request, everything(serviceAccount("kube-system", "*")), "<nil>"},
		{request, everything(serviceAccount("dev", "backup")), `rules[0].subjects[0]: service account "dev/backup": the user is "` + account + `"`},
		{request, everything(user("alice"), user("System:serviceaccount:ops:backup")), `rules[0].subjects[1]: user "System:serviceaccount:ops:backup": the user is "` + account + `"`},
		// A rule for all paths is meant for other users, and a rule that names verbs or paths is meant for such requests.
		{health, everything(group("admins")), "<nil>"},
		{health, config.PolicyRulesWithSubjects{Subjects: []config.Subject{group("admins")},
			NonResourceRules: []config.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: all}}}, `rules[0].subjects[0]: group "admins": the user is not a member`},
		{health, config.PolicyRulesWithSubjects{Subjects: []config.Subject{group("admins")},
			NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: []string{"/healthy"}}}}, `rules[0].subjects[0]: group "admins": the user is not a member`},
		{request, resources(group("admins"), config.ResourceRule{Verbs: []string{"list"}, APIGroups: all, Resources: all, ClusterScope: true}),
			`rules[0].subjects[0]: group "admins": the user is not a member`},
		{request, resources(group("admins"), config.ResourceRule{Verbs: all, APIGroups: all, Resources: []string{"pods"}, ClusterScope: true}),
			`rules[0].subjects[0]: group "admins": the user is not a member`},
		{request, config.PolicyRulesWithSubjects{Subjects: []config.Subject{group("admins"), group("operators")}, ResourceRules: []config.ResourceRule{list(true)}},
			"rules[0].subjects: none of the 2 subjects is the user"},
		{health, config.PolicyRulesWithSubjects{Subjects: []config.Subject{group("system:authenticated")},
			NonResourceRules: []config.NonResourceRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/healthz"}}}},
			`rules[0].nonResourceRules[0].nonResourceURLs: "/healthy" is not at or below "/healthz"`},
	} {
		verdicts := New([]*config.FlowSchema{schema("one", 1, c.rule), schema("two", 2, everything(group("*"))), schema("three", 3, c.rule)}).Explain(&c.request)
		if got := fmt.Sprint(verdicts[0].NearMiss); got != c.want {
			t.Errorf("%+v:\ngot  %s\nwant %s", c.request, got, c.want)
		}
		if verdicts[1].NearMiss != nil || verdicts[2].NearMiss != nil {
			t.Errorf("the chosen schema or one after it is a near miss: %v", verdicts)
		}
	}
}

func TestExplainFallsBackToCatchAll(t *testing.T) {
	for _, v := range cluster().Explain(&Attributes{User: "ghost", Verb: "get", Path: "/version"}) {
		if v.Matched || v.Chosen != (v.FlowSchema == "catch-all") {
			t.Errorf("matched %v, chosen %v: %v", v.Matched, v.Chosen, v)
		}
		if v.Chosen && !strings.Contains(v.String(), "no match; chosen because no FlowSchema matched") {
			t.Errorf("got %v", v)
		}
	}
}

func TestVerdictAsJSON(t *testing.T) {
	c := New([]*config.FlowSchema{schema("exempt", 1, everything(group("system:masters")))})
	for _, test := range []struct {
		groups []string
		want   string
	}{
		{[]string{"system:masters"}, `[{"flowSchema":"exempt","matchingPrecedence":1,"priorityLevel":"workload-low","matched":true,"chosen":true,` +
			`"match":{"subjectPath":"rules[0].subjects[0]","subject":"group \"system:masters\"","rulePath":"rules[0].nonResourceRules[0]"}}]`},
		{nil, `[{"flowSchema":"exempt","matchingPrecedence":1,"priorityLevel":"workload-low","matched":false,"chosen":false,` +
			`"failures":[{"path":"rules[0].subjects[0]","reason":"group \"system:masters\": the user is not a member"}]}]`},
	} {
		got, err := json.Marshal(c.Explain(&Attributes{Groups: test.groups, Verb: "get", Path: "/"}))
		if err != nil || string(got) != test.want {
			t.Errorf("got %s, %v\nwant %s", got, err, test.want)
		}
	}
}

// The generators use few values, so that matches are as likely as failures.

var (
	drawName = rapid.SampledFrom([]string{"a", "b", "system:serviceaccount:a:b", "system:serviceaccount:b:b"})
	drawPath = rapid.SampledFrom([]string{"/a", "/a/b", "/b", "/ab", "/a/"})
)

func drawList(names ...string) *rapid.Generator[[]string] {
	return rapid.OneOf(rapid.Just(all), rapid.SliceOfN(rapid.SampledFrom(names), 0, 2))
}

func drawSubject(t *rapid.T) config.Subject {
	name := rapid.SampledFrom([]string{"a", "b", "*"}).Draw(t, "subject name")
	switch rapid.IntRange(0, 3).Draw(t, "kind of subject") {
	case 0:
		return user(name)
	case 1:
		return group(name)
	case 2:
		return serviceAccount(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"), name)
	}
	return config.Subject{Kind: config.SubjectGroup}
}

func drawSchema(t *rapid.T) *config.FlowSchema {
	s := schema(rapid.SampledFrom([]string{"exempt", "x", "y", "z", "catch-all"}).Draw(t, "schema"),
		rapid.Int32Range(1, 3).Draw(t, "precedence"))
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		var rule config.PolicyRulesWithSubjects
		for range rapid.IntRange(0, 2).Draw(t, "subjects") {
			rule.Subjects = append(rule.Subjects, drawSubject(t))
		}
		for range rapid.IntRange(0, 2).Draw(t, "resource rules") {
			rule.ResourceRules = append(rule.ResourceRules, config.ResourceRule{
				Verbs:        drawList("get", "list").Draw(t, "verbs"),
				APIGroups:    drawList("", "apps").Draw(t, "groups"),
				Resources:    drawList("pods", "pods/log").Draw(t, "resources"),
				ClusterScope: rapid.Bool().Draw(t, "cluster scope"),
				Namespaces:   drawList("a", "b").Draw(t, "namespaces"),
			})
		}
		for range rapid.IntRange(0, 2).Draw(t, "non-resource rules") {
			rule.NonResourceRules = append(rule.NonResourceRules, config.NonResourceRule{
				Verbs:           drawList("get", "list").Draw(t, "verbs"),
				NonResourceURLs: drawList("/a", "/a/*", "/b").Draw(t, "urls"),
			})
		}
		s.Spec.Rules = append(s.Spec.Rules, rule)
	}
	return s
}

func drawAttributes(t *rapid.T) *Attributes {
	a := &Attributes{
		User:   drawName.Draw(t, "user"),
		Groups: rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "member of"),
		Verb:   rapid.SampledFrom([]string{"get", "list"}).Draw(t, "verb"),
	}
	if rapid.Bool().Draw(t, "for a path") {
		a.Path = drawPath.Draw(t, "path")
		return a
	}
	a.APIGroup = rapid.SampledFrom([]string{"", "apps"}).Draw(t, "group")
	a.Resource = "pods"
	a.Subresource = rapid.SampledFrom([]string{"", "log"}).Draw(t, "subresource")
	a.Namespace = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "namespace")
	return a
}

// Explain agrees with Match: a verdict has either a match or failures, and the chosen schema is
// the one that Match returns, which is the first that matched or catch-all.
func TestExplainAgreesWithMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var schemas []*config.FlowSchema
		for range rapid.IntRange(0, 4).Draw(t, "schemas") {
			schemas = append(schemas, drawSchema(t))
		}
		c, a := New(schemas), drawAttributes(t)
		match := c.Match(a)
		matched := false
		for i, v := range c.Explain(a) {
			s := c.schemas[i]
			if v.Matched != matches(s, a) || v.Matched != (v.Match != nil) || v.Matched != (len(v.Failures) == 0) {
				t.Errorf("matches is %v, verdict %+v", matches(s, a), v)
			}
			if v.Chosen != (s == match) {
				t.Errorf("Match returned %v, verdict %+v", match, v)
			}
			if v.Matched && !matched && match != s {
				t.Errorf("%s is the first that matched, Match returned %v", s.Name, match)
			}
			matched = matched || v.Matched
		}
		if !matched && match != nil && match.Name != config.CatchAll {
			t.Errorf("nothing matched, Match returned %s", match.Name)
		}
	})
}
