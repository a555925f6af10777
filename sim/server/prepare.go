package server

import "apfsim/core/flowcontrol"

// prepare finds out what all requests of a template have in common, once.
func (s *Server) prepare(t *Template) {
	if t.prepared {
		return
	}
	t.prepared = true
	kind, err := s.filter.NewKind(&t.Attributes, t.Query)
	if err != nil {
		panic("server: a query that validation accepted: " + err.Error())
	}
	t.kind = kind
}

// receive readies a request for its arrival, and finds its flow.
func (s *Server) receive(r *Request) {
	t := r.Template
	s.prepare(t)
	if s.filter.Receive(&r.Request, &t.kind) {
		t.flow = s.flow(t.kind.Route())
		t.flowIndex = int32(t.flow.Index)
	}
	r.Flow = nil
	if r.Level != nil {
		r.Flow, r.FlowIndex = t.flow, t.flowIndex
	}
}

// flow returns the flow of a route, the same for the same one.
func (s *Server) flow(route *flowcontrol.Route) *Flow {
	key := flowKey{route.Schema, route.Level.Spec(), route.Distinguisher}
	f := s.flows[key]
	if f == nil {
		f = &Flow{
			Index:         len(s.flows),
			Schema:        route.Schema,
			Level:         route.Level.Name(),
			Distinguisher: route.Distinguisher,
			Hand:          route.Hand.Queues(),
		}
		s.flows[key] = f
	}
	return f
}
