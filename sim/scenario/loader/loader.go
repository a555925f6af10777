// Package loader reads scenario files and all files that they mention. It is the part of a scenario
// that does I/O: Load parses a scenario file, applies assignments to it, reads the files of
// flow-control objects and opens the traces, puts the flow-control configuration together, and lets
// the scenario fill in its defaults and check itself. It returns scenarios that are complete and
// valid, or all errors. LoadConfig does the same for a configuration without a scenario.
package loader

import (
	"io/fs"
	"path/filepath"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
)

// Options are changes to what a scenario file says.
type Options struct {
	// Set are assignments to fields of every scenario of the file and of its levels, one
	// after the other.
	Set []assign.Assignment
	// Load multiplies the loads of workloads, after Set.
	Load []assign.Load
	// ConfigFiles, if any, replace spec.config.files and spec.config.objects; the base
	// stays. They are files of the host, relative to its working directory.
	ConfigFiles []string
	// AddConfigFiles are files of the host whose objects are added to those of the scenario, or to those
	// of ConfigFiles. One of the same kind and name takes the place of theirs.
	AddConfigFiles []string
	// Cache, if any, lets several loads with one file system read each file once: they agree on
	// what it holds, even if it changes meanwhile.
	Cache *Cache
}

// Load reads the scenarios of a file, one per document. A nil fsys is the host's file
// system, where any path is allowed. What the scenarios refer to is read from the same
// file system, relative to the file.
//
// The scenarios are nil when there are errors. These are in the order of their positions,
// and are all that there are: in the file, in the assignments, and in the files referred to.
func Load(fsys fs.FS, name string, options Options) ([]*scenario.Scenario, document.Errors) {
	if fsys == nil {
		fsys = host
	}
	cache := options.Cache
	if cache == nil {
		cache = NewCache()
	}
	shown := displayName(fsys, name)
	file := cache.text(fsys, name)
	if file.err != nil {
		var errors document.Errors
		errors.Add(document.Position{File: shown}, "", "%s", unreadable(fsys, name, file.err))
		return nil, errors
	}
	options.Cache = cache
	docs, errors := yaml.Parse(shown, file.text)
	assignments, wrong := assign.Parse(options.Set)
	errors = append(errors, wrong...)
	var scenarios []*scenario.Scenario
	for i := range docs {
		r := reading{fsys: fsys, path: name, cache: cache, check: document.Checker{Document: &docs[i]}}
		wrong := r.read(shown, file, assignments, &options)
		if len(wrong) == 0 && len(errors) == 0 {
			wrong = r.unknowns(i, file, &options)
		}
		scenarios = append(scenarios, r.scenario)
		errors = append(errors, wrong...)
	}
	errors = append(errors, repeatedNames(scenarios, docs)...)
	if len(errors) > 0 {
		return nil, distinct(errors.Sorted())
	}
	return scenarios, nil
}

// reading is the reading of one document and of all that it refers to.
type reading struct {
	fsys fs.FS
	// replacements is where the files are that replace the configuration; nil for the host.
	replacements fs.FS

	path     string // of the file with the document; Stdin for standard input
	cache    *Cache
	scenario *scenario.Scenario
	rules    *rules.Rules     // of the servers' release
	check    document.Checker // of the document
	outside  document.Errors  // errors in other files and in assignments
	notes    document.Errors  // on the flow-control objects and their files
	// complete says that the whole flow-control configuration could be read. If it could not,
	// what is missing in it is no error: it would only follow from the first one.
	complete bool
}

// read reads the document of the checker, which is from a file, and returns all errors.
func (r *reading) read(name string, file *fileText, assignments assign.List, options *Options) document.Errors {
	r.outside = assignments.Apply(r.check.Document)
	assignments, wrong := assignments.Multiply(r.check.Document, options.Load)
	r.outside = append(r.outside, wrong...)
	s, errors, ok := scenario.Decode(r.check.Document)
	r.scenario, r.check.Errors = s, errors
	r.addInput(scenario.Input{Name: filepath.Base(name), Path: r.path, Host: r.fsys == host, SHA256: file.sha256})
	if ok {
		own := r.config(options.ConfigFiles, options.AddConfigFiles)
		if r.complete {
			r.outside = append(r.outside, assignments.ApplyToLevels(s)...)
		}
		if r.complete && len(assignments)+len(options.ConfigFiles)+len(options.AddConfigFiles) == 0 {
			r.controls()
		}
		r.events()
		r.traces()
		s.SetDefaults()
		s.Check(&r.check, r.complete)
		if own != nil && len(r.check.Errors)+len(r.outside) == 0 {
			r.warnReplaced(*own)
		}
	}
	s.Warnings, s.Notes = r.check.Warnings.Sorted(), distinct(r.notes.Sorted())
	all := append(r.check.Errors, r.outside...)
	for _, list := range []document.Errors{all, s.Warnings} {
		for i := range list {
			list[i].Position = assignments.Position(list[i].Position)
		}
	}
	for i := range s.Spec.Workload {
		if t := s.Spec.Workload[i].Arrivals.Trace; t != nil {
			t.Position = assignments.Position(t.Position)
		}
	}
	for i := range s.Spec.Thresholds {
		t := &s.Spec.Thresholds[i]
		t.Position = assignments.Position(t.Position)
	}
	return all
}

// controls finds the values of the controls, which are those of the file without any option.
func (r *reading) controls() {
	for i := range r.scenario.Metadata.Controls {
		c, path := &r.scenario.Metadata.Controls[i], document.Index("metadata.controls", i)
		if r.check.Failed(path) || c.Minimum >= c.Maximum { // which the check of the scenario reports
			continue
		}
		at := path + ".path"
		text, err := assign.Value(r.scenario, c.Path)
		if err != nil {
			r.check.Fail(at, "%v", err)
		} else if problem := c.Read(text); problem != "" {
			r.check.Fail(at, "%q %s", document.Abridge(c.Path), problem)
		}
	}
}

func (r *reading) addInput(in scenario.Input) {
	for _, known := range r.scenario.Inputs {
		if known.Path == in.Path && known.Name == in.Name {
			return
		}
	}
	r.scenario.Inputs = append(r.scenario.Inputs, in)
}

// resolve returns the name of a file that the scenario mentions.
func (r *reading) resolve(name string) string { return resolve(r.fsys, r.scenario.File, name) }

// repeatedNames returns an error for each scenario with the name of one before it.
func repeatedNames(scenarios []*scenario.Scenario, docs []document.Document) document.Errors {
	var errors document.Errors
	first := map[string]int{}
	for i, s := range scenarios {
		name := s.Metadata.Name
		if name == "" {
			continue
		}
		if at, found := first[name]; found {
			errors.Add(docs[i].Position("metadata.name"), "metadata.name",
				"duplicate name %q (first used by the scenario on line %d)", name, docs[at].Position("metadata").Line)
			continue
		}
		first[name] = i
	}
	return errors
}

// distinct leaves out duplicates: several scenarios of a file have the same error if it is in an
// assignment or in a file that they all refer to.
func distinct(sorted document.Errors) document.Errors {
	seen := map[document.Error]bool{}
	kept := sorted[:0]
	for _, m := range sorted {
		if !seen[m] {
			seen[m] = true
			kept = append(kept, m)
		}
	}
	return kept
}
