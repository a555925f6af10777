package loader

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
)

// unknowns checks the fields of metadata.unknowns and metadata.calibration of the scenario, which is the i-th of its file, and
// lets it be read again with other values of the unknown ones.
func (r *reading) unknowns(i int, file *fileText, options *Options) (wrong document.Errors) {
	s := r.scenario
	for _, path := range slices.Sorted(maps.Keys(s.Metadata.Calibration)) {
		if _, err := r.field(path); err != nil {
			at := document.Join("metadata.calibration", path)
			wrong.Add(r.check.Document.Position(at), at, "%v", err)
		}
	}
	var fixed []string // what options assign to
	for _, a := range options.Set {
		path, _, _ := assign.Cut(a.Text, '=')
		if canonical, err := assign.Path(s, path); err == nil {
			fixed = append(fixed, canonical)
		}
	}
	paths := s.Metadata.Unknowns.Paths()
	free := make([]bool, len(paths))
	for k, path := range paths {
		at := document.Join("metadata.unknowns", path)
		canonical, err := r.field(path)
		if err != nil {
			wrong.Add(r.check.Document.Position(at), at, "%v", err)
			continue
		}
		free[k] = !slices.ContainsFunc(fixed, func(other string) bool {
			return document.Within(canonical, other) || document.Within(other, canonical)
		})
	}
	if len(wrong) > 0 || len(paths) == 0 {
		return wrong
	}
	s.Reread = func(values []string) (*scenario.Scenario, document.Errors) {
		with := *options
		with.Set = slices.Clone(options.Set)
		for k, value := range values {
			if free[k] {
				at := r.check.Document.Position(document.Join("metadata.unknowns", paths[k]))
				with.Set = append(with.Set, assign.Assignment{Option: at.String() + ": metadata.unknowns", Text: paths[k] + "=" + value})
			}
		}
		assignments, wrong := assign.Parse(with.Set)
		docs, more := yaml.Parse(s.File, file.text)
		if wrong = append(wrong, more...); len(wrong) > 0 {
			return nil, wrong
		}
		again := reading{fsys: r.fsys, path: r.path, cache: r.cache, check: document.Checker{Document: &docs[i]}}
		if wrong = again.read(s.File, file, assignments, &with); len(wrong) > 0 {
			return nil, distinct(wrong.Sorted())
		}
		return again.scenario, nil
	}
	return s.CheckEnds()
}

// field returns the canonical spelling of the path of a field, as [assign.Path] does. The scenario must have the field.
func (r *reading) field(path string) (string, error) {
	if err := assign.CheckPath(path); err != nil {
		return "", err
	}
	canonical, err := assign.Path(r.scenario, path)
	if err == nil && strings.HasPrefix(canonical, "spec.") && r.check.Document.Get(canonical) == nil {
		err = errors.New("the scenario has no such field; want one with a value, which a single run uses")
	}
	return canonical, err
}
