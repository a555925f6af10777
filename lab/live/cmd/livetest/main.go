// Livetest runs the cases of lab/live/cases against a kube-apiserver and compares the live runs with the replay of
// what was measured and with the prediction. See lab/live.md.
//
//	livetest [-repository DIR] [-results DIR] [-runs N] [-seeds N] [-document FILE [-document-only]] [-predict-only] [CASE...]
//
// It prints each comparison, and the table of all cases. Exit status: 0 all comparisons hold; 1 one does not, or
// a run failed; 2 wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"apfsim/lab/live/apiserver"
	"apfsim/lab/live/compare"
	"apfsim/lab/live/outcome"
	"apfsim/lab/live/report"
	"apfsim/lab/live/trial"
	"apfsim/live/calibrate"
	"apfsim/reports/format"
	"apfsim/reports/render"
)

func main() {
	klog.SetLogger(logr.Discard()) // client-go logs each request that a server refuses, as the cases want it
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Stdout, os.Stderr, os.Args[1:])
	stop()
	os.Exit(status)
}

// cases are the names of the cases, in the order of the table.
var cases = []string{"underload", "elephant", "overload", "borrowing", "lists"}

// busyCases are the names of the cases in which requests take processor time.
var busyCases = []string{"busy-lists", "busy-writes", "busy-events"}

// forecastCases are the names of the cases in which clients or servers do more than to send and to answer requests, in the order
// of the page, and what makes a run of each.
var forecastCases = []forecastCase{
	{"watch-fanout", trial.RunFanout},
	{"server-stop", trial.RunServerStop},
	{"informer-relist", trial.RunRelist},
	{"node-heartbeats", trial.RunHeartbeats},
}

type forecastCase struct {
	name string
	run  func(ctx context.Context, b *apiserver.Binaries, file, name, dir string, seed, seeds int) (*trial.Forecast, error)
}

// forecastOf returns the forecast case with a name, nil if there is none.
func forecastOf(name string) *forecastCase {
	for i := range forecastCases {
		if forecastCases[i].name == name {
			return &forecastCases[i]
		}
	}
	return nil
}

// allCases returns the names of all cases.
func allCases() []string {
	all := slices.Concat(cases, busyCases)
	for _, f := range forecastCases {
		all = append(all, f.name)
	}
	return all
}

type options struct {
	repository, results, document string
	runs, seeds                   int
	documentOnly, predictOnly     bool
}

// run is the whole program; it returns the exit status.
func run(ctx context.Context, stdout, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("livetest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var o options
	flags.StringVar(&o.repository, "repository", ".", "the `folder` of apfsim's repository")
	flags.StringVar(&o.results, "results", "results/live", "the `folder` for logs, traces and figures of the runs")
	flags.StringVar(&o.document, "document", "", "the `file` into which the measured section is written; none by default")
	flags.BoolVar(&o.documentOnly, "document-only", false, "make no runs, and write the document from the latest results of all cases")
	flags.BoolVar(&o.predictOnly, "predict-only", false, "make no runs, and fit and predict again from the logs of the latest runs of the busy cases")
	flags.IntVar(&o.runs, "runs", 3, "live runs of each case")
	flags.IntVar(&o.seeds, "seeds", 20, "predictions with other seeds")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	chosen := flags.Args()
	switch {
	case len(chosen) == 0 && o.predictOnly:
		chosen = busyCases
	case len(chosen) == 0:
		chosen = allCases()
	}
	for _, name := range chosen {
		if all := allCases(); !slices.Contains(all, name) {
			fmt.Fprintf(stderr, "livetest: %q is not a case; use some of %s\n", name, strings.Join(all, ", "))
			return 2
		}
		if o.predictOnly && !slices.Contains(busyCases, name) {
			fmt.Fprintf(stderr, "livetest: -predict-only: %q is not a busy case; use some of %s\n", name, strings.Join(busyCases, ", "))
			return 2
		}
	}
	passed, err := o.all(ctx, stdout, stderr, chosen)
	if err != nil {
		fmt.Fprintf(stderr, "livetest: %v\n", err)
		return 1
	}
	if !passed {
		return 1
	}
	return 0
}

// all makes the runs of the cases, and returns whether all comparisons hold.
func (o *options) all(ctx context.Context, stdout, stderr io.Writer, chosen []string) (passed bool, err error) {
	if o.documentOnly {
		return true, o.writeDocument(stderr)
	}
	var binaries *apiserver.Binaries
	if !o.predictOnly {
		if binaries, err = apiserver.Build(ctx, o.repository, stderr); err != nil {
			return false, err
		}
	}
	results := &report.Results{Version: apiserver.Version}
	passed = true
	for _, name := range chosen {
		if slices.Contains(busyCases, name) {
			holds, err := o.busy(ctx, stdout, stderr, binaries, name)
			if err != nil {
				return false, fmt.Errorf("%s: %w", name, err)
			}
			passed = passed && holds
			continue
		}
		if f := forecastOf(name); f != nil {
			holds, err := o.forecast(ctx, stdout, stderr, binaries, f)
			if err != nil {
				return false, fmt.Errorf("%s: %w", name, err)
			}
			passed = passed && holds
			continue
		}
		c, err := o.one(ctx, stdout, binaries, name)
		if err != nil {
			return false, fmt.Errorf("%s: %w", name, err)
		}
		if err := c.WriteFile(o.resultsOf(name)); err != nil {
			return false, err
		}
		results.Cases = append(results.Cases, *c)
	}
	if len(results.Cases) > 0 {
		if err := render.Text(stdout, results.Document(), format.TextOptions{}); err != nil {
			return false, err
		}
	}
	if len(results.Failures())+len(results.Void()) > 0 {
		return false, o.writeOthers(stderr)
	}
	return passed, o.writeDocument(stderr)
}

// busy makes the runs of a busy case, and returns whether the predictions hold.
func (o *options) busy(ctx context.Context, stdout, stderr io.Writer, b *apiserver.Binaries, name string) (holds bool, err error) {
	file := filepath.Join(o.repository, "lab", "live", "cases", name+".yaml")
	dir := func(n int) string { return filepath.Join(o.results, name, fmt.Sprint(n+1)) }
	var results *report.Busy
	if o.predictOnly {
		if results, err = report.ReadBusy(o.resultsOf(name)); err != nil {
			return false, err
		}
	} else {
		results = &report.Busy{Name: name, Version: apiserver.Version, Fitted: trial.FittedLoads, All: name == "busy-events"}
		results.Begin()
		throughput := 0.0
		for n := range o.runs {
			began := time.Now()
			t, err := trial.RunBusy(ctx, b, file, fmt.Sprintf("%s.%d", name, n+1), dir(n), n+1, throughput)
			if err != nil {
				return false, err
			}
			if t.Curve != nil {
				throughput = t.Curve.Best()
				results.Curve = &calibrate.Measurement{Curve: t.Curve}
				if err := results.Curve.Fit(); err != nil {
					return false, err
				}
			}
			results.Runs = append(results.Runs, compare.NewBusyRun(t))
			if err := results.WriteFile(o.resultsOf(name)); err != nil {
				return false, err
			}
			fmt.Fprintf(stderr, "livetest: %s: run %d of %d was measured in %v\n", name, n+1, o.runs, time.Since(began).Round(time.Second))
		}
	}
	results.Seeds = o.seeds
	for n, r := range results.Runs {
		var began []time.Time
		for _, l := range r.Loads {
			began = append(began, l.Began)
		}
		fits, err := trial.PredictBusy(ctx, file, dir(n), began, o.seeds, results.Curve)
		if err != nil {
			return false, err
		}
		r.SetFits(fits)
	}
	if err := results.WriteFile(o.resultsOf(name)); err != nil {
		return false, err
	}
	holds, _ = results.Verdict()
	return holds, render.Text(stdout, results.Document(), format.TextOptions{})
}

func (o *options) resultsOf(name string) string {
	return filepath.Join(o.results, name, "results.json")
}

// forecast makes the runs of a forecast case, and returns whether the predictions hold. A void run is made again once.
func (o *options) forecast(ctx context.Context, stdout, stderr io.Writer, b *apiserver.Binaries, c *forecastCase) (holds bool, err error) {
	file := filepath.Join(o.repository, "lab", "live", "cases", c.name+".yaml")
	results := &report.Forecast{Name: c.name, Version: apiserver.Version, Seeds: o.seeds}
	results.Begin()
	for n := range o.runs {
		for attempt := range 2 {
			began := time.Now()
			id := fmt.Sprintf("%s.%d.%d", c.name, n+1, attempt+1)
			f, err := c.run(ctx, b, file, id, filepath.Join(o.results, c.name, fmt.Sprintf("%d.%d", n+1, attempt+1)), n+1, o.seeds)
			if err != nil {
				return false, err
			}
			r := compare.NewForecastRun(f)
			results.Runs = append(results.Runs, r)
			if err := results.WriteFile(o.resultsOf(c.name)); err != nil {
				return false, err
			}
			fmt.Fprintf(stderr, "livetest: %s: run %d of %d took %v\n", c.name, n+1, o.runs, time.Since(began).Round(time.Second))
			if r.Void == "" {
				break
			}
			fmt.Fprintf(stderr, "livetest: %s: run %d is void: %s\n", c.name, n+1, r.Void)
		}
	}
	holds, _ = results.Verdict()
	return holds, render.Text(stdout, results.Document(), format.TextOptions{})
}

// writeOthers writes the latest results of the busy cases and of the forecast cases into the document, whether or not the
// predictions hold. Of a case without results the document keeps what it says.
func (o *options) writeOthers(stderr io.Writer) error {
	if o.document == "" {
		return nil
	}
	for _, name := range busyCases {
		if err := writeLatest(o, stderr, name, report.ReadBusy); err != nil {
			return err
		}
	}
	for _, f := range forecastCases {
		if err := writeLatest(o, stderr, f.name, report.ReadForecast); err != nil {
			return err
		}
	}
	return nil
}

// writeLatest writes the latest results of a case into its section of the document.
func writeLatest[C interface{ WriteDocument(file string) error }](o *options, stderr io.Writer, name string, read func(file string) (C, error)) error {
	c, err := read(o.resultsOf(name))
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(stderr, "livetest: %s keeps the section of the case %s, which has no results yet\n", o.document, name)
		return nil
	}
	if err != nil {
		return err
	}
	return c.WriteDocument(o.document)
}

// writeDocument writes the latest results of all cases into the document. If one has none, or if a comparison fails, it
// writes nothing but the busy cases and the forecast cases. The document says of which cases all runs are void.
func (o *options) writeDocument(stderr io.Writer) error {
	if o.document == "" {
		return nil
	}
	if err := o.writeOthers(stderr); err != nil {
		return err
	}
	results := &report.Results{Version: apiserver.Version}
	for _, name := range cases {
		c, err := report.ReadFile(o.resultsOf(name))
		if errors.Is(err, fs.ErrNotExist) {
			fmt.Fprintf(stderr, "livetest: %s keeps the section of all measured cases: the case %s has no results yet\n", o.document, name)
			return nil
		}
		if err != nil {
			return err
		}
		results.Cases = append(results.Cases, *c)
	}
	if failed := results.Failures(); len(failed) > 0 {
		fmt.Fprintf(stderr, "livetest: %s keeps the section of all measured cases: %s\n", o.document, strings.Join(failed, "; "))
		return nil
	}
	return results.WriteDocument(o.document)
}

// one makes the runs of one case. A void run is made again once.
func (o *options) one(ctx context.Context, stdout io.Writer, b *apiserver.Binaries, name string) (*report.Case, error) {
	file := filepath.Join(o.repository, "lab", "live", "cases", name+".yaml")
	c := &report.Case{Name: name}
	for seed := range o.seeds {
		sc, err := outcome.Load(file, fmt.Sprintf("spec.seed=%d", seed+2))
		if err != nil {
			return nil, err
		}
		r, err := outcome.Simulate(ctx, sc, filepath.Join(o.results, name, "seed.jsonl"))
		if err != nil {
			return nil, err
		}
		c.OtherSeeds = append(c.OtherSeeds, compare.Summarize(r.Requests))
	}
	for n := range o.runs {
		for attempt := range 2 {
			id := fmt.Sprintf("%s.%d.%d", name, n+1, attempt+1)
			began := time.Now()
			t, err := trial.Run(ctx, b, file, id, filepath.Join(o.results, name, fmt.Sprintf("%d.%d", n+1, attempt+1)))
			if err != nil {
				return nil, err
			}
			r := report.NewRun(t)
			c.Runs = append(c.Runs, *r)
			c.Prediction = compare.Summarize(t.Prediction.Requests)
			if err := render.Text(stdout, r.Document(id, time.Since(began)), format.TextOptions{}); err != nil {
				return nil, err
			}
			fmt.Fprintln(stdout)
			if r.Void == "" {
				break
			}
		}
	}
	return c, nil
}
