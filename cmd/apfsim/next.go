package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// byFlowControl are the kinds of causes that a change of the configuration may remove.
var byFlowControl = []result.Kind{result.ByDemand, result.ByHand, result.ByLending, result.BySeats, result.ByWideLists}

// next returns the command to type after the first screen of a result; "" for none. arg is the scenario on the command line,
// "" if that is one of several in a file.
func (f *runFlags) next(changed bool, arg string, v *result.Overall) string {
	named := !changed && arg != "" && arg != loader.Stdin
	switch {
	case named && v != nil && v.Status == result.Harm && len(v.Causes) > 0 && slices.Contains(byFlowControl, v.Causes[0].Kind):
		return "apfsim tune " + quoted(arg)
	case named && v != nil && v.Status == result.Harm && len(v.Causes) > 0 && v.Causes[0].Kind == result.ByClientLimit:
		return "apfsim tune " + quoted(arg) + " --allow clients"
	case f.out != "": // the page is there
		return ""
	case named:
		return "apfsim run " + quoted(arg) + " -o DIR"
	}
	return "the same command with -o DIR, which writes a page"
}

// plain is a text that a shell takes as one word.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// quoted writes a word for a shell.
func quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// changes reports whether the flags make a run another than that of the file as it stands.
func (f *runFlags) changes(cmd *cobra.Command, sc *scenario.Scenario) bool {
	return len(f.set)+len(f.load)+len(f.config)+len(f.addConfig) > 0 || f.precision.Wanted > 0 ||
		cmd.Flags().Changed("seed") && sc.Spec.Seed != f.seed || f.replications > 0 && sc.Spec.Replications != f.replications
}
