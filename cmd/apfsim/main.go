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
	"runtime"
	"strings"
	"sync"
	"syscall"
	_ "time/tzdata" // for --zone where the system has no time zones, as in a container image of the program alone

	"github.com/spf13/cobra"

	"apfsim/document"
	"apfsim/experiment"
	"apfsim/reports/format"
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
	root := newRoot
	if isPlugin(os.Args[0]) {
		root = newPlugin
	}
	os.Exit(executeRoot(root(), os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns the exit status. Results go to stdout,
// everything else to stderr.
func execute(args []string, stdout, stderr io.Writer) int {
	return executeRoot(newRoot(), args, stdout, stderr)
}

func executeRoot(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	out, errOut := newCheckedWriter(stdout), newCheckedWriter(stderr)
	stderr = errOut
	root.SetOut(out)
	root.SetErr(errOut)
	err := withoutPanic(func() error { return root.ExecuteContext(context.Background()) })
	if err == nil {
		err = out.err
	}
	var failure *failure
	var defect *experiment.Panic
	switch {
	case errors.As(err, &defect):
		printDefect(stderr, args, defect)
		return statusFailed
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

// withoutPanic calls f. If it panics, the error is an experiment.Panic.
func withoutPanic(f func() error) (err error) {
	defer experiment.Recover(&err)
	return f()
}

// printDefect prints what a user can report about a defect of the program.
func printDefect(stderr io.Writer, args []string, p *experiment.Panic) {
	printError(stderr, p)
	fmt.Fprintln(stderr, `apfsim: This is a defect of apfsim. Files that were written before are complete, and no others remain.
Please report it where you got apfsim from, with the files that the command reads and these lines:`)
	fmt.Fprintf(stderr, "version: %s, %s/%s\ncommand: apfsim %q\n", buildVersion(), runtime.GOOS, runtime.GOARCH, args)
	if p.Run != "" {
		fmt.Fprintf(stderr, "run: %s, seed %d\n", p.Run, p.Seed)
	}
	fmt.Fprintf(stderr, "error: %v\n%s", p.Value, p.Stack)
}

// checkedWriter is standard output or standard error. Whatever is written there, such as the names of a
// configuration or the messages of a server, cannot do more to a terminal than the styles of this program. It
// keeps the first error of writing, because cobra ignores errors of printing help. Several goroutines may write.
type checkedWriter struct {
	io.Writer // the file; for the display of progress, which moves the cursor

	mu        sync.Mutex
	printable format.PrintableWriter
	err       error
}

func newCheckedWriter(w io.Writer) *checkedWriter {
	return &checkedWriter{Writer: w, printable: format.PrintableWriter{Next: w}}
}

func (o *checkedWriter) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.printable.Write(b)
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
	group := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, cmd := range commands {
			cmd.GroupID = title
		}
		root.AddCommand(commands...)
	}
	group("Begin with:", newConfig(), newExplain(), newRun(), newDiagnose(nil))
	group("Decide with:", newCompare(), newSweep(), newTune(), newPlan(), newUpgrade(), newAlerts())
	group("Bring and share:", newImport(), newScenarios(), newServe(), newCollisions())
	const advanced = "Advanced:"
	group(advanced, newSchema(), newVersion())
	root.SetCompletionCommandGroupID(advanced)
	finish(root)
	root.SetHelpCommandGroupID(advanced)
	return root
}

// finish adds to a program with all its commands what every program of this kind has: --version, help, completion, and good
// messages on wrong usage.
func finish(root *cobra.Command) {
	root.Flags().BoolP("version", "v", false, "print the version")
	root.SetVersionTemplate(versionLine())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, flagMessage(cmd, err)) })
	root.SetHelpCommand(newHelp())
	root.InitDefaultCompletionCmd()
	strict(root)
}
