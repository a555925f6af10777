package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/core/config"
	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/reports/format"
	"apfsim/reports/seats"
	"apfsim/reports/text"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and look into flow-control configuration",
	}
	cmd.AddCommand(newConfigValidate(), newConfigLint(), newConfigSeats(), newConfigDefaults())
	return cmd
}

// configFlags are what commands that work on a configuration have in common.
type configFlags struct {
	base              string
	requests, mutated int
	format            string
}

func (f *configFlags) addBase(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.base, "base", scenario.BaseSuggested,
		"`BASE`, the objects below those of the files: Suggested, as in a new cluster, or Mandatory")
}

func (f *configFlags) addServer(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.requests, "max-requests-inflight", 400, "`N`, the server's flag of this name")
	cmd.Flags().IntVar(&f.mutated, "max-mutating-requests-inflight", 200, "`N`, the server's flag of this name")
	cmd.Flags().StringVar(&f.format, "format", "text", "`FORMAT` of the answer: "+strings.Join(answerFormats, ", "))
}

var answerFormats = []string{"text", "json"}

// serverLimit returns how many seats the server has, and checks the flags that addServer adds.
func (f *configFlags) serverLimit() (int, error) {
	if err := oneOf("format", f.format, answerFormats); err != nil {
		return 0, invalid(err)
	}
	const most = 10_000_000
	if f.requests < 0 || f.mutated < 0 || f.requests+f.mutated < 1 || f.requests+f.mutated > most {
		return 0, invalid(fmt.Errorf("--max-requests-inflight %d --max-mutating-requests-inflight %d: want a sum from 1 to %d",
			f.requests, f.mutated, most))
	}
	return f.requests + f.mutated, nil
}

// load reads the configuration of the files and prints its notes and warnings.
func (f *configFlags) load(cmd *cobra.Command, files []string) (*loader.Config, error) {
	if err := oneOf("base", f.base, []string{scenario.BaseSuggested, scenario.BaseMandatory}); err != nil {
		return nil, invalid(err)
	}
	loaded := loader.LoadConfig(f.base, files)
	for _, source := range loaded.Sources {
		printAll(cmd.ErrOrStderr(), "note", source.Notes)
	}
	if err := loaded.Errors.Err(); err != nil {
		return nil, invalid(err)
	}
	printAll(cmd.ErrOrStderr(), "warning", loaded.Warnings)
	return loaded, nil
}

// printAll prints notes or warnings, a line each.
func printAll(stderr io.Writer, what string, all document.Errors) {
	for _, m := range all {
		fmt.Fprintf(stderr, "apfsim: %s: %v\n", what, m)
	}
}

func newConfigValidate() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check files of FlowSchemas and PriorityLevelConfigurations",
		Long: `Check files of FlowSchemas and PriorityLevelConfigurations by the rules of a server, and say
what was read of each. A file may be a folder (its .yaml, .yml and .json files, hidden ones
left out) or - for standard input. Objects of other kinds are skipped, so that what helm
template prints is checked as it is. A file with neither kind of object is an error.`,
		Example: `  kubectl get flowschemas,prioritylevelconfigurations -o yaml > cluster.yaml
  apfsim config validate cluster.yaml
  apfsim config validate - < cluster.yaml`,
		Args: atLeastOne("a file of flow-control objects, a folder of them, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded, err := flags.load(cmd, args)
			if err != nil {
				return err
			}
			for _, source := range loaded.Sources {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), source.Summary()); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "valid: with the base, %d FlowSchemas and %d priority levels\n",
				len(loaded.Objects.FlowSchemas), len(loaded.Objects.PriorityLevels))
			return err
		},
	}
	flags.addBase(cmd)
	return cmd
}

func newConfigSeats() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "seats [FILE...]",
		Short: "Print each priority level's limits, in seats",
		Long: `Print each priority level's nominal concurrency limit, what remains when it has lent all it
may and what it has when it has borrowed all it may, and how many seats one of its requests
takes at most.`,
		Example: `  apfsim config seats
  apfsim config seats cluster.yaml --max-requests-inflight 800`,
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := flags.serverLimit()
			if err != nil {
				return err
			}
			loaded, err := flags.load(cmd, args)
			if err != nil {
				return err
			}
			seats := seats.Divide(loaded.Objects, limit)
			if flags.format == "json" {
				return format.WriteJSON(cmd.OutOrStdout(), seats)
			}
			return text.WriteSeats(cmd.OutOrStdout(), seats)
		},
	}
	flags.addBase(cmd)
	flags.addServer(cmd)
	return cmd
}

func newConfigDefaults() *cobra.Command {
	var mandatory bool
	cmd := &cobra.Command{
		Use:   "defaults",
		Short: "Print the objects of a new cluster as YAML",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			objects := config.Suggested()
			if mandatory {
				objects = config.Mandatory()
			}
			text, err := yaml.Marshal(objects.Manifest())
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&mandatory, "mandatory", false, "only those without which no server runs")
	return cmd
}
