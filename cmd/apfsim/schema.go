package main

import (
	"fmt"

	"apfsim/sim/scenario"

	"github.com/spf13/cobra"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of scenario files",
		Long: `Print the JSON Schema of scenario files, for completion and checks in an editor:

  # yaml-language-server: $schema=apfsim.schema.json`,
		Example: "  apfsim schema > apfsim.schema.json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), scenario.Schema)
			return err
		},
	}
}
