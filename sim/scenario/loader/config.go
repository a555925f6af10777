package loader

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Config is a flow-control configuration without a scenario.
type Config struct {
	Objects  config.Objects  // valid only if there are no errors
	Sources  []*Source       // what was read, in the order of the arguments
	Notes    document.Errors // on the files, and on what servers of the release make of the objects
	Warnings document.Errors // on objects that are valid, but have no effect
	Errors   document.Errors
}

// LoadConfig puts together the configuration that a scenario would have with servers of a release,
// with the given base and with files of the host, among them folders and [Stdin].
func LoadConfig(release *rules.Rules, base string, files []string) *Config {
	return LoadConfigFS(host, release, base, files)
}

// LoadConfigFS is LoadConfig with files of a file system.
func LoadConfigFS(fsys fs.FS, release *rules.Rules, base string, files []string) *Config {
	s := scenario.New()
	s.Spec.Servers.KubernetesVersion, s.Spec.Config.Base = server.Versions{server.Version(release.Version)}, base
	r := reading{fsys: fsys, replacements: fsys, cache: NewCache(), scenario: s, check: document.Checker{Document: &document.Document{File: "--base"}}}
	r.check.Enum("spec.config.base", base, scenario.BaseSuggested, scenario.BaseMandatory)
	r.config(files, nil)
	if r.complete {
		scenario.WarnDangling(&r.check, "", s.Objects)
	}
	c := &Config{Objects: s.Objects, Notes: distinct(r.notes.Sorted()), Warnings: r.check.Warnings.Sorted(), Errors: append(r.check.Errors, r.outside...).Sorted()}
	for _, name := range files {
		c.Sources = append(c.Sources, r.cache.config(fsys, name))
	}
	return c
}

// config puts the flow-control configuration together. Replacement files, which are those of the
// host, replace everything except the base; those of added are put above the result. If there is a
// replacement, it returns the objects of the scenario that have been replaced.
func (r *reading) config(replacement, added []string) (own *config.Objects) {
	s := r.scenario
	before := len(r.outside)
	var err error
	if r.rules, err = s.Spec.Servers.Rules(); err != nil {
		r.rules = rules.Default() // the check of the scenario reports the version and the gates
	}
	objects := config.Suggested(r.rules)
	if s.Spec.Config.Base == scenario.BaseMandatory {
		objects = config.Mandatory(r.rules)
	}
	overlayFlag := func(flag string, names []string) {
		for _, name := range names {
			objects = r.overlay(objects, cmp.Or(r.replacements, host), name, flag+" "+filepath.Base(name), func(format string, args ...any) {
				r.outside.Add(document.Position{}, "", format, args...)
			})
		}
	}
	if len(replacement) > 0 {
		own = r.replaced()
		overlayFlag("--config", replacement)
	} else {
		objects = r.overlayAll(objects, "spec.config", s.Spec.Config.Files, s.Spec.Config.Objects)
	}
	overlayFlag("--add-config", added)
	s.Objects = config.Complete(r.rules, objects)
	// If a part of it is wrong, what else is missing only follows from that.
	r.complete = !r.check.Failed("spec.config") && len(r.outside) == before
	return own
}

// overlayAll merges the objects of files, in their order, and then inline ones into the given
// objects; path is where files and inline objects are in the document.
func (r *reading) overlayAll(objects config.Objects, path string, files []string, inline scenario.InlineObjects) config.Objects {
	for i, name := range files {
		at := document.Index(path+".files", i)
		switch name {
		case "":
			r.check.Fail(at, "is empty; want the name of a file")
			continue
		case Stdin:
			r.check.Fail(at, "%q: want a file or a folder; standard input can be given with --config", name)
			continue
		}
		objects = r.overlay(objects, r.fsys, r.resolve(name), name, func(format string, args ...any) { r.check.Fail(at, format, args...) })
	}
	return config.Merge(objects, r.held(inline.Objects))
}

// held returns what the servers hold of decoded objects.
func (r *reading) held(objects config.Objects) config.Objects {
	held, notes, refused := objects.In(r.rules)
	r.notes, r.outside = append(r.notes, notes...), append(r.outside, refused...)
	return held
}

// overlay merges the objects of a file or folder into the given ones. The scenario or the option
// calls the file or folder inputName.
func (r *reading) overlay(objects config.Objects, fsys fs.FS, name, inputName string, fail func(format string, args ...any)) config.Objects {
	source := r.cache.config(fsys, name)
	if source.err != nil {
		fail("%s: %s", cmp.Or(name, `""`), unreadable(fsys, name, source.err))
	}
	for _, file := range source.Files {
		r.addInput(scenario.Input{Name: inputName + strings.TrimPrefix(file, name), Path: file, Host: fsys == host, SHA256: r.cache.text(fsys, file).sha256})
	}
	r.outside = append(r.outside, source.Errors...)
	r.notes = append(r.notes, source.Notes...)
	return config.Merge(objects, r.held(source.Objects))
}

// events puts together the configuration from each event on. Ways of limiting requests other than
// PriorityAndFairness have no configuration.
func (r *reading) events() {
	s := &r.scenario.Spec
	if s.Servers.FlowControl != server.PriorityAndFairness {
		return
	}
	objects := r.scenario.Objects
	for i := range s.Events {
		e := &s.Events[i]
		e.Objects = objects
		if e.Apply == nil {
			continue
		}
		path := document.Index("spec.events", i)
		before := len(r.outside)
		e.Written = r.overlayAll(config.Objects{}, path+".apply", e.Apply.Files, e.Apply.Objects)
		objects = config.Merge(objects, e.Written)
		for j, name := range e.Apply.Remove {
			objects = r.remove(objects, document.Index(path+".apply.remove", j), name)
		}
		objects = config.Complete(r.rules, objects)
		e.Objects = objects
		r.complete = r.complete && !r.check.Failed(path) && len(r.outside) == before
	}
}

// remove returns the objects without the named one.
func (r *reading) remove(objects config.Objects, path string, name scenario.ObjectName) config.Objects {
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
	default: // which is an error
		return objects
	}
	// Servers of any release may create objects before the event.
	if !slices.Contains(names, name.Name) && !r.scenario.Spec.Servers.Maintenance {
		r.check.Fail(path+".name", "there is no %s %q by then%s", name.Kind, document.Abridge(name.Name), document.Suggest(name.Name, names))
	}
	return objects
}
