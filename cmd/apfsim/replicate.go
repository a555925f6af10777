package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"apfsim/reports"
	"apfsim/sim/scenario"

	"github.com/spf13/cobra"
)

// precision is how narrow the intervals of some statistics are to become.
type precision struct {
	share string // as written: 2%, or 0.02
	of    []string

	wanted float64 // 0: nothing is wanted
}

// mostUntilPrecise is how many replications there are at most if nobody says otherwise.
const mostUntilPrecise = 1000

func (p *precision) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.share, "precision", "", "replicate until the 95 % intervals of the statistics of --of are within `SHARE` of their means, as 2%; --replications (1000) times at most")
	f.StringArrayVar(&p.of, "of", nil, "`STATISTIC` that --precision is about, as 'wait{workload:mice}.p(99)'; may be repeated")
}

// check parses the flags.
func (p *precision) check(cmd *cobra.Command, flags *runFlags) error {
	given := cmd.Flags().Changed("precision")
	switch {
	case !given && len(p.of) > 0:
		return errors.New("--of: names what is to be precise: want --precision SHARE as well, as --precision 2%")
	case !given:
		return nil
	case len(p.of) == 0:
		return errors.New("--precision: want a statistic that it is about as well, as --of 'wait{workload:mice}.p(99)'")
	}
	number, isPercent := strings.CutSuffix(strings.TrimSpace(p.share), "%")
	wanted, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if isPercent {
		wanted /= 100
	}
	if err != nil || !(wanted > 0 && wanted < 1) {
		return fmt.Errorf("--precision: %q: want a share of the mean between 0 and 100 %%, as 2%%", p.share)
	}
	p.wanted = wanted
	switch least := reports.LeastForPrecision; {
	case cmd.Flags().Changed("replications") && flags.replications < least:
		return fmt.Errorf("--replications: %d: want at least %d with --precision", flags.replications, least)
	case flags.requests || len(flags.dumpAt) > 0:
		return errors.New("--precision: nobody knows beforehand which runs there will be, and their own files are not kept; run one of them with --seed for --requests and --dump-at")
	}
	return nil
}

// fit says which statistics runs of these scenarios cannot have.
func (p *precision) fit(loaded []*scenario.Scenario) error {
	for _, name := range p.of {
		for _, sc := range loaded {
			if err := reports.CheckStatistic(name, sc); err != nil {
				return fmt.Errorf("--of: %w", err)
			}
		}
	}
	return nil
}

// replicated is a scenario, its runs, and whether they are enough.
type replicated struct {
	*scenario.Scenario
	flags  *runFlags
	enough context.Context // ends when no more runs are needed
	stop   context.CancelFunc
}

// replicate returns each scenario with what is needed for its runs, and how many there are of
// all, at most.
func replicate(loaded []*scenario.Scenario, flags *runFlags) (all []*replicated, runs int) {
	for _, sc := range loaded {
		r := &replicated{Scenario: sc, flags: flags}
		r.enough, r.stop = context.WithCancel(context.Background()) // an interruption is not it
		all = append(all, r)
		runs += sc.Spec.Replications
	}
	return all, runs
}

// outcome is what came of one run.
type outcome struct {
	*reports.Replication
	err error // of a run that may turn out not to be needed
}

// simulateNth does the i-th of all runs of the scenarios.
func simulateNth(ctx context.Context, all []*replicated, i int, progress *progress) (outcome, error) {
	for _, r := range all {
		if i < r.Spec.Replications {
			return r.simulate(ctx, i, progress)
		}
		i -= r.Spec.Replications
	}
	panic("apfsim: no scenario for a run")
}

// simulate does the i-th run. While nobody knows how many runs it takes to be precise, there
// may be some too many: they leave no files, an error of theirs counts only when their turn
// has come, and they end when it turns out that they are not needed.
func (r *replicated) simulate(ctx context.Context, i int, progress *progress) (outcome, error) {
	own := replication(r.Scenario, i, r.Spec.Replications)
	if r.flags.precision.wanted == 0 {
		run, err := simulate(ctx, own, r.flags, progress)
		return outcome{Replication: run}, err
	}
	if r.enough.Err() != nil {
		progress.begin(time.Duration(r.Spec.Duration)).finish()
		return outcome{}, nil
	}
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.enough, cancel)()
	flags := *r.flags
	flags.out = ""
	run, err := simulate(running, own, &flags, progress)
	if err != nil && ctx.Err() != nil { // interrupted: no more are to be begun
		return outcome{}, err
	}
	return outcome{run, err}, nil
}

// add takes in the next run, and says whether it was the last that is needed.
func (r *replicated) add(to *reports.Replicator, run *reports.Replication) (last bool, err error) {
	to.Add(run)
	if r.flags.precision.wanted == 0 {
		return to.N() == r.Spec.Replications, nil
	}
	precise, err := to.Precise()
	if err != nil {
		return false, invalid(fmt.Errorf("--of: %w", err))
	}
	if precise {
		r.stop()
	}
	return precise || to.N() == r.Spec.Replications, nil
}
