package main

import (
	"errors"
	"fmt"
	"slices"

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
		cluster  []string
		assumed  []string
	)
	cmd := &cobra.Command{
		Use:   "diff [BEFORE] AFTER | diff --from VERSION [FILE...]",
		Short: "Print what a change of the configuration or an upgrade of Kubernetes does",
		Long: `Print what a change of flow-control objects does: whose requests go to another priority level,
whose seats change, and whose requests no FlowSchema matches but catch-all. The clients are those
that every cluster has, such as kubelets and controllers, and those that the objects name. BEFORE and
AFTER are files or folders of objects that are added to those of a new cluster, or of --config. Without BEFORE,
there are none before the change. With --to, the servers run another release after the change.

With --from, print what an upgrade of Kubernetes changes for the objects of a cluster instead: the objects that the
servers of the new releases create, delete or put right, the rules that change, the API versions
that are no longer served, and the limits of the priority levels before and after. FILE is an export of the cluster, or a file
of objects that are added to those of a new cluster; without files, only the latter are compared.
The upgrade passes through every minor release.

With the flags that describe a request, as those of 'apfsim explain', also its FlowSchema, priority
level and seats before and after the upgrade.`,
		Example: `  apfsim config diff cluster.yaml --format markdown
  apfsim config diff --from 1.28 --to 1.34 cluster.yaml
  apfsim config diff --from 1.28 --to 1.34 --verb list --resource pods --service-account ops/backup --objects 150000 --average-bytes 2000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			formats := answerFormats
			if from == "" {
				formats = changeFormats
			}
			if err := oneOf("format", flags.format, formats); err != nil {
				return invalid(err)
			}
			limit, err := flags.limit()
			if err != nil {
				return err
			}
			if from == "" {
				return diffConfigurations(cmd, &flags, args, cluster, assumed, to, limit)
			}
			in, err := upgradeOf(cmd, from, to)
			if err != nil {
				return err
			}
			in.ServerLimit = limit
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
	f.StringVar(&from, "from", "", "`VERSION` of Kubernetes before an upgrade, such as 1.28 or 1.28.4")
	f.StringVar(&to, "to", rules.Default().Version, "`VERSION` of Kubernetes after the upgrade or the change")
	f.StringArrayVar(&cluster, "config", nil, "`FILE` of objects before and after the change, such as an export of the cluster; may be repeated")
	f.StringArrayVar(&assumed, "assume-level", nil, "`NAME` of a priority level that something else brings, such as another chart; may be repeated")
	flags.addVersion(cmd)
	flags.addBase(cmd)
	flags.addLimits(cmd)
	addFormat(cmd, &flags.format, "text", "output", changeFormats)
	addInput(cmd, &input)
	return cmd
}

// changeFormats are the formats of a change. An upgrade has those of answers.
var changeFormats = render.Names(report.Quoted)

// diffConfigurations prints what a change of the configuration does.
func diffConfigurations(cmd *cobra.Command, flags *configFlags, args, cluster, assumed []string, to string, limit int) error {
	if len(args) < 1 || len(args) > 2 {
		return invalid(errors.New("want the objects before and after a change, or --from, the release before an upgrade"))
	}
	if requestGiven(cmd) {
		return invalid(errors.New("a request is compared before and after an upgrade only; add --from, or use 'apfsim explain' twice"))
	}
	release, err := flags.release(cmd)
	if err != nil {
		return err
	}
	in := advice.DifferenceInput{From: release, To: release, ServerLimit: limit, Assumed: assumed}
	if cmd.Flags().Changed("to") {
		if in.To, err = releaseOf(cmd, "to", to); err != nil {
			return err
		}
	}
	before, err := flags.load(cmd, in.From, slices.Concat(cluster, args[:len(args)-1]))
	if err != nil {
		return err
	}
	after, err := flags.load(cmd, in.To, append(slices.Clone(cluster), args[len(args)-1]))
	if err != nil {
		return err
	}
	in.Before, in.After = before.Objects, after.Objects
	return render.Write(cmd.OutOrStdout(), report.DifferenceDocument(advice.CompareConfigurations(in)), flags.format, format.TextOptions{})
}

// upgradeOf returns the releases of an upgrade.
func upgradeOf(cmd *cobra.Command, from, to string) (*advice.UpgradeInput, error) {
	if from == "" {
		return nil, errors.New("--from: is missing; want the release before the upgrade")
	}
	var in advice.UpgradeInput
	var err error
	if in.From, err = releaseOf(cmd, "from", from); err != nil {
		return nil, err
	}
	if in.To, err = releaseOf(cmd, "to", to); err != nil {
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
