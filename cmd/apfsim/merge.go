package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"apfsim/experiment/output"
	"apfsim/experiment/tune"
	"apfsim/internal/atomicfile"
	"apfsim/reports/report"
)

func newMerge() *cobra.Command {
	var out string
	var quiet, noColor bool
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Merge the shards of a sweep or of a search",
		Long: `Merge the folders of the shards of a sweep into one folder, which is then identical to the folder
of a sweep without --shard. It is an error if a run is missing, or if a run differs between
folders.

Folders of 'apfsim tune --shard' are merged into one with the runs of all of them. The same command
without --shard, with this folder, then gives the answer.`,
		Example: `  apfsim sweep elephants-and-mice --set spec.duration=12s --over 'spec.workload[elephants].clients=1,4' --shard 0/2 -o first
  apfsim sweep elephants-and-mice --set spec.duration=12s --over 'spec.workload[elephants].clients=1,4' --shard 1/2 -o second
  apfsim sweep merge first second -o both`,
		Args: atLeastOne("a folder written by 'apfsim sweep --shard' or 'apfsim tune --shard'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return invalid(errors.New("-o: is missing; want the folder for the results"))
			}
			if tune.HasTrials(args[0]) {
				return mergeTrials(cmd, args, out)
			}
			steps := newSteps(cmd.ErrOrStderr(), quiet)
			defer steps.clear()
			s, err := output.ReadShards(args, steps.next("runs checked"))
			if err != nil {
				return invalid(err)
			}
			var p paths
			for _, dir := range args {
				p.read(filepath.Join(dir, report.SweepFile))
			}
			if err := begin(cmd, s, &p, out); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			var d *report.Document
			err = output.MergeShards(s, ctx, args, out, steps.next("runs merged"))
			if err == nil {
				d, err = output.FinishSweep(s, ctx, out, steps.next("runs tabulated"))
			}
			steps.clear()
			switch {
			case errors.Is(err, context.Canceled):
				return fmt.Errorf("interrupted: the runs merged so far are in %s; run the same command again to complete the merge", out)
			case err != nil:
				return err
			}
			return showSweep(cmd, d, out, noColor)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "write the results to `DIR`")
	f.BoolVarP(&quiet, "quiet", "q", false, "do not show progress")
	f.BoolVar(&noColor, "no-color", false, "print without colour; the environment variable NO_COLOR does the same")
	return cmd
}

// mergeTrials merges the runs of the shards of a search.
func mergeTrials(cmd *cobra.Command, dirs []string, out string) error {
	var p paths
	for _, dir := range dirs {
		p.read(filepath.Join(dir, tune.TrialsFile))
	}
	p.folder("--out: ", out, tune.TrialsFile)
	var files atomicfile.Set
	defer files.Discard()
	if err := p.prepare(cmd, &files); err != nil {
		return err
	}
	runs, err := tune.MergeTrials(&files, dirs, out)
	if err != nil {
		return invalid(err)
	}
	if err := files.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: wrote %d runs to %s; use 'apfsim tune' with the same arguments and -o %s, but without --shard, for the answer\n", runs, out, out)
	return nil
}
