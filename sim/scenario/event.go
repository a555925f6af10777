package scenario

import (
	"apfsim/core/config"
	"apfsim/sim/quantity"
)

// Event is a change of the servers during a run.
type Event struct {
	At    quantity.Duration `json:"at" document:"required" jsonschema_description:"When it happens, from the start of the run."`
	Apply Change            `json:"apply" document:"required" jsonschema_description:"A change of the flow-control configuration, as kubectl apply and kubectl delete make it."`

	// Objects is the whole configuration from then on.
	Objects config.Objects `json:"-"`
}

// Change replaces objects by those of the same kind and name, adds others, and removes some. A
// mandatory object that is removed is restored at once.
type Change struct {
	Files   []string      `json:"files,omitempty" jsonschema_description:"Files or folders, relative to the scenario file; as kubectl get -o yaml prints them. Objects of other kinds are skipped."`
	Objects InlineObjects `json:"objects,omitempty" jsonschema_description:"FlowSchemas and PriorityLevelConfigurations."`
	Remove  []ObjectName  `json:"remove,omitempty"`
}

// ObjectName names a flow-control object.
type ObjectName struct {
	Kind string `json:"kind" document:"required" jsonschema:"enum=FlowSchema,enum=PriorityLevelConfiguration"`
	Name string `json:"name" document:"required" jsonschema:"minLength=1"`
}

// Configurations returns all configurations that the servers have during the run.
func (s *Scenario) Configurations() []config.Objects {
	all := []config.Objects{s.Objects}
	for i := range s.Spec.Events {
		all = append(all, s.Spec.Events[i].Objects)
	}
	return all
}
