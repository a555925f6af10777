package config

import (
	"strconv"

	"apfsim/core/rules"
)

// AutoupdateAnnotation is the annotation that says whether a server maintains the spec of an object.
const AutoupdateAnnotation = "apf.kubernetes.io/autoupdate-spec"

// Maintain returns the objects after servers of the release have maintained them for a minute
// (k8s.io/kubernetes/pkg/registry/flowcontrol): mandatory objects are created or put right. In a
// release that maintains suggested objects, these are created or, if they are maintained, put right;
// and objects that the release does not suggest are deleted if the annotation says that a server
// created them. Objects without an origin count as created by a server. The result shares the
// objects that do not change with o.
func Maintain(r *rules.Rules, o Objects) Objects {
	suggested, kept := Suggested(r), Objects{}
	for _, s := range o.FlowSchemas {
		want := suggested.FlowSchema(s.Name)
		switch {
		case want != nil && putsRight(r, s.Name, s.Origin):
			s = want
		case want == nil && r.Objects.Maintained && createdByServer(s.Origin):
			continue
		}
		kept.FlowSchemas = append(kept.FlowSchemas, s)
	}
	for _, l := range o.PriorityLevels {
		want := suggested.PriorityLevel(l.Name)
		switch {
		case want != nil && putsRight(r, l.Name, l.Origin):
			want.Spec.Exempt = l.Spec.Exempt // the operator may change this part
			l = want
		case want == nil && r.Objects.Maintained && createdByServer(l.Origin):
			continue
		}
		kept.PriorityLevels = append(kept.PriorityLevels, l)
	}
	if !r.Objects.Maintained {
		return Complete(r, kept)
	}
	return Merge(suggested, kept)
}

// putsRight reports whether a server of the release replaces the spec of an object that has the name
// of one of its own. Such an object then has the annotation, as if the server had created it.
func putsRight(r *rules.Rules, name string, origin *Origin) bool {
	if name == Exempt || name == CatchAll {
		return true
	}
	if !r.Objects.Maintained {
		return false
	}
	if origin == nil {
		return true
	}
	if update, err := strconv.ParseBool(origin.Annotations[AutoupdateAnnotation]); err == nil {
		return update
	}
	return origin.Generation == 1
}

// createdByServer reports whether the annotation of an object marks it as one that servers create.
func createdByServer(origin *Origin) bool {
	if origin == nil {
		return true
	}
	update, err := strconv.ParseBool(origin.Annotations[AutoupdateAnnotation])
	return err == nil && update
}
