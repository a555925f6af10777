// Package maintain computes what servers do to the flow-control objects that are stored in etcd
// (k8s.io/kubernetes/pkg/registry/flowcontrol, packages rest and ensurer). Every server makes a pass
// over all objects when it starts, and then each minute: it creates those of its release that are
// missing, puts right the specs that it maintains, and deletes objects that a server of another
// release has created and its own release does not have. There is no leader, so servers of two
// releases undo the writes of each other for as long as both run.
//
// A [Release] has the objects of one release and computes the writes of a pass, a [Store] holds the
// objects, and a [Schedule] says when a server makes its passes. Nothing here reads a clock.
package maintain

import (
	"reflect"

	"apfsim/core/config"
)

// Kind is the kind of an object.
type Kind uint8

// The kinds.
const (
	FlowSchema Kind = iota
	PriorityLevel
)

// String returns the kind as an object has it.
func (k Kind) String() string { return [...]string{"FlowSchema", "PriorityLevelConfiguration"}[k] }

// Condition is the condition Dangling in the status of a FlowSchema: whether its level is missing.
type Condition uint8

// The conditions.
const (
	NoCondition   Condition = iota // no server has written one yet
	DanglingTrue                   // reason NotFound
	DanglingFalse                  // reason Found
)

// Object is a FlowSchema or a PriorityLevelConfiguration as it is stored, with the parts of its
// metadata on which maintenance depends. Exactly one of Schema and Level is not nil. Objects do not
// change: a write stores another one.
type Object struct {
	Schema     *config.FlowSchema
	Level      *config.PriorityLevel
	Annotation string    // the value of config.AutoupdateAnnotation; servers treat "" like a missing one
	Generation int64     // 1 when it is created; each change of the spec adds 1
	Dangling   Condition // of a FlowSchema
}

// Kind returns the kind of the object.
func (o *Object) Kind() Kind {
	if o.Schema != nil {
		return FlowSchema
	}
	return PriorityLevel
}

// Name returns the name of the object, which is unique among the objects of its kind.
func (o *Object) Name() string {
	if o.Schema != nil {
		return o.Schema.Name
	}
	return o.Level.Name
}

// Spec returns the spec of the object, a config.FlowSchemaSpec or a config.PriorityLevelSpec.
func (o *Object) Spec() any {
	if o.Schema != nil {
		return o.Schema.Spec
	}
	return o.Level.Spec
}

// sameSpec reports whether two objects of one kind have equal specs.
func sameSpec(a, b *Object) bool { return reflect.DeepEqual(a.Spec(), b.Spec()) }

// withSpec returns o with the spec of another object. The generation says whether that is a change.
func (o *Object) withSpec(source *Object) *Object {
	changed := *o
	if !sameSpec(o, source) {
		changed.Generation++
		changed.Schema, changed.Level = source.Schema, source.Level
	}
	return &changed
}

// Origin returns where the object was read, or nil.
func (o *Object) Origin() *config.Origin {
	if o.Schema != nil {
		return o.Schema.Origin
	}
	return o.Level.Origin
}
