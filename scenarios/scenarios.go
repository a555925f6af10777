// Package scenarios is the library: scenario files that are part of the binary, each a
// situation worth knowing, with thresholds that hold for the reason its description gives.
package scenarios

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// Files holds the library: NAME.yaml for each scenario, and what they refer to.
//
//go:embed *.yaml config
var Files embed.FS

// Names returns the names of the scenarios, sorted.
func Names() []string {
	files, err := fs.Glob(Files, "*.yaml")
	if err != nil {
		panic(err) // the pattern is constant
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f, path.Ext(f))
	}
	return names
}

// File returns the name of a scenario's file in Files.
func File(name string) string { return name + ".yaml" }
