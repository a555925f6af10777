package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"apfsim/experiment"
	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/report"
	"apfsim/reports/scrape"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/server"

	"github.com/spf13/cobra"
)

// checkMetrics checks the flags of a comparison with a server.
func (f *compareFlags) checkMetrics(cmd *cobra.Command, args []string) error {
	if !cmd.Flags().Changed("metrics") {
		return nil
	}
	var wrong []error
	if len(args) == 2 {
		wrong = append(wrong, errors.New("--metrics: compares BASE with a server; want no HEAD"))
	}
	if files := strings.Split(f.metrics, ","); len(files) > 2 || files[len(files)-1] == "" {
		wrong = append(wrong, fmt.Errorf("--metrics: %q: want BEFORE,AFTER, two files with what the server serves under /metrics, or only AFTER", f.metrics))
	}
	for _, name := range []string{"set-base", "set-head", "config-base", "config-head", "add-config-base", "add-config-head", "over", "base", "bench", "fail-on", "only"} {
		if cmd.Flags().Changed(name) {
			wrong = append(wrong, fmt.Errorf("--%s: is for a comparison of runs, and cannot be used with --metrics", name))
		}
	}
	return errors.Join(wrong...)
}

// scrapes reads the files of --metrics.
func (f *compareFlags) scrapes() (*scrape.Interval, error) {
	var read [2]*scrape.Scrape
	var wrong []error
	files := strings.Split(f.metrics, ",")
	if len(files) == 1 {
		files = []string{"", files[0]}
	}
	for i, name := range files {
		if name == "" {
			continue
		}
		file, err := os.Open(name)
		if err == nil {
			read[i], err = scrape.Read(name, file)
			file.Close()
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return scrape.Between(read[0], read[1])
}

// compareServer compares the side BASE with what a server did.
func compareServer(cmd *cobra.Command, arg string, f *compareFlags) error {
	measured, wrong := f.scrapes()
	if wrong != nil {
		wrong = fmt.Errorf("--metrics: %w", wrong)
	}
	side, label, err := f.load(arg, 0, loader.NewCache())
	if err := errors.Join(err, wrong); err != nil {
		return invalid(err)
	}
	runs := side.Results
	if runs != nil {
		for _, name := range []string{"seed", "replications"} {
			if cmd.Flags().Changed(name) {
				return invalid(fmt.Errorf("--%s: needs a scenario, but %s is a folder of results", name, arg))
			}
		}
		if runs.MeasuredBy != "" {
			return invalid(fmt.Errorf("--metrics: %s was measured by a %s, which knows no waits and limits to be compared with; use the results of 'apfsim run'", arg, runs.MeasuredBy))
		}
		output.ReadLimits(arg, runs)
	}
	kind := server.PriorityAndFairness
	if runs != nil {
		kind = runs.FlowControl
	} else {
		kind = side.Scenario.Spec.Servers.FlowControl
	}
	if kind != server.PriorityAndFairness {
		return invalid(fmt.Errorf("--metrics: %s has flowControl %s and therefore no priority levels; want %s", arg, kind, server.PriorityAndFairness))
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var made atomicfile.Set
	defer made.Discard()
	p := f.paths(side.Scenario)
	p.readResults(arg)
	p.read(strings.Split(f.metrics, ",")...)
	if err := p.prepare(cmd, &made); err != nil {
		return err
	}
	if runs == nil {
		sides := [2]*experiment.Side{side, {}}
		if err := f.run(ctx, cmd, sides); err != nil {
			return err
		}
		runs = side.Results
	}
	c := scrape.Compare(label, runs, measured)
	return f.write(cmd, true, func(all bool) *report.Document { return report.BesideServerDocument(c, all) })
}
