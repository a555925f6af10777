package scenario

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"strings"

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
	Base    string        `json:"base,omitempty" jsonschema:"enum=Suggested,enum=Mandatory,default=Suggested" jsonschema_description:"The objects of a new cluster, or only those without which no server runs."`
	Files   []string      `json:"files,omitempty" jsonschema_description:"Files or folders, relative to the scenario file; as kubectl get -o yaml prints them. Objects of other kinds are skipped."`
	Objects InlineObjects `json:"objects,omitempty" jsonschema_description:"FlowSchemas and PriorityLevelConfigurations."`
}

// InlineObjects are the flow-control objects that stand in the scenario itself.
type InlineObjects struct{ config.Objects }

// config puts the flow-control configuration together. Replacement files, which are the
// host's, take the place of all but the base.
func (v *validator) config(replacement []string) {
	s := v.scenario
	before := len(v.elsewhere)
	v.enum("spec.config.base", s.Spec.Config.Base, BaseSuggested, BaseMandatory)
	objects := config.Suggested()
	if s.Spec.Config.Base == BaseMandatory {
		objects = config.Mandatory()
	}
	if len(replacement) > 0 {
		for _, name := range replacement {
			objects = v.overlay(objects, host, name, "--config "+filepath.Base(name), func(format string, args ...any) {
				v.elsewhere.Add(document.Position{}, "", format, args...)
			})
		}
	} else {
		objects = v.overlayAll(objects, "spec.config", s.Spec.Config.Files, s.Spec.Config.Objects)
	}
	s.Objects = config.Complete(objects)
	// With a part of it wrong, what else is missing would only follow from that.
	v.configured = !v.failed("spec.config") && len(v.elsewhere) == before
	if v.configured {
		v.dangling("", s.Objects)
	}
}

// overlayAll puts the objects of files, in their order, and then inline ones over those
// there are; path is where both are.
func (v *validator) overlayAll(objects config.Objects, path string, files []string, inline InlineObjects) config.Objects {
	s := v.scenario
	for i, name := range files {
		at := document.Index(path+".files", i)
		switch name {
		case "":
			v.fail(at, "is empty; want the name of a file")
			continue
		case Stdin:
			v.fail(at, "%q: want a file or a folder; standard input goes with --config", name)
			continue
		}
		objects = v.overlay(objects, s.files, s.resolve(name), name, func(format string, args ...any) { v.fail(at, format, args...) })
	}
	v.notes = append(v.notes, config.RemovedVersions(inline.Objects)...)
	return config.Merge(objects, inline.Objects)
}

// overlay puts the objects of a file or folder over those there are. The scenario or the
// option calls it inputName.
func (v *validator) overlay(objects config.Objects, fsys fs.FS, name, inputName string, fail func(format string, args ...any)) config.Objects {
	source := v.files.config(fsys, name)
	if source.err != nil {
		fail("%s: %s", cmp.Or(name, `""`), unreadable(fsys, name, source.err))
	}
	for _, file := range source.Files {
		v.scenario.addInput(Input{Name: inputName + strings.TrimPrefix(file, name), Path: file, sum: v.files.text(fsys, file).sum})
	}
	v.elsewhere = append(v.elsewhere, source.Errors...)
	v.notes = append(v.notes, source.Notes...)
	return config.Merge(objects, source.Objects)
}

// dangling warns of FlowSchemas that servers ignore, in their own file if they have been read
// from one. The path is that of the event that puts the objects into force, "" for the start.
func (v *validator) dangling(path string, objects config.Objects) {
	levels := make([]string, len(objects.PriorityLevels))
	for i, l := range objects.PriorityLevels {
		levels[i] = l.Name
	}
	for _, f := range config.Dangling(objects) {
		at := v.doc.Position(path)
		if f.Origin != nil {
			at = f.Origin.Position("spec.priorityLevelConfiguration.name")
		}
		level := f.Spec.PriorityLevelConfiguration.Name
		v.warnings.Add(at, path, "FlowSchema %s is ignored: there is no priority level %q%s",
			f.Name, level, document.Suggest(level, levels))
	}
}
