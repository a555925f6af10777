package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/experiment"
	"apfsim/experiment/catalogue"
	"apfsim/experiment/tune"
	"apfsim/internal/atomicfile"
	"apfsim/reports/render"
)

// listCatalogues is the value of --catalogue that lists those that come with the program.
const listCatalogues = "list"

func newPlan() *cobra.Command {
	var flags tuneFlags
	var name string
	cmd := &cobra.Command{
		Use:   "plan SCENARIO",
		Short: "Find the cheapest size of the servers with which goals hold, and what is free",
		Long: `Find the cheapest of the sizes that can be bought with which the goals of a scenario hold, beside the
changes of flow control that cost nothing. SCENARIO is a file, a library name, or a folder of 'apfsim
import' or 'apfsim diagnose', as that of 'apfsim tune', whose search it shares.

A catalogue is a YAML file of sizes with their seats and prices. Those that are published come with the
program: ` + strings.Join(catalogue.Names(), ", ") + `. 'apfsim plan --catalogue list' prints them.

With a capacity in the scenario, more seats make executions slower; without one they cost nothing, and
the answer says so. The command buys and applies nothing. With -o, DIR gets plan.html and
plan.json, and of a change also change.yaml for kubectl apply, change.diff and undo.yaml. The exit status is 0 if an option holds, and
99 if none does.`,
		Example: `  apfsim plan --catalogue list
  apfsim plan elephants-and-mice --catalogue eks --load 2
  apfsim plan elephants-and-mice --catalogue eks --goal 'rejected{workload:mice}: rate == 0' --time 2m -o plan`,
		Args: func(cmd *cobra.Command, args []string) error {
			if name == listCatalogues && len(args) == 0 {
				return nil
			}
			return exactlyOne("a scenario: a file, or a name that 'apfsim scenarios list' prints")(cmd, args)
		},
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			if name == listCatalogues {
				return printCatalogues(cmd, flags.format)
			}
			return runPlan(cmd, args[0], name, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "catalogue", "", "sizes that can be bought: a `FILE`, or a name that --catalogue list prints; required")
	addSearch(f, &flags)
	f.StringVarP(&flags.out, "out", "o", "", "write plan.html, plan.json, and of a change change.yaml, change.diff and undo.yaml to `DIR`")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show progress")
	addFormat(cmd, &flags.format, "text", "answer", tuneFormats)
	return cmd
}

// printCatalogues prints the catalogues that come with the program.
func printCatalogues(cmd *cobra.Command, format string) error {
	if err := oneOf("format", format, tuneFormats); err != nil {
		return invalid(err)
	}
	var all []*catalogue.Catalogue
	for _, name := range catalogue.Names() {
		c, err := catalogue.Load(name)
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	return render.Write(cmd.OutOrStdout(), catalogue.Document(all), format, textOptions(cmd.OutOrStdout(), false))
}

func runPlan(cmd *cobra.Command, arg, name string, flags *tuneFlags) error {
	if name == "" {
		return invalid(fmt.Errorf("--catalogue: is missing; want a file with sizes, or one of %s", strings.Join(catalogue.Names(), ", ")))
	}
	sizes, wrong := catalogue.Load(name)
	arg, err := experiment.InFolder(arg)
	var options tune.Options
	if err == nil {
		options, err = flags.options(cmd, arg)
	}
	if err = errors.Join(wrong, err); err != nil {
		return invalid(err)
	}
	if slices.Contains(options.Kinds, "server") {
		return invalid(errors.New("--allow: server has no meaning here: the sizes of the servers are those of the catalogue"))
	}
	warn(cmd.ErrOrStderr(), options.Scenario)
	ctx, stop := interruptible(cmd)
	defer stop()
	var p paths
	p.readScenarios(options.Scenario)
	if !slices.Contains(catalogue.Names(), name) {
		p.read(name)
	}
	p.folder("--out: ", flags.out, tune.PlanFiles...)
	var files atomicfile.Set
	defer files.Discard()
	if err := p.prepare(cmd, &files); err != nil {
		return err
	}
	options.Dir = "" // the runs are not kept
	steps := newSteps(cmd.ErrOrStderr(), flags.quiet)
	defer steps.clear()
	options.Progress = steps.next("candidates")
	plan, err := tune.RunPlan(ctx, options, sizes)
	steps.clear()
	var infeasible *tune.Infeasible
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted; nothing was written")
	case errors.As(err, &infeasible):
		return invalid(fmt.Errorf("%s: %w", arg, err))
	case err != nil:
		return err
	}
	if err := writeAnswer(&files, flags.out, plan); err != nil {
		return err
	}
	if err := render.Write(cmd.OutOrStdout(), plan.Document(), flags.format, textOptions(cmd.OutOrStdout(), false)); err != nil {
		return err
	}
	if plan.Selected == nil {
		return &failure{status: statusThreshold}
	}
	return nil
}
