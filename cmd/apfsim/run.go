package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
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
}

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
invalid input; 99 a threshold does not hold.`,
		Example: `  apfsim run elephants-and-mice
  apfsim run incident.yaml --config cluster.yaml -o results
  apfsim run elephants-and-mice --set spec.workload[0].clients=8 --seed 7`,
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
	f.StringArrayVar(&flags.set, "set", nil, "`FIELD=VALUE`: set a field of every scenario, as spec.duration=5m; the value is YAML")
	f.StringArrayVar(&flags.config, "config", nil, "`FILE` of flow-control objects, in place of the scenarios' own; may be repeated")
	f.IntVar(&flags.replications, "replications", 1, "run every scenario `N` times, with seeds that count up")
	f.StringVar(&flags.format, "format", "text", "`FORMAT` of the summary: "+strings.Join(runFormats, ", "))
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "show no progress")
	f.BoolVar(&flags.noColor, "no-color", false, "print without colour, as with NO_COLOR set")
	return cmd
}

func (f *runFlags) check() error {
	switch {
	case f.requests && f.out == "":
		return errors.New("--requests: the log goes to a folder: want -o DIR as well")
	case f.replications < 1 || f.replications > 100_000:
		return fmt.Errorf("--replications: %d: want from 1 to 100000", f.replications)
	}
	return oneOf("format", f.format, runFormats)
}

func run(cmd *cobra.Command, args []string, flags *runFlags) error {
	if err := flags.check(); err != nil {
		return invalid(err)
	}
	if cmd.Flags().Changed("out") && flags.out == "" {
		return invalid(errors.New("--out: is empty; want a folder"))
	}
	loaded, err := loadScenarios(args, scenario.Options{Set: flags.set, ConfigFiles: flags.config})
	if err != nil {
		return invalid(err)
	}
	if flags.out != "" {
		if err := writable(flags.out); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("seed") {
		for _, sc := range loaded {
			sc.Spec.Seed = flags.seed
		}
	}
	// From here on an interrupted run takes away what it has begun to write.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends it at once
	progress := newProgress(cmd.ErrOrStderr(), loaded, flags)
	defer progress.pause()
	n := flags.replications
	summaries := newInOrder(ctx, runtime.GOMAXPROCS(0), len(loaded)*n, func(ctx context.Context, i int) (*reports.Summary, error) {
		return simulate(ctx, replication(loaded[i/n], i%n, n), flags, progress)
	})
	defer summaries.stop()
	p := &printer{stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr(), flags: flags, progress: progress, passed: true}
	for _, sc := range loaded {
		if err := p.print(sc, summaries.next); err != nil {
			return err
		}
	}
	if p.closed != nil && !errors.Is(p.closed, syscall.EPIPE) {
		return p.closed
	}
	if !p.passed {
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
	own.Metadata.Name = fmt.Sprintf("%s-seed-%d", sc.Metadata.Name, own.Spec.Seed)
	return &own
}

// writable finds out before a run, not after it, whether there can be files below dir.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".apfsim-")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	probe.Close()
	return os.Remove(probe.Name())
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
			wrong.Add(document.Place{}, "", "%q is neither a file nor a scenario of the library%s; see 'apfsim scenarios list'",
				arg, document.Suggest(arg, scenarios.Names()))
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
func simulate(ctx context.Context, sc *scenario.Scenario, flags *runFlags, all *progress) (_ *reports.Summary, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", sc.Metadata.Name, err)
		}
	}()
	r := sim.New(sc)
	interval := reports.Interval(int64(sc.Spec.Duration))
	collector := reports.NewCollector(sc, r.Server, interval)
	r.Server.Observe(collector)
	var log *reports.RequestLogFile
	if flags.requests {
		if log, err = reports.CreateRequestLog(flags.out, sc); err != nil {
			return nil, err
		}
		defer log.Abandon()
		r.Server.Observe(log)
	}
	progress := all.begin(time.Duration(sc.Spec.Duration))
	running, giveUp := context.WithCancel(ctx)
	defer giveUp()
	err = r.Execute(running, interval, func(nowNs int64, events uint64) {
		progress.update(nowNs, events)
		if log != nil && log.Err() != nil {
			giveUp()
		}
	})
	if log != nil && log.Err() != nil {
		return nil, log.Commit() // which says what went wrong
	}
	if ctx.Err() != nil { // a short run does not notice
		return nil, fmt.Errorf("interrupted after %s of %s; nothing of it is written",
			progress.simulated.Round(time.Millisecond), progress.total)
	}
	if err != nil {
		return nil, err
	}
	result := collector.Result(warnings(sc)...)
	if log != nil {
		if err := log.Commit(); err != nil {
			return nil, err
		}
	}
	if flags.out != "" {
		if err := reports.WriteDir(flags.out, result); err != nil {
			return nil, err
		}
	}
	progress.finish()
	return result.Summary, nil
}

func warnings(sc *scenario.Scenario) []string {
	texts := make([]string, len(sc.Warnings))
	for i, w := range sc.Warnings {
		texts[i] = w.Error()
	}
	return texts
}

// printer prints what comes of the runs, and remembers what the exit status depends on.
type printer struct {
	stdout, stderr io.Writer
	flags          *runFlags
	progress       *progress
	passed         bool
	closed         error // what came of stdout; the files are written all the same
}

// print prints what comes of the replications of one scenario, which next returns in order.
func (p *printer) print(sc *scenario.Scenario, next func() (*reports.Summary, error)) error {
	p.progress.pause()
	for _, w := range warnings(sc) {
		fmt.Fprintln(p.stderr, "apfsim: warning:", w)
	}
	p.progress.resume()
	for range p.flags.replications {
		s, err := next()
		if err != nil {
			return err
		}
		p.progress.pause()
		if p.flags.out != "" {
			fmt.Fprintf(p.stderr, "apfsim: results of %s are in %s\n", s.Name, reports.Folder(p.flags.out, s.Name))
		}
		p.passed = p.passed && s.Passed
		if p.closed == nil {
			p.closed = printSummary(p.stdout, s, p.flags)
		}
		p.progress.resume()
	}
	return nil
}

func printSummary(w io.Writer, s *reports.Summary, flags *runFlags) error {
	switch flags.format {
	case "json":
		return reports.WriteJSON(w, s)
	case "yaml":
		text, err := yaml.Marshal(s)
		if err != nil {
			return err
		}
		_, err = w.Write(append([]byte("---\n"), text...))
		return err
	}
	options := reports.TextOptions{Colour: !flags.noColor && os.Getenv("NO_COLOR") == ""}
	if width, ok := terminalWidth(w); ok {
		options.Width = min(max(width, 80), 140)
	} else {
		options.Colour = false
	}
	if err := reports.WriteText(w, s, options); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
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
