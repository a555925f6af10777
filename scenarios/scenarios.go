// Package scenarios embeds the library of scenario files in the binary. Each shows one effect of
// flow control, and has thresholds that hold because of the effect that its description explains.
package scenarios

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Files contains NAME.yaml for each scenario, and the files to which the scenarios refer.
//
//go:embed *.yaml incidents config traces/finalizer-story.jsonl
var Files embed.FS

// Names returns the names of the scenarios in alphabetical order, first those of effects and then those of [Incidents].
func Names() []string { return append(names("."), Incidents()...) }

// Incidents returns the names of the scenarios that reproduce published incidents and measurements, in alphabetical order.
func Incidents() []string { return names(incidents) }

// IsIncident reports whether a scenario is one of [Incidents].
func IsIncident(name string) bool { return slices.Contains(Incidents(), name) }

// incidents is the folder of those scenarios.
const incidents = "incidents"

func names(folder string) []string {
	files, err := fs.Glob(Files, path.Join(folder, "*.yaml"))
	if err != nil {
		panic(err) // the pattern is constant
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), path.Ext(f))
	}
	return names
}

// File returns the name in Files of the file of a scenario.
func File(name string) string {
	file := name + ".yaml"
	if IsIncident(name) {
		file = path.Join(incidents, file)
	}
	return file
}

// Has reports whether there is a scenario with the name.
func Has(name string) bool { return slices.Contains(Names(), name) }
