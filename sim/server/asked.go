package server

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/store"
)

// mostTemplateCalls is how many templates are remembered.
const mostTemplateCalls = 1 << 16

// templateCalls caches, by template, the calls of requests that are fully described by their query.
type templateCalls map[*Template]*api.Call

// generatedPrefix begins the names of objects that a workload creates without a name.
const generatedPrefix = "apfsim-"

// call returns what a request asks for. A read shares its call with others of its template. A write has a body of
// its own, with content that no other one has: an update carries the version that the store has now, as that
// of a client that has just read the object.
func (all *templateCalls) call(nowNs int64, r *Request, s *store.Store) *api.Call {
	shared := (*all)[r.Template]
	if shared == nil {
		options, _ := request.ParseOptions(r.Attributes.Verb, r.Query) // the estimate has found that it is in URL encoding
		shared = &api.Call{Options: options, Matches: r.Matches}
		if *all == nil || len(*all) == mostTemplateCalls {
			*all = templateCalls{}
		}
		(*all)[r.Template] = shared
	}
	a := &r.Attributes
	switch a.Verb {
	case "create", "update", "patch":
	default:
		return shared
	}
	body := &api.Body{Name: a.Name, Stamp: r.Number}
	switch {
	case a.Verb == "create" && a.Name == "":
		body.GenerateName = generatedPrefix
	case a.Verb == "update":
		resource := s.Resource(api.Resource{Group: a.APIGroup, Name: a.Resource})
		o := resource.Get(a.Namespace, a.Name)
		if o == nil {
			o = resource.Adopt(nowNs, a.Namespace, a.Name)
		}
		if o != nil {
			body.Version, body.Fields, body.Finalizers, body.FinalizersGiven = request.At(o.Version), o.Fields, o.Finalizers, true
		}
	}
	return &api.Call{Options: shared.Options, Body: body}
}
