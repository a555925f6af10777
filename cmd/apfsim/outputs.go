package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/sim/scenario"
)

// outputFlags are the flags of what a run makes beside its results, for other programs.
type outputFlags struct {
	openMetrics string
	epoch       string
	dumpAt      []string
	events      string
	window      string

	// Set by check, from the flags above.
	start        time.Time
	dumpsNs      []int64
	fromNs, toNs int64
}

func (f *outputFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.openMetrics, "openmetrics", "", "write kube-apiserver's metrics of one run to `FILE`, in the OpenMetrics text format")
	flags.StringArrayVar(&f.dumpAt, "dump-at", nil, "with -o, also write the API server's debug dumps as of `TIME` of the run, as 30s; may be repeated")
	flags.StringVar(&f.events, "events", "", "write what happens in one run within --events-window to `FILE`, for Perfetto")
	flags.StringVar(&f.window, "events-window", "", "`FROM:TO`: the part of the run that --events shows, as 10s:12s")
	flags.StringVar(&f.epoch, "epoch", output.Epoch.Format(time.RFC3339), "`TIME` of day at which runs begin, in metrics and dumps")
}

// check says what is wrong with the flags by themselves.
func (f *outputFlags) check(cmd *cobra.Command, out string) (err error) {
	flags := cmd.Flags()
	if f.start, err = time.Parse(time.RFC3339, f.epoch); err != nil {
		return fmt.Errorf("--epoch: %q: want a time such as %s", f.epoch, output.Epoch.Format(time.RFC3339))
	}
	if f.start.Year() < 1970 || f.start.Year() >= 2200 {
		return fmt.Errorf("--epoch: %s: want a year from 1970 to 2199", f.epoch)
	}
	if len(f.dumpAt) > 0 && out == "" {
		return errors.New("--dump-at: the dumps go to a folder: want -o DIR as well")
	}
	for _, at := range f.dumpAt {
		ns, err := moment("dump-at", at)
		if err != nil {
			return err
		}
		f.dumpsNs = append(f.dumpsNs, ns)
	}
	switch {
	case f.events == "" && flags.Changed("events-window"):
		return errors.New("--events-window: goes with --events FILE")
	case f.events == "":
		return nil
	case f.window == "":
		return errors.New("--events: which part of the run? want --events-window FROM:TO as well, as 10s:12s")
	}
	from, to, ok := strings.Cut(f.window, ":")
	if !ok {
		return fmt.Errorf("--events-window: %q: want FROM:TO, as 10s:12s", f.window)
	}
	if f.fromNs, err = moment("events-window", from); err != nil {
		return err
	}
	if f.toNs, err = moment("events-window", to); err != nil {
		return err
	}
	if f.toNs <= f.fromNs {
		return fmt.Errorf("--events-window: %s: ends before it has begun; want FROM:TO, as 10s:12s", f.window)
	}
	return nil
}

// moment reads a time of a run.
func moment(flag, text string) (ns int64, err error) {
	at, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("--%s: %q: want a time of the run such as 30s or 1m30s", flag, text)
	case at < 0:
		return 0, fmt.Errorf("--%s: %s: want a time from 0s on", flag, text)
	case at%time.Millisecond != 0:
		return 0, fmt.Errorf("--%s: %s: want whole milliseconds", flag, text)
	}
	return int64(at), nil
}

// fit says what is wrong with the flags for these scenarios.
func (f *outputFlags) fit(loaded []*scenario.Scenario) error {
	runs := 0
	for _, sc := range loaded {
		runs += sc.Spec.Replications
	}
	for _, file := range []struct{ flag, name string }{{"openmetrics", f.openMetrics}, {"events", f.events}} {
		if file.name != "" && runs > 1 {
			return fmt.Errorf("--%s: the file is for one run, and these are %d: want one scenario and one replication", file.flag, runs)
		}
	}
	for _, sc := range loaded {
		name, duration := sc.Metadata.Name, int64(sc.Spec.Duration)
		for i, at := range f.dumpsNs {
			if at > duration {
				return fmt.Errorf("--dump-at: %s: %s is over after %s", f.dumpAt[i], name, sc.Spec.Duration)
			}
		}
		if f.toNs > duration {
			return fmt.Errorf("--events-window: %s: %s is over after %s", f.window, name, sc.Spec.Duration)
		}
		if kind := sc.Spec.Servers.FlowControl; kind != scenario.PriorityAndFairness {
			for _, flag := range []struct {
				name string
				on   bool
			}{{"openmetrics", f.openMetrics != ""}, {"dump-at", len(f.dumpsNs) > 0}} {
				if flag.on {
					return fmt.Errorf("--%s: %s has flowControl %s, and no priority levels to show; want %s",
						flag.name, name, kind, scenario.PriorityAndFairness)
				}
			}
		}
	}
	return nil
}

// files returns the files that the flags ask for of runs of the scenarios.
func (f *runFlags) files(loaded []*scenario.Scenario) experiment.Outputs {
	var inputs []string
	for _, sc := range loaded {
		for _, in := range sc.Inputs {
			inputs = append(inputs, in.Path)
		}
	}
	return experiment.Outputs{
		Inputs: inputs,
		Dir:    f.out, Requests: f.requests, DumpsNs: f.dumpsNs, Start: f.start,
		OpenMetrics: f.openMetrics, Events: f.events, FromNs: f.fromNs, ToNs: f.toNs,
	}
}
