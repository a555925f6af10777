package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/experiment"
	"apfsim/reports/compare"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// precision holds the flags for the required precision of some statistics.
type precision struct {
	share string // as written: 2%, or 0.02
	experiment.Precision
}

// mostUntilPrecise is the maximum number of replications if --replications is not given.
const mostUntilPrecise = 1000

func (p *precision) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.share, "precision", "", "replicate until the 95 % intervals of the statistics of --of are within `SHARE` of their means, such as 2%; at most --replications (1000) times")
	f.StringArrayVar(&p.Of, "of", nil, "`STATISTIC` for --precision, such as 'wait{workload:mice}.p(99)'; may be repeated")
}

// check parses and checks the flags.
func (p *precision) check(cmd *cobra.Command, flags *runFlags) error {
	given := cmd.Flags().Changed("precision")
	switch {
	case !given && len(p.Of) > 0:
		return errors.New("--of: needs --precision SHARE, such as --precision 2%")
	case !given:
		return nil
	case len(p.Of) == 0:
		return errors.New("--precision: needs a statistic, such as --of 'wait{workload:mice}.p(99)'")
	}
	number, isPercent := strings.CutSuffix(strings.TrimSpace(p.share), "%")
	wanted, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if isPercent {
		wanted /= 100
	}
	if err != nil || !(wanted > 0 && wanted < 1) {
		return fmt.Errorf("--precision: %q: want a share of the mean between 0 and 100 %%, such as 2%%", p.share)
	}
	p.Wanted = wanted
	switch least := compare.MinPrecisionRuns; {
	case cmd.Flags().Changed("replications") && flags.replications < least:
		return fmt.Errorf("--replications: %d: want at least %d with --precision", flags.replications, least)
	case flags.requests || flags.flows || len(flags.dumpAt) > 0:
		return errors.New("--precision: the files of single runs are not kept; for --requests, --flows and --dump-at, run one of them with --seed")
	}
	return nil
}

// fit returns an error if a run of these scenarios cannot have one of the statistics.
func (p *precision) fit(loaded []*scenario.Scenario) error {
	for _, name := range p.Of {
		for _, sc := range loaded {
			if err := result.CheckName(name, sc); err != nil {
				return fmt.Errorf("--of: %w", err)
			}
		}
	}
	return nil
}
