// Package scenarios embeds the library of scenario files in the binary. Each shows one effect of
// flow control, and has thresholds that hold because of the effect that its description explains.
package scenarios

import (
	"embed"
	"io/fs"
	"path"
	"strings"
)

// Files contains NAME.yaml for each scenario, and the files to which the scenarios refer.
//
//go:embed *.yaml config
var Files embed.FS

// Names returns the names of the scenarios in alphabetical order.
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

// File returns the name in Files of the file of a scenario.
func File(name string) string { return name + ".yaml" }
