// Command apfsim simulates how API Priority and Fairness of kube-apiserver queues, dispatches and
// rejects requests. Each command is in a file of its own: it reads flags, calls the packages, and
// prints results and errors.
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

	"apfsim/document"
)

// Exit statuses.
const (
	statusDone      = 0
	statusFailed    = 1  // an operation failed
	statusInvalid   = 2  // wrong usage or invalid input
	statusThreshold = 99 // a threshold failed (the same status as in k6), or a fingerprint does not match
)

func main() {
	signal.Ignore(syscall.SIGPIPE) // writes then fail with EPIPE, which execute ignores
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns the exit status. Results go to stdout,
// everything else to stderr.
func execute(args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	out := &checkedWriter{Writer: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		err = out.err
	}
	var failure *failure
	switch {
	case err == nil, errors.Is(err, syscall.EPIPE):
		return statusDone
	case errors.As(err, &failure):
		if failure.err != nil {
			printError(stderr, err) // err can be several joined errors
		}
		return failure.status
	}
	printError(stderr, err)
	var wrong document.Errors
	if errors.As(err, &wrong) { // in a trace, which is read during the run
		return statusInvalid
	}
	return statusFailed
}

// checkedWriter keeps the first error of writing, because cobra ignores errors of printing help.
type checkedWriter struct {
	io.Writer
	err error
}

func (o *checkedWriter) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// printError prints an error, with the name of the program before each line.
func printError(stderr io.Writer, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintln(stderr, "apfsim:", line)
	}
}

// failure is an error with its exit status. If err is nil, the reason has been printed already.
type failure struct {
	status int
	err    error
}

func (f *failure) Error() string {
	if f.err == nil {
		return "a threshold failed, or a fingerprint does not match"
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
		Version:       buildVersion(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, flagMessage(cmd, err)) })
	root.AddCommand(newRun(), newCompare(), newSweep(), newMerge(), newCollisions(), newExplain(), newImport(), newConfig(), newScenarios(), newSchema(), newVersion(), newMan())
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}
