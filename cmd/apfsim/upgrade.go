package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"apfsim/core/rules"
	"apfsim/experiment/upgrade"
	"apfsim/internal/atomicfile"
	"apfsim/reports/advice"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/server"
)

// upgradeFormats are the formats of an answer.
var upgradeFormats = []string{"text", "json", "markdown"}

type upgradeFlags struct {
	config      configFlags
	from, to    string
	servers     int
	with        string
	time        time.Duration
	probability float64
	confidence  string
	seed        uint64
	out, failOn string
	quiet       bool
	onlyObjects bool
}

func newUpgrade() *cobra.Command {
	var flags upgradeFlags
	cmd := &cobra.Command{
		Use:   "upgrade [CONFIG...]",
		Short: "Say what an upgrade of Kubernetes changes and harms, and which settings avoid it",
		Long: `Say what an upgrade of Kubernetes changes and harms: the flow-control objects that the new servers
create, put right or delete, the API versions that they no longer serve, the rules and the limits
that change. CONFIG is an export of the cluster, a folder of files, or - for standard input.

With --with, the servers of a scenario are upgraded one after the other under its load: the command
says which requests are not served before, during and after that, and finds the smallest
--shutdown-delay-duration, --shutdown-watch-termination-grace-period and --goaway-chance with which
none is refused. The scenario is a file, a name of the library, or a folder that 'apfsim import' or
'apfsim diagnose' has written, whose fitted scenario is used if there is one. The objects are those
of CONFIG, or without it those of the scenario. Nothing is applied.

With --only-objects, the answer is only which objects servers create, put right, annotate and delete, and
why. Every server does this each minute: it undoes edits of objects that it maintains. Without --from,
there is no upgrade, and the servers are of the release of --to.

With -o, DIR gets upgrade.json and upgrade.html, and objects.yaml for kubectl apply if API versions
are no longer served.`,
		Example: `  kubectl get flowschemas,prioritylevelconfigurations -o yaml > cluster.yaml
  apfsim upgrade cluster.yaml --from 1.33 --to 1.34
  apfsim upgrade cluster.yaml --only-objects --to 1.33
  apfsim upgrade cluster.yaml --from 1.33 --to 1.34 --servers 3 --with rolling-restart-without-delay -o upgrade`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.onlyObjects {
				return runMaintenance(cmd, args, &flags)
			}
			return runUpgrade(cmd, args, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&flags.from, "from", "", "`VERSION` of Kubernetes before the upgrade, such as 1.33 or 1.33.2; required without --only-objects")
	f.StringVar(&flags.to, "to", rules.Default().Version, "`VERSION` of Kubernetes after the upgrade")
	f.IntVar(&flags.servers, "servers", upgrade.Servers, "`N`: number of servers of the cluster; by default that of the scenario, if it has several")
	f.BoolVar(&flags.onlyObjects, "only-objects", false, "print only what servers do to the objects of CONFIG, and why")
	f.StringVar(&flags.with, "with", "", "`SCENARIO` with the load during the upgrade: a file, a library name, or a folder of an import")
	cmd.RegisterFlagCompletionFunc("with", completeScenarios)
	f.DurationVar(&flags.time, "time", 0, "`DURATION`, such as 2m, after which the search for settings ends: the answer has the best that was found until then; 0 for no bound")
	f.Float64Var(&flags.probability, "probability", 0.9, "`P` with which a rollout must refuse nothing")
	f.StringVar(&flags.confidence, "confidence", "95%", "`LEVEL` of confidence of the settings")
	f.Uint64Var(&flags.seed, "seed", 0, "first seed `N`, instead of the scenario's own")
	f.StringVarP(&flags.out, "out", "o", "", "write upgrade.json, upgrade.html and objects.yaml to `DIR`")
	f.StringVar(&flags.failOn, "fail-on", "", "`STATUS` from which on the exit status is 99: harm or warning")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show progress")
	flags.config.addBase(cmd)
	flags.config.addLimits(cmd)
	addFormat(cmd, &flags.config.format, "text", "answer", upgradeFormats)
	return cmd
}

func (f *upgradeFlags) checkServers() error {
	if f.servers < 1 || f.servers > server.MostReplicas {
		return fmt.Errorf("--servers: %d: want 1 to %d", f.servers, server.MostReplicas)
	}
	return nil
}

// options checks the flags and reads the files.
func (f *upgradeFlags) options(cmd *cobra.Command, args []string) (o upgrade.Options, err error) {
	if err := oneOf("format", f.config.format, upgradeFormats); err != nil {
		return o, err
	}
	if f.failOn != "" {
		if err := oneOf("fail-on", f.failOn, []string{string(result.Harm), string(result.Warning)}); err != nil {
			return o, err
		}
	}
	if err := outIsFormat(cmd, f.out); err != nil {
		return o, err
	}
	if len(args) == 0 && f.with == "" {
		return o, errors.New("CONFIG is missing; want an export of the flow-control objects, or --with SCENARIO for those of a scenario")
	}
	releases, err := upgradeOf(cmd, f.from, f.to)
	if err != nil {
		return o, err
	}
	o.From, o.To = releases.From, releases.To
	if o.Confidence, err = confidenceLevel(f.confidence); err != nil {
		return o, err
	}
	if !(f.probability >= 0.5 && f.probability <= 0.999) {
		return o, fmt.Errorf("--probability: %v: want a probability from 0.5 to 0.999, such as 0.9", f.probability)
	}
	o.Probability = f.probability
	if o.Time = f.time; f.time < 0 {
		return o, fmt.Errorf("--time: %s: want a duration such as 2m", f.time)
	}
	if f.time > 0 && f.with == "" {
		return o, errors.New("--time: has no meaning without --with, because nothing is run")
	}
	if err := f.checkServers(); err != nil {
		return o, err
	}
	o.Servers = f.servers
	if o.ServerLimit, err = f.config.limit(); err != nil {
		return o, err
	}
	if f.with != "" {
		err := f.load(cmd, args, &o)
		return o, err
	}
	loaded, err := f.config.load(cmd, o.From, args)
	if err != nil {
		return o, err
	}
	o.Objects = loaded.Objects
	return o, nil
}

// load reads the scenario, with the files of CONFIG in the place of its own.
func (f *upgradeFlags) load(cmd *cobra.Command, args []string, o *upgrade.Options) (err error) {
	changed := cmd.Flags().Changed
	load := upgrade.LoadOptions{Config: args, From: o.From, To: o.To}
	if changed("servers") {
		load.Servers = f.servers
	}
	for _, flag := range []struct{ name, field string }{{"max-requests-inflight", "maxRequestsInflight"}, {"max-mutating-requests-inflight", "maxMutatingRequestsInflight"}} {
		if changed(flag.name) {
			load.Set = append(load.Set, "spec.servers."+flag.field+"="+cmd.Flags().Lookup(flag.name).Value.String())
		}
	}
	if len(args) > 0 || changed("base") {
		load.Set = append(load.Set, "spec.config.base="+f.config.base)
	}
	if o.Workload, err = upgrade.Load(f.with, load); err != nil {
		return err
	}
	sc := o.Workload.Scenario
	if changed("seed") {
		sc.Spec.Seed = f.seed
	}
	o.Objects, o.Servers, o.ServerLimit = sc.Objects, sc.Spec.Servers.Replicas, sc.Spec.Servers.MaxRequestsInflight+sc.Spec.Servers.MaxMutatingRequestsInflight
	return nil
}

func runUpgrade(cmd *cobra.Command, args []string, flags *upgradeFlags) error {
	options, err := flags.options(cmd, args)
	if err != nil {
		return invalid(err)
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var p paths
	p.read(args...)
	if options.Workload != nil {
		warn(cmd.ErrOrStderr(), options.Workload.Scenario)
		p.readScenarios(options.Workload.Scenario)
	}
	p.folder("--out: ", flags.out, upgrade.Files...)
	var files atomicfile.Set
	defer files.Discard()
	if err := p.prepare(cmd, &files); err != nil {
		return err
	}
	steps := newSteps(cmd.ErrOrStderr(), flags.quiet)
	defer steps.clear()
	options.Progress = steps.next("settings")
	answer, err := upgrade.Run(ctx, options)
	steps.clear()
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted; nothing was written")
	case err != nil:
		return err
	}
	if err := writeAnswer(&files, flags.out, answer); err != nil {
		return err
	}
	document := answer.Document()
	if flags.out != "" {
		text := "The page is " + filepath.Join(flags.out, upgrade.PageFile) + "."
		document.Sections = append(document.Sections, report.Section{Name: "next", Parts: []report.Part{{Paragraph: text}}, Only: report.Terminal})
	}
	if err := render.Write(cmd.OutOrStdout(), document, flags.config.format, textOptions(cmd.OutOrStdout(), false)); err != nil {
		return err
	}
	if flags.failOn != "" && !result.Status(flags.failOn).Worse(answer.Verdict.Status) {
		return &failure{status: statusThreshold}
	}
	return nil
}

// runMaintenance prints what servers do to the objects of a cluster.
func runMaintenance(cmd *cobra.Command, args []string, flags *upgradeFlags) error {
	if err := oneOf("format", flags.config.format, answerFormats); err != nil {
		return invalid(err)
	}
	for _, name := range []string{"with", "time", "probability", "confidence", "seed", "out", "fail-on", "max-requests-inflight", "max-mutating-requests-inflight"} {
		if cmd.Flags().Changed(name) {
			return invalid(fmt.Errorf("--%s: has no meaning with --only-objects, which runs nothing", name))
		}
	}
	if len(args) == 0 {
		return invalid(errors.New("CONFIG is missing; want an export of the flow-control objects, a folder of files, or - for standard input"))
	}
	if err := flags.checkServers(); err != nil {
		return invalid(err)
	}
	in := advice.MaintenanceInput{Servers: flags.servers}
	var err error
	if in.To, err = releaseOf(cmd, "to", flags.to); err != nil {
		return err
	}
	present := in.To
	if flags.from != "" {
		releases, err := upgradeOf(cmd, flags.from, flags.to)
		if err != nil {
			return invalid(err)
		}
		in.From, present = releases.From, releases.From
	}
	loaded, err := flags.config.load(cmd, present, args)
	if err != nil {
		return err
	}
	in.Objects = loaded.Objects
	return render.Write(cmd.OutOrStdout(), report.MaintenanceDocument(advice.ExamineMaintenance(in)), flags.config.format, textOptions(cmd.OutOrStdout(), false))
}
