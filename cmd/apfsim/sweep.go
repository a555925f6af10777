package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/plots"
	"apfsim/reports/sweep"
	"apfsim/reports/text"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

type sweepFlags struct {
	out          string
	over         []string
	replications int
	seed         uint64
	set, config  []string
	shard        string
	charts       []string
	flows        bool
	quiet, mono  bool
}

func newSweep() *cobra.Command {
	var flags sweepFlags
	cmd := &cobra.Command{
		Use:   "sweep SCENARIO",
		Short: "Simulate a scenario over a grid of parameters",
		Long: `Simulate a scenario, a file or a name from the library, at every combination of some
parameters' values, each under the same seeds. DIR gets results.csv, with a row for each run
and statistic; summary.csv, with means and their 95 % intervals at each point; and a chart of
each statistic of --chart: a line over one parameter, a heat map over two.

What is done stays: after an interruption the same command goes on where it was. With --shard
several machines share the work; 'apfsim merge' puts their folders together.`,
		Example: `  apfsim sweep elephants-and-mice --set spec.duration=12s --over 'spec.workload[elephants].clients=1,4' -o clients
  apfsim sweep elephants-and-mice --set spec.duration=12s --over 'level[workload-low].handSize=4,8' --over 'level[workload-low].queues=16,128' -o hands`,
		Args:              exactlyOne("a scenario: a file, or a name that 'apfsim scenarios list' prints"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runSweep(cmd, args[0], &flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "out", "o", "", "write the results to `DIR`")
	f.StringArrayVar(&flags.over, "over", nil, "`PATH=VALUE,VALUE,...`: a parameter and its values, as 'spec.workload[mice].clients=10,100' or 'level[workload-low].handSize=4,6'; may be repeated")
	f.IntVar(&flags.replications, "replications", 0, "run every point `N` times, with seeds that count up, in place of the scenario's own number")
	f.Uint64Var(&flags.seed, "seed", 0, "first of the seeds, `N`, in place of the scenario's own")
	f.StringArrayVar(&flags.set, "set", nil, "`PATH=VALUE`: set a field of the scenario or of a priority level at every point, as spec.duration=5m; the value is YAML; may be repeated")
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of flow-control objects, in place of the scenario's own; may be repeated")
	f.StringVar(&flags.shard, "shard", "", "`I/N`: run only the I-th of N parts, from 0/N on; the tables come with 'apfsim merge'")
	f.StringArrayVar(&flags.charts, "chart", nil, "`STATISTIC` to show, as 'wait{workload:mice}.p(99)'; may be repeated")
	f.BoolVar(&flags.flows, "flows", false, "keep the statistics of every single flow, too")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "show no progress")
	f.BoolVar(&flags.mono, "no-color", false, "print without colour, as with NO_COLOR set")
	return cmd
}

// parseShard reads I/N.
func parseShard(text string) (experiment.Shard, error) {
	if text == "" {
		return experiment.Shard{Of: 1}, nil
	}
	index, of, _ := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, errOf := strconv.Atoi(of)
	if err != nil || errOf != nil || n < 1 || i < 0 || i >= n {
		return experiment.Shard{}, fmt.Errorf("--shard: %q: want I/N with I from 0 to N-1, as 0/4 for the first of four", text)
	}
	return experiment.Shard{Index: i, Of: n}, nil
}

func (f *sweepFlags) check(cmd *cobra.Command, arg string) (part experiment.Shard, err error) {
	switch {
	case arg == loader.Stdin:
		return part, errors.New("-: an interrupted sweep reads its scenario again when it goes on; want a file, not standard input")
	case f.out == "":
		return part, errors.New("-o: the results go to a folder, where an interrupted sweep goes on as well: want -o DIR")
	case len(f.over) == 0:
		return part, errors.New("--over: over what? want a parameter, as --over 'spec.workload[mice].clients=10,100'")
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
	g, err := experiment.NewGrid(ctx, buildVersion(), arg, flags.over, loader.Options{Set: assign.New("--set", flags.set), ConfigFiles: flags.config}, steps.of("points read"))
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
	if err := begin(s, flags.out); err != nil {
		return err
	}
	warn(cmd.ErrOrStderr(), g.Base)
	rest, err := g.Rest(flags.out, part, steps.of("runs looked for"))
	steps.clear()
	if err != nil {
		return err
	}
	if rest.Done > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: %d of %d runs done already\n", rest.Done, part.Runs(s))
	}
	progress := newProgress(cmd.ErrOrStderr(), rest.AtPoints, flags.quiet)
	err = rest.Run(ctx, progress)
	progress.pause()
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: %d of %d runs done, and kept in %s; the same command goes on from there", rest.Done, part.Runs(s), flags.out)
	}
	if err != nil {
		return err
	}
	if flags.shard != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: shard %s is in %s: %d of %d runs; 'apfsim merge' puts the shards together\n", flags.shard, flags.out, part.Runs(s), s.Runs())
		return nil
	}
	tables, err := output.FinishSweep(s, ctx, flags.out, steps.of("runs tabulated"))
	steps.clear()
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted: all runs are done and stay in %s; the same command makes the tables", flags.out)
	case err != nil:
		return err
	}
	return showTables(cmd, tables, flags.out, flags.mono)
}

// complete fills in what the flags say of the sweep.
func (f *sweepFlags) complete(cmd *cobra.Command, g *experiment.Grid) error {
	s := g.Sweep
	s.Seed, s.Replications, s.Flows = g.Base.Spec.Seed, g.Base.Spec.Replications, f.flows
	if cmd.Flags().Changed("seed") {
		s.Seed = f.seed
	}
	if f.replications > 0 {
		s.Replications = f.replications
	}
	if s.Replications > sweep.MaxRuns/s.Points() {
		return fmt.Errorf("--replications: %d: at each point, that makes more than %d runs; want fewer", s.Replications, sweep.MaxRuns)
	}
	return s.SetCharts(f.charts, g.Points)
}

// begin makes dir the folder of a sweep.
func begin(s *sweep.Sweep, dir string) error {
	var made atomicfile.Set // the sweep stays in it
	if err := makeFolder(&made, "--out: ", dir); err != nil {
		return err
	}
	err := output.BeginSweep(s, dir)
	if errors.Is(err, sweep.ErrDifferentSweep) {
		err = invalid(fmt.Errorf("--out: %w", err))
	}
	return err
}

// showTables says where the tables of a sweep are, and prints what is shown of them.
func showTables(cmd *cobra.Command, t *sweep.SweepTables, dir string, mono bool) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: results of %s are in %s\n", t.Scenario, dir)
	for _, w := range plots.SweepWarnings(t) {
		fmt.Fprintln(cmd.ErrOrStderr(), "apfsim: warning:", w)
	}
	out := cmd.OutOrStdout()
	return show(out, nil, func(w io.Writer, o format.TextOptions) error { return text.WriteSweep(w, t, o) }, "text", mono)
}
