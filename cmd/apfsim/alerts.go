package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"apfsim/experiment"
	"apfsim/experiment/alerts"
	"apfsim/reports/render"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"
)

// alertsFlags are the flags of alerts.
type alertsFlags struct {
	configFlags
	set, load, config, labels []string
	seed                      uint64
	scrape, evaluate, lead    time.Duration
	quiet, check              bool
}

var alertsFormats = []string{"text", "json", "markdown"}

func newAlerts() *cobra.Command {
	var flags alertsFlags
	cmd := &cobra.Command{
		Use:   "alerts RULES [SCENARIO...]",
		Short: "Say which alerts of Prometheus fire in scenarios, and when",
		Long: `Say which alerts of Prometheus fire in scenarios, when, and how long after requests were first
harmed. RULES is a file of rules as Prometheus reads it, or of objects PrometheusRule. Recording
rules are evaluated as well. Each scenario is run once, and its warm-up counts. A Prometheus scrapes its servers with the
labels job="apiserver" and instance, evaluates the rules with its engine, and keeps alerts pending
for as long as the rules say.

With --check and without scenarios, it says which rules can never fire, or record anything, with
the servers of a release: of which the series or a label does not exist, no server has the value of
a label, or two sides are joined by a label that one of them lacks. The exit status is then 99.`,
		Example: `  apfsim alerts alerts.yaml zero-shares --set spec.duration=15m
  apfsim alerts alerts.yaml incident.yaml --label cluster=prod --format json
  apfsim alerts --check alerts.yaml --version 1.37`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.check {
				return exactlyOne("a file of rules")(cmd, args)
			}
			return count(2, 1<<30, "a file of rules and a scenario")(cmd, args)
		},
		ValidArgsFunction: completeScenarios,
		RunE:              func(cmd *cobra.Command, args []string) error { return runAlerts(cmd, args, &flags) },
	}
	f := cmd.Flags()
	f.BoolVar(&flags.check, "check", false, "say which rules can never fire")
	flags.addVersion(cmd)
	f.StringArrayVar(&flags.set, "set", nil, "`PATH=VALUE`: set a field of all scenarios, such as spec.duration=15m; may be repeated")
	addLoad(f, &flags.load)
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of flow-control objects, instead of the scenarios' own; may be repeated")
	f.Uint64Var(&flags.seed, "seed", 0, "use seed `N` instead of the scenarios' own")
	f.StringArrayVar(&flags.labels, "label", nil, "`NAME=VALUE`: a label of all series, such as job=kube-apiserver; may be repeated")
	f.DurationVar(&flags.scrape, "scrape-interval", 30*time.Second, "`TIME` between two scrapes")
	f.DurationVar(&flags.evaluate, "evaluation-interval", 30*time.Second, "`TIME` between two evaluations of groups without an interval")
	f.DurationVar(&flags.lead, "lead", 10*time.Minute, "`TIME` for which the idle servers were scraped before the run, by default rounded up to a multiple of the interval of scrapes")
	addFormat(cmd, &flags.format, "text", "result", alertsFormats)
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show progress")
	return cmd
}

// options checks the flags that say how Prometheus is set up.
func (f *alertsFlags) options(cmd *cobra.Command) (o alerts.Options, err error) {
	o = alerts.Options{Scrape: f.scrape, Evaluate: f.evaluate, Lead: f.lead, Labels: map[string]string{}}
	for _, flag := range []struct {
		name string
		time time.Duration
	}{{"scrape-interval", f.scrape}, {"evaluation-interval", f.evaluate}} {
		if flag.time < time.Second || flag.time > time.Hour || flag.time%time.Millisecond != 0 {
			return o, fmt.Errorf("--%s: %s: want from 1s to 1h in whole milliseconds", flag.name, flag.time)
		}
	}
	if !cmd.Flags().Changed("lead") {
		o.Lead = (f.lead + f.scrape - 1) / f.scrape * f.scrape
	} else if f.lead < 0 || f.lead > 24*time.Hour || f.lead%f.scrape != 0 {
		return o, fmt.Errorf("--lead: %s: want from 0s to 24h, a multiple of --scrape-interval %s", f.lead, f.scrape)
	}
	for _, l := range f.labels {
		name, value, found := strings.Cut(l, "=")
		if !found || !alerts.IsLabel(name) {
			return o, fmt.Errorf("--label: %q: want NAME=VALUE, such as job=kube-apiserver", l)
		}
		if alerts.IsOwnLabel(name) {
			return o, fmt.Errorf("--label: %q: series of a server have %s; want another name", l, name)
		}
		o.Labels[name] = value
	}
	return o, oneOf("format", f.format, alertsFormats)
}

func runAlerts(cmd *cobra.Command, args []string, flags *alertsFlags) error {
	options, err := flags.options(cmd)
	if err != nil {
		return invalid(err)
	}
	groups, err := alerts.ReadRules(args[0])
	if err != nil {
		return invalid(err)
	}
	if flags.check {
		return checkAlerts(cmd, groups, flags)
	}
	if cmd.Flags().Changed("version") {
		return invalid(errors.New("--version: is for --check; the servers of a scenario have its own, which --set spec.servers.kubernetesVersion changes"))
	}
	loads, err := assign.ParseLoads("--load", flags.load)
	if err != nil {
		return invalid(err)
	}
	loaded, err := experiment.Load(args[1:], loader.Options{Set: assign.New("--set", flags.set), Load: loads, ConfigFiles: flags.config})
	if err != nil {
		return invalid(err)
	}
	for _, sc := range loaded {
		if kind := sc.Spec.Servers.FlowControl; kind != server.PriorityAndFairness {
			return invalid(fmt.Errorf("%s has flowControl %s and therefore no series of flow control; want %s", sc.Metadata.Name, kind, server.PriorityAndFairness))
		}
		if cmd.Flags().Changed("seed") {
			sc.Spec.Seed = flags.seed
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	progress := newProgress(cmd.ErrOrStderr(), loaded, flags.quiet)
	defer progress.pause()
	runs := alerts.Begin(ctx, groups, loaded, options, progress)
	defer runs.Stop()
	var all []*alerts.Result
	for _, group := range runs.Groups {
		one, err := runs.Next(ctx, group)
		if err != nil {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			return err
		}
		all = append(all, one)
	}
	progress.pause()
	if err := render.Write(cmd.OutOrStdout(), alerts.Document(groups, all), flags.format, textOptions(cmd.OutOrStdout(), false)); err != nil {
		return err
	}
	for _, one := range all {
		if len(one.Failures) > 0 {
			f := one.Failures[0]
			return fmt.Errorf("%s: %s: %s: %s", one.Scenario, f.Rule, f.Name, f.Error)
		}
	}
	return nil
}

// checkAlerts prints which rules can never fire.
func checkAlerts(cmd *cobra.Command, groups []*alerts.Group, flags *alertsFlags) error {
	var wrong error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if wrong == nil && !slices.Contains([]string{"check", "version", "format", "quiet"}, f.Name) {
			wrong = fmt.Errorf("--%s: is for runs of scenarios; --check needs none", f.Name)
		}
	})
	if wrong != nil {
		return invalid(wrong)
	}
	release, err := flags.release(cmd)
	if err != nil {
		return err
	}
	checked := alerts.Check(groups, release)
	if err := render.Write(cmd.OutOrStdout(), checked.Document(), flags.format, textOptions(cmd.OutOrStdout(), false)); err != nil {
		return err
	}
	if checked.Dead() {
		return &failure{status: statusThreshold}
	}
	return nil
}
