package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/record"
	"apfsim/sim/scenario"
	"apfsim/sim/server"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// outputFlags are the flags for output for other programs.
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
	flags.StringVar(&f.openMetrics, "openmetrics", "", "write the metrics that kube-apiserver would expose during the run to `FILE`, in the OpenMetrics text format")
	flags.StringArrayVar(&f.dumpAt, "dump-at", nil, "with -o, also write debug dumps as of kube-apiserver at `TIME` of the run, such as 30s; may be repeated")
	flags.StringVar(&f.events, "events", "", "write the requests of the run within --events-window to `FILE`, for Perfetto")
	flags.StringVar(&f.window, "events-window", "", "`FROM:TO`: the part of the run for --events, such as 10s:12s")
	flags.StringVar(&f.epoch, "epoch", output.Epoch.Format(time.RFC3339), "`TIME` of day at the start of a run, for metrics and dumps")
}

// check returns errors that do not depend on the scenarios.
func (f *outputFlags) check(cmd *cobra.Command, out string) (err error) {
	flags := cmd.Flags()
	if f.start, err = time.Parse(time.RFC3339, f.epoch); err != nil {
		return fmt.Errorf("--epoch: %q: want a time such as %s", f.epoch, output.Epoch.Format(time.RFC3339))
	}
	if f.start.Year() < 1970 || f.start.Year() >= 2200 {
		return fmt.Errorf("--epoch: %s: want a year from 1970 to 2199", f.epoch)
	}
	if len(f.dumpAt) > 0 && out == "" {
		return errors.New("--dump-at: needs -o DIR, the folder for the dumps")
	}
	for _, at := range f.dumpAt {
		ns, err := parseTime("dump-at", at)
		if err != nil {
			return err
		}
		f.dumpsNs = append(f.dumpsNs, ns)
	}
	switch {
	case f.events == "" && flags.Changed("events-window"):
		return errors.New("--events-window: needs --events FILE")
	case f.events == "":
		return nil
	case f.window == "":
		return errors.New("--events: needs --events-window FROM:TO, such as 10s:12s")
	}
	from, to, ok := strings.Cut(f.window, ":")
	if !ok {
		return fmt.Errorf("--events-window: %q: want FROM:TO, such as 10s:12s", f.window)
	}
	if f.fromNs, err = parseTime("events-window", from); err != nil {
		return err
	}
	if f.toNs, err = parseTime("events-window", to); err != nil {
		return err
	}
	if f.toNs <= f.fromNs {
		return fmt.Errorf("--events-window: %s: the end is not after the start; want FROM:TO, such as 10s:12s", f.window)
	}
	return nil
}

// parseTime parses a time since the start of a run.
func parseTime(flag, text string) (ns int64, err error) {
	at, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("--%s: %q: want a time of the run such as 30s or 1m30s", flag, text)
	case at < 0:
		return 0, fmt.Errorf("--%s: %s: is negative; want 0s or more", flag, text)
	case at%time.Millisecond != 0:
		return 0, fmt.Errorf("--%s: %s: want whole milliseconds", flag, text)
	}
	return int64(at), nil
}

// fit returns an error if the flags cannot be used with these scenarios.
func (f *outputFlags) fit(loaded []*scenario.Scenario) error {
	runs := 0
	for _, sc := range loaded {
		runs += sc.Spec.Replications
	}
	for _, file := range []struct{ flag, name string }{{"openmetrics", f.openMetrics}, {"events", f.events}} {
		if file.name != "" && runs > 1 {
			return fmt.Errorf("--%s: writes a single run, but there are %d runs; use one scenario and one replication", file.flag, runs)
		}
	}
	for _, sc := range loaded {
		name, duration := sc.Metadata.Name, int64(sc.Spec.Duration)
		for i, at := range f.dumpsNs {
			if at > duration {
				return fmt.Errorf("--dump-at: %s: is after the end of %s, which lasts %s", f.dumpAt[i], name, sc.Spec.Duration)
			}
		}
		if f.toNs > duration {
			return fmt.Errorf("--events-window: %s: ends after the end of %s, which lasts %s", f.window, name, sc.Spec.Duration)
		}
		if release, err := sc.Spec.Servers.Rules(); err == nil && len(f.dumpsNs) > 0 && !record.HasDumps(release) {
			return fmt.Errorf("--dump-at: the servers of %s are of Kubernetes %s, which has no debug dumps", name, release.Version)
		}
		if kind := sc.Spec.Servers.FlowControl; kind != server.PriorityAndFairness {
			for _, flag := range []struct {
				name string
				on   bool
			}{{"openmetrics", f.openMetrics != ""}, {"dump-at", len(f.dumpsNs) > 0}} {
				if flag.on {
					return fmt.Errorf("--%s: %s has flowControl %s and therefore no priority levels; want %s",
						flag.name, name, kind, server.PriorityAndFairness)
				}
			}
		}
	}
	return nil
}

// paths returns the files that the runs of the scenarios read and write.
func (f *runFlags) paths(cmd *cobra.Command, loaded []*scenario.Scenario, out *experiment.Outputs) *paths {
	var p paths
	p.readScenarios(loaded...)
	for _, name := range runFiles {
		p.file(name, cmd.Flags().Lookup(name).Value.String())
	}
	if f.out == "" {
		return &p
	}
	p.folder("--out: ", f.out)
	for _, sc := range loaded {
		folders := []string{sc.Metadata.Name} // of the runs together
		if f.precision.Wanted == 0 {
			folders = append(folders, experiment.RunNames(sc)...)
		}
		for _, name := range slices.Compact(folders) {
			p.WriteFolder("--out", output.Folder(f.out, name), out.Names()...)
		}
	}
	return &p
}

// files returns the files that the runs of the scenarios write and read.
func (f *runFlags) files(loaded []*scenario.Scenario) experiment.Outputs {
	var inputs []string
	for _, sc := range loaded {
		for _, in := range sc.Inputs {
			if in.Host {
				inputs = append(inputs, in.Path)
			}
		}
	}
	return experiment.Outputs{
		Inputs: inputs, Bounds: true,
		Dir: f.out, Requests: f.requests, Flows: f.flows, DumpsNs: f.dumpsNs, Start: f.start,
		OpenMetrics: f.openMetrics, Events: f.events, FromNs: f.fromNs, ToNs: f.toNs,
	}
}

// writeAnswer writes the files of an answer to the folder out, together; nothing if out is "".
func writeAnswer(set *atomicfile.Set, out string, answer interface {
	Write(set *atomicfile.Set, dir string) error
}) error {
	if out == "" {
		return nil
	}
	if err := answer.Write(set, out); err != nil {
		return err
	}
	return set.Commit()
}
