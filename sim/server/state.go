package server

import "apfsim/core/filter"

// templateState is what one server knows of a template: what its requests have in common at this
// server.
type templateState struct {
	filter.Kind
	flow      *Flow // of the kind's route
	flowIndex int32 // flow's
}

// state returns what the server knows of a template, which is worked out for its first request.
// A template of a single request, as a trace has them, gets a state that goes with the request.
func (s *Server) state(t *Template) *templateState {
	if n := int(t.number); n < len(s.states) && s.states[n] != nil {
		return s.states[n]
	}
	return s.firstState(t)
}

// firstState is state for a template that the server has not seen.
func (s *Server) firstState(t *Template) *templateState {
	if t.number == 0 {
		return s.newState(t)
	}
	for int(t.number) >= len(s.states) {
		s.states = append(s.states, nil)
	}
	state := s.newState(t)
	s.states[t.number] = state
	return state
}

func (s *Server) newState(t *Template) *templateState {
	kind, err := s.filter.NewKind(&t.Attributes, t.Query)
	if err != nil {
		panic("server: a query that validation accepted: " + err.Error())
	}
	return &templateState{Kind: kind}
}

// receive readies a request for its arrival, and finds its flow.
func (s *Server) receive(r *Request) {
	state := s.state(r.Template)
	if s.filter.Receive(&r.Request, &state.Kind) {
		state.flow = s.shared.flow(state.Route())
		state.flowIndex = int32(state.flow.Index)
	}
	r.Flow = nil
	if r.Level != nil {
		r.Flow, r.FlowIndex = state.flow, state.flowIndex
	}
}
