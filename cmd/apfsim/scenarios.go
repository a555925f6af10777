package main

import (
	"fmt"
	"io/fs"
	"text/tabwriter"

	"apfsim/document"
	"apfsim/scenarios"

	"github.com/spf13/cobra"
)

func newScenarios() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "scenarios",
		Short: "List or print the scenarios of the library",
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "list",
		Short: "List the scenarios of the library by subject",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for i, group := range scenarios.Groups {
				if i > 0 {
					fmt.Fprintln(w)
				}
				fmt.Fprintln(w, group.Title)
				for _, s := range group.Scenarios {
					fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.Title)
				}
			}
			return w.Flush()
		},
	}, &cobra.Command{
		Use:   "show NAME",
		Short: "Print the file of a library scenario",
		Long: `Print the file of a library scenario, as a start for a scenario of your own. A file that the
scenario refers to can be printed in the same way, by its name.`,
		Example: `  apfsim scenarios show elephants-and-mice > mine.yaml
  mkdir -p config
  apfsim scenarios show config/cluster-flowcontrol.yaml > config/cluster-flowcontrol.yaml
  apfsim run mine.yaml`,
		Args:              exactlyOne("the name of a scenario; 'apfsim scenarios list' prints them"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			if name, known := scenarios.Find(file); known {
				file = scenarios.File(name)
			}
			text, err := fs.ReadFile(scenarios.Files, file)
			if err != nil {
				return invalid(fmt.Errorf("the library has no scenario %q%s\nsee 'apfsim scenarios list'",
					args[0], document.Suggest(args[0], scenarios.Names())))
			}
			if note := scenarios.RenameNote(args[0]); note != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: note: %s\n", note)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	})
	return cmd
}

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Names(), cobra.ShellCompDirectiveDefault
}
