// Package experiment runs scenarios: once, with several seeds (Begin), until statistics are precise
// (Precision), with common seeds on both sides of a comparison (Align), or at every point of a grid (NewGrid).
// Runs are made in parallel, and their results are returned in the same order as if they were made one
// after the other. Errors are written for users of the command line and name its flags.
package experiment

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"apfsim/document"
	"apfsim/scenarios"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// Load reads scenarios from files, from standard input or from the library. The error is document.Errors, with
// the errors of all scenarios.
func Load(args []string, options loader.Options) ([]*scenario.Scenario, error) {
	var loaded []*scenario.Scenario
	var errs document.Errors
	from := map[string]string{}
	for _, arg := range args {
		var some []*scenario.Scenario
		file, wrong := find(arg)
		if len(wrong) == 0 {
			some, wrong = file.load(options)
		}
		for _, sc := range some {
			if other, ok := from[sc.Metadata.Name]; ok {
				wrong.Add(document.Position{File: arg}, "metadata.name", "%q is also the name of the scenario in %s; the results of both would be written to the same folder", sc.Metadata.Name, other)
			}
			from[sc.Metadata.Name] = arg
		}
		loaded = append(loaded, some...)
		errs = append(errs, wrong...)
	}
	return loaded, errs.Err()
}

// LoadOne reads one scenario from a file that contains no other, or from the library.
func LoadOne(arg string, options loader.Options) (*scenario.Scenario, error) {
	file, wrong := find(arg)
	if len(wrong) > 0 {
		return nil, wrong
	}
	return file.one(arg, options)
}

// Names in a folder of 'apfsim import'.
const (
	ScenarioFile = "scenario.yaml" // replays the log
	FittedFolder = "fitted"        // has the file of a scenario that is fitted to the log
)

// InFolder returns the scenario in a folder of 'apfsim import' or 'apfsim diagnose': the fitted one if there is one, because
// it can be run with other seeds, or else the replay. What is no folder is returned as it is.
func InFolder(arg string) (string, error) {
	info, err := os.Stat(arg)
	if err != nil || !info.IsDir() || scenarios.Has(arg) {
		return arg, nil
	}
	names := []string{filepath.Join(FittedFolder, ScenarioFile), ScenarioFile}
	for _, name := range names {
		path := filepath.Join(arg, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: has neither %s nor %s; want a folder that 'apfsim import' or 'apfsim diagnose' has written", arg, names[0], names[1])
}

// found is the place of a scenario: a file of the host, or one of the library.
type found struct {
	files fs.FS // nil for the host's
	name  string
}

// find returns the file or the scenario of the library with this name.
func find(arg string) (file found, wrong document.Errors) {
	inLibrary := scenarios.Has(arg)
	info, err := os.Stat(arg)
	switch {
	case arg == loader.Stdin, err == nil && !(inLibrary && info.IsDir()): // a folder of results has the name of its scenario
		return found{name: arg}, nil
	case inLibrary:
		return found{scenarios.Files, scenarios.File(arg)}, nil
	}
	near := document.Suggest(filepath.Base(arg), slices.Concat(scenarios.Names(), loader.Beside(nil, arg)))
	wrong.Add(document.Position{}, "", "%q is neither a file nor a scenario of the library%s; see 'apfsim scenarios list'", arg, near)
	return file, wrong
}

// load reads the scenarios of the file.
func (f found) load(options loader.Options) ([]*scenario.Scenario, document.Errors) {
	return loader.Load(f.files, f.name, options)
}

// one reads the only scenario of the file. arg is the file's name on the command line.
func (f found) one(arg string, options loader.Options) (*scenario.Scenario, error) {
	loaded, wrong := f.load(options)
	switch {
	case len(wrong) > 0:
		return nil, wrong
	case len(loaded) != 1:
		return nil, fmt.Errorf("%s: contains %d scenarios; use a file with one", arg, len(loaded))
	}
	return loaded[0], nil
}
