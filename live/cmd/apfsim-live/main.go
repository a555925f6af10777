// Apfsim-live sends the requests of a scenario to a cluster in real time, as the users of the scenario, and
// writes what comes back as a folder of results that apfsim compares with a prediction. See
// docs/guides/load-a-cluster.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"apfsim/reports/format"
)

// Exit statuses. They are those of apfsim.
const (
	statusDone    = 0
	statusFailed  = 1
	statusInvalid = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	status := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(status)
}

// invalid is an error of the user: wrong usage, or invalid input.
type invalid struct{ error }

// Unwrap returns the error.
func (e invalid) Unwrap() error { return e.error }

// run is the whole program; it returns the exit status.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	// Whatever a server or a kubeconfig file says cannot change the state of a terminal.
	stdout, stderr = &format.PrintableWriter{Next: stdout}, &format.PrintableWriter{Next: stderr}
	cmd := newCommand()
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return statusDone
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(stderr, "apfsim-live:", line)
	}
	if errors.As(err, new(invalid)) {
		return statusInvalid
	}
	return statusFailed
}

// flags are the flags of the command.
type flags struct {
	kubeconfig, context, out string
	seed                     uint64
	set                      []string
	maxRequests              int64
	writes, yes              bool
}

func newCommand() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "apfsim-live SCENARIO --kubeconfig FILE -o DIR",
		Short: "Send the requests of a scenario to a cluster",
		Long: `Send the requests of a scenario to a cluster in real time, as the users of the scenario, and write
the results to DIR/NAME. A scenario is a file, or the name of a library scenario (apfsim scenarios list).

It prints what will be sent and where, and sends nothing without --yes. Writes have dryRun=All, unless
--writes is given. The user of the kubeconfig file must be allowed to impersonate users, groups and
service accounts. Send to a cluster only what you may: it is load.

Exit status: 0 the run is complete, or has reached --max-requests; 1 it failed or was interrupted; 2 wrong
usage, invalid input, or no --yes.`,
		Example: `  apfsim-live scenario.yaml --kubeconfig kind.kubeconfig -o live
  apfsim-live scenario.yaml --kubeconfig kind.kubeconfig -o live --yes
  apfsim run scenario.yaml -o results
  apfsim compare results/NAME live/NAME`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return invalid{fmt.Errorf("there are %d arguments; want one scenario: a file, or a name that 'apfsim scenarios list' prints", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	cmd.AddCommand(newCalibrateCommand())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return invalid{err} })
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig `FILE` of the cluster; there is no default")
	cmd.Flags().StringVar(&f.context, "context", "", "the `CONTEXT` of the file, instead of its current one")
	cmd.Flags().StringVarP(&f.out, "out", "o", "", "write the results to `DIR`/NAME")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "send the requests; without it, they are only printed")
	cmd.Flags().Int64Var(&f.maxRequests, "max-requests", 10_000, "stop after `N` requests")
	cmd.Flags().BoolVar(&f.writes, "writes", false, "carry writes out, instead of sending them with dryRun=All")
	cmd.Flags().Uint64Var(&f.seed, "seed", 0, "use seed `N` instead of the scenario's own")
	cmd.Flags().StringArrayVar(&f.set, "set", nil, "`PATH=VALUE`: set a field of the scenario, such as spec.duration=20s; the value is YAML; may be repeated")
	return cmd
}
