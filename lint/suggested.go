package lint

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/rules"
)

// sets are the objects that the servers of all releases create, one for each set of releases that
// create the same.
var sets = func() (all []config.Objects) {
	seen := map[rules.Suggested]bool{}
	for _, version := range rules.Versions() {
		r, _ := rules.For(version)
		if set := r.Objects.Suggested; !seen[set] {
			seen[set] = true
			all = append(all, config.Suggested(r))
		}
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
	case specOf(config.Suggested(l.in.Rules), name) != nil:
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
	if !l.in.Rules.Objects.Maintained || mandatory(name) || origin == nil {
		return
	}
	value := origin.Annotations[config.AutoupdateAnnotation]
	path := "metadata.annotations"
	add := func(format string, args ...any) {
		l.add("edit-undone", origin, kind, name, path, fmt.Sprintf(format, args...))
	}
	switch {
	case like == ownName && value == "true":
		add("the server deletes it within a minute: the annotation %s: \"true\" marks it as a suggested object, but there is no suggested object with this name; remove the annotation", config.AutoupdateAnnotation)
	case like != changed || value == "false":
	case value == "true":
		add("the server restores the suggested spec within a minute: the annotation %s is \"true\"; set it to \"false\"", config.AutoupdateAnnotation)
	case value == "" && origin.Generation == 1:
		add("the server restores the suggested spec within a minute: it maintains an object of generation 1 without the annotation %s; set the annotation to \"false\"", config.AutoupdateAnnotation)
	case value == "" && origin.Generation == 0:
		add("after it is applied, the server restores the suggested spec within a minute: the object in the cluster keeps the annotation %s: \"true\"; set it to \"false\"", config.AutoupdateAnnotation)
	}
}

// version adds a finding about an API version that a server of the release does not serve.
func (l *linter) version(kind, name string, origin *config.Origin) {
	if origin == nil {
		return
	}
	if served := config.ServedVersions(l.in.Rules); !slices.Contains(served, origin.APIVersion) {
		l.add("version-not-served", origin, kind, name, "apiVersion",
			fmt.Sprintf("Kubernetes %s does not serve %s: the object cannot be created; use %s", l.in.Rules.Version, origin.APIVersion, strings.Join(served, " or ")))
	}
}
