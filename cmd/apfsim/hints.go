package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// commandHints say, by the command that somebody tries, which one does that. Those of a
// subcommand stand below the command's path.
var commandHints = map[string]map[string]string{
	"apfsim": {
		"check":    "use 'apfsim config validate FILE' for flow-control objects; 'apfsim run' checks a scenario before it runs it",
		"defaults": "use 'apfsim config defaults'",
		"diff":     "use 'apfsim compare BASE HEAD'",
		"import":   "logs of servers cannot be imported yet; docs/guides/replay-an-incident.md says how to make a trace of an audit log",
		"lint":     "use 'apfsim config lint FILE'",
		"list":     "use 'apfsim scenarios list'",
		"replay":   "write a scenario with 'arrivals: {trace: {file: ...}}' and use 'apfsim run FILE'; docs/guides/replay-an-incident.md says how",
		"report":   "use 'apfsim run SCENARIO -o DIR', which writes report.html",
		"seats":    "use 'apfsim config seats FILE'",
		"show":     "use 'apfsim scenarios show NAME'",
		"simulate": "use 'apfsim run SCENARIO'",
		"validate": "use 'apfsim config validate FILE' for flow-control objects; 'apfsim run' checks a scenario before it runs it",
	},
	"apfsim config": {
		"check":   "use 'apfsim config validate FILE'",
		"explain": "use 'apfsim explain --config FILE'",
		"show":    "use 'apfsim config defaults' for the objects of a new cluster, 'apfsim config seats FILE' for the limits",
	},
	"apfsim scenarios": {
		"run":      "use 'apfsim run NAME'",
		"validate": "use 'apfsim run FILE', which checks a scenario before it runs it",
	},
}

// formatNames are formats that -o is given elsewhere.
var formatNames = []string{"csv", "html", "json", "markdown", "text", "wide", "yaml"}

// outIsFormat refuses a format where a folder is wanted.
func outIsFormat(cmd *cobra.Command, out string) error {
	if !slices.Contains(formatNames, out) {
		return nil
	}
	meant := ""
	if formatFlag(cmd) {
		meant = fmt.Sprintf("use --format %s for what is printed, or ", out)
	}
	return fmt.Errorf("-o %s: want a folder; %s-o ./%s for a folder of this name", out, meant, out)
}

func formatFlag(cmd *cobra.Command) bool { return cmd.Flags().Lookup("format") != nil }

// flagHint says which flag does what an unknown one, without its dashes, seems to ask for;
// "" if nothing is known.
func flagHint(cmd *cobra.Command, name string) string {
	has := func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
	takesScenario := strings.Contains(cmd.Use, "SCENARIO") || strings.Contains(cmd.Use, "BASE")
	switch {
	case (name == "o" || name == "output") && formatFlag(cmd) && has("out"):
		return "use --format FORMAT for what is printed, -o DIR for a folder of results"
	case (name == "o" || name == "output") && formatFlag(cmd):
		return "use --format FORMAT"
	case name == "output" && has("out"):
		return "use -o DIR"
	case slices.Contains(formatNames, name) && formatFlag(cmd):
		return "use --format " + name
	case slices.Contains([]string{"f", "file", "filename", "scenario"}, name) && takesScenario:
		return "a scenario is an argument: " + cmd.CommandPath() + " FILE; flow-control objects go with --config FILE"
	case slices.Contains([]string{"f", "file", "filename"}, name) && has("config"):
		return "use --config FILE"
	case slices.Contains([]string{"f", "file", "filename"}, name):
		return "files are arguments: " + cmd.CommandPath() + " FILE"
	case slices.Contains([]string{"n", "seeds", "runs", "repeat", "count"}, name) && has("replications"):
		return "use --replications N for the number of seeds, --seed N for the first"
	case slices.Contains([]string{"duration", "warmup", "replicas"}, name) && has("set"):
		path := "spec." + name
		if name == "replicas" {
			path = "spec.servers." + name
		}
		return "use --set " + path + "=VALUE"
	}
	return ""
}
