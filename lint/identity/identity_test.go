package identity

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/request"
	"apfsim/core/rules"
)

func release(t *testing.T, version string) *rules.Rules {
	t.Helper()
	r, err := rules.For(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A new cluster of any release keeps the control plane on the levels that are meant for it.
func TestSuggestedLevels(t *testing.T) {
	for _, version := range rules.Versions() {
		r := release(t, version)
		requests := Requests(r)
		levels := map[string][]string{}
		for i, target := range Routes(requests, config.Suggested(r)) {
			q := &requests[i]
			if levels[q.Identity.Name] = append(levels[q.Identity.Name], target.Level); q.Identity.ControlPlane && !Protected(target.Level) && q.User != "system:kube-proxy" {
				t.Errorf("%s: %q of %s by %s goes to %s", version, q.Verb, q.Resource+q.Path, q.User, target.Level)
			}
		}
		for _, c := range []struct{ name, levels, since string }{
			{"kubelet", "node-high system", "1.22"},
			{"kube-scheduler", "leader-election workload-high", ""},
			{"kube-controller-manager", "leader-election workload-high", ""},
			{"cloud-controller-manager", "leader-election workload-high", ""},
			{"coredns", "workload-high", ""},
			{"kube-apiserver", "exempt", ""},
			{"cluster administrator", "exempt", ""},
			{"health probe", "exempt", ""},
			{"health probe that authenticates", "exempt", ""},
			{"administrator of kubeadm", "global-default", "1.29"},
			{"user", "global-default", "1.20"},
			{"service account of a workload", "workload-low", "1.34"},
		} {
			slices.Sort(levels[c.name])
			if got := strings.Join(slices.Compact(levels[c.name]), " "); r.Within(c.since, "") && got != c.levels {
				t.Errorf("%s: %s is assigned to %s, want %s", version, c.name, got, c.levels)
			}
		}
	}
}

// The table names resources as requests do: a misspelt one would match no FlowSchema that names it.
func TestResourcesExist(t *testing.T) {
	for _, b := range builtin {
		for _, q := range b.requests {
			info := (*classify.Attributes)(&q).Info()
			if q.Resource == "" {
				continue
			}
			if builtin := request.Builtin(q.APIGroup, q.Resource); builtin == nil && q.APIGroup != "metrics.k8s.io" {
				t.Errorf("%s: there is no resource %s in group %q", b.Name, q.Resource, q.APIGroup)
			} else if builtin != nil && q.Resource != "namespaces" && (builtin.Cluster && q.Namespace != "" || !builtin.Cluster && q.Namespace == "" && !request.OfCollection(q.Verb)) {
				t.Errorf("%s: %q of %s has namespace %q", b.Name, q.Verb, info.ResourcePath(), q.Namespace)
			}
			if q.Subresource != "" && !request.IsSubresource(q.Subresource) {
				t.Errorf("%s: there is no subresource %s/%s", b.Name, q.Resource, q.Subresource)
			}
		}
	}
}

// A FlowSchema for one namespace, or for one node, takes requests of kubelets there and nowhere else.
func TestNamesOfFlowSchemasAreDistinguished(t *testing.T) {
	r := rules.Latest()
	before := config.Suggested(r)
	after := config.Merge(before, config.Objects{FlowSchemas: []*config.FlowSchema{schemaFor("mine", 10,
		config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: "system:node:gpu-7"}},
		config.ResourceRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}, Namespaces: []string{"batch"}})}})
	changes := TakesControlPlane(r, before, after)
	if len(changes) != 1 || changes[0].User != "system:node:gpu-7" || changes[0].Namespace != "batch" || changes[0].Before.Level != "system" || changes[0].After.FlowSchema != "mine" {
		t.Errorf("got %+v, want the secrets that the kubelet of gpu-7 gets in namespace batch", changes)
	}
}

func schemaFor(name string, precedence int32, subject config.Subject, rule config.ResourceRule) *config.FlowSchema {
	return &config.FlowSchema{Name: name, Spec: config.FlowSchemaSpec{MatchingPrecedence: precedence,
		PriorityLevelConfiguration: config.PriorityLevelReference{Name: "global-default"},
		Rules:                      []config.PolicyRulesWithSubjects{{Subjects: []config.Subject{subject}, ResourceRules: []config.ResourceRule{rule}}}}}
}

// The names that requests are made for are enough: the control plane loses a request of any node, in any namespace, only
// if it loses one that Requests has.
func TestOtherNamesAreAssignedAlike(t *testing.T) {
	g := rand.New(rand.NewPCG(5, 6))
	pick := func(from ...string) string { return from[g.IntN(len(from))] }
	r := rules.Latest()
	before := config.Suggested(r)
	type other struct {
		name, level string // of the identity, before the change
		classify.Attributes
	}
	var all []other
	classifier := classify.New(before.FlowSchemas)
	for _, b := range builtin {
		if !r.Within(b.since, b.until) || !b.ControlPlane {
			continue
		}
		for _, node := range []string{"a", "b", "node-1"} {
			for _, namespace := range []string{"default", "x", "y", "kube-node-lease"} {
				for _, q := range b.requests {
					a := classify.Attributes(q)
					a.User = strings.ReplaceAll(b.User, anyNode, node)
					a.Groups = classify.GroupsOf(a.User, b.Groups)
					a.Namespace = strings.ReplaceAll(a.Namespace, anyNamespace, namespace)
					all = append(all, other{b.Name, classifier.Match(&a).Spec.PriorityLevelConfiguration.Name, a})
				}
			}
		}
	}
	found := 0
	for range 200 {
		subject := config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: pick("*", classify.Authenticated, classify.Nodes, classify.ServiceAccounts)}}
		if g.IntN(2) == 0 {
			subject = config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: pick("*", "system:node:node-1", "system:node:b", "system:kube-scheduler")}}
		}
		rule := config.ResourceRule{Verbs: []string{pick("*", "get", "patch", "update")}, APIGroups: []string{"*"}, Resources: []string{pick("*", "pods", "pods/status", "secrets", "leases", "nodes")},
			ClusterScope: g.IntN(2) == 0}
		if n := pick("", "*", "default", "kube-node-lease", "x"); n != "" || !rule.ClusterScope {
			rule.Namespaces = []string{cmp.Or(n, "x")}
		}
		after := config.Merge(before, config.Objects{FlowSchemas: []*config.FlowSchema{schemaFor(pick("mine", "a"), int32(1+g.IntN(1000)), subject, rule)}})
		got := map[string]bool{}
		for _, c := range TakesControlPlane(r, before, after) {
			got[c.Identity.Name] = true
		}
		want := map[string]bool{}
		classifier := classify.New(after.FlowSchemas)
		for i := range all {
			q := &all[i]
			taken := q.level != classifier.Match(&q.Attributes).Spec.PriorityLevelConfiguration.Name && Protected(q.level)
			want[q.name] = want[q.name] || taken
		}
		for name, taken := range want {
			if taken != got[name] {
				t.Fatalf("%s: taken is %v, want %v, by %s", name, got[name], taken, fmt.Sprintf("%+v", after.FlowSchemas[len(after.FlowSchemas)-1].Spec))
			}
			if taken {
				found++
			}
		}
	}
	if found < 200 {
		t.Errorf("%d identities were taken, want at least 200", found)
	}
}
