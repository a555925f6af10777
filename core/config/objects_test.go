package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/document/yaml"
)

// The manifest of the suggested objects equals the export of a server without the fields that
// the server added.
func TestManifestReadsAsKubectlPrintsIt(t *testing.T) {
	var want strings.Builder
	skip := ""
	for line := range strings.Lines(string(export(t))) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if skip != "" && len(indent) > len(skip) {
			continue
		}
		skip = ""
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch name {
		case "status", "annotations":
			skip = indent
			continue
		case "creationTimestamp", "generation", "resourceVersion", "uid":
			continue
		}
		if line == "metadata:\n" { // the list's own
			continue
		}
		want.WriteString(line)
	}
	got, err := yaml.Marshal(config.Suggested(rules.Latest()).Manifest(rules.Latest()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), string(got)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	got, err = yaml.Marshal(config.Objects{}.Manifest(rules.Latest()))
	if want := "apiVersion: v1\nitems: []\nkind: List\n"; err != nil || string(got) != want {
		t.Errorf("the manifest of no objects is %q (%v), want %q", got, err, want)
	}
}

// Valid objects are unchanged after they are written and decoded.
func TestDecodingAManifestYieldsTheSameObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := drawObjects(t)
		text, err := yaml.Marshal(objects.Manifest(rules.Latest()))
		if err != nil {
			t.Fatal(err)
		}
		back, errs := decode(string(text))
		if errs != nil {
			t.Fatalf("%v\nin\n%s", errs, text)
		}
		if diff := cmp.Diff(objects, back, ignoreOrigin); diff != "" {
			t.Fatalf("before (-) and after (+) writing it:\n%s", diff)
		}
	})
}

func drawObjects(t *rapid.T) config.Objects {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,5}[a-z0-9])?(\.[a-z]{1,3})?`), 0, 4, rapid.ID)
	var o config.Objects
	for _, name := range names.Draw(t, "levels") {
		limited := &config.LimitedSpec{
			NominalConcurrencyShares: new(rapid.Int32Min(0).Draw(t, "shares")),
			LendablePercent:          new(rapid.Int32Range(0, 100).Draw(t, "lendable")),
			LimitResponse:            config.LimitResponse{Type: config.ResponseReject},
		}
		if rapid.Bool().Draw(t, "bounded") {
			limited.BorrowingLimitPercent = new(rapid.Int32Min(0).Draw(t, "borrowing"))
		}
		if rapid.Bool().Draw(t, "queues") {
			queues := rapid.Int32Range(1, 1000).Draw(t, "queues")
			limited.LimitResponse = config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{
				Queues:           queues,
				HandSize:         rapid.Int32Range(1, min(queues, 6)).Draw(t, "hand size"),
				QueueLengthLimit: rapid.Int32Min(1).Draw(t, "queue length limit"),
			}}
		}
		o.PriorityLevels = append(o.PriorityLevels, &config.PriorityLevel{Name: name,
			Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: limited}})
	}
	for _, name := range names.Draw(t, "schemas") {
		s := &config.FlowSchema{Name: name}
		s.Spec.MatchingPrecedence = rapid.Int32Range(2, 10000).Draw(t, "precedence")
		s.Spec.PriorityLevelConfiguration.Name = rapid.SampledFrom([]string{"a", "exempt", "no", "1e3"}).Draw(t, "level")
		if method := rapid.SampledFrom([]string{"", config.ByUser, config.ByNamespace}).Draw(t, "distinguisher"); method != "" {
			s.Spec.DistinguisherMethod = &config.DistinguisherMethod{Type: method}
		}
		for range rapid.IntRange(0, 2).Draw(t, "rules") {
			s.Spec.Rules = append(s.Spec.Rules, drawRule(t))
		}
		o.FlowSchemas = append(o.FlowSchemas, s)
	}
	return o
}

func drawRule(t *rapid.T) config.PolicyRulesWithSubjects {
	some := func(name string, from ...string) []string {
		if rapid.Bool().Draw(t, name+" wildcard") {
			return []string{config.Wildcard}
		}
		return rapid.SliceOfN(rapid.SampledFrom(from), 1, 3).Draw(t, name)
	}
	name := rapid.StringMatching(`[ -~éλ\n\t]{1,8}`).Filter(func(s string) bool { return !strings.Contains(s, "{{") }) // that is a template
	var r config.PolicyRulesWithSubjects
	for range rapid.IntRange(1, 3).Draw(t, "subjects") {
		s := config.Subject{Kind: rapid.SampledFrom([]string{config.SubjectUser, config.SubjectGroup, config.SubjectServiceAccount}).Draw(t, "kind")}
		switch s.Kind {
		case config.SubjectUser:
			s.User = &config.UserSubject{Name: name.Draw(t, "user")}
		case config.SubjectGroup:
			s.Group = &config.GroupSubject{Name: name.Draw(t, "group")}
		default:
			s.ServiceAccount = &config.ServiceAccountSubject{Namespace: "no", Name: some("account", "null", "default", "0x1")[0]}
		}
		r.Subjects = append(r.Subjects, s)
	}
	resources := rapid.IntRange(0, 2).Draw(t, "resource rules")
	for range resources {
		rule := config.ResourceRule{Verbs: some("verbs", "get", "list"), APIGroups: some("groups", "", "apps"),
			Resources: some("resources", "pods", "pods/status"), ClusterScope: rapid.Bool().Draw(t, "cluster scope")}
		if !rule.ClusterScope || rapid.Bool().Draw(t, "namespaced") {
			rule.Namespaces = some("namespaces", "default", "y", "123")
		}
		r.ResourceRules = append(r.ResourceRules, rule)
	}
	if resources == 0 {
		r.NonResourceRules = []config.NonResourceRule{{Verbs: some("verbs", "get"), NonResourceURLs: some("URLs", "/", "/healthz", "/a/*")}}
	}
	return r
}

func names(o config.Objects) string {
	var all []string
	for _, s := range o.FlowSchemas {
		all = append(all, s.Name)
	}
	all = append(all, "/")
	for _, l := range o.PriorityLevels {
		all = append(all, l.Name)
	}
	return strings.Join(all, " ")
}

func TestMergeReplacesAndAppends(t *testing.T) {
	base := config.Mandatory(rules.Latest())
	exempt := &config.FlowSchema{Name: config.Exempt}
	exemptLevel := &config.PriorityLevel{Name: config.Exempt}
	merged := config.Merge(base, config.Objects{
		FlowSchemas:    []*config.FlowSchema{{Name: "new"}, exempt, {Name: "system"}},
		PriorityLevels: []*config.PriorityLevel{exemptLevel, {Name: "new"}},
	})
	if got, want := names(merged), "exempt catch-all new system / catch-all exempt new"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if merged.FlowSchemas[0] != exempt || merged.PriorityLevels[1] != exemptLevel {
		t.Error("exempt was not replaced")
	}
	if got, want := names(base), "exempt catch-all / catch-all exempt"; got != want || base.FlowSchemas[0] == exempt {
		t.Errorf("merging changed the base to %q", got)
	}
}

func TestCompleteSuppliesWhatIsMissing(t *testing.T) {
	own := &config.FlowSchema{Name: config.CatchAll}
	got := config.Complete(rules.Latest(), config.Objects{FlowSchemas: []*config.FlowSchema{own, {Name: "a"}}, PriorityLevels: []*config.PriorityLevel{{Name: "a"}}})
	if got, want := names(got), "exempt catch-all a / exempt a catch-all"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got.FlowSchemas[1] != own {
		t.Error("an object that was there has been replaced")
	}
	if diff := cmp.Diff(config.Suggested(rules.Latest()), config.Complete(rules.Latest(), config.Suggested(rules.Latest()))); diff != "" {
		t.Errorf("a complete configuration was changed:\n%s", diff)
	}
}

func TestDangling(t *testing.T) {
	o := config.Suggested(rules.Latest())
	if d := config.Dangling(o); d != nil {
		t.Errorf("the suggested %s dangles", d[0].Name)
	}
	o.PriorityLevels = config.Mandatory(rules.Latest()).PriorityLevels
	var got []string
	for _, s := range config.Dangling(o) {
		got = append(got, s.Name)
	}
	want := "system-nodes system-node-high system-leader-election kube-controller-manager kube-scheduler " +
		"kube-system-service-accounts service-accounts global-default"
	if strings.Join(got, " ") != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A caller that changes the objects it was given changes no other caller's objects.
func TestBootstrapObjectsAreTheCallers(t *testing.T) {
	o := config.Suggested(rules.Latest())
	for _, s := range o.FlowSchemas {
		for _, r := range s.Spec.Rules {
			for _, rule := range r.ResourceRules {
				rule.Verbs[0] = "changed"
			}
		}
	}
	if got := o.FlowSchemas[0].Spec.Rules[0].ResourceRules[0].Resources[0]; got != config.Wildcard {
		t.Errorf("changing the verbs changed the resources to %s", got)
	}
	if d := config.Decode(document.Document{File: "f", Root: reread(t, config.Suggested(rules.Latest()))}); d.Errors != nil {
		t.Errorf("the next caller got changed objects: %v", d.Errors)
	}
}

func reread(t *testing.T, o config.Objects) *document.Node {
	text, err := yaml.Marshal(o.Manifest(rules.Latest()))
	if err != nil {
		t.Fatal(err)
	}
	docs, errs := yaml.Parse("f", text)
	if errs != nil {
		t.Fatal(errs)
	}
	return docs[0].Root
}
