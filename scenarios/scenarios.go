// Package scenarios embeds the library of scenario files in the binary. Each shows one effect of
// flow control, and has thresholds that hold because of the effect that its description explains.
package scenarios

import (
	"embed"
	"fmt"
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

// formerNames maps the names that scenarios had in the previous version to their present names.
// They are accepted for one version, so that scripts do not fail with an upgrade.
var formerNames = map[string]string{
	"deployment-of-doom":    "controller-write-loop",
	"health-for-strangers":  "anonymous-health-checks",
	"jail-with-zero-shares": "zero-shares",
	"kubelet-amuck":         "kubelet-list-loop",
	"paying-back":           "idle-capacity-penalty",
}

// Find returns the present name of the scenario with the given name, which may be a former one.
// It reports whether there is such a scenario.
func Find(name string) (present string, ok bool) {
	if present, ok := formerNames[name]; ok {
		return present, true
	}
	return name, slices.Contains(Names(), name)
}

// RenameNote returns a sentence for a user who uses a former name of a scenario. It is empty if
// the name is not a former one.
func RenameNote(name string) string {
	present, ok := formerNames[name]
	if !ok {
		return ""
	}
	return fmt.Sprintf("the scenario %s has been renamed to %s; the next version will not accept the old name", name, present)
}
