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
	"apfsim/reports/findings"
	"apfsim/reports/statistics"
	"apfsim/scenarios"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

type compareFlags struct {
	out              string
	seed             uint64
	set, config      []string // of both sides
	setOf, configOf  [2][]string
	replications     int
	failOn, only     []string
	bench            string
	format           string
	all, quiet, mono bool
}

func newCompare() *cobra.Command {
	var flags compareFlags
	cmd := &cobra.Command{
		Use:   "compare BASE [HEAD]",
		Short: "Tell what changes from one set of runs to another",
		Long: `Tell which statistics change from BASE to HEAD, and by how much, with 95 % intervals. Each is
a folder with results (DIR/NAME of 'apfsim run -o DIR'), or a scenario: a file or a name
from the library, which is then run under several seeds, both sides under the same: those of
the results, if one side has some. With BASE alone, a scenario, the sides differ by what is
given for one of them.

Of many statistics a few would seem to change by chance: those told have passed the procedure
of Benjamini and Hochberg, so that one in twenty of them may be a false alarm. A number that
several statistics have is tested and told once. With --only, the statistics that match are
tested and shown alone; limits of --fail-on are judged whether they match or not.

Exit status: 0 all is done and no limit of --fail-on is exceeded; 1 something failed; 2 wrong
usage or invalid input; 99 a limit is exceeded, with 95 % confidence.`,
		Example: `  apfsim compare elephants-and-mice --set-head 'level[workload-low].handSize=8'
  apfsim compare incident.yaml --config-base cluster.yaml --config-head scenarios/config/cluster-flowcontrol.yaml --replications 5
  apfsim compare incident.yaml my-scenario.yaml --fail-on 'latency.p(99) > +5%' --replications 5`,
		Args:              count(1, 2, "what to compare: two folders of results or scenarios, or one scenario with flags for its sides"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCompare(cmd, args, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "out", "o", "", "also write comparison.json, comparison.csv and comparison.html to `DIR`")
	f.Uint64Var(&flags.seed, "seed", 0, "first of the seeds, `N`, in place of the results' or else the base's")
	f.IntVar(&flags.replications, "replications", 10, "run each scenario `N` times, with seeds that count up; if the other side has been run, as often as that")
	f.StringArrayVar(&flags.set, "set", nil, "`PATH=VALUE`: set a field of both scenarios or of a priority level, as spec.workload[mice].clients=10 or level[workload-low].handSize=8; the value is YAML; may be repeated")
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of flow-control objects, in place of both scenarios' own; may be repeated")
	for i, side := range findings.SideNames {
		f.StringArrayVar(&flags.setOf[i], "set-"+side, nil, "`PATH=VALUE`: as --set, for the "+side+" alone; may be repeated")
		f.StringArrayVar(&flags.configOf[i], "config-"+side, nil, "`FILE`: as --config, for the "+side+" alone; may be repeated")
	}
	f.StringArrayVar(&flags.failOn, "fail-on", nil, "`LIMIT` of a change, as 'wait{workload:mice}.p(99) > +5%' or '... < -10ms': exit with 99 if it is exceeded for certain; may be repeated")
	f.StringArrayVar(&flags.only, "only", nil, "`GLOB` of names of statistics, as 'wait{workload:*}.*', where * stands for any text and ? for one character: test and show these alone; may be repeated")
	f.StringVar(&flags.bench, "bench", "", "also write base.txt and head.txt to `DIR`, for benchstat")
	f.StringVar(&flags.format, "format", "text", "`FORMAT` of the comparison: "+strings.Join(output.CompareFormats, ", "))
	f.BoolVar(&flags.all, "all", false, "list the statistics that did not change, too")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "show no progress")
	f.BoolVar(&flags.mono, "no-color", false, "print without colour, as with NO_COLOR set")
	return cmd
}

// check returns the limits of --fail-on.
func (f *compareFlags) check(cmd *cobra.Command, args []string) ([]compare.Limit, error) {
	if err := oneOf("format", f.format, output.CompareFormats); err != nil {
		return nil, err
	}
	if f.replications < 1 || f.replications > scenario.MostReplications {
		return nil, fmt.Errorf("--replications: %d: want from 1 to %d", f.replications, scenario.MostReplications)
	}
	for _, name := range []string{"out", "bench"} {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return nil, fmt.Errorf("--%s: is empty; want a folder", name)
		}
	}
	if len(args) == 1 && len(f.setOf[0])+len(f.setOf[1])+len(f.configOf[0])+len(f.configOf[1]) == 0 {
		return nil, errors.New("there is nothing to compare with: want HEAD as well, or --set-head or --config-head for a scenario")
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
		return nil, errors.New("--fail-on: want --replications 2 at least: a single run says nothing of chance")
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

// load reads the i-th side, and returns what it is called. A file that both sides share is read
// once, so that they do not differ if it changes meanwhile.
func (f *compareFlags) load(arg string, i int, files *loader.Cache) (s *experiment.Side, label string, err error) {
	s, label = &experiment.Side{OwnSeed: f.setsSeed(i)}, arg
	for _, own := range []struct {
		flag   string
		values []string
	}{{"set", f.setOf[i]}, {"config", f.configOf[i]}} {
		for _, value := range own.values {
			label += " --" + own.flag + " " + value
		}
	}
	if info, statErr := os.Stat(arg); statErr == nil && info.IsDir() && arg != loader.Stdin {
		s.Results, err = output.ReadResults(arg)
		if err == nil && label != arg || len(f.set)+len(f.config) > 0 && err == nil {
			return nil, "", fmt.Errorf("%s: has been run already; --set and --config are for scenarios", arg)
		}
		_, inLibrary := scenarios.Find(arg)
		if err == nil || !errors.Is(err, output.ErrNoResults) || !inLibrary {
			return s, label, err
		}
	}
	config := f.configOf[i]
	if len(config) == 0 {
		config = f.config
	}
	set := slices.Concat(assign.New("--set", f.set), assign.New("--set-"+findings.SideNames[i], f.setOf[i]))
	s.Scenario, err = experiment.LoadOne(arg, loader.Options{Set: set, ConfigFiles: config, Cache: files})
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
		wrong = wrong[:1] // of the one scenario that both are
	}
	if err := errors.Join(wrong...); err != nil {
		return invalid(err)
	}
	for _, s := range sides { // lest it be found only after all runs
		if len(limits) > 0 && s.Results != nil && len(s.Results.Seeds) < 2 {
			return invalid(fmt.Errorf("--fail-on: %w", compare.ErrTooFewRuns))
		}
	}
	if sides[0].Results != nil && sides[1].Results != nil {
		for _, name := range []string{"seed", "replications"} {
			if cmd.Flags().Changed(name) {
				return invalid(fmt.Errorf("--%s: is for scenarios, and both sides have been run already", name))
			}
		}
	}
	if base, head := sides[0].Scenario, sides[1].Scenario; base != nil && head != nil {
		for _, l := range limits { // lest a wrong name be found only after all runs
			if err := statistics.Check(l.Name, base, head); err != nil {
				return invalid(fmt.Errorf("--fail-on: %w", err))
			}
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var made atomicfile.Set
	defer made.Discard()
	for _, folder := range []struct{ flag, dir string }{{"out", flags.out}, {"bench", flags.bench}} {
		if folder.dir == "" {
			continue
		}
		if err := makeFolder(&made, "--"+folder.flag+": ", folder.dir); err != nil {
			return err
		}
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
	if flags.out != "" {
		if err = output.WriteComparison(flags.out, c); err == nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: the comparison is in %s\n", flags.out)
		}
	}
	if flags.bench != "" {
		err = errors.Join(err, output.WriteBench(flags.bench, c))
	}
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if err := output.WriteComparisonAs(c, out, flags.format, flags.all, textOptions(out, flags.mono)); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if !c.Passed {
		return &failure{status: statusThreshold}
	}
	return nil
}

// setsSeed says whether the seed is set for the i-th side alone: seeds that differ are then
// what is asked for.
func (f *compareFlags) setsSeed(i int) bool {
	return slices.ContainsFunc(f.setOf[i], func(set string) bool {
		path, _, _ := assign.Cut(set, '=')
		return strings.TrimSpace(path) == "spec.seed"
	})
}

// run runs the scenarios among the sides, both under the same seeds.
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
			warn(cmd.ErrOrStderr(), s.Scenario)
		}
	}
	progress := newProgress(cmd.ErrOrStderr(), all, f.quiet)
	defer progress.pause()
	runs := experiment.Begin(ctx, all, experiment.Outputs{}, experiment.Precision{}, progress)
	defer runs.Stop()
	for i, group := range runs.Groups {
		results, err := group.All()
		if err != nil {
			return err
		}
		toRun[i].Results = results
	}
	return nil
}
