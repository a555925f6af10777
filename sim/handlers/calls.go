package handlers

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/server"
	"apfsim/sim/store"
)

// mostCalls is how many templates are remembered.
const mostCalls = 1 << 16

// calls are what requests ask for whose query says it all, by their templates.
type calls map[*server.Template]*api.Call

// generatedPrefix is that of the names of objects that a workload creates without a name.
const generatedPrefix = "apfsim-"

// of returns what a request asks for. A read shares its call with others of its template. A write has a body of
// its own, with content that no other one has: an update carries the version that the store has now, as that
// of a client that has just read the object.
func (all *calls) of(nowNs int64, r *server.Request, s *store.Store) *api.Call {
	shared := (*all)[r.Template]
	if shared == nil {
		options, _ := request.ParseOptions(r.Attributes.Verb, r.Query) // the estimate has found that it is in URL encoding
		shared = &api.Call{Options: options}
		if *all == nil || len(*all) == mostCalls {
			*all = calls{}
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
		of := s.Resource(api.Resource{Group: a.APIGroup, Name: a.Resource})
		o := of.Get(a.Namespace, a.Name)
		if o == nil {
			o = of.Adopt(nowNs, a.Namespace, a.Name)
		}
		if o != nil {
			body.Version, body.Fields, body.Finalizers, body.FinalizersGiven = request.At(o.Version), o.Fields, o.Finalizers, true
		}
	}
	return &api.Call{Options: shared.Options, Body: body}
}
