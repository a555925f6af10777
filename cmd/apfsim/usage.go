package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"apfsim/document"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usage returns an error in a command line, with the command that prints the help.
func usage(cmd *cobra.Command, message string) error {
	return invalid(fmt.Errorf("%s\nsee '%s --help'", message, cmd.CommandPath()))
}

// atLeastOne and exactlyOne check the number of positional arguments, which what describes.
func atLeastOne(what string) cobra.PositionalArgs { return count(1, 1<<30, what) }
func exactlyOne(what string) cobra.PositionalArgs { return count(1, 1, what) }

// noArguments checks that there are no positional arguments.
var noArguments = count(0, 0, "")

func count(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage(cmd, "want "+what)
		case len(args) > most:
			return usage(cmd, fmt.Sprintf("%q: too many arguments", args[most]))
		}
		return nil
	}
}

// strict makes commands with subcommands report unknown ones with a suggestion, and gives the
// commands that cobra adds the same checks.
func strict(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		strict(sub)
	}
	switch {
	case cmd.HasSubCommands() && cmd.RunE == nil:
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return usage(cmd, unknownCommand(cmd, args[0]))
		}
	case cmd.HasParent() && cmd.Parent().Name() == "completion":
		cmd.Args = noArguments
	}
}

func unknownCommand(cmd *cobra.Command, name string) string {
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	if hint := commandHints[cmd.CommandPath()][name]; hint != "" {
		return fmt.Sprintf("unknown command %q of %s; %s", name, cmd.CommandPath(), hint)
	}
	return fmt.Sprintf("unknown command %q of %s%s", name, cmd.CommandPath(), document.Suggest(name, names))
}

// newHelp returns a help command that, unlike that of cobra, reports unknown commands.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print a command's help",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if parent, remaining, err := cmd.Root().Find(args); err == nil && len(remaining) == 0 {
				for _, sub := range parent.Commands() {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, remaining, err := cmd.Root().Find(args)
			if err != nil {
				return invalid(err)
			}
			if len(remaining) > 0 {
				return usage(about, unknownCommand(about, remaining[0]))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}

// wants describes the values of flags, by the type of the flag.
var wants = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number",
	"int64":    "a whole number",
	"uint64":   "a whole number from 0 to 2^64-1",
	"intSlice": "whole numbers, separated by commas",
}

// flagMessage returns the message for an error in a flag: the name or the value, what is expected, or
// the most similar name.
func flagMessage(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	var wrong *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && flagHint(cmd, unknown.GetSpecifiedName()) != "":
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		return "unknown flag " + dashes + unknown.GetSpecifiedName() + "; " + flagHint(cmd, unknown.GetSpecifiedName())
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		slices.Sort(names)
		name := "--" + unknown.GetSpecifiedName()
		return "unknown flag " + name + document.Suggest(name, names)
	case errors.As(err, &wrong) && wants[wrong.GetFlag().Value.Type()] != "":
		return fmt.Sprintf("--%s: %q: want %s", wrong.GetFlag().Name, wrong.GetValue(), wants[wrong.GetFlag().Value.Type()])
	}
	return err.Error()
}

// addFormat adds the flag for the format in which a command prints something, with the names of the formats.
func addFormat(cmd *cobra.Command, format *string, usual, what string, names []string) {
	cmd.Flags().StringVar(format, "format", usual, "`FORMAT` of the "+what+": "+strings.Join(names, ", "))
	cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
}

// oneOf checks that the value of a flag is one of some names.
func oneOf(flag, value string, names []string) error {
	if slices.Contains(names, value) {
		return nil
	}
	return fmt.Errorf("--%s: %q: want one of %s%s", flag, value, strings.Join(names, ", "), document.Suggest(value, names))
}

// addLoad adds the flag by which the loads of scenarios are multiplied.
func addLoad(f *pflag.FlagSet, load *[]string) {
	f.StringArrayVar(load, "load", nil, "`[WORKLOAD=]F`: everything arrives F times as often, or all of WORKLOAD: rates and bursts are multiplied, of closed loops and behaviours the clients; may be repeated")
}
