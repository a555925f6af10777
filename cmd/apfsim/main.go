// Command apfsim simulates how Kubernetes' API server queues, dispatches and rejects
// requests under API Priority and Fairness.
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
)

// Exit statuses.
const (
	statusDone      = 0
	statusFailed    = 1  // something went wrong on the way
	statusInvalid   = 2  // wrong usage, or invalid input
	statusThreshold = 99 // a threshold did not hold (k6's number)
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	signal.Ignore(syscall.SIGPIPE) // a write then fails with EPIPE, which is no error on stdout
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns the exit status. Results go to stdout,
// everything else to stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var failure *failure
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return statusDone
	case errors.As(err, &failure):
		if failure.err != nil {
			printError(stderr, failure.err)
		}
		return failure.status
	}
	printError(stderr, err)
	return statusFailed
}

// printError prints each line of an error as one of its own.
func printError(stderr io.Writer, err error) {
	for line := range strings.Lines(err.Error() + "\n") {
		fmt.Fprint(stderr, "apfsim: ", line)
	}
}

// failure is an error with an exit status of its own; err nil has been told already.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string {
	if f.err == nil {
		return "a threshold did not hold"
	}
	return f.err.Error()
}

// invalid marks an error as the user's: wrong usage, or invalid input.
func invalid(err error) error {
	if err == nil {
		return nil
	}
	return &failure{statusInvalid, err}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "apfsim",
		Short: "Simulate Kubernetes' API Priority and Fairness",
		Long: `apfsim simulates how Kubernetes' API server queues, dispatches and rejects requests
under API Priority and Fairness: with your cluster's FlowSchemas and
PriorityLevelConfigurations, under the traffic that you describe or have recorded.`,
		Example: `  apfsim run elephants-and-mice
  apfsim run my-scenario.yaml -o results
  kubectl get flowschemas,prioritylevelconfigurations -o yaml > cluster.yaml
  apfsim config seats cluster.yaml`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          subcommandOnly,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return invalid(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
	})
	root.AddCommand(newRun(), newCollisions(), newExplain(), newConfig(), newScenarios(), newSchema(), newVersion())
	return root
}

// subcommandOnly refuses arguments that are no subcommand, with the nearest one.
func subcommandOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	message := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		message += fmt.Sprintf(" (did you mean %q?)", near[0])
	}
	return invalid(fmt.Errorf("%s\nsee '%s --help'", message, cmd.CommandPath()))
}

// arguments wraps a check of positional arguments so that failing it is wrong usage.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return invalid(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
		}
		return nil
	}
}
