package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/experiment"
	"apfsim/reports/replicate"
	"apfsim/reports/statistics"
	"apfsim/sim/scenario"
)

// precision is how narrow the intervals of some statistics are to become.
type precision struct {
	share string // as written: 2%, or 0.02
	experiment.Precision
}

// mostUntilPrecise is how many replications there are at most if nobody says otherwise.
const mostUntilPrecise = 1000

func (p *precision) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.share, "precision", "", "replicate until the 95 % intervals of the statistics of --of are within `SHARE` of their means, as 2%; --replications (1000) times at most")
	f.StringArrayVar(&p.Of, "of", nil, "`STATISTIC` that --precision is about, as 'wait{workload:mice}.p(99)'; may be repeated")
}

// check parses the flags.
func (p *precision) check(cmd *cobra.Command, flags *runFlags) error {
	given := cmd.Flags().Changed("precision")
	switch {
	case !given && len(p.Of) > 0:
		return errors.New("--of: names what is to be precise: want --precision SHARE as well, as --precision 2%")
	case !given:
		return nil
	case len(p.Of) == 0:
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
	p.Wanted = wanted
	switch least := replicate.MinPrecisionRuns; {
	case cmd.Flags().Changed("replications") && flags.replications < least:
		return fmt.Errorf("--replications: %d: want at least %d with --precision", flags.replications, least)
	case flags.requests || len(flags.dumpAt) > 0:
		return errors.New("--precision: nobody knows beforehand which runs there will be, and their own files are not kept; run one of them with --seed for --requests and --dump-at")
	}
	return nil
}

// fit says which statistics runs of these scenarios cannot have.
func (p *precision) fit(loaded []*scenario.Scenario) error {
	for _, name := range p.Of {
		for _, sc := range loaded {
			if err := statistics.Check(name, sc); err != nil {
				return fmt.Errorf("--of: %w", err)
			}
		}
	}
	return nil
}
