package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"apfsim/experiment/output"
	"apfsim/reports/sweep"
)

func newMerge() *cobra.Command {
	var out string
	var quiet, mono bool
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Put the shards of a sweep together",
		Long: `Put the folders of the shards of a sweep together in one folder, which is then the same, byte
by byte, as that of a sweep without --shard. It is an error if a run is missing, or is in
several of them and not the same.`,
		Example: `  apfsim sweep elephants-and-mice --set spec.duration=12s --over 'spec.workload[elephants].clients=1,4' --shard 0/2 -o first
  apfsim sweep elephants-and-mice --set spec.duration=12s --over 'spec.workload[elephants].clients=1,4' --shard 1/2 -o second
  apfsim merge first second -o both`,
		Args: atLeastOne("a folder that 'apfsim sweep --shard' was given with -o"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return invalid(errors.New("-o: the results go to a folder: want -o DIR"))
			}
			steps := newSteps(cmd.ErrOrStderr(), quiet)
			defer steps.clear()
			s, err := output.ReadShards(args, steps.of("runs checked"))
			if err != nil {
				return invalid(err)
			}
			if err := begin(s, out); err != nil {
				return err
			}
			ctx, stop := interruptible(cmd)
			defer stop()
			var t *sweep.SweepTables
			err = output.MergeShards(s, ctx, args, out, steps.of("runs merged"))
			if err == nil {
				t, err = output.FinishSweep(s, ctx, out, steps.of("runs tabulated"))
			}
			steps.clear()
			switch {
			case errors.Is(err, context.Canceled):
				return fmt.Errorf("interrupted: what has been merged stays in %s; the same command completes it", out)
			case err != nil:
				return err
			}
			return showTables(cmd, t, out, mono)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "", "write the results to `DIR`")
	f.BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	f.BoolVar(&mono, "no-color", false, "print without colour, as with NO_COLOR set")
	return cmd
}
