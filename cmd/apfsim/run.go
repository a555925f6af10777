package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"apfsim/core/document"
	"apfsim/reports"
	"apfsim/scenarios"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/yaml"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

type runFlags struct {
	out          string
	requests     bool
	seed         uint64
	set          []string
	config       []string
	replications int
	format       string
	quiet        bool
	noColor      bool
	junit        string
	fingerprints []string
	precision    precision
	outputFlags
}

// runFiles are the flags that name a file to be written.
var runFiles = []string{"junit", "openmetrics", "events"}

var runFormats = []string{"text", "json", "yaml"}

func newRun() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run SCENARIO...",
		Short: "Simulate scenarios and print what came of them",
		Long: `Simulate scenarios, files or names from the library (apfsim scenarios list), and print a
summary of each. With -o, DIR/NAME gets summary.json, report.html, series.csv, the charts
and, with --requests, a log of every request.

Scenarios and replications run in parallel on all cores, or on as many as GOMAXPROCS in the
environment says. What is printed and written is the same on any number of them.

Exit status: 0 all is done and every threshold holds; 1 something failed; 2 wrong usage or
invalid input; 99 a threshold does not hold, or a fingerprint is not the one expected.`,
		Example: `  apfsim run elephants-and-mice
  apfsim run incident.yaml --config cluster.yaml -o results
  apfsim run elephants-and-mice --set 'spec.workload[elephants].clients=8' --seed 7`,
		Args:              atLeastOne("a scenario: a file, or a name that 'apfsim scenarios list' prints"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, args, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "out", "o", "", "write the results below `DIR`")
	f.BoolVar(&flags.requests, "requests", false, "with -o, also write a log of every request, requests.jsonl")
	f.Uint64Var(&flags.seed, "seed", 0, "`N` in place of the scenarios' own seed")
	f.StringArrayVar(&flags.set, "set", nil, "`PATH=VALUE`: set a field of every scenario or of a priority level, as spec.workload[mice].clients=10 or level[workload-low].handSize=8; the value is YAML; may be repeated")
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of flow-control objects, in place of the scenarios' own; may be repeated")
	f.IntVar(&flags.replications, "replications", 0, "run every scenario `N` times, with seeds that count up, in place of the scenarios' own number")
	flags.precision.addFlags(cmd)
	f.StringVar(&flags.format, "format", "text", "`FORMAT` of the summary: "+strings.Join(runFormats, ", "))
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "show no progress")
	f.StringVar(&flags.junit, "junit", "", "write the thresholds' verdicts to `FILE`, as JUnit XML for a CI system")
	f.StringArrayVar(&flags.fingerprints, "expect-fingerprint", nil, "`[NAME=]HEX`: want this fingerprint of the run, or of that called so; may be repeated")
	f.BoolVar(&flags.noColor, "no-color", false, "print without colour, as with NO_COLOR set")
	flags.outputFlags.add(f)
	return cmd
}

func (f *runFlags) check(cmd *cobra.Command) error {
	switch {
	case f.requests && f.out == "":
		return errors.New("--requests: the log goes to a folder: want -o DIR as well")
	case cmd.Flags().Changed("replications") && (f.replications < 1 || f.replications > scenario.MostReplications):
		return fmt.Errorf("--replications: %d: want from 1 to %d", f.replications, scenario.MostReplications)
	}
	if err := f.precision.check(cmd, f); err != nil {
		return err
	}
	flagOf := map[string]string{}
	for _, name := range runFiles {
		flag := cmd.Flags().Lookup(name)
		if !flag.Changed {
			continue
		}
		path := filepath.Clean(flag.Value.String())
		switch other, taken := flagOf[path]; {
		case flag.Value.String() == "":
			return fmt.Errorf("--%s: is empty; want a file", name)
		case taken:
			return fmt.Errorf("--%s: %s is the file of --%s already", name, path, other)
		}
		flagOf[path] = name
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
		return invalid(errors.New("--out: is empty; want a folder"))
	}
	loaded, err := loadScenarios(args, scenario.Options{Set: scenario.Assignments("--set", flags.set), ConfigFiles: flags.config})
	if err != nil {
		return invalid(err)
	}
	for _, sc := range loaded {
		if cmd.Flags().Changed("seed") {
			sc.Spec.Seed = flags.seed
		}
		if n := flags.replications; n > 0 {
			sc.Spec.Replications = n
		} else if flags.precision.wanted > 0 {
			sc.Spec.Replications = mostUntilPrecise
		}
	}
	if err := flags.precision.fit(loaded); err != nil {
		return invalid(err)
	}
	if err := flags.outputFlags.fit(loaded); err != nil {
		return invalid(err)
	}
	if err := checkNames(loaded); err != nil {
		return invalid(err)
	}
	// From here on an interrupted run takes away what it has begun to write.
	ctx, stop := interruptible(cmd)
	defer stop()
	if flags.out != "" {
		if err := makeFolder("--out: ", flags.out); err != nil {
			return err
		}
	}
	for _, name := range runFiles {
		if err := checkFile(name, cmd.Flags().Lookup(name).Value.String()); err != nil {
			return err
		}
	}
	gate, err := newGate(flags, loaded)
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr(), loaded, flags.quiet)
	defer progress.pause()
	all, n := replicate(loaded, flags)
	runs := newInOrder(ctx, runtime.GOMAXPROCS(0), n, func(ctx context.Context, i int) (outcome, error) {
		return simulateNth(ctx, all, i, progress)
	})
	defer runs.stop()
	p := &printer{stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), flags: flags, progress: progress, gate: gate}
	for _, r := range all {
		if err = p.print(r, runs.next); err != nil {
			break
		}
	}
	if err == nil || ctx.Err() == nil { // an interrupted run leaves everything as it was
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

// replication returns the i-th of n replications of a scenario: the scenario itself if it is
// the only one, else one with a name and a seed of its own. All else they share.
func replication(sc *scenario.Scenario, i, n int) *scenario.Scenario {
	if n == 1 {
		return sc
	}
	own := *sc
	own.Spec.Seed += uint64(i)
	own.Metadata.Name = runName(sc, i, n)
	return &own
}

// runName returns the name of the i-th of n replications of a scenario.
func runName(sc *scenario.Scenario, i, n int) string {
	if n == 1 {
		return sc.Metadata.Name
	}
	return fmt.Sprintf("%s-seed-%d", sc.Metadata.Name, sc.Spec.Seed+uint64(i))
}

// checkNames says which runs would have one name, and their results one folder.
func checkNames(loaded []*scenario.Scenario) error {
	of := map[string]string{}
	for _, sc := range loaded {
		names := []string{sc.Metadata.Name}
		for i := range sc.Spec.Replications {
			names = append(names, runName(sc, i, sc.Spec.Replications))
		}
		for _, name := range slices.Compact(names) {
			if other, ok := of[name]; ok {
				return fmt.Errorf("%s and %s: each has a run called %s, and their results would go to one folder; want another metadata.name", other, sc.Metadata.Name, name)
			}
			of[name] = sc.Metadata.Name
		}
	}
	return nil
}

// interruptible returns a context that ends with Ctrl-C or SIGTERM. The second of them ends the
// program at once.
func interruptible(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// loadScenarios reads all scenarios before any is run, so that mistakes come first and together.
func loadScenarios(args []string, options scenario.Options) ([]*scenario.Scenario, error) {
	var loaded []*scenario.Scenario
	var mistakes document.Mistakes
	from := map[string]string{}
	for _, arg := range args {
		var some []*scenario.Scenario
		var wrong document.Mistakes
		inLibrary := slices.Contains(scenarios.Names(), arg)
		info, err := os.Stat(arg)
		switch {
		case err == nil && !(inLibrary && info.IsDir()): // as one of results is called
			some, wrong = scenario.Load(nil, arg, options)
		case inLibrary:
			some, wrong = scenario.Load(scenarios.Files, scenarios.File(arg), options)
		default:
			near := document.Suggest(filepath.Base(arg), slices.Concat(scenarios.Names(), scenario.Beside(nil, arg)))
			wrong.Add(document.Place{}, "", "%q is neither a file nor a scenario of the library%s; see 'apfsim scenarios list'", arg, near)
		}
		for _, sc := range some {
			if other, ok := from[sc.Metadata.Name]; ok {
				wrong.Add(document.Place{File: arg}, "metadata.name", "%q is already the name of a scenario in %s: their results would go to one folder", sc.Metadata.Name, other)
			}
			from[sc.Metadata.Name] = arg
		}
		loaded = append(loaded, some...)
		mistakes = append(mistakes, wrong...)
	}
	return loaded, mistakes.Err()
}

// simulate runs one scenario and writes its files.
func simulate(ctx context.Context, sc *scenario.Scenario, flags *runFlags, all *progress) (_ *reports.Replication, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", sc.Metadata.Name, err)
		}
	}()
	r := sim.New(sc)
	interval := reports.Interval(int64(sc.Spec.Duration))
	collector := reports.NewCollector(sc, r.Server, interval)
	fingerprint := reports.NewFingerprint(r.Server)
	windows := reports.NewWindowedThresholds(sc)
	r.Server.Observe(collector)
	r.Server.Observe(fingerprint)
	if windows != nil {
		r.Server.Observe(windows)
	}
	outputs, err := flags.create(sc, r.Server)
	if err != nil {
		return nil, err
	}
	defer abandon(outputs)
	for _, o := range outputs {
		r.Server.Observe(o)
	}
	var dumps *reports.Dumps
	if len(flags.dumpsNs) > 0 {
		dumps = reports.NewDumps(r.Server, flags.start, flags.dumpsNs)
		r.Server.Observe(dumps)
	}
	progress := all.begin(time.Duration(sc.Spec.Duration))
	running, giveUp := context.WithCancel(ctx)
	defer giveUp()
	err = r.Execute(running, func(nowNs int64, events uint64) {
		progress.update(nowNs, events)
		if failed(outputs) != nil {
			giveUp()
		}
	})
	if o := failed(outputs); o != nil {
		return nil, o.Commit() // which says what went wrong
	}
	if ctx.Err() != nil { // a short run does not notice
		return nil, fmt.Errorf("interrupted after %s of %s; nothing of it is written",
			progress.simulated.Round(time.Millisecond), progress.total)
	}
	if err != nil {
		return nil, err
	}
	result := collector.Result(warnings(sc)...)
	result.Summary.Fingerprint = fingerprint.String()
	windows.Judge(result.Summary)
	for _, o := range outputs {
		if err := o.Commit(); err != nil {
			return nil, err
		}
	}
	if flags.out != "" {
		if err := reports.WriteDir(flags.out, result, dumps); err != nil {
			return nil, err
		}
	}
	progress.finish()
	return result.Replication(), nil
}

func warnings(sc *scenario.Scenario) []string {
	texts := make([]string, len(sc.Warnings))
	for i, w := range sc.Warnings {
		texts[i] = w.Error()
	}
	return texts
}

// printer prints what comes of the runs.
type printer struct {
	stdout, stderr io.Writer
	flags          *runFlags
	progress       *progress
	gate           *gate
	closed         error // what came of stdout; the files are written all the same
}

// print prints what comes of the runs of one scenario, which next returns in order.
func (p *printer) print(r *replicated, next func() (outcome, error)) error {
	p.progress.pause()
	for _, w := range warnings(r.Scenario) {
		fmt.Fprintln(p.stderr, "apfsim: warning:", w)
	}
	p.progress.resume()
	n := r.Spec.Replications
	together := reports.NewReplicator(r.Metadata.Name, p.flags.precision.wanted, p.flags.precision.of)
	enough := false
	for i := range n {
		run, err := next()
		if enough && err == nil {
			continue // begun ahead, and not needed
		}
		if err = errors.Join(err, run.err); err != nil {
			p.gate.failed(replication(r.Scenario, i, n), err)
			return err
		}
		p.progress.pause()
		p.done(run.Summary.Name, p.flags.precision.wanted == 0)
		p.gate.pass(run.Summary, p.stderr)
		if n == 1 {
			p.show(run.Summary, func(w io.Writer, o reports.TextOptions) error { return reports.WriteText(w, run.Summary, o) })
		} else if enough, err = r.add(together, run.Replication); err != nil {
			return err
		}
		p.progress.resume()
	}
	if n == 1 {
		return nil
	}
	p.progress.pause()
	defer p.progress.resume()
	of := together.Replications()
	if p.flags.out != "" {
		if err := reports.WriteReplications(p.flags.out, of); err != nil {
			return fmt.Errorf("%s: %w", of.Name, err)
		}
	}
	p.done(of.Name, true)
	p.show(of, of.WriteText)
	return nil
}

// done says where the results are.
func (p *printer) done(name string, written bool) {
	if p.flags.out != "" && written {
		fmt.Fprintf(p.stderr, "apfsim: results of %s are in %s\n", name, reports.Folder(p.flags.out, name))
	}
}

// show prints what came of the runs, v, which text writes for people.
func (p *printer) show(v any, text func(io.Writer, reports.TextOptions) error) {
	if p.closed == nil {
		p.closed = show(p.stdout, v, text, p.flags.format, p.flags.noColor)
	}
}

// show writes v in the format, which is text, json or yaml.
func show(w io.Writer, v any, text func(io.Writer, reports.TextOptions) error, format string, noColor bool) error {
	switch format {
	case "json":
		return reports.WriteJSON(w, v)
	case "yaml":
		text, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(append([]byte("---\n"), text...))
		return err
	}
	if err := text(w, textOptions(w, noColor)); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// textOptions returns those that suit the terminal, if there is one.
func textOptions(w io.Writer, noColor bool) reports.TextOptions {
	options := reports.TextOptions{Colour: !noColor && os.Getenv("NO_COLOR") == ""}
	if width, ok := terminalWidth(w); ok {
		options.Width = min(max(width, 80), 140)
	} else {
		options.Colour = false
	}
	return options
}

// terminalWidth returns how many columns the terminal behind w has, if one is.
func terminalWidth(w io.Writer) (columns int, ok bool) {
	if o, ok := w.(*output); ok {
		w = o.Writer
	}
	file, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return 0, false
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	return columns, err == nil
}
