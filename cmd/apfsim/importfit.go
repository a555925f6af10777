package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"apfsim/document/yaml"
	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/experiment/fit/check"
	"apfsim/internal/atomicfile"
	"apfsim/internal/input"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/sim/scenario"
	"apfsim/sim/trace"
)

// fitFlags are the flags of a fit.
type fitFlags struct {
	fit          bool
	base         string
	replications int
	workloads    int
	capacity     bool
	capacityFrom []string
	quiet        bool
}

// addFit adds the flags of a fit.
func addFit(cmd *cobra.Command, flags *fitFlags) {
	f := cmd.Flags()
	f.BoolVar(&flags.fit, "fit", false, "also fit a scenario to the requests")
	f.StringVar(&flags.base, "scenario", "", "with --fit, `FILE` of the scenario whose servers, configuration, events and resources the fitted scenario takes over; default: scenario.yaml beside the requests, if there is one")
	f.IntVar(&flags.replications, "replications", check.DefaultRuns, "with --fit, number `N` of runs of the fitted scenario that are compared with the requests; 0: none")
	f.IntVar(&flags.workloads, "max-workloads", 200, "with --fit, `N` workloads at most have users of their own, those with the most requests")
	f.BoolVar(&flags.capacity, "capacity", true, "with --fit, also fit the capacity of the server, if the log shows how requests slow each other down")
	f.StringArrayVar(&flags.capacityFrom, "capacity-from", nil, "with --fit, `FILE` or folder of recorded requests of the same server at another time, from which its capacity is fitted as well; may be repeated")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show progress")
}

// check returns an error if a flag does not make sense: without --fit the flags of a fit, and, if the
// requests are recorded already, the flags of an import.
func (flags *fitFlags) check(cmd *cobra.Command, recorded bool) error {
	var wrong []error
	for _, name := range []string{"scenario", "replications", "max-workloads", "capacity", "capacity-from", "quiet"} {
		if !flags.fit && cmd.Flags().Changed(name) {
			wrong = append(wrong, fmt.Errorf("--%s: needs --fit", name))
		}
	}
	for _, name := range []string{"server", "from", "to", "format", "zone", "year", "config", "metrics", "version", "strict"} {
		if recorded && cmd.Flags().Changed(name) {
			wrong = append(wrong, fmt.Errorf("--%s: is for the logs of a server, and the requests are those of a trace", name))
		}
	}
	if flags.replications < 0 || flags.replications == 1 {
		wrong = append(wrong, fmt.Errorf("--replications: %d is out of range; want 0, or 2 or more", flags.replications))
	}
	if !flags.capacity && len(flags.capacityFrom) > 0 {
		wrong = append(wrong, errors.New("--capacity-from: contradicts --capacity=false"))
	}
	if flags.workloads < 1 {
		wrong = append(wrong, fmt.Errorf("--max-workloads: %d is out of range; want 1 or more", flags.workloads))
	}
	return errors.Join(wrong...)
}

// isRecorded reports whether the arguments of import are requests that are recorded already: a folder, or a
// file that begins with a record of a trace.
func isRecorded(args []string) bool {
	if len(args) != 1 || args[0] == "-" {
		return false
	}
	file, err := os.Open(args[0])
	if err != nil {
		return false
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return true
	}
	_, found, err := trace.NewReader(io.LimitReader(file, 1<<20), args[0]).Next()
	return err == nil && found
}

// fitFiles are the files that a fit writes to its folder, and experiment.FittedFolder is this folder within that of an
// import.
var fitFiles = []string{"scenario.yaml", "fit.json"}

// recordedFiles are the files of recorded requests in a folder: of 'apfsim run --requests' and of 'apfsim
// import'.
var recordedFiles = []string{"requests.jsonl", "trace.jsonl"}

// fitRequests fits a scenario to the requests in a file or a folder, writes it to the folder out, compares it
// with the requests, and prints the report.
func fitRequests(cmd *cobra.Command, from, out string, flags *fitFlags) error {
	options := fit.Options{BaseFile: flags.base, Dir: out, Name: fit.ScenarioName(filepath.Base(files.Canonical(out))), MaxWorkloads: flags.workloads, Capacity: flags.capacity}
	var err error
	if options.File, err = recordedIn(from); err != nil {
		return err
	}
	beside := filepath.Join(filepath.Dir(options.File), "scenario.yaml")
	if _, err := os.Stat(beside); err == nil && options.BaseFile == "" {
		options.BaseFile = beside
	}
	if options.BaseFile != "" {
		if options.Base, err = input.ReadFile(options.BaseFile, yaml.MaxBytes); err != nil {
			return invalid(fmt.Errorf("--scenario: %w", err))
		}
	}
	if traces := filepath.Join(out, fit.TracesFolder); files.Canonical(filepath.Dir(options.File)) == files.Canonical(traces) {
		return invalid(fmt.Errorf("-o: requests may be written to %s, from which they are read; use another folder", traces))
	}
	path := filepath.Join(out, fitFiles[0])
	ctx, stop := interruptible(cmd)
	defer stop()
	var p paths
	p.read(options.File, options.BaseFile)
	for _, from := range flags.capacityFrom {
		file, err := recordedIn(from)
		if err == nil {
			err = fit.CheckRecorded(file)
		}
		if err != nil {
			return invalid(fmt.Errorf("--capacity-from: %w", err))
		}
		p.read(file)
		options.CapacityFrom = append(options.CapacityFrom, fit.Log{File: file, Open: func() (io.ReadCloser, error) { return openUntil(ctx, file) }})
	}
	p.folder("--out: ", out, fitFiles...)
	var made atomicfile.Set
	defer made.Discard()
	if err := p.prepare(cmd, &made); err != nil {
		return err
	}
	fitted, err := fit.Fit(func() (io.ReadCloser, error) { return openUntil(ctx, options.File) }, options)
	if ctx.Err() != nil {
		return errors.New("interrupted; nothing was written")
	}
	if err != nil {
		return invalid(err)
	}
	var shown *progress
	checked, sc, err := check.Complete(ctx, fitted, path, flags.replications, func(sc *scenario.Scenario) experiment.Progress {
		if shown != nil {
			shown.pause()
		}
		repeated := *sc
		repeated.Spec.Replications = flags.replications
		shown = newProgress(cmd.ErrOrStderr(), []*scenario.Scenario{&repeated}, flags.quiet)
		return shown
	})
	if shown != nil {
		shown.pause()
	}
	if err != nil {
		return err
	}
	warn(cmd.ErrOrStderr(), sc)
	d := checked.Document()
	var text bytes.Buffer
	if err := render.JSON(&text, d, format.TextOptions{}); err != nil {
		return err
	}
	if err := errors.Join(atomicfile.WriteFile(filepath.Join(out, fitFiles[1]), text.Bytes()), made.Commit()); err != nil {
		return err
	}
	return render.Text(cmd.OutOrStdout(), d, format.TextOptions{})
}

// openUntil opens a file that can be read until the context is cancelled.
func openUntil(ctx context.Context, name string) (io.ReadCloser, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{input.Reader(ctx, file), file}, nil
}

// recordedIn returns the file of recorded requests: the file itself, or the one in a folder.
func recordedIn(from string) (string, error) {
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return "", invalid(err)
	case !info.IsDir():
		return from, nil
	}
	for _, name := range recordedFiles {
		path := filepath.Join(from, name)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
	}
	return "", invalid(fmt.Errorf("%s has no %s; want a folder of 'apfsim run --requests' or 'apfsim import'", from, "requests.jsonl or trace.jsonl"))
}
