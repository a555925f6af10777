package main

import (
	"fmt"

	"apfsim/core/rules"
	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/sim/scenario"
	"apfsim/sim/server"

	"github.com/spf13/cobra"
)

func newConfigMaintain() *cobra.Command {
	var (
		flags    configFlags
		from, to string
		servers  int
	)
	cmd := &cobra.Command{
		Use:   "maintain FILE...",
		Short: "Print which objects the servers will change, and why",
		Long: `Print which flow-control objects the servers create, put right, annotate and delete, and why. Every
server does this each minute: it undoes edits of objects that it maintains. FILE is an export of the
cluster; if no object in it has metadata.generation, its objects are added to those of a new cluster.

With --from, the objects are those of servers of that release, which are upgraded to the release of
--to through every minor release between the two: first what the present servers do, then what the
first server of each new release does, and what changes in turns while servers of two releases run.`,
		Example: `  kubectl get flowschemas,prioritylevelconfigurations -o yaml > cluster.yaml
  apfsim config maintain cluster.yaml --to 1.36
  apfsim config maintain cluster.yaml --from 1.33 --to 1.34 --servers 3`,
		Args: atLeastOne("an export of the flow-control objects, a folder of files, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("format", flags.format, answerFormats); err != nil {
				return invalid(err)
			}
			if servers < 1 || servers > server.MostReplicas {
				return invalid(fmt.Errorf("--servers: %d: want 1 to %d", servers, server.MostReplicas))
			}
			in := advice.MaintenanceInput{Servers: servers}
			var err error
			if in.To, err = releaseOf("to", to); err != nil {
				return err
			}
			present := in.To
			if from != "" {
				upgraded, err := upgradeOf(from, to)
				if err != nil {
					return err
				}
				in.From, present = upgraded.From, upgraded.From
			}
			loaded, err := flags.load(cmd, present, args)
			if err != nil {
				return err
			}
			in.Objects = loaded.Objects
			return render.Write(cmd.OutOrStdout(), report.MaintenanceDocument(advice.ExamineMaintenance(in)), flags.format, format.TextOptions{})
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "`VERSION` of Kubernetes before an upgrade, such as 1.33 or 1.33.2; without it, there is no upgrade")
	f.StringVar(&to, "to", rules.Latest().Version, "`VERSION` of Kubernetes of the servers, after the upgrade if there is one")
	f.IntVar(&servers, "servers", 3, "`N`: number of servers of the cluster")
	addFormat(cmd, &flags.format, "text", "output", answerFormats)
	flags.base = scenario.BaseSuggested
	return cmd
}
