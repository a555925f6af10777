package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/compare"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/scenarios"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// compareFormats are the formats in which a comparison can be printed.
var compareFormats = render.Names(report.Quoted | report.OneTable)

type compareFlags struct {
	out                 string
	seed                uint64
	set, config         []string // of both sides
	setOf, configOf     [2][]string
	addConfig           []string // of both sides
	addConfigOf         [2][]string
	replications        int
	failOn, only        []string
	bench               string
	over, base          string
	metrics             string
	format              string
	all, quiet, noColor bool
}

func newCompare() *cobra.Command {
	var flags compareFlags
	cmd := &cobra.Command{
		Use:   "compare BASE [HEAD]",
		Short: "Compare two sets of runs",
		Long: `List the statistics that differ between BASE and HEAD, and by how much, with 95 % intervals.
BASE and HEAD are folders with results (DIR/NAME of 'apfsim run -o DIR') or scenarios (files or
library names). Scenarios are run several times. Both sides use the same seeds: those of the
results, if one side is a folder. If HEAD is missing, both sides are the scenario BASE and differ
by --set-base, --set-head, --add-config-base, --add-config-head, --config-base and --config-head.
--config replaces the whole configuration of a scenario, --add-config adds to it.

With --over PATH=VALUE,VALUE,..., the scenario BASE is run with each value of a parameter, and
each value is compared with the first one, or with that of --base. The path version is the release
of the servers: --over version=1.26,1.28,1.34 runs one load on three releases.

With --metrics BEFORE,AFTER, the runs of BASE are shown beside what a kube-apiserver did between two
scrapes of its /metrics: requests dispatched and rejected, waits, execution times and seats of each
priority level and FlowSchema. If only AFTER is given, it is what the server did since its start.

Among many statistics, some differ by chance. The procedure of Benjamini and Hochberg limits the
expected share of false alarms among the listed changes to 5 %. If several statistics have the
same values, they are tested and listed once. With --only, only matching statistics are tested
and listed; the limits of --fail-on apply to all statistics.

Exit status: 0 completed, and no limit of --fail-on is exceeded; 1 an operation failed; 2 wrong
usage or invalid input; 99 a limit is exceeded, with 95 % confidence.`,
		Example: `  apfsim compare elephants-and-mice --set-head 'level[workload-low].handSize=8'
  apfsim compare incident.yaml --config-base cluster.yaml --config-head scenarios/config/cluster-flowcontrol.yaml --replications 5
  apfsim compare elephants-and-mice --set spec.duration=12s --over version=1.28,1.34,1.37 --replications 3 --only 'wait{workload:*}.*'
  apfsim compare incident.yaml my-scenario.yaml --fail-on 'latency.p(99) > +5%' --replications 5
  apfsim compare elephants-and-mice --set spec.duration=35s --set spec.warmup=15s --metrics before.txt,after.txt --replications 3`,
		Args:              count(1, 2, "two folders of results or scenarios, or one scenario with flags for its sides"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompare(cmd, args, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "out", "o", "", "also write comparison.json, comparison.csv and comparison.html to `DIR`")
	f.Uint64Var(&flags.seed, "seed", 0, "first seed `N`, instead of that of the results or of the base")
	f.IntVar(&flags.replications, "replications", 10, "run each scenario `N` times with consecutive seeds; if the other side is a folder of results, as often as that")
	f.StringArrayVar(&flags.set, "set", nil, "`PATH=VALUE`: set a field of both scenarios or of a priority level, such as spec.workload[mice].clients=10 or level[workload-low].handSize=8; the value is YAML; may be repeated")
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of flow-control objects, instead of both scenarios' own; may be repeated")
	f.StringArrayVar(&flags.addConfig, "add-config", nil, "`FILE` of flow-control objects that are added to the configuration of both sides; one of the same kind and name takes the place of the scenario's; may be repeated")
	for i, side := range report.SideNames {
		f.StringArrayVar(&flags.setOf[i], "set-"+side, nil, "`PATH=VALUE`: like --set, only for the "+side+"; may be repeated")
		f.StringArrayVar(&flags.configOf[i], "config-"+side, nil, "`FILE`: like --config, only for the "+side+"; may be repeated")
		f.StringArrayVar(&flags.addConfigOf[i], "add-config-"+side, nil, "`FILE`: like --add-config, only for the "+side+"; may be repeated")
	}
	f.StringVar(&flags.over, "over", "", "`PATH=VALUE,VALUE,...`: compare several values of a parameter of the scenario BASE, such as version=1.26,1.34 or 'level[workload-low].handSize=4,6,8'")
	f.StringVar(&flags.base, "base", "", "`VALUE` of --over that the others are compared with, instead of the first one")
	f.StringVar(&flags.metrics, "metrics", "", "`BEFORE,AFTER`: show BASE beside what a kube-apiserver did between two scrapes of its /metrics, in these files; only AFTER: since the start of the server")
	f.StringArrayVar(&flags.failOn, "fail-on", nil, "`LIMIT` of a change, such as 'wait{workload:mice}.p(99) > +5%' or '... < -10ms': exit status 99 if it is significantly exceeded; may be repeated")
	f.StringArrayVar(&flags.only, "only", nil, "`GLOB` of names of statistics, such as 'wait{workload:*}.*', where * matches any text and ? one character: test and list only these; may be repeated")
	f.StringVar(&flags.bench, "bench", "", "also write base.txt and head.txt to `DIR`, for benchstat")
	addFormat(cmd, &flags.format, "text", "comparison", compareFormats)
	f.BoolVar(&flags.all, "all", false, "list priority levels and all statistics, also those that did not change, instead of the ten most important rows")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show progress")
	f.BoolVar(&flags.noColor, "no-color", false, "print without colour; the environment variable NO_COLOR does the same")
	return cmd
}

// check returns the limits of --fail-on.
func (f *compareFlags) check(cmd *cobra.Command, args []string) ([]compare.Limit, error) {
	if err := oneOf("format", f.format, compareFormats); err != nil {
		return nil, err
	}
	if f.replications < 1 || f.replications > scenario.MostReplications {
		return nil, fmt.Errorf("--replications: %d: want from 1 to %d", f.replications, scenario.MostReplications)
	}
	for _, name := range []string{"out", "bench"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return nil, fmt.Errorf("--%s: is empty; want the name of a folder", name)
		}
	}
	if err := f.checkOver(cmd, args); err != nil {
		return nil, err
	}
	if err := f.checkMetrics(cmd, args); err != nil {
		return nil, err
	}
	if f.over == "" && f.metrics == "" && len(args) == 1 && len(f.setOf[0])+len(f.setOf[1])+len(f.configOf[0])+len(f.configOf[1])+len(f.addConfigOf[0])+len(f.addConfigOf[1]) == 0 {
		return nil, errors.New("BASE has nothing to be compared with; want HEAD, or --set-head, --add-config-head, --config-head or --over for a scenario, or --metrics")
	}
	var limits []compare.Limit
	for _, text := range f.failOn {
		limit, err := compare.ParseLimit(text)
		if err != nil {
			return nil, fmt.Errorf("--fail-on: %w", err)
		}
		limits = append(limits, limit)
	}
	if len(limits) > 0 && f.replications < 2 {
		return nil, errors.New("--fail-on: needs --replications 2 or more, because a single run does not show the variation by chance")
	}
	return limits, nil
}

// globs returns the patterns of --only.
func (f *compareFlags) globs() (all []compare.Glob, err error) {
	for _, text := range f.only {
		g, wrong := compare.ParseGlob(text)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("--only: %w", wrong))
		}
		all = append(all, g)
	}
	return all, err
}

// load reads the i-th side and returns its label. A file of both sides is read once, so that the
// sides do not differ if the file changes in between.
func (f *compareFlags) load(arg string, i int, files *loader.Cache) (s *experiment.Side, label string, err error) {
	s, label = &experiment.Side{OwnSeed: f.setsSeed(i)}, arg
	for _, own := range []struct {
		flag   string
		values []string
	}{{"set", f.setOf[i]}, {"config", f.configOf[i]}, {"add-config", f.addConfigOf[i]}} {
		for _, value := range own.values {
			label += " --" + own.flag + " " + value
		}
	}
	if info, statErr := os.Stat(arg); statErr == nil && info.IsDir() && arg != loader.Stdin {
		s.Results, err = output.ReadResults(arg)
		if err == nil && label != arg || len(f.set)+len(f.config)+len(f.addConfig) > 0 && err == nil {
			return nil, "", fmt.Errorf("%s: is a folder of results; --set, --config and --add-config need a scenario", arg)
		}
		if err == nil || !errors.Is(err, output.ErrNoResults) || !scenarios.Has(arg) {
			return s, label, err
		}
	}
	config := f.configOf[i]
	if len(config) == 0 {
		config = f.config
	}
	set := slices.Concat(assign.New("--set", f.set), assign.New("--set-"+report.SideNames[i], f.setOf[i]))
	s.Scenario, err = experiment.LoadOne(arg, loader.Options{Set: set, ConfigFiles: config, AddConfigFiles: slices.Concat(f.addConfig, f.addConfigOf[i]), Cache: files})
	return s, label, err
}

func runCompare(cmd *cobra.Command, args []string, flags *compareFlags) error {
	limits, err := flags.check(cmd, args)
	if err != nil {
		return invalid(err)
	}
	if err := outIsFormat(cmd, flags.out); err != nil {
		return invalid(err)
	}
	only, err := flags.globs()
	if err != nil {
		return invalid(err)
	}
	if flags.metrics != "" {
		return compareServer(cmd, args[0], flags)
	}
	if flags.over != "" {
		return compareValues(cmd, args[0], flags, limits, only)
	}
	var sides [2]*experiment.Side
	var labels [2]string
	var wrong []error
	files := loader.NewCache()
	for i := range sides {
		var err error
		if sides[i], labels[i], err = flags.load(args[min(i, len(args)-1)], i, files); err != nil {
			wrong = append(wrong, err)
		}
	}
	if len(wrong) == 2 && wrong[0].Error() == wrong[1].Error() {
		wrong = wrong[:1] // both sides are the same scenario
	}
	if err := errors.Join(wrong...); err != nil {
		return invalid(err)
	}
	for _, s := range sides { // before the runs, which can take hours
		if len(limits) > 0 && s.Results != nil && len(s.Results.Seeds) < 2 {
			return invalid(fmt.Errorf("--fail-on: %w", compare.ErrTooFewRuns))
		}
	}
	if sides[0].Results != nil && sides[1].Results != nil {
		for _, name := range []string{"seed", "replications"} {
			if cmd.Flags().Changed(name) {
				return invalid(fmt.Errorf("--%s: needs a scenario, but both sides are folders of results", name))
			}
		}
	}
	if base, head := sides[0].Scenario, sides[1].Scenario; base != nil && head != nil {
		for _, l := range limits { // before the runs, which can take hours
			if err := result.CheckName(l.Name, base, head); err != nil {
				return invalid(fmt.Errorf("--fail-on: %w", err))
			}
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var made atomicfile.Set
	defer made.Discard()
	p := flags.paths(sides[0].Scenario, sides[1].Scenario)
	p.readResults(args...)
	if err := p.prepare(cmd, &made); err != nil {
		return err
	}
	if err := flags.run(ctx, cmd, sides); err != nil {
		return err
	}
	if err := compare.CheckGlobs(only, sides[0].Results, sides[1].Results); err != nil {
		return invalid(fmt.Errorf("--only: %w", err))
	}
	c := compare.Compare(labels[0], sides[0].Results, labels[1], sides[1].Results, only...)
	if err := c.Judge(limits); err != nil {
		return invalid(fmt.Errorf("--fail-on: %w", err))
	}
	return flags.write(cmd, c.Passed, func(all bool) *report.Document { return report.ComparisonDocument(c, all) })
}

// paths returns the files that a comparison reads and writes, except folders of results. Scenarios may be nil.
func (f *compareFlags) paths(scenarios ...*scenario.Scenario) *paths {
	var p paths
	for _, sc := range scenarios {
		if sc != nil {
			p.readScenarios(sc)
		}
	}
	p.folder("--out: ", f.out, output.Written.Comparison...)
	p.folder("--bench: ", f.bench, output.Written.Bench...)
	return &p
}

// write writes the files of a comparison and prints it. document makes its report; with all, also with what has not
// changed. The error is that of an exceeded limit if passed is false.
func (f *compareFlags) write(cmd *cobra.Command, passed bool, document func(all bool) *report.Document) error {
	d := document(false)
	if f.bench != "" {
		if err := output.WriteBench(f.bench, d); err != nil {
			return err
		}
	}
	if f.out != "" {
		if err := output.WriteComparison(f.out, d); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: wrote the comparison to %s\n", f.out)
	}
	if f.all {
		d = document(true)
	}
	out := cmd.OutOrStdout()
	if err := render.Write(out, d, f.format, textOptions(out, f.noColor)); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if !passed {
		return &failure{status: statusThreshold}
	}
	return nil
}

// setsSeed reports whether a flag sets the seed of the i-th side only. The seeds of the sides then
// differ on purpose.
func (f *compareFlags) setsSeed(i int) bool {
	return slices.ContainsFunc(f.setOf[i], func(set string) bool {
		path, _, _ := assign.Cut(set, '=')
		return strings.TrimSpace(path) == "spec.seed"
	})
}

// run runs the sides that are scenarios, with the same seeds for both.
func (f *compareFlags) run(ctx context.Context, cmd *cobra.Command, sides [2]*experiment.Side) error {
	var seed *uint64
	if cmd.Flags().Changed("seed") {
		seed = &f.seed
	}
	replications := 0
	if cmd.Flags().Changed("replications") {
		replications = f.replications
	}
	experiment.Align(sides, seed, replications, f.replications)
	var toRun []*experiment.Side
	var all []*scenario.Scenario
	for _, s := range sides {
		if s.Scenario != nil {
			toRun, all = append(toRun, s), append(all, s.Scenario)
		}
	}
	err := experiment.CheckTraces(ctx, all)
	if ctx.Err() != nil {
		return errors.New("interrupted before the first run")
	}
	if err != nil {
		return err
	}
	for _, sc := range all {
		warn(cmd.ErrOrStderr(), sc)
	}
	results, err := f.simulate(ctx, cmd, all, sides[0].Results, sides[1].Results)
	for i, r := range results {
		toRun[i].Results = r
	}
	return err
}

// simulate runs scenarios and returns their results. The others, which may be nil, are results that they are compared with.
func (f *compareFlags) simulate(ctx context.Context, cmd *cobra.Command, all []*scenario.Scenario, others ...*compare.Replications) (results []*compare.Replications, err error) {
	progress := newProgress(cmd.ErrOrStderr(), all, f.quiet)
	defer progress.pause()
	if err := experiment.ChooseWarmups(ctx, all, progress); err != nil {
		return nil, err
	}
	experiment.AlignWarmups(all, others...)
	runs := experiment.Begin(ctx, all, experiment.Outputs{}, experiment.Precision{}, progress)
	defer runs.Stop()
	for _, group := range runs.Groups {
		r, err := group.All()
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}
