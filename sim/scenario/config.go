package scenario

import (
	"apfsim/core/config"
	"apfsim/document"
)

// Bases of a configuration.
const (
	BaseSuggested = "Suggested"
	BaseMandatory = "Mandatory"
)

// Config says which flow-control objects the servers have: those of the base, replaced by
// those of the files of the same name, in their order, and these by the inline ones.
type Config struct {
	Base    string        `json:"base,omitempty" jsonschema:"enum=Suggested,enum=Mandatory,default=Suggested" jsonschema_description:"The objects of a new cluster, or only the mandatory ones, which every server has."`
	Files   []string      `json:"files,omitempty" jsonschema_description:"Files or folders, relative to the scenario file; as kubectl get -o yaml prints them. Objects of other kinds are skipped."`
	Objects InlineObjects `json:"objects,omitempty" jsonschema_description:"FlowSchemas and PriorityLevelConfigurations."`
}

// InlineObjects are the flow-control objects in the scenario file itself.
type InlineObjects struct{ config.Objects }

// WarnDangling warns of FlowSchemas that servers ignore, in their own file if they have been read
// from one. The path is that of the event that puts the objects into force, "" for the start.
func WarnDangling(c *document.Checker, path string, objects config.Objects) {
	levels := make([]string, len(objects.PriorityLevels))
	for i, l := range objects.PriorityLevels {
		levels[i] = l.Name
	}
	for _, f := range config.Dangling(objects) {
		at := c.Document.Position(path)
		if f.Origin != nil {
			at = f.Origin.Position("spec.priorityLevelConfiguration.name")
		}
		level := f.Spec.PriorityLevelConfiguration.Name
		c.Warnings.Add(at, path, "FlowSchema %s is ignored: there is no priority level %q%s",
			f.Name, level, document.Suggest(level, levels))
	}
}
