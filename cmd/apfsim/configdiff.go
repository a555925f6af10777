package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"apfsim/core/rules"
	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
)

func newConfigDiff() *cobra.Command {
	var (
		flags    configFlags
		from, to string
		input    advice.QuestionInput
	)
	cmd := &cobra.Command{
		Use:   "diff [FILE...]",
		Short: "Print what an upgrade of Kubernetes changes for a configuration",
		Long: `Print what an upgrade of Kubernetes changes for the objects of a cluster: the objects that the
servers of the new releases create, delete or put right, the rules that change, the API versions
that are no longer served, and the limits of the priority levels before and after. FILE is an export of the cluster, or a file
of objects that are added to those of a new cluster; without files, only the latter are compared.
The upgrade passes through every minor release.

With the flags that describe a request, as those of 'apfsim explain', also its FlowSchema, priority
level and seats before and after.`,
		Example: `  apfsim config diff --from 1.28 --to 1.34 cluster.yaml
  apfsim config diff --from 1.28 --to 1.34 --verb list --resource pods --service-account ops/backup --objects 150000 --average-bytes 2000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			in, err := upgradeOf(from, to)
			if err != nil {
				return err
			}
			if in.ServerLimit, err = flags.serverLimit(); err != nil {
				return err
			}
			if requestGiven(cmd) {
				input.Given = cmd.Flags().Changed
				if in.Question, err = advice.ParseQuestion(&input); err != nil {
					return invalid(err)
				}
			}
			loaded, err := flags.load(cmd, in.From, args)
			if err != nil {
				return err
			}
			in.Objects = loaded.Objects
			changes, err := advice.CompareReleases(*in)
			if err != nil {
				return invalid(fmt.Errorf("--query %q: %w", in.Question.Query, err))
			}
			return render.Write(cmd.OutOrStdout(), report.UpgradeDocument(changes), flags.format, format.TextOptions{})
		},
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "`VERSION` of Kubernetes before the upgrade, such as 1.28 or 1.28.4 (required)")
	f.StringVar(&to, "to", rules.Latest().Version, "`VERSION` of Kubernetes after the upgrade")
	flags.addBase(cmd)
	flags.addServer(cmd)
	addInput(cmd, &input)
	return cmd
}

// upgradeOf returns the releases of an upgrade.
func upgradeOf(from, to string) (*advice.UpgradeInput, error) {
	if from == "" {
		return nil, invalid(errors.New("--from: is missing; want the release before the upgrade, such as 1.28"))
	}
	var in advice.UpgradeInput
	var err error
	if in.From, err = releaseOf("from", from); err != nil {
		return nil, err
	}
	if in.To, err = releaseOf("to", to); err != nil {
		return nil, err
	}
	if rules.Upgrade(in.From, in.To) == nil {
		return nil, invalid(fmt.Errorf("--from %s --to %s: want an upgrade to a newer release", from, to))
	}
	return &in, nil
}

// requestGiven reports whether one of the flags of addInput is given.
func requestGiven(cmd *cobra.Command) (given bool) {
	request := &cobra.Command{}
	addInput(request, &advice.QuestionInput{})
	cmd.Flags().Visit(func(f *pflag.Flag) { given = given || request.Flags().Lookup(f.Name) != nil })
	return given
}
