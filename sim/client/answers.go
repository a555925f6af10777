package client

import (
	"apfsim/core/request"
	"apfsim/sim/api"
	"apfsim/sim/server"
	"apfsim/sim/trace"
)

// mostAnswers is how many answers of a trace are remembered: a reference to an earlier one finds none.
const mostAnswers = 1 << 16

// answers are what the latest requests of a trace were answered, by their IDs.
type answers struct {
	byID   map[int64]trace.Answered
	oldest []int64 // the IDs in the order of the answers, a ring when it is full
	next   int     // in the ring
}

// keep remembers an answer.
func (as *answers) keep(id int64, a *api.Answer) {
	if as.byID == nil {
		as.byID = map[int64]trace.Answered{}
	}
	if len(as.oldest) < mostAnswers {
		as.oldest = append(as.oldest, id)
	} else {
		delete(as.byID, as.oldest[as.next])
		as.oldest[as.next] = id
		as.next = (as.next + 1) % mostAnswers
	}
	as.byID[id] = trace.Answered{Version: a.Version, UID: a.UID, Continue: a.Continue}
}

// call returns what a request of a trace asks for, with its references replaced. It is nil if the query of the
// template says it all.
func (as *answers) call(t *server.Template, asked *trace.Asked) *api.Call {
	if asked == nil && !trace.Refers(t.Query) {
		return nil
	}
	answered := func(id int64) trace.Answered { return as.byID[id] }
	options, _ := request.ParseOptions(t.Attributes.Verb, trace.Query(t.Query, answered)) // the reader has seen that it is in URL encoding
	c := &api.Call{Options: options}
	if asked == nil {
		return c
	}
	var p request.Preconditions
	c.Body, p = asked.Body(t.Attributes.Verb, t.Attributes.Name, answered)
	if p != (request.Preconditions{}) {
		c.Options.Preconditions = p
	}
	c.Options.DryRun = c.Options.DryRun || asked.DryRun
	if asked.FieldManager != "" {
		c.Options.FieldManager = asked.FieldManager
	}
	return c
}
