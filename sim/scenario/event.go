package scenario

import (
	"slices"

	"apfsim/core/config"
	"apfsim/document"
)

// Event is something that is done to the servers in the middle of a run.
type Event struct {
	At    Duration `json:"at" document:"required" jsonschema_description:"When it happens, from the start of the run."`
	Apply Change   `json:"apply" document:"required" jsonschema_description:"A change of the flow-control configuration, as kubectl apply and kubectl delete make it."`

	// Objects is the whole configuration from then on.
	Objects config.Objects `json:"-"`
}

// Change puts objects in place of those of the same kind and name, or beside the others,
// and removes some. The mandatory ones come back at once.
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

// events puts together the configuration from each event on.
func (v *validator) events() {
	s := &v.scenario.Spec
	if len(s.Events) > 0 && s.Servers.FlowControl != PriorityAndFairness {
		v.fail("spec.events", "change what only PriorityAndFairness has: want no events with flowControl %s", document.Abridge(s.Servers.FlowControl))
		return
	}
	objects := v.scenario.Objects
	last := Duration(0)
	for i := range s.Events {
		e := &s.Events[i]
		path := document.Index("spec.events", i)
		switch {
		case e.At < last:
			v.fail(path+".at", "%v: want at least that of the event before, %v", e.At, last)
		case s.Duration > 0 && e.At >= s.Duration:
			v.fail(path+".at", "%v: want less than spec.duration, %v", e.At, s.Duration)
		}
		last = e.At
		before := len(v.elsewhere)
		objects = v.overlayAll(objects, path+".apply", e.Apply.Files, e.Apply.Objects)
		for j, name := range e.Apply.Remove {
			objects = v.remove(objects, document.Index(path+".apply.remove", j), name)
		}
		objects = config.Complete(objects)
		e.Objects = objects
		if v.configured = v.configured && !v.failed(path) && len(v.elsewhere) == before; v.configured {
			v.dangling(path, objects)
		}
	}
}

// remove returns the objects without the named one.
func (v *validator) remove(objects config.Objects, path string, name ObjectName) config.Objects {
	var names []string
	switch name.Kind {
	case "FlowSchema":
		for _, s := range objects.FlowSchemas {
			names = append(names, s.Name)
		}
		objects.FlowSchemas = slices.DeleteFunc(slices.Clone(objects.FlowSchemas), func(s *config.FlowSchema) bool { return s.Name == name.Name })
	case "PriorityLevelConfiguration":
		for _, l := range objects.PriorityLevels {
			names = append(names, l.Name)
		}
		objects.PriorityLevels = slices.DeleteFunc(slices.Clone(objects.PriorityLevels), func(l *config.PriorityLevel) bool { return l.Name == name.Name })
	default:
		v.enum(path+".kind", name.Kind, "FlowSchema", "PriorityLevelConfiguration")
		return objects
	}
	if !slices.Contains(names, name.Name) {
		v.fail(path+".name", "there is no %s %q by then%s", name.Kind, document.Abridge(name.Name), document.Suggest(name.Name, names))
	}
	return objects
}

// Configurations returns all configurations that the servers have in the course of the run.
func (s *Scenario) Configurations() []config.Objects {
	all := []config.Objects{s.Objects}
	for i := range s.Spec.Events {
		all = append(all, s.Spec.Events[i].Objects)
	}
	return all
}
