package scenario

import (
	"cmp"
	"io/fs"
	"path/filepath"

	"apfsim/core/config"
	"apfsim/core/document"
	"apfsim/sim/yaml"
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
	Files   []string      `json:"files,omitempty" jsonschema_description:"Relative to the scenario file; as kubectl get -o yaml prints them."`
	Objects InlineObjects `json:"objects,omitempty" jsonschema_description:"FlowSchemas and PriorityLevelConfigurations."`
}

// InlineObjects are the flow-control objects that stand in the scenario itself.
type InlineObjects struct{ config.Objects }

// configContent is what a configuration file holds.
type configContent struct {
	err      error // why it cannot be read
	objects  config.Objects
	mistakes document.Mistakes
}

func (c *Cache) config(fsys fs.FS, name string) *configContent {
	c.mu.Lock()
	defer c.mu.Unlock()
	file := cachedFile{fsys == host, name}
	if known := c.configs[file]; known != nil {
		return known
	}
	content := &configContent{}
	c.configs[file] = content
	text, err := readText(fsys, name)
	if err != nil {
		content.err = err
		return content
	}
	docs, mistakes := yaml.Parse(name, text)
	content.objects, content.mistakes = config.Decode(docs...)
	content.mistakes = append(mistakes, content.mistakes...)
	return content
}

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
			s.addInput("--config "+filepath.Base(name), host, name)
			objects = v.overlay(objects, host, name, func(format string, args ...any) {
				v.elsewhere.Add(document.Place{}, "", format, args...)
			})
		}
	} else {
		objects = v.overlayAll(objects, "spec.config", s.Spec.Config.Files, s.Spec.Config.Objects)
	}
	s.Objects = config.Complete(objects)
	// With a part of it wrong, what else is missing would only follow from that.
	v.configured = !v.failed("spec.config") && len(v.elsewhere) == before
	if v.configured {
		v.dangling("spec.config", s.Objects)
	}
}

// overlayAll puts the objects of files, in their order, and then inline ones over those
// there are; path is where both stand.
func (v *validator) overlayAll(objects config.Objects, path string, files []string, inline InlineObjects) config.Objects {
	s := v.scenario
	for i, name := range files {
		at := document.Index(path+".files", i)
		if name == "" {
			v.fail(at, "is empty; want the name of a file")
			continue
		}
		s.addInput(name, s.files, s.resolve(name))
		objects = v.overlay(objects, s.files, s.resolve(name), func(format string, args ...any) { v.fail(at, format, args...) })
	}
	return config.Merge(objects, inline.Objects)
}

// overlay puts the objects of a file over those there are.
func (v *validator) overlay(objects config.Objects, fsys fs.FS, name string, fail func(format string, args ...any)) config.Objects {
	content := v.files.config(fsys, name)
	if content.err != nil {
		fail("%s: %s", cmp.Or(name, `""`), unreadable(fsys, name, content.err))
	}
	v.elsewhere = append(v.elsewhere, content.mistakes...)
	return config.Merge(objects, content.objects)
}

// dangling warns of FlowSchemas that servers ignore.
func (v *validator) dangling(path string, objects config.Objects) {
	levels := make([]string, len(objects.PriorityLevels))
	for i, l := range objects.PriorityLevels {
		levels[i] = l.Name
	}
	for _, f := range config.Dangling(objects) {
		level := f.Spec.PriorityLevelConfiguration.Name
		v.warn(path, "FlowSchema %s is ignored: there is no priority level %q%s",
			f.Name, level, document.Suggest(level, levels))
	}
}
