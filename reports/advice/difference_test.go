package advice

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/lint"
	"apfsim/lint/identity"
)

// For random FlowSchemas, the table of moved requests and the rule takes-control-plane agree with a classification of every request
// of every identity, both ways.
func TestMovedRequestsAgreeWithClassification(t *testing.T) {
	g := rand.New(rand.NewPCG(7, 8))
	pick := func(from ...string) string { return from[g.IntN(len(from))] }
	r := rules.Latest()
	before := config.Suggested(r)
	was := classify.New(before.FlowSchemas)
	taken := 0
	for i := range schemasToDraw {
		s := &config.FlowSchema{Name: pick("a", "mine", "z"), Origin: &config.Origin{Document: document.Document{Root: &document.Node{Line: 1}}}}
		s.Spec.MatchingPrecedence = int32(2 + g.IntN(10_000-2))
		if g.IntN(4) > 0 {
			s.Spec.MatchingPrecedence = int32(2 + g.IntN(1000))
		}
		s.Spec.PriorityLevelConfiguration.Name = pick("workload-low", "workload-high", "system", "global-default", "catch-all")
		rule := config.PolicyRulesWithSubjects{Subjects: []config.Subject{{Kind: config.SubjectGroup, Group: &config.GroupSubject{
			Name: pick("*", classify.Authenticated, classify.Unauthenticated, classify.ServiceAccounts, "system:serviceaccounts:kube-system", classify.Nodes, "system:masters", "dev")}}}}
		switch g.IntN(3) {
		case 0:
			rule.Subjects[0] = config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: pick("*", "system:kube-scheduler", "system:node:gpu", "jane")}}
		case 1:
			rule.Subjects = append(rule.Subjects, config.Subject{Kind: config.SubjectServiceAccount, ServiceAccount: &config.ServiceAccountSubject{Namespace: "kube-system", Name: pick("*", "coredns")}})
		}
		resource := config.ResourceRule{Verbs: []string{pick("*", "get", "list", "patch", "update")}, APIGroups: []string{pick("*", "", "apps", "coordination.k8s.io")},
			Resources: []string{pick("*", "pods", "secrets", "leases", "nodes", "pods/status")}, ClusterScope: g.IntN(2) == 0}
		if !resource.ClusterScope || g.IntN(2) == 0 {
			resource.Namespaces = []string{pick("*", "batch", "kube-system", "kube-node-lease")}
		}
		rule.ResourceRules = append(rule.ResourceRules, resource)
		if g.IntN(4) == 0 {
			rule.NonResourceRules = append(rule.NonResourceRules, config.NonResourceRule{Verbs: []string{"get"}, NonResourceURLs: []string{pick("*", "/healthz", "/apis")}})
		}
		s.Spec.Rules = append(s.Spec.Rules, rule)
		added := config.Objects{FlowSchemas: []*config.FlowSchema{s}}
		after := config.Merge(before, added)
		is := classify.New(after.FlowSchemas)

		moved, takes := map[string]bool{}, map[string]bool{}
		for _, q := range identity.Requests(r, before, after) {
			from, to := was.Match(&q.Attributes), is.Match(&q.Attributes)
			if from.Spec.PriorityLevelConfiguration.Name == to.Spec.PriorityLevelConfiguration.Name {
				continue
			}
			if to != s {
				t.Fatalf("%d: a request moves to %s, which did not change", i, to.Name)
			}
			moved[fmt.Sprint(q.Identity.Name, from.Name)] = true
			if q.Identity.ControlPlane && identity.Protected(from.Spec.PriorityLevelConfiguration.Name) {
				takes[from.Name] = true
			}
		}
		d := CompareConfigurations(DifferenceInput{From: r, To: r, Before: before, After: after, ServerLimit: 600})
		got := map[string]bool{}
		for _, m := range d.Moved {
			got[fmt.Sprint(m.Client, m.Before.FlowSchema)] = true
			if m.After.FlowSchema != s.Name {
				t.Errorf("%d: %+v does not go to %s", i, m, s.Name)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(moved) {
			t.Fatalf("%d: %+v: moved %v, want %v", i, s.Spec, got, moved)
		}
		findings := slices.DeleteFunc(lint.Check(lint.Input{Objects: added, Base: before, ServerLimit: 600, Rules: r}), func(f lint.Finding) bool { return f.Rule != "takes-control-plane" })
		if len(findings) != len(takes) {
			t.Fatalf("%d: %+v: %d findings, want those of %v", i, s.Spec, len(findings), takes)
		}
		if len(takes) > 0 {
			taken++
		}
	}
	if taken < schemasToDraw/20 {
		t.Errorf("%d of %d FlowSchemas take something, want a twentieth", taken, schemasToDraw)
	}
}

const schemasToDraw = 300

// A cluster has a FlowSchema team-1 that makes one flow of all its users. A change adds team-2, which does the same: that is a new
// finding, although it differs from the one before in a digit only.
func TestNewFindingsAreThoseOfOtherObjects(t *testing.T) {
	r := rules.Latest()
	team := func(n int32) *config.FlowSchema {
		s := &config.FlowSchema{Name: fmt.Sprint("team-", n), Origin: &config.Origin{Document: document.Document{Root: &document.Node{Line: 1}}}}
		s.Spec.MatchingPrecedence, s.Spec.PriorityLevelConfiguration.Name = 100+n, "workload-low"
		s.Spec.Rules = []config.PolicyRulesWithSubjects{{
			Subjects:      []config.Subject{{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: fmt.Sprint("team-", n)}}},
			ResourceRules: []config.ResourceRule{{Verbs: []string{"list"}, APIGroups: []string{"*"}, Resources: []string{"*"}, ClusterScope: true, Namespaces: []string{"*"}}},
		}}
		return s
	}
	before := config.Merge(config.Suggested(r), config.Objects{FlowSchemas: []*config.FlowSchema{team(1)}})
	findings := func(after config.Objects) (of []string) {
		for _, f := range CompareConfigurations(DifferenceInput{From: r, To: r, Before: before, After: after, ServerLimit: 600}).Findings {
			of = append(of, f.Rule+" "+f.Message)
		}
		return of
	}
	if got := findings(config.Merge(before, config.Objects{FlowSchemas: []*config.FlowSchema{team(2)}})); !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, "one-flow") && strings.Contains(f, "team-2") }) {
		t.Errorf("got %q, want a finding about team-2", got)
	}
	if got := findings(before); len(got) > 0 {
		t.Errorf("without a change, there are new findings: %q", got)
	}
}
