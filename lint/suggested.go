package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"apfsim/core/classify"
	"apfsim/core/config"
)

// firstWithAutoupdate is the release from which servers restore the specs of suggested objects.
const firstWithAutoupdate = 22

// autoupdate is the annotation that says whether a server may restore the spec of an object.
const autoupdate = "apf.kubernetes.io/autoupdate-spec"

// releases are the Kubernetes releases 1.x in which the objects that a server creates changed.
var releases = []int{18, 19, 20, 22, 24, 26, 34}

// Suggested returns the objects that a server of Kubernetes 1.minor creates
// (k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap of that release), with one exception: before 1.20
// the shares of catch-all are those of 1.20. Every call makes new objects, which the caller may change.
func Suggested(minor int) config.Objects {
	o := config.Suggested()
	level := func(name string) *config.LimitedSpec { return o.PriorityLevel(name).Spec.Limited }
	if minor < 34 {
		o.FlowSchemas = append(o.FlowSchemas, kubeSystemSchema("workload-leader-election", "leader-election", 200,
			[]config.Subject{kubeSystem(config.Wildcard)}, elects([]string{"endpoints", "configmaps"}, ""), elects([]string{"leases"}, "coordination.k8s.io")))
	}
	if 24 <= minor && minor < 34 {
		o.FlowSchemas = append(o.FlowSchemas, kubeSystemSchema("endpoint-controller", "workload-high", 150,
			[]config.Subject{
				{Kind: config.SubjectUser, User: &config.UserSubject{Name: "system:kube-controller-manager"}},
				kubeSystem("endpoint-controller"), kubeSystem("endpointslicemirroring-controller"),
			}, elects([]string{"endpoints"}, "")))
	}
	if minor < 26 {
		for _, p := range o.PriorityLevels {
			if p.Spec.Limited != nil {
				p.Spec.Limited.LendablePercent = new(int32)
			}
		}
	}
	if minor < 24 {
		rules := o.FlowSchema("system-leader-election").Spec.Rules
		old := elects([]string{"endpoints", "configmaps"}, "")
		old.Namespaces = []string{"kube-system"}
		rules[0].ResourceRules = slices.Insert(rules[0].ResourceRules, 0, old)
	}
	if minor < 22 {
		o.FlowSchemas = slices.DeleteFunc(o.FlowSchemas, func(s *config.FlowSchema) bool { return s.Name == "system-node-high" })
		o.PriorityLevels = slices.DeleteFunc(o.PriorityLevels, func(p *config.PriorityLevel) bool { return p.Name == "node-high" })
	}
	if minor < 20 {
		*level("workload-low").NominalConcurrencyShares = 20
		*level("global-default").NominalConcurrencyShares = 100
	}
	if minor < 19 {
		o.FlowSchema("global-default").Spec.Rules[0].Subjects = []config.Subject{{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: classify.ServiceAccounts}}}
	}
	return o
}

func kubeSystem(account string) config.Subject {
	return config.Subject{Kind: config.SubjectServiceAccount, ServiceAccount: &config.ServiceAccountSubject{Namespace: "kube-system", Name: account}}
}

// elects returns a rule that matches the requests of a leader election.
func elects(resources []string, group string) config.ResourceRule {
	return config.ResourceRule{Verbs: []string{"get", "create", "update"}, APIGroups: []string{group}, Resources: resources, Namespaces: []string{config.Wildcard}}
}

func kubeSystemSchema(name, level string, precedence int32, subjects []config.Subject, rules ...config.ResourceRule) *config.FlowSchema {
	return &config.FlowSchema{Name: name, Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: config.PriorityLevelReference{Name: level},
		MatchingPrecedence:         precedence,
		DistinguisherMethod:        &config.DistinguisherMethod{Type: config.ByUser},
		Rules:                      []config.PolicyRulesWithSubjects{{Subjects: subjects, ResourceRules: rules}},
	}}
}

// sets are the objects that the servers of each of the releases create.
var sets = func() (all []config.Objects) {
	for _, minor := range releases {
		all = append(all, Suggested(minor))
	}
	return all
}()

func suggestedSchema(o config.Objects, name string) any {
	if s := o.FlowSchema(name); s != nil {
		return s.Spec
	}
	return nil
}

func suggestedLevel(o config.Objects, name string) any {
	if p := o.PriorityLevel(name); p != nil {
		return p.Spec
	}
	return nil
}

// likeness is the result of comparing an object with those that servers create.
type likeness int

const (
	ownName   likeness = iota // a server of the release creates no object with this name
	changed                   // it creates an object with this name and another spec
	unchanged                 // a server of this or another release creates the object with this spec
)

// sameSpec compares the spec of an object with those of suggested objects with the same name, which
// specOf returns.
func (l *linter) sameSpec(specOf func(config.Objects, string) any, name string, spec any) likeness {
	switch {
	case createdAnywhere(specOf, name, spec):
		return unchanged
	case specOf(Suggested(l.in.Minor), name) != nil:
		return changed
	}
	return ownName
}

func createdAnywhere(specOf func(config.Objects, string) any, name string, spec any) bool {
	return slices.ContainsFunc(sets, func(set config.Objects) bool { return reflect.DeepEqual(specOf(set, name), spec) })
}

// suggestedAnywhere reports whether servers of some release create the FlowSchema with this spec.
func suggestedAnywhere(s *config.FlowSchema) bool {
	return createdAnywhere(suggestedSchema, s.Name, s.Spec)
}

// undone adds a finding about an object that a server changes or deletes.
func (l *linter) undone(kind, name string, origin *config.Origin, like likeness) {
	if l.in.Minor < firstWithAutoupdate || mandatory(name) || origin == nil {
		return
	}
	value := origin.Annotations[autoupdate]
	path := "metadata.annotations"
	add := func(format string, args ...any) {
		l.add("edit-undone", origin, kind, name, path, fmt.Sprintf(format, args...))
	}
	switch {
	case like == ownName && value == "true":
		add("the server deletes it within a minute: the annotation %s: \"true\" marks it as a suggested object, but there is no suggested object with this name; remove the annotation", autoupdate)
	case like != changed || value == "false":
	case value == "true":
		add("the server restores the suggested spec within a minute: the annotation %s is \"true\"; set it to \"false\"", autoupdate)
	case value == "" && origin.Generation == 1:
		add("the server restores the suggested spec within a minute: it maintains an object of generation 1 without the annotation %s; set the annotation to \"false\"", autoupdate)
	case value == "" && origin.Generation == 0:
		add("after it is applied, the server restores the suggested spec within a minute: the object in the cluster keeps the annotation %s: \"true\"; set it to \"false\"", autoupdate)
	}
}

// version adds a finding about an API version that a server of the release does not serve.
func (l *linter) version(kind, name string, origin *config.Origin) {
	if origin == nil {
		return
	}
	var served []string
	for _, v := range config.Versions() {
		if v.ServedFrom <= l.in.Minor && (v.RemovedIn == 0 || l.in.Minor < v.RemovedIn) {
			served = append(served, v.Name)
		}
	}
	if len(served) > 0 && !slices.Contains(served, origin.APIVersion) {
		l.add("version-not-served", origin, kind, name, "apiVersion",
			fmt.Sprintf("Kubernetes 1.%d does not serve %s: the object cannot be created; use %s", l.in.Minor, origin.APIVersion, strings.Join(served, " or ")))
	}
}
