// Package experiment runs scenarios: each once or under several seeds, until its statistics are
// precise, both sides of a comparison under the same seeds, or at every point of a grid. Runs
// go in parallel, and what comes of them is handed over in order, as if they had not. Messages
// are for people at a command line, and speak of apfsim's flags.
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

// Load reads scenarios, from files, from standard input or from the library. Their mistakes come together, as
// document.Errors.
func Load(args []string, options loader.Options) ([]*scenario.Scenario, error) {
	var loaded []*scenario.Scenario
	var mistakes document.Errors
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
		mistakes = append(mistakes, wrong...)
	}
	return loaded, mistakes.Err()
}

// LoadOne reads the only scenario of a file, or one of the library.
func LoadOne(arg string, options loader.Options) (*scenario.Scenario, error) {
	file, wrong := find(arg)
	if len(wrong) > 0 {
		return nil, wrong
	}
	return file.one(arg, options)
}

// found is where a scenario is: in the host's file system, or in the library.
type found struct {
	files fs.FS // nil for the host's
	name  string
	note  string // on a former name of a library scenario; "" otherwise
}

// find finds the file or the library's scenario that is called so.
func find(arg string) (file found, wrong document.Errors) {
	present, inLibrary := scenarios.Find(arg)
	info, err := os.Stat(arg)
	switch {
	case arg == loader.Stdin, err == nil && !(inLibrary && info.IsDir()): // as one of results is called
		return found{name: arg}, nil
	case inLibrary:
		return found{scenarios.Files, scenarios.File(present), scenarios.RenameNote(arg)}, nil
	}
	near := document.Suggest(filepath.Base(arg), slices.Concat(scenarios.Names(), loader.Beside(nil, arg)))
	wrong.Add(document.Position{}, "", "%q is neither a file nor a scenario of the library%s; see 'apfsim scenarios list'", arg, near)
	return file, wrong
}

// load reads the scenarios of the file. The first one has the note on a former name.
func (f found) load(options loader.Options) ([]*scenario.Scenario, document.Errors) {
	loaded, wrong := loader.Load(f.files, f.name, options)
	if f.note != "" && len(loaded) > 0 {
		loaded[0].Notes.Add(document.Position{}, "", "%s", f.note)
	}
	return loaded, wrong
}

// one reads the only scenario of the file that the user calls arg.
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
