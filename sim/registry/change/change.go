// Package change computes what writes make of objects: their content, their owners and their deletion, by the
// rules of their kinds.
package change

import (
	"maps"
	"slices"
	"strings"

	"apfsim/core/request"
	"apfsim/sim/api"
)

// Kind is the kind of a write.
type Kind uint8

// The kinds.
const (
	Create Kind = iota
	Update      // PUT
	Patch       // merge, strategic, JSON
	Apply
	Binding // of a pod
	Delete
)

// Outcome is the result of computing a change of a state. All but Computed end the transaction like an error
// does: on a state from the cache, they need a confirmation.
type Outcome uint8

// The outcomes.
const (
	Computed   Outcome = iota // Write.Next is the new state
	Failed                    // Write.Answer says why
	Emptied                   // the last finalizer of an object that is being deleted is gone
	DeleteNow                 // a deletion finds nothing that it must wait for
	IsDeleting                // a deletion finds that it has been asked for already
)

// Write is a write of an object.
type Write struct {
	Kind                         Kind
	Strategy                     Strategy
	Subresource, Namespace, Name string
	Options                      *request.Options
	Body                         *api.Body
	Bytes                        int64 // of an object whose size nobody has given
	Preconditions                request.Preconditions

	Next   api.Object  // the new state
	Answer *api.Answer // gets the Status of what has failed

	// Of a deletion: the time that the object has to end, given or found out, and whether finalizers are left,
	// so that it stays.
	GraceSeconds int64
	GraceGiven   bool
	Finalizes    bool
}

// Creates says whether the write creates the object if it is missing.
func (w *Write) Creates() bool {
	return w.Subresource == "" && (w.Kind == Apply || w.Kind == Update && w.Strategy.Creates)
}

// Holds says whether the preconditions hold of a state, nil for none.
func (w *Write) Holds(state *api.Object) bool {
	p := &w.Preconditions
	var uid, version int64
	if state != nil {
		uid, version = state.UID, state.Version
	}
	return !p.Mismatch && (p.UID == 0 || p.UID == uid) && (!p.Version.Given || p.Version.Word == "" && p.Version.N == version)
}

// Change computes the new state of the object from the one that is stored, nil if there is none. It may be called
// several times (GuaranteedUpdate's tryUpdate).
func (w *Write) Change(nowNs int64, live *api.Object) Outcome {
	switch w.Kind {
	case Delete:
		return w.changeForDeletion(nowNs, live)
	case Binding:
		return w.changeForBinding(live)
	}
	return w.changeByRequest(nowNs, live)
}

// New computes the state of an object that is created.
func (w *Write) New(nowNs int64) {
	b := w.Body
	w.Next = api.Object{Namespace: w.Namespace, Name: w.Name, DeletionNs: -1, Bytes: b.Bytes, Stamp: b.Stamp,
		Fields: b.Fields, Finalizers: b.Finalizers}
	if w.Next.Bytes == 0 {
		w.Next.Bytes = w.Bytes
	}
	w.setOwners(nil, nowNs)
}

// changeByRequest is that of PUT and PATCH (pkg/registry/generic/registry/store.go, Update).
func (w *Write) changeByRequest(nowNs int64, live *api.Object) Outcome {
	body, a := w.Body, w.Answer
	if live == nil && !w.Creates() {
		a.Refuse(api.NotFound)
		return Failed
	}
	w.Next = api.Object{Namespace: w.Namespace, Name: w.Name, DeletionNs: -1, Bytes: w.Bytes}
	next := &w.Next
	if live != nil {
		*next = *live
	}
	if body.Stamp != 0 {
		next.Stamp = body.Stamp
	}
	if body.Bytes != 0 {
		next.Bytes = body.Bytes
	}
	switch w.Kind {
	case Apply:
		if body.OwnersGiven || body.OwnsNothing {
			a.Refuse(api.BadRequest)
			return Failed
		}
		result := apply(live, body.Fields, w.manager(), w.Options.Force, nowNs)
		if len(result.conflicts) > 0 {
			a.Refuse(api.Conflict)
			a.Causes = result.conflicts
			return Failed
		}
		next.Fields, next.Owners = result.fields, result.owners
		if live == nil && (body.UID != 0 || body.OtherUID) {
			a.Refuse(api.Conflict)
			return Failed
		}
	case Update:
		next.Fields = w.putFields(live, body.Fields)
		if w.Subresource == "" {
			next.Finalizers = body.Finalizers
		}
	default:
		if body.Patch == api.JSONPatch && body.TestsFail {
			a.Refuse(api.Invalid)
			return Failed
		}
		next.Fields = w.mergeFields(live, body.Fields)
		if body.FinalizersGiven && w.Subresource == "" {
			next.Finalizers = body.Finalizers
		}
	}
	if w.Kind != Apply {
		w.setOwners(live, nowNs)
	}
	if live == nil {
		return Computed
	}
	if o := w.checkVersion(live); o != Computed {
		return o
	}
	if w.Kind != Update && (body.OtherUID || body.UID != 0 && body.UID != live.UID) {
		a.RefuseField("FieldValueInvalid", "metadata.uid")
		return Failed
	}
	if live.Deleting() {
		for _, f := range next.Finalizers {
			if !slices.Contains(live.Finalizers, f) {
				a.RefuseField("FieldValueForbidden", "metadata.finalizers")
				return Failed
			}
		}
		if len(next.Finalizers) == 0 && live.GraceSeconds == 0 {
			return Emptied
		}
	}
	return Computed
}

// checkVersion compares the version in the body with the stored one. A patch without one has the stored one.
func (w *Write) checkVersion(live *api.Object) Outcome {
	v, a := w.Body.Version, w.Answer
	switch {
	case v.Word != "":
		a.Refuse(api.NoReason)
	case !v.Given && w.Kind != Update:
		return Computed
	case v.N == 0:
		if w.Strategy.Unconditional {
			return Computed
		}
		a.RefuseField("FieldValueInvalid", "metadata.resourceVersion")
	case v.N != live.Version:
		a.Refuse(api.Conflict)
	default:
		return Computed
	}
	return Failed
}

// manager returns in whose name the fields are written.
func (w *Write) manager() string {
	if m := w.Options.FieldManager; m != "" {
		return m
	}
	return defaultManager
}

// setOwners sets the owners of the new state of a PUT, a PATCH or a POST. An object that has no owners gets none
// (skipnonapplied.go), unless it is created.
func (w *Write) setOwners(live *api.Object, nowNs int64) {
	next := &w.Next
	if w.Body.OwnsNothing && w.Subresource == "" {
		next.Owners = nil
	}
	if live != nil && len(next.Owners) == 0 {
		return
	}
	if live != nil && isSameMap(live.Fields, next.Fields) && slices.Equal(live.Finalizers, next.Finalizers) {
		return
	}
	d := differ(live, next)
	if live == nil && w.Body.GenerateName != "" && w.Body.Name == "" {
		d.set = union(d.set, []string{generateNameField})
	}
	next.Owners = ownersAfterUpdate(next.Owners, d, w.manager(), nowNs)
}

// The beginnings of the names of fields that only one of the endpoints of an object writes.
const (
	statusFields = "status."
	specFields   = "spec."
	metaFields   = "metadata."
)

// writes says whether a request for the object, or its subresource, writes a field.
func (w *Write) writes(field string) bool {
	if w.Subresource == "status" {
		return !strings.HasPrefix(field, specFields) && !strings.HasPrefix(field, metaFields)
	}
	return !strings.HasPrefix(field, statusFields)
}

// putFields returns the fields after a PUT: those of the body that it writes, and those of the object that it
// does not. At the endpoint of the status, fields whose names do not say where they are belong to whoever
// writes them, so that none is removed.
func (w *Write) putFields(live *api.Object, given map[string]string) map[string]string {
	if live == nil || w.Subresource == "" && (isSameMap(live.Fields, given) || !hasStatus(live.Fields) && !hasStatus(given)) {
		if live != nil && (isSameMap(live.Fields, given) || maps.Equal(live.Fields, given)) {
			return live.Fields
		}
		return given
	}
	fields := map[string]string{}
	for name, value := range live.Fields {
		if !w.writes(name) || w.Subresource != "" && !strings.HasPrefix(name, statusFields) {
			fields[name] = value
		}
	}
	for name, value := range given {
		if w.writes(name) {
			fields[name] = value
		}
	}
	if maps.Equal(live.Fields, fields) {
		return live.Fields
	}
	return fields
}

func hasStatus(fields map[string]string) bool {
	for name := range fields {
		if strings.HasPrefix(name, statusFields) {
			return true
		}
	}
	return false
}

// mergeFields returns the fields after a PATCH, which are those of the object if nothing changes.
func (w *Write) mergeFields(live *api.Object, given map[string]string) map[string]string {
	changes := false
	for name, value := range given {
		if was, ok := live.Fields[name]; w.writes(name) && (!ok || was != value) {
			changes = true
		}
	}
	if !changes {
		return live.Fields
	}
	fields := make(map[string]string, len(live.Fields)+len(given))
	maps.Copy(fields, live.Fields)
	for name, value := range given {
		if w.writes(name) {
			fields[name] = value
		}
	}
	return fields
}

// sameContent says whether two states have the same fields and finalizers.
func sameContent(a, b *api.Object) bool {
	return (isSameMap(a.Fields, b.Fields) || maps.Equal(a.Fields, b.Fields)) && slices.Equal(a.Finalizers, b.Finalizers)
}

// Same says whether two states of an object are stored as the same bytes.
func Same(a, b *api.Object) bool {
	return sameBeside(a, b) && sameContent(a, b) && sameOwners(a.Owners, b.Owners)
}

// sameBeside says whether all is the same but fields, finalizers and owners.
func sameBeside(a, b *api.Object) bool {
	return a.Stamp == b.Stamp && a.Bytes == b.Bytes && a.DeletionNs == b.DeletionNs && a.GraceSeconds == b.GraceSeconds
}

// Same says whether Next is stored as the same bytes as the state that it was computed from. An update or a patch that
// changes no field keeps the fields of that state, so that they need not be compared again.
func (w *Write) Same(state *api.Object) bool {
	if w.Kind != Update && w.Kind != Patch {
		return Same(&w.Next, state)
	}
	return sameBeside(&w.Next, state) && isSameMap(w.Next.Fields, state.Fields) && slices.Equal(w.Next.Finalizers, state.Finalizers) &&
		sameOwners(w.Next.Owners, state.Owners)
}

// changeForBinding assigns a pod to a node (pkg/registry/core/pod/storage/storage.go of k8s.io/kubernetes).
func (w *Write) changeForBinding(live *api.Object) Outcome {
	if live == nil {
		w.Answer.Refuse(api.NotFound)
		return Failed
	}
	if live.Deleting() || live.Fields[NodeField] != "" {
		w.Answer.Refuse(api.Conflict)
		return Failed
	}
	w.Next = *live
	w.Next.Fields = maps.Clone(live.Fields)
	if w.Next.Fields == nil {
		w.Next.Fields = map[string]string{}
	}
	w.Next.Fields[NodeField] = w.Body.Fields[NodeField]
	return Computed
}

// The fields that the rules look at.
const (
	NodeField  = "spec.nodeName"
	phaseField = "status.phase"
	graceField = "spec.terminationGracePeriodSeconds"
)
