package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/document"
	"apfsim/experiment"
	"apfsim/internal/atomicfile"
	"apfsim/reports/compare"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// mostValues is the greatest number of values of compare --over, which have a column each. It is
// enough for all releases.
const mostValues = 30

// checkOver checks the flags of a comparison of several values of a parameter.
func (f *compareFlags) checkOver(cmd *cobra.Command, args []string) error {
	if f.over == "" {
		switch {
		case cmd.Flags().Changed("over"):
			return errors.New("--over: is empty; want PATH=VALUE,VALUE,..., such as version=1.26,1.34")
		case cmd.Flags().Changed("base"):
			return errors.New("--base: needs --over, such as --over version=1.26,1.34")
		}
		return nil
	}
	if len(args) == 2 {
		return errors.New("--over: compares the values of one scenario; want no HEAD")
	}
	for _, name := range []string{"set-base", "set-head", "config-base", "config-head", "add-config-base", "add-config-head", "bench"} {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s: is for a comparison of two sides, and cannot be used with --over", name)
		}
	}
	return nil
}

// compareValues compares several values of a parameter of a scenario.
func compareValues(cmd *cobra.Command, arg string, f *compareFlags, limits []compare.Limit, only []compare.Glob) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	steps := newSteps(cmd.ErrOrStderr(), f.quiet)
	g, err := experiment.NewGrid(ctx, buildVersion(), arg, []string{f.over}, loader.Options{Set: assign.New("--set", f.set), ConfigFiles: f.config, AddConfigFiles: f.addConfig}, steps.next("values read"))
	steps.clear()
	if ctx.Err() != nil {
		return errors.New("interrupted before the first run")
	}
	if err != nil {
		return invalid(err)
	}
	over := g.Sweep.Parameters[0]
	base, err := f.baseOf(over.Values)
	if err != nil {
		return invalid(err)
	}
	for _, l := range limits {
		if err := result.CheckName(l.Name, g.Points...); err != nil {
			return invalid(fmt.Errorf("--fail-on: %w", err))
		}
	}
	for _, sc := range g.Points {
		sc.Spec.Replications = f.replications
		if cmd.Flags().Changed("seed") {
			sc.Spec.Seed = f.seed
		}
	}
	var made atomicfile.Set
	defer made.Discard()
	if err := f.paths(g.Points...).prepare(cmd, &made); err != nil {
		return err
	}
	warn(cmd.ErrOrStderr(), g.Points[base])
	results, err := f.simulate(ctx, cmd, g.Points)
	if err != nil {
		return err
	}
	if err := compare.CheckGlobs(only, results...); err != nil {
		return invalid(fmt.Errorf("--only: %w", err))
	}
	v := compare.CompareValues(over.Path, over.Values, base, results, only...)
	if err := v.Judge(limits); err != nil {
		return invalid(fmt.Errorf("--fail-on: %w", err))
	}
	return f.write(cmd, v.Passed, func(all bool) *report.Document { return report.ValuesDocument(v, all) })
}

// baseOf returns the index of the value that the others are compared with.
func (f *compareFlags) baseOf(values []string) (int, error) {
	switch {
	case len(values) < 2:
		return 0, errors.New("--over: has one value; want at least two, of which the first is the base")
	case len(values) > mostValues:
		return 0, fmt.Errorf("--over: has %d values; want at most %d, or use 'apfsim sweep'", len(values), mostValues)
	case f.base == "":
		return 0, nil
	}
	i := slices.Index(values, strings.TrimSpace(f.base))
	if i < 0 {
		return 0, fmt.Errorf("--base: %q is not one of the values of --over: %s%s", f.base, strings.Join(values, ", "), document.Suggest(f.base, values))
	}
	return i, nil
}
