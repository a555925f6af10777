package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

var revision = flag.String("revision", "", "be the program that lab/upstream builds, with the code of this name")

// TestProgram is a test because a bubble needs one.
func TestProgram(t *testing.T) {
	if *revision == "" {
		t.Skip("lab/upstream runs it")
	}
	switch err := program(t, flag.Args()); {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "upstream: %v\n", err)
		os.Exit(1)
	}
	os.Exit(0) // without the words of a test
}

var errUsage = errors.New("wrong usage")

func program(t *testing.T, args []string) error {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	out := flags.String("o", "", "write the results to `DIR`/NAME")
	requests := flags.Bool("requests", false, "with -o, also write a log of all requests")
	replications := flags.Int("replications", 0, "run each scenario `N` times with consecutive seeds")
	var names []string
	for len(args) > 0 { // flags may follow names
		if err := flags.Parse(args); err != nil {
			return errUsage // which has been printed
		}
		if args = flags.Args(); len(args) > 0 {
			names, args = append(names, args[0]), args[1:]
		}
	}
	if *replications < 0 || *replications > scenario.MostReplications {
		return fmt.Errorf("--replications: %d: want from 1 to %d", *replications, scenario.MostReplications)
	}
	if len(names) == 0 {
		return fmt.Errorf("run: no scenario; want a file or the name of a library scenario")
	}
	all, err := experiment.Load(names, loader.Options{})
	if err != nil {
		return err
	}
	for _, sc := range all {
		if whatIf := result.NewReleases(&sc.Spec); whatIf.WhatIf() != "" {
			return fmt.Errorf("%s: %s: upstream's code has no such switch; leave it out", sc.Metadata.Name, whatIf.WhatIf())
		}
		if why := unlike(sc); why != "" {
			fmt.Fprintf(os.Stderr, "upstream: warning: %s: %s; the flow control is that of %s\n", sc.Metadata.Name, why, *revision)
		}
		if *replications > 0 {
			sc.Spec.Replications = *replications
		}
	}
	if err := experiment.ChooseWarmups(context.Background(), all, silent{}); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1) // one run at a time: upstream's code has variables that all servers of a process share
	runs := experiment.Begin(context.Background(), all, experiment.Outputs{Dir: *out, Requests: *requests,
		Engine: &experiment.Engine{Name: *revision, Simulate: func(run func(sim.Option)) { Simulate(t, run) }}}, experiment.Precision{}, silent{})
	defer runs.Stop()
	for _, group := range runs.Groups {
		if err := show(group, *out); err != nil {
			return err
		}
	}
	return nil
}

// show prints the results of one scenario.
func show(group *experiment.Group, out string) error {
	var d *report.Document
	for {
		run, err := group.Next()
		if err != nil {
			return err
		}
		if run == nil {
			break
		}
		if d = group.Document; d == nil {
			d = report.RunDocument(&result.Result{Summary: run.Summary})
		}
		fmt.Fprintf(os.Stderr, "upstream: %s: fingerprint %s\n", run.Summary.Name, run.Summary.Fingerprint)
	}
	if group.Spec.Replications > 1 {
		together := group.Replicator.Replications()
		d = report.ReplicationsDocument(together)
		if out != "" {
			if err := output.WriteReplications(out, together.Name, d, nil); err != nil {
				return err
			}
		}
	}
	if err := render.Write(os.Stdout, d, "text", format.TextOptions{Brief: true}); err != nil {
		return err
	}
	fmt.Println()
	return nil
}

// silent shows no progress.
type silent struct{}

func (silent) Begin(time.Duration) experiment.RunProgress { return silent{} }
func (silent) Update(int64, uint64)                       {}
func (silent) Finish()                                    {}
