package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/report"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

type sweepFlags struct {
	out            string
	over           []string
	replications   int
	seed           uint64
	set, config    []string
	addConfig      []string
	shard          string
	charts         []string
	flows          bool
	quiet, noColor bool
}

func newSweep() *cobra.Command {
	var flags sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep SCENARIO",
		Short: "Simulate a scenario over a grid of parameters",
		Long: `Simulate a scenario (a file or a library name) for all combinations of the values of some
parameters, with the same seeds for each combination. The files in DIR are results.csv, with a row
for each run and statistic; summary.csv, with the mean and its 95 % interval for each point; and a
chart for each statistic of --chart: a line over one parameter, a heat map over two.

Finished runs are kept: after an interruption, run the same command again to continue. With
--shard, several machines share the work; 'apfsim sweep merge' merges their folders.`,
		Example: `  apfsim sweep elephants-and-mice --set spec.duration=12s --over 'spec.workload[elephants].clients=1,4' -o clients
  apfsim sweep elephants-and-mice --set spec.duration=12s --over 'level[workload-low].handSize=4,8' --over 'level[workload-low].queues=16,128' -o hands`,
		Args:              exactlyOne("a scenario: a file, or a name that 'apfsim scenarios list' prints"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSweep(cmd, args[0], &flags)
		},
	}
	cmd.AddCommand(newMerge())
	f := cmd.Flags()
	f.StringVarP(&flags.out, "out", "o", "", "write the results to `DIR`")
	f.StringArrayVar(&flags.over, "over", nil, "`PATH=VALUE,VALUE,...`: a parameter and its values, such as 'spec.workload[mice].clients=10,100' or 'level[workload-low].handSize=4,6'; may be repeated")
	f.IntVar(&flags.replications, "replications", 0, "run each point `N` times with consecutive seeds, instead of the scenario's own number")
	f.Uint64Var(&flags.seed, "seed", 0, "first seed `N`, instead of the scenario's own")
	f.StringArrayVar(&flags.set, "set", nil, "`PATH=VALUE`: set a field of the scenario or of a priority level for all points, such as spec.duration=5m; the value is YAML; may be repeated")
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of flow-control objects, instead of the scenario's own; may be repeated")
	f.StringArrayVar(&flags.addConfig, "add-config", nil, "`FILE` of flow-control objects that are added to the configuration; one of the same kind and name takes the place of the scenario's; may be repeated")
	f.StringVar(&flags.shard, "shard", "", "`I/N`: run only part I of N, counted from 0; 'apfsim sweep merge' writes the tables")
	f.StringArrayVar(&flags.charts, "chart", nil, "`STATISTIC` to draw and print, such as 'wait{workload:mice}.p(99)'; may be repeated")
	f.BoolVar(&flags.flows, "flows", false, "also keep the statistics of each flow")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show progress")
	f.BoolVar(&flags.noColor, "no-color", false, "print without colour; the environment variable NO_COLOR does the same")
	return cmd
}

// parseShard parses I/N.
func parseShard(text string) (experiment.Shard, error) {
	if text == "" {
		return experiment.Shard{Of: 1}, nil
	}
	index, total, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, errTotal := strconv.Atoi(total)
	if err != nil || errTotal != nil || n < 1 || i < 0 || i >= n {
		return experiment.Shard{}, fmt.Errorf("--shard: %q: want I/N with I from 0 to N-1, such as 0/4 for the first of four parts", text)
	}
	return experiment.Shard{Index: i, Of: n}, nil
}

func (f *sweepFlags) check(cmd *cobra.Command, arg string) (part experiment.Shard, err error) {
	switch {
	case arg == loader.Stdin:
		return part, errors.New("-: a sweep that continues after an interruption reads its scenario again; use a file instead of standard input")
	case f.out == "":
		return part, errors.New("-o: is missing; want the folder for the results")
	case len(f.over) == 0:
		return part, errors.New("--over: is missing; want a parameter and its values, such as --over 'spec.workload[mice].clients=10,100'")
	case cmd.Flags().Changed("replications") && (f.replications < 1 || f.replications > scenario.MostReplications):
		return part, fmt.Errorf("--replications: %d: want from 1 to %d", f.replications, scenario.MostReplications)
	}
	if err := outIsFormat(cmd, f.out); err != nil {
		return part, err
	}
	return parseShard(f.shard)
}

func runSweep(cmd *cobra.Command, arg string, flags *sweepFlags) error {
	part, err := flags.check(cmd, arg)
	if err != nil {
		return invalid(err)
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	steps := newSteps(cmd.ErrOrStderr(), flags.quiet)
	defer steps.clear()
	g, err := experiment.NewGrid(ctx, buildVersion(), arg, flags.over, loader.Options{Set: assign.New("--set", flags.set), ConfigFiles: flags.config, AddConfigFiles: flags.addConfig}, steps.next("points read"))
	steps.clear()
	if err == nil {
		err = flags.complete(cmd, g)
	}
	if ctx.Err() != nil {
		return errors.New("interrupted before the first run")
	}
	if err != nil {
		return invalid(err)
	}
	s := g.Sweep
	var p paths
	p.readScenarios(g.Points...)
	if err := begin(cmd, s, &p, flags.out); err != nil {
		return err
	}
	warn(cmd.ErrOrStderr(), g.Base)
	remaining, err := g.Remaining(flags.out, part, steps.next("runs checked"))
	steps.clear()
	if err != nil {
		return err
	}
	if remaining.Done > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: %d of %d runs are already done\n", remaining.Done, part.Runs(s))
	}
	progress := newProgress(cmd.ErrOrStderr(), remaining.AtPoints, flags.quiet)
	err = remaining.Run(ctx, progress)
	progress.pause()
	for i, sc := range g.Points {
		if sc.Spec.Warmup.By != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: %s: %s\n", s.Describe(i), experiment.WarmupText(sc))
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %d of %d runs are done and kept in %s; run the same command again to continue", remaining.Done, part.Runs(s), flags.out)
	}
	if err != nil {
		return err
	}
	if flags.shard != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: wrote shard %s to %s: %d of %d runs; use 'apfsim sweep merge' to merge the shards\n", flags.shard, flags.out, part.Runs(s), s.Runs())
		return nil
	}
	d, err := output.FinishSweep(s, ctx, flags.out, steps.next("runs tabulated"))
	steps.clear()
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted: all runs are done and kept in %s; run the same command again to write the tables", flags.out)
	case err != nil:
		return err
	}
	return showSweep(cmd, d, flags.out, flags.noColor)
}

// complete sets the seed, the replications and the charts of the sweep from the flags.
func (f *sweepFlags) complete(cmd *cobra.Command, g *experiment.Grid) error {
	s := g.Sweep
	s.Seed, s.Replications, s.Flows = g.Base.Spec.Seed, g.Base.Spec.Replications, f.flows
	if cmd.Flags().Changed("seed") {
		s.Seed = f.seed
	}
	if f.replications > 0 {
		s.Replications = f.replications
	}
	if s.Replications > report.MaxSweepRuns/s.Points() {
		return fmt.Errorf("--replications: %d: the sweep would have more than %d runs; use fewer replications", s.Replications, report.MaxSweepRuns)
	}
	return s.SetCharts(f.charts, g.Points)
}

// begin creates the folder of a sweep, or continues the sweep in it. The paths are those that the command
// reads.
func begin(cmd *cobra.Command, s *report.Sweep, p *paths, dir string) error {
	p.folder("--out: ", dir, output.Written.Sweep...)
	var made atomicfile.Set // never discarded, so the folder remains
	if err := p.prepare(cmd, &made); err != nil {
		return err
	}
	err := output.BeginSweep(s, dir)
	if errors.Is(err, report.ErrDifferentSweep) {
		err = invalid(fmt.Errorf("--out: %w", err))
	}
	return err
}

// showSweep prints the folder with the results of a sweep, warnings, and the statistics of --chart.
func showSweep(cmd *cobra.Command, d *report.Document, dir string, noColor bool) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: wrote the results of %s to %s\n", d.Name, dir)
	for _, w := range d.NoPictures {
		fmt.Fprintln(cmd.ErrOrStderr(), "apfsim: warning:", w)
	}
	return show(cmd.OutOrStdout(), d, "text", textOptions(cmd.OutOrStdout(), noColor))
}
