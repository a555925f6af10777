package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

type runFlags struct {
	out          string
	requests     bool
	flows        bool
	seed         uint64
	set          []string
	load         []string
	config       []string
	addConfig    []string
	replications int
	format       string
	quiet        bool
	verbose      bool
	noColor      bool
	junit        string
	fingerprints []string
	precision    precision
	outputFlags
}

// runFiles are the flags whose value is the name of a file to be written.
var runFiles = []string{"junit", "openmetrics", "events"}

var runFormats = render.Names(report.Streamed)

func newRun() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO...",
		Short: "Simulate scenarios and print their results",
		Long: `Simulate scenarios and print a summary of each. A scenario is a file or the name of a library
scenario (apfsim scenarios list). The file - is standard input; files that it names are relative
to the working directory. With -o, summary.json, report.html, series.csv and the charts are
written to DIR/NAME, with --requests also a log of all requests, and with --flows a table of all
flows.

Scenarios and replications run in parallel on all cores, or on as many as the environment
variable GOMAXPROCS says. The output does not depend on the number of cores.

Exit status: 0 all runs completed and all thresholds passed; 1 an operation failed; 2 wrong usage
or invalid input; 99 a threshold failed, or a fingerprint does not match the expected one.`,
		Example: `  apfsim run elephants-and-mice
  apfsim run incident.yaml --config cluster.yaml -o results
  apfsim run elephants-and-mice --set 'spec.workload[elephants].clients=8' --seed 7
  apfsim scenarios show list-storm | apfsim run -`,
		Args:              atLeastOne("a scenario: a file, or a name that 'apfsim scenarios list' prints"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, args, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "out", "o", "", "write the results to `DIR`/NAME")
	f.BoolVar(&flags.requests, "requests", false, "with -o, also write a log of all requests, requests.jsonl")
	f.BoolVar(&flags.flows, "flows", false, "with -o, also write the statistics of all flows, flows.csv; summary.json lists at most 10 000 of them")
	f.Uint64Var(&flags.seed, "seed", 0, "use seed `N` instead of the scenarios' own")
	f.StringArrayVar(&flags.set, "set", nil, "`PATH=VALUE`: set a field of all scenarios or of a priority level, such as spec.workload[mice].clients=10 or level[workload-low].handSize=8; the value is YAML; may be repeated")
	addLoad(f, &flags.load)
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of flow-control objects, instead of the scenarios' own; may be repeated")
	f.StringArrayVar(&flags.addConfig, "add-config", nil, "`FILE` of flow-control objects that are added to the configuration; one of the same kind and name takes the place of the scenario's; may be repeated")
	f.IntVar(&flags.replications, "replications", 0, "run each scenario `N` times with consecutive seeds, instead of the scenarios' own number")
	flags.precision.addFlags(cmd)
	addFormat(cmd, &flags.format, "text", "summary", runFormats)
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show progress")
	addVerbose(f, &flags.verbose)
	f.StringVar(&flags.junit, "junit", "", "write the verdicts of the thresholds to `FILE`, as JUnit XML")
	f.StringArrayVar(&flags.fingerprints, "expect-fingerprint", nil, "`[NAME=]HEX`: fail unless the run, or the run NAME, has this fingerprint; may be repeated")
	f.BoolVar(&flags.noColor, "no-color", false, "print without colour; the environment variable NO_COLOR does the same")
	flags.outputFlags.add(f)
	return cmd
}

func (f *runFlags) check(cmd *cobra.Command) error {
	switch {
	case f.requests && f.out == "":
		return errors.New("--requests: needs -o DIR, the folder for the log")
	case f.flows && f.out == "":
		return errors.New("--flows: needs -o DIR, the folder for the table")
	case cmd.Flags().Changed("replications") && (f.replications < 1 || f.replications > scenario.MostReplications):
		return fmt.Errorf("--replications: %d: want from 1 to %d", f.replications, scenario.MostReplications)
	}
	if err := f.precision.check(cmd, f); err != nil {
		return err
	}
	for _, name := range runFiles {
		if flag := cmd.Flags().Lookup(name); flag.Changed && flag.Value.String() == "" {
			return fmt.Errorf("--%s: is empty; want a file name", name)
		}
	}
	if err := f.outputFlags.check(cmd, f.out); err != nil {
		return err
	}
	return oneOf("format", f.format, runFormats)
}

func run(cmd *cobra.Command, args []string, flags *runFlags) error {
	if err := flags.check(cmd); err != nil {
		return invalid(err)
	}
	if cmd.Flags().Changed("out") && flags.out == "" {
		return invalid(errors.New("--out: is empty; want the name of a folder"))
	}
	if err := outIsFormat(cmd, flags.out); err != nil {
		return invalid(err)
	}
	loads, err := assign.ParseLoads("--load", flags.load)
	if err != nil {
		return invalid(err)
	}
	loaded, err := experiment.Load(args, loader.Options{Set: assign.New("--set", flags.set), Load: loads, ConfigFiles: flags.config, AddConfigFiles: flags.addConfig})
	if err != nil {
		return invalid(err)
	}
	changed := false
	for _, sc := range loaded {
		if flags.changes(cmd, sc) { // the description is about the file as it stands
			changed, sc.Metadata.Description = true, ""
		}
		if cmd.Flags().Changed("seed") {
			sc.Spec.Seed = flags.seed
		}
		if n := flags.replications; n > 0 {
			sc.Spec.Replications = n
		} else if flags.precision.Wanted > 0 {
			sc.Spec.Replications = mostUntilPrecise
		}
	}
	if err := flags.precision.fit(loaded); err != nil {
		return invalid(err)
	}
	if err := flags.outputFlags.fit(loaded); err != nil {
		return invalid(err)
	}
	if flags.precision.Wanted == 0 {
		if err := experiment.CheckNames(loaded); err != nil {
			return invalid(err)
		}
	}
	gate, err := newGate(flags, loaded)
	if err != nil {
		return err
	}
	// From here on, an interrupted run removes the files that it has begun to write.
	ctx, stop := interruptible(cmd)
	defer stop()
	files := flags.files(loaded)
	var made atomicfile.Set
	defer made.Discard()
	if err := flags.paths(cmd, loaded, &files).prepare(cmd, &made); err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr(), loaded, flags.quiet)
	defer progress.pause()
	if err := experiment.ChooseWarmups(ctx, loaded, progress); err != nil {
		return err
	}
	runs := experiment.Begin(ctx, loaded, files, flags.precision.Precision, progress)
	defer runs.Stop()
	p := &printer{stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), flags: flags, inputs: files.Inputs, progress: progress, gate: gate}
	for i, group := range runs.Groups {
		arg := ""
		if len(args) == len(loaded) {
			arg = args[i]
		}
		p.next = func(v *result.Overall) string { return flags.next(changed, arg, v) }
		if err = p.print(group); err != nil {
			break
		}
	}
	if err == nil || ctx.Err() == nil { // an interrupted run changes no files
		err = errors.Join(err, gate.close(cmd.ErrOrStderr()))
	}
	if err != nil {
		return err
	}
	if p.closed != nil && !errors.Is(p.closed, syscall.EPIPE) {
		return p.closed
	}
	if !gate.passed {
		return &failure{status: statusThreshold}
	}
	return nil
}

// warn prints the notes and warnings of a scenario.
func warn(stderr io.Writer, sc *scenario.Scenario) {
	printAll(stderr, "note", sc.Notes)
	printAll(stderr, "warning", sc.Warnings)
}

// printer prints the results of the runs.
type printer struct {
	stdout, stderr io.Writer
	flags          *runFlags
	inputs         []string // files that the runs read
	progress       *progress
	gate           *gate
	next           func(*result.Overall) string // the command to type next
	closed         error                        // the error of writing to stdout, after which only files are written
}

// print prints the results of one scenario, as its runs complete.
func (p *printer) print(runs *experiment.Group) error {
	p.progress.pause()
	defer p.progress.resume()
	warn(p.stderr, runs.Scenario)
	several := runs.Spec.Replications > 1
	for first := true; ; {
		p.progress.resume()
		run, err := runs.Next()
		p.progress.pause()
		var failed *experiment.RunError
		switch {
		case errors.As(err, &failed):
			p.gate.failed(failed)
			return err
		case err != nil:
			return invalid(fmt.Errorf("--of: %w", err))
		}
		if run == nil {
			break
		}
		if first {
			printAll(p.stderr, "warning", runs.TraceWarnings)
			first = false
		}
		p.done(run.Summary.Name, p.flags.precision.Wanted == 0)
		p.gate.pass(run.Summary, p.stderr)
		if !several {
			d := runs.Document
			if d == nil {
				d = report.RunDocument(&result.Result{Summary: run.Summary})
			}
			p.show(d, run.Summary.Verdict)
		}
	}
	if !several {
		return nil
	}
	together := runs.Replicator.Replications()
	d := report.ReplicationsDocument(together)
	if p.flags.out != "" {
		if err := output.WriteReplications(p.flags.out, together.Name, d, p.inputs); err != nil {
			return fmt.Errorf("%s: %w", together.Name, err)
		}
	}
	p.done(together.Name, true)
	p.show(d, together.Verdict)
	return nil
}

// done prints the name of the folder with the results.
func (p *printer) done(name string, written bool) {
	if p.flags.out != "" && written {
		fmt.Fprintf(p.stderr, "apfsim: wrote the results of %s to %s\n", name, output.Folder(p.flags.out, name))
	}
}

// show prints the report of a result.
func (p *printer) show(d *report.Document, v *result.Overall) {
	if p.closed == nil {
		if !p.flags.verbose {
			d.Next = p.next(v)
		}
		options := textOptions(p.stdout, p.flags.noColor)
		options.Brief = !p.flags.verbose
		p.closed = show(p.stdout, d, p.flags.format, options)
	}
}

// addVerbose adds the flag of commands that print the first screen of a result unless it is set.
func addVerbose(f *pflag.FlagSet, verbose *bool) {
	f.BoolVarP(verbose, "verbose", "v", false, "print all tables of the result, not only what fits on a screen")
}

// show writes a report in a format, as text with an empty line behind it.
func show(w io.Writer, d *report.Document, as string, options format.TextOptions) error {
	err := render.Write(w, d, as, options)
	if err == nil && as == "text" {
		_, err = fmt.Fprintln(w)
	}
	return err
}

// textOptions returns the options for w: the width and colours of a terminal, or plain text.
func textOptions(w io.Writer, noColor bool) format.TextOptions {
	options := format.TextOptions{Colour: !noColor && os.Getenv("NO_COLOR") == ""}
	if width, ok := terminalWidth(w); ok {
		options.Width = min(max(width, 80), 140)
	} else {
		options.Colour = false
	}
	if o, ok := w.(*checkedWriter); ok {
		o.printable.Styles = options.Colour // a document has no styles but those of its layout
	}
	return options
}

// terminalWidth returns the number of columns of w, if w is a terminal.
func terminalWidth(w io.Writer) (columns int, ok bool) {
	if o, ok := w.(*checkedWriter); ok {
		w = o.Writer
	}
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	return columns, err == nil
}
