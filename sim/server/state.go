package server

import (
	"slices"

	"apfsim/core/classify"
	"apfsim/core/estimate"
	"apfsim/core/filter"
	"apfsim/core/queueset"
	"apfsim/sim/api"
)

// templateState is what one server knows of a template: what its requests have in common at this
// server.
type templateState struct {
	known     bool  // false for a state that is not worked out yet
	success   int16 // see successOf
	flowIndex int32
	flow      *Flow // of the kind's route; flowIndex is its Index and flowHash its Hash
	flowHash  uint64
	filter.Kind
}

// templateStates are what a server knows of templates, by TemplateID. They are in blocks, which
// do not move: a request refers to its Kind. Within a block the address of a state follows from the
// ID. A pointer for each state would be one more read from memory for each request.
type templateStates [][]templateState

const statesPerBlock = 64

// stateOf returns the state of the template with an ID. There must be a block for it.
func (s templateStates) stateOf(id TemplateID) *templateState {
	return &s[uint32(id)/statesPerBlock][uint32(id)%statesPerBlock]
}

// replaceableState is what a server knows of a template that can be replaced. Requests in flight
// refer to the state, also when the template has been replaced, so that it is not used for another.
type replaceableState struct {
	templateState
	template *Template
}

// state returns what the server knows of a template, which is worked out for its first request.
// The ID is the template's, which need not be read from memory for it.
func (s *Server) state(t *Template, id TemplateID) *templateState {
	if uint32(id)/statesPerBlock < uint32(len(s.states)) {
		if state := s.states.stateOf(id); state.known {
			return state
		}
	}
	if id < 0 {
		return s.stateOfReplaceable(t, id)
	}
	return s.firstState(t)
}

// firstState is state for a template that the server has not seen.
func (s *Server) firstState(t *Template) *templateState {
	for int(t.TemplateID)/statesPerBlock >= len(s.states) {
		s.states = append(s.states, make([]templateState, statesPerBlock))
	}
	state := s.states.stateOf(t.TemplateID)
	*state = s.newState(t)
	return state
}

// stateOfReplaceable is state for a template that can be replaced.
func (s *Server) stateOfReplaceable(t *Template, id TemplateID) *templateState {
	i := int(-id)
	if i >= len(s.replaceable) {
		s.replaceable = append(s.replaceable, make([]*replaceableState, i+1-len(s.replaceable))...)
	}
	state := s.replaceable[i]
	switch {
	case state == nil || !state.template.isLike(t):
		state = &replaceableState{s.newState(t), t}
	case state.template != t:
		named := *state
		named.Kind, named.template = state.Named(&t.Attributes), t
		state = &named
	default:
		return &state.templateState
	}
	s.replaceable[i] = state
	return &state.templateState
}

// isLike says whether the requests of two templates differ at most in the name of the object that they are for.
func (t *Template) isLike(other *Template) bool {
	if t == other {
		return true
	}
	a, b := &t.Attributes, &other.Attributes
	return a.Verb == b.Verb && a.Verb != "list" && a.Verb != "watch" && a.IsResource() && a.Resource == b.Resource && a.Subresource == b.Subresource &&
		a.Namespace == b.Namespace && a.APIGroup == b.APIGroup && a.User == b.User && slices.Equal(a.Groups, b.Groups) && t.Query == other.Query && t.FlowSchema == other.FlowSchema
}

func (s *Server) newState(t *Template) templateState {
	return templateState{Kind: s.newKind(t), known: true, success: successOf(&t.Attributes)}
}

// successOf returns the status of the answer to a request that succeeds where no store answers it.
func successOf(a *classify.Attributes) int16 {
	if !a.IsResource() {
		return StatusOK
	}
	return int16(api.SuccessOf(a.Verb, a.Subresource))
}

func (s *Server) newKind(t *Template) filter.Kind {
	kind, err := s.filter.NewKind(&t.Attributes, t.Query)
	if err != nil {
		panic("server: a query that validation accepted: " + err.Error())
	}
	kind.FlowSchema = t.FlowSchema
	if !s.runState.options.NoDeadlines {
		s.leastTimeLimitNs = min(s.leastTimeLimitNs, kind.TimeLimitNs())
	}
	return kind
}

// receive readies a request for its arrival, and finds its flow.
func (s *Server) receive(r *Request) {
	state := s.state(r.Template, r.TemplateID)
	r.success = state.success
	if s.filter.Receive(&r.Request, &state.Kind) {
		state.flow = s.runState.flow(state.Route())
		state.flowIndex, state.flowHash = int32(state.flow.Index), state.flow.Hash
	}
	if d := r.Details; d != nil && d.LoggedSeats && r.Work.InitialSeats > 0 {
		r.Work = estimate.Work{InitialSeats: d.Logged.Seats, FinalSeats: max(0, d.Logged.FinalSeats), AdditionalLatencyNs: max(0, d.Logged.AdditionalLatencyNs)}
	}
	r.Flow = nil
	if r.Level != nil {
		r.Flow, r.FlowIndex, r.FlowHash = state.flow, state.flowIndex, state.flowHash
	}
}

// Probe returns what a request of the template would meet that arrived now. It sends none and
// changes no decision: the probe is rejected, or dispatched at once (waits is false), or it waits
// until its methods say that it would be dispatched, and at most WaitLimitNs.
func (s *Server) Probe(nowNs int64, t *Template) (p queueset.Probe, rejection queueset.Rejection, waits bool) {
	return s.filter.Probe(nowNs, &s.state(t, t.TemplateID).Kind)
}

// WaitLimitNs returns how long a request of the template may wait in a queue.
func (s *Server) WaitLimitNs(t *Template) int64 { return s.state(t, t.TemplateID).WaitLimitNs() }
