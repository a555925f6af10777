// Package trial defines the input of a comparison with upstream and the results that are
// compared. The input is a configuration, a trace of requests, changes of the configuration, and
// the times at which the state of the queues is recorded.
package trial

import (
	"encoding/json"
	"fmt"
	"slices"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document/yaml"
	"apfsim/sim/scenario"
	"apfsim/sim/trace"
)

// Trial is the input of one comparison. Times are in nanoseconds since its start.
type Trial struct {
	Name                        string
	MaxRequestsInflight         int
	MaxMutatingRequestsInflight int
	RequestTimeoutNs            int64
	Objects                     Objects // including the mandatory objects
	Resources                   []scenario.Resource
	Requests                    []trace.Record // by arrival, ids from 1
	HangUps                     []HangUp       `json:",omitempty"` // in any order, one a request at most
	Changes                     []Change       `json:",omitempty"` // by time
	SamplesNs                   []int64        // when to look, in order
}

// HangUp is a client that goes away: its request's context is cancelled some time after the
// arrival. What the server does with the request then depends on whether it waits, executes or
// has left.
type HangUp struct {
	ID      int64 // of the request
	AfterNs int64 // since its arrival, at least 1
}

// HangUpsNs returns for how long each request's client stays after the arrival, by the index of
// the request: 0 for a client that does not hang up. A hang-up of a request that the trial does
// not have is ignored.
func (t *Trial) HangUpsNs() []int64 {
	index := make(map[int64]int, len(t.Requests))
	for i := range t.Requests {
		index[t.Requests[i].ID] = i
	}
	all := make([]int64, len(t.Requests))
	for _, h := range t.HangUps {
		if i, ok := index[h.ID]; ok {
			all[i] = h.AfterNs
		}
	}
	return all
}

// Change replaces the configuration.
type Change struct {
	AtNs    int64
	Objects Objects
}

// Objects are flow-control objects whose JSON is a List of v1.
type Objects struct{ config.Objects }

// MarshalJSON implements json.Marshaler.
func (o Objects) MarshalJSON() ([]byte, error) { return json.Marshal(o.Manifest(rules.Default())) }

// UnmarshalJSON implements json.Unmarshaler.
func (o *Objects) UnmarshalJSON(text []byte) error {
	docs, errs := yaml.Parse("trial", text)
	if err := errs.Err(); err != nil {
		return err
	}
	decoded := config.Decode(docs...)
	o.Objects = decoded.Objects
	return decoded.Errors.Err()
}

// Step is a write or a deletion of one object. Exactly one of FlowSchema, PriorityLevel and
// Delete is set.
type Step struct {
	FlowSchema    *config.FlowSchema    // the object to write
	PriorityLevel *config.PriorityLevel // the object to write
	Delete        string                // the name of the object to delete
	Schema        bool                  // the object to delete is a FlowSchema, not a priority level
	After         config.Objects        // the configuration after the step
}

// Steps returns the steps from one configuration to another, in an order in which no FlowSchema
// refers to a level that is still to be written: levels, then FlowSchemas, then deletions.
func Steps(from, to config.Objects) []Step {
	now := config.Objects{FlowSchemas: slices.Clone(from.FlowSchemas), PriorityLevels: slices.Clone(from.PriorityLevels)}
	var steps []Step
	step := func(s Step) {
		s.After = config.Objects{FlowSchemas: slices.Clone(now.FlowSchemas), PriorityLevels: slices.Clone(now.PriorityLevels)}
		steps = append(steps, s)
	}
	for _, l := range to.PriorityLevels {
		if old := now.PriorityLevel(l.Name); old == nil || !equal(old.Spec, l.Spec) {
			now = config.Merge(now, config.Objects{PriorityLevels: []*config.PriorityLevel{l}})
			step(Step{PriorityLevel: l})
		}
	}
	for _, s := range to.FlowSchemas {
		if old := now.FlowSchema(s.Name); old == nil || !equal(old.Spec, s.Spec) {
			now = config.Merge(now, config.Objects{FlowSchemas: []*config.FlowSchema{s}})
			step(Step{FlowSchema: s})
		}
	}
	for _, s := range from.FlowSchemas {
		if to.FlowSchema(s.Name) == nil {
			now.FlowSchemas = slices.DeleteFunc(slices.Clone(now.FlowSchemas), func(o *config.FlowSchema) bool { return o.Name == s.Name })
			step(Step{Delete: s.Name, Schema: true})
		}
	}
	for _, l := range from.PriorityLevels {
		if to.PriorityLevel(l.Name) == nil {
			now.PriorityLevels = slices.DeleteFunc(slices.Clone(now.PriorityLevels), func(o *config.PriorityLevel) bool { return o.Name == l.Name })
			step(Step{Delete: l.Name})
		}
	}
	return steps
}

func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	if errX != nil || errY != nil {
		panic(fmt.Sprint("trial: cannot encode a spec as JSON: ", errX, errY))
	}
	return string(x) == string(y)
}
