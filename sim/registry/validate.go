package registry

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/store"
)

// validate checks what can be checked before anything is read, and goes on, or answers the error.
func (op *Operation) validate(nowNs int64) {
	if !op.isValid() {
		op.finish(nowNs)
		return
	}
	op.dispatch(nowNs)
}

func (op *Operation) isValid() bool {
	o := &op.Call.Options
	if o.Malformed != "" {
		op.refuse(api.BadRequest)
		return false
	}
	switch op.kind {
	case list, watch, collection:
		if o.Selects() {
			selector, err := api.ParseSelector(o.LabelSelector, o.FieldSelector)
			if err != nil { // which upstream finds when it decodes the options
				op.refuse(api.BadRequest)
				return false
			}
			op.selector = selector
		}
		if !op.validateList() {
			return false
		}
	case patch:
		if o.ForceGiven {
			op.Answer.RefuseField("FieldValueForbidden", "force")
			return false
		}
	case applying:
		if o.FieldManager == "" {
			op.Answer.RefuseField("FieldValueRequired", "fieldManager")
			return false
		}
	}
	if o.Unsupported != "" {
		op.refuse(api.Invalid)
		return false
	}
	return true
}

// validateList checks the options of lists and watches
// (k8s.io/apimachinery, pkg/apis/meta/internalversion/validation). All that is wrong is among the causes.
func (op *Operation) validateList() bool {
	o := op.Call.Options
	a := &op.Answer
	var causes []api.Cause
	forbidden := func(field string) { causes = append(causes, api.Cause{Reason: "FieldValueForbidden", Field: field}) }
	unknown := func() {
		causes = append(causes, api.Cause{Reason: "FieldValueNotSupported", Field: "resourceVersionMatch"})
	}
	const match, initial = "resourceVersionMatch", "sendInitialEvents"
	if !op.registry.rules.Match {
		return true // the server does not know the parameters
	}
	if !op.registry.rules.InitialEvents {
		o.SendInitialEventsGiven = false
	}
	if op.kind == watch {
		op.defaultWatch(&o)
		if o.SendInitialEventsGiven {
			if o.Match != request.NotOlderThan {
				forbidden(match)
			}
			if !op.registry.watchList {
				forbidden(initial)
			}
		}
		if o.Match != request.NoMatch {
			if !o.SendInitialEventsGiven {
				forbidden(match)
			}
			if o.Match != request.NotOlderThan {
				unknown()
			}
			if o.Continue != "" {
				forbidden(match)
			}
		}
	} else {
		if o.Match != request.NoMatch {
			if !o.Version.Given {
				forbidden(match)
			}
			if o.Continue != "" {
				forbidden(match)
			}
			if o.Match == request.UnknownMatch {
				unknown()
			}
			if o.Match == request.Exact && o.Version.Zero() {
				forbidden(match)
			}
		}
		if o.SendInitialEventsGiven {
			forbidden(initial)
		}
	}
	if len(causes) == 0 {
		return true
	}
	a.Refuse(api.Invalid)
	a.Causes = causes
	return false
}

// defaultWatch makes a watch that does not say where it begins one that begins with the objects
// (pkg/apis/meta/internalversion/defaults.go).
func (op *Operation) defaultWatch(o *request.Options) {
	if op.registry.watchList && !o.SendInitialEventsGiven && o.Match == request.NoMatch && (!o.Version.Given || o.Version.Zero()) {
		o.SendInitialEvents, o.SendInitialEventsGiven, o.Match = true, true, request.NotOlderThan
	}
}

// validateRange checks the version and the continue token of a list that the storage sees
// (pkg/storage/continue.go, ValidateListOptions), and finds out which version it asks for.
func (op *Operation) validateRange() bool {
	l := &op.listing
	if l.token != "" {
		revision, start, err := store.DecodeToken(l.token)
		if err != nil || l.version.Given && !l.version.Zero() {
			op.refuse(api.BadRequest)
			return false
		}
		l.start = start
		l.exact = max(revision, 0)
		l.latest = revision < 0
		return true
	}
	switch {
	case l.version.Word != "":
		op.refuse(api.BadRequest)
		return false
	case !l.version.Given:
		l.latest = true
	case l.match == request.Exact || l.match != request.NotOlderThan && l.limit > 0 && l.name == "":
		l.exact = l.version.N
	default:
		l.atLeast = l.version.N
	}
	return true
}
