package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/document"
	"apfsim/sim/scenario"
)

// commandHints are the hints for unknown subcommands, by the path of the command and the name of the
// unknown subcommand.
var commandHints = map[string]map[string]string{
	"apfsim": {
		"check":    "use 'apfsim config validate FILE' for flow-control objects; 'apfsim run' checks scenarios before it runs them",
		"defaults": "use 'apfsim config defaults'",
		"diff":     "use 'apfsim compare BASE HEAD'",
		"lint":     "use 'apfsim config lint FILE'",
		"list":     "use 'apfsim scenarios list'",
		"replay":   "use 'apfsim import FILE... -o DIR' for the logs of a server, or write a scenario with 'arrivals: {trace: {file: ...}}'; then use 'apfsim run FILE', see docs/guides/replay-an-incident.md",
		"report":   "use 'apfsim run SCENARIO -o DIR', which writes report.html",
		"seats":    "use 'apfsim config seats FILE'",
		"show":     "use 'apfsim scenarios show NAME'",
		"simulate": "use 'apfsim run SCENARIO'",
		"validate": "use 'apfsim config validate FILE' for flow-control objects; 'apfsim run' checks scenarios before it runs them",
	},
	"apfsim config": {
		"check":   "use 'apfsim config validate FILE'",
		"explain": "use 'apfsim explain --config FILE'",
		"show":    "use 'apfsim config defaults' for the objects of a new cluster, or 'apfsim config seats FILE' for the limits",
	},
	"apfsim scenarios": {
		"run":      "use 'apfsim run NAME'",
		"validate": "use 'apfsim run FILE', which checks the scenario before it runs it",
	},
}

// formatNames are the formats that other programs accept for -o.
var formatNames = []string{"csv", "html", "json", "markdown", "text", "wide", "yaml"}

// outIsFormat returns an error if the folder of -o has the name of a format.
func outIsFormat(cmd *cobra.Command, out string) error {
	if !slices.Contains(formatNames, out) {
		return nil
	}
	meant := ""
	if formatFlag(cmd) {
		meant = fmt.Sprintf("use --format %s for the output format, or ", out)
	}
	return fmt.Errorf("-o %s: want a folder; %s-o ./%s for a folder with this name", out, meant, out)
}

func formatFlag(cmd *cobra.Command) bool { return cmd.Flags().Lookup("format") != nil }

// flagHint returns a hint for an unknown flag, given without its dashes; "" if there is none.
func flagHint(cmd *cobra.Command, name string) string {
	has := func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
	takesScenario := strings.Contains(cmd.Use, "SCENARIO") || strings.Contains(cmd.Use, "BASE")
	switch {
	case (name == "o" || name == "output") && formatFlag(cmd) && has("out"):
		return "use --format FORMAT for the output format, -o DIR for a folder of results"
	case (name == "o" || name == "output") && formatFlag(cmd):
		return "use --format FORMAT"
	case name == "output" && has("out"):
		return "use -o DIR"
	case slices.Contains(formatNames, name) && formatFlag(cmd):
		return "use --format " + name
	case slices.Contains([]string{"f", "file", "filename", "scenario"}, name) && takesScenario:
		return "the scenario is an argument: " + cmd.CommandPath() + " FILE; use --config FILE for flow-control objects"
	case slices.Contains([]string{"f", "file", "filename"}, name) && has("config"):
		return "use --config FILE"
	case slices.Contains([]string{"f", "file", "filename"}, name):
		return "files are arguments: " + cmd.CommandPath() + " FILE"
	case slices.Contains([]string{"n", "seeds", "runs", "repeat", "count"}, name) && has("replications"):
		return "use --replications N for the number of runs, --seed N for the first seed"
	case has("version") && document.FieldPath(reflect.TypeFor[scenario.Servers](), name) == "kubernetesVersion":
		return "use --version VERSION"
	case has("set"):
		// What is said of a scenario in its file can be set by its path.
		if path := document.FieldPath(reflect.TypeFor[scenario.Spec](), name); path != "" {
			return "use --set spec." + path + "=VALUE, or write it in the scenario"
		}
	}
	return ""
}
