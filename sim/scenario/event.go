package scenario

import (
	"apfsim/core/config"
	"apfsim/document"
	"apfsim/sim/quantity"
)

// Event is a change during a run: of the flow-control configuration, or of servers.
type Event struct {
	At    quantity.Duration `json:"at" document:"required" jsonschema_description:"When it happens, from the start of the run."`
	Apply *Change           `json:"apply,omitempty" jsonschema_description:"A change of the flow-control configuration, as kubectl apply and kubectl delete make it."`
	ServerChange

	// Written are the objects that the event applies.
	Written config.Objects `json:"-"`
	// Objects is the whole configuration from then on. It is that of the event before where the
	// event does not apply any. Where servers maintain the objects, it is what would be without that.
	Objects config.Objects `json:"-"`
}

var eventKinds = append([]string{"apply"}, document.FieldNames[ServerChange]()...)

// UnmarshalDocument implements document.Unmarshaler.
func (e *Event) UnmarshalDocument(d *document.Decoder, n *document.Node, path string) {
	type plain Event
	d.DecodeOneOf(n, path, eventKinds, (*plain)(e))
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
		if s.Spec.Events[i].Apply != nil {
			all = append(all, s.Spec.Events[i].Objects)
		}
	}
	return all
}
