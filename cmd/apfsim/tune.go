package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"apfsim/document/yaml"
	"apfsim/experiment"
	"apfsim/experiment/fit"
	"apfsim/experiment/fit/check"
	"apfsim/experiment/tune"
	"apfsim/internal/atomicfile"
	"apfsim/internal/input"
	"apfsim/reports/render"
	"apfsim/reports/result"
	"apfsim/sim/scenario/assign"
	"apfsim/sim/scenario/loader"
)

// tuneFormats are the formats of an answer.
var tuneFormats = []string{"text", "json", "markdown"}

type tuneFlags struct {
	goals, protect []string
	load           []string
	allow, forbid  []string
	budget         int
	time           time.Duration
	probability    float64
	confidence     string
	seed           uint64
	format, out    string
	shard          string
	quiet          bool
}

func newTune() *cobra.Command {
	var flags tuneFlags
	cmd := &cobra.Command{
		Use:   "tune SCENARIO",
		Short: "Find the smallest change of the configuration with which goals hold",
		Long: `Find the smallest change of the flow-control configuration with which the goals of a scenario hold.
SCENARIO is a file, a library name, or a folder of 'apfsim import' or 'apfsim diagnose'. Of a folder, the
fitted scenario is searched if there is one ('apfsim import --fit'), or else the replay. A replay is the
same with every seed, so that it shows what holds for this log, and no probability.

The candidates and their costs are known before anything is run. The command runs the present
configuration, walks up the costs with the same seeds for all candidates, and confirms the first
one that suffices with fresh seeds. It applies nothing. With --load 2 it asks for twice the load.

With -o, DIR gets tune.html, a page of the answer, tune.json, and the finished runs; of a change also
change.yaml for kubectl apply, change.diff and, if it changes objects that exist, undo.yaml. After an
interruption, run the same command again to continue. With --shard, several machines share the
candidates; 'apfsim sweep merge' merges their folders, and the command without --shard, with the merged
folder, gives the answer. The exit status is 0 if a change was found or none is needed, and 99 if none
of the candidates suffices.`,
		Example: `  apfsim tune elephants-and-mice
  apfsim tune elephants-and-mice --goal 'rejected{workload:mice}: rate == 0' --allow server -o change
  apfsim tune elephants-and-mice --load mice=2 --seed 7`,
		Args:              exactlyOne("a scenario: a file, or a name that 'apfsim scenarios list' prints"),
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTune(cmd, args[0], &flags)
		},
	}
	f := cmd.Flags()
	addSearch(f, &flags)
	f.StringVarP(&flags.out, "out", "o", "", "write tune.html, tune.json, change.yaml, change.diff, undo.yaml and the finished runs to `DIR`")
	f.StringVar(&flags.shard, "shard", "", "`I/N`: try only part I of N of the candidates, counted from 0, and keep the runs in DIR")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show progress")
	addFormat(cmd, &flags.format, "text", "answer", tuneFormats)
	return cmd
}

// addSearch adds the flags that say what is searched.
func addSearch(f *pflag.FlagSet, flags *tuneFlags) {
	f.StringArrayVar(&flags.goals, "goal", nil, "`'METRIC: EXPRESSION'` that must hold, as a threshold of a scenario; besides the scenario's own goals, as far as they hold now; may be repeated")
	addLoad(f, &flags.load)
	f.StringSliceVar(&flags.allow, "allow", nil, "`KIND,...` of changes that are also allowed: server, clients (their rate limits); and names of levels to which requests may be moved though the level is kept for others, such as catch-all")
	f.StringSliceVar(&flags.forbid, "forbid", nil, "`KIND,...` of changes that are not allowed: "+strings.Join(tune.Usual, ", "))
	f.StringArrayVar(&flags.protect, "protect", nil, "`METRIC` that must not get worse, such as 'wait{workload:mice}'; may be repeated")
	f.IntVar(&flags.budget, "budget", 2000, "greatest `NUMBER` of runs of candidates")
	f.DurationVar(&flags.time, "time", 0, "`DURATION`, such as 2m, after which the search ends: the answer has what was found until then, some more runs that explain it, and depends on the speed of the machine; 0 for no bound")
	f.Float64Var(&flags.probability, "probability", 0.9, "`P` with which a run must hold")
	f.StringVar(&flags.confidence, "confidence", "95%", "`LEVEL` of confidence of the answer")
	f.Uint64Var(&flags.seed, "seed", 0, "first seed `N`, instead of the scenario's own")
}

// kinds returns the kinds of changes that the flags allow.
func (f *tuneFlags) kinds() ([]string, error) {
	for _, kind := range f.forbid {
		if err := oneOf("forbid", kind, tune.Kinds); err != nil {
			return nil, err
		}
	}
	var kinds []string
	for _, kind := range tune.Kinds {
		if (slices.Contains(tune.Usual, kind) || slices.Contains(f.allow, kind)) && !slices.Contains(f.forbid, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return nil, errors.New("--forbid: forbids all kinds of changes; want one that is allowed")
	}
	return kinds, nil
}

// options checks the flags and reads the scenario.
func (f *tuneFlags) options(cmd *cobra.Command, arg string) (o tune.Options, err error) {
	if err := oneOf("format", f.format, tuneFormats); err != nil {
		return o, err
	}
	if err := outIsFormat(cmd, f.out); err != nil {
		return o, err
	}
	if o.Kinds, err = f.kinds(); err != nil {
		return o, err
	}
	if o.Part, err = parseShard(f.shard); err != nil {
		return o, err
	}
	if f.shard != "" && f.out == "" {
		return o, errors.New("-o: is missing; want the folder for the runs of the shard")
	}
	o.Dir, o.Version = f.out, buildVersion()
	if o.Confidence, err = confidenceLevel(f.confidence); err != nil {
		return o, err
	}
	if !(f.probability >= 0.5 && f.probability <= 0.999) {
		return o, fmt.Errorf("--probability: %v: want a probability from 0.5 to 0.999, such as 0.9", f.probability)
	}
	if f.budget < 1 {
		return o, fmt.Errorf("--budget: %d: want 1 run or more", f.budget)
	}
	if f.time < 0 {
		return o, fmt.Errorf("--time: %s: want a duration such as 2m", f.time)
	}
	o.Probability, o.Budget, o.Time, o.Protect, o.Load = f.probability, f.budget, f.time, f.protect, f.load
	loads, err := assign.ParseLoads("--load", f.load)
	if err != nil {
		return o, err
	}
	if o.Scenario, err = experiment.LoadOne(arg, loader.Options{Load: loads}); err != nil {
		return o, err
	}
	if o.Scenario, err = tune.Divide(o.Scenario); err != nil {
		return o, err
	}
	for _, name := range f.allow {
		if slices.Contains(tune.Kinds, name) {
			continue
		}
		if o.Scenario.Objects.PriorityLevel(name) == nil {
			return o, fmt.Errorf("--allow: %q: want a kind of changes (%s), or the name of a priority level of the scenario", name, strings.Join(tune.Kinds, ", "))
		}
		o.Levels = append(o.Levels, name)
	}
	if o.Fit, err = fitOf(arg); err != nil {
		return o, err
	}
	if len(f.goals) > 0 {
		if o.Goals, err = tune.ParseGoals(o.Scenario, f.goals); err != nil {
			return o, err
		}
	}
	for _, text := range f.protect {
		n, err := tune.ProtectedName(text)
		if err != nil {
			return o, fmt.Errorf("--protect: %w", err)
		}
		if err := result.CheckName(n.String(), o.Scenario); err != nil {
			return o, fmt.Errorf("--protect: %w", err)
		}
	}
	if cmd.Flags().Changed("seed") {
		o.Scenario.Spec.Seed = f.seed
	}
	return o, nil
}

// fitOf returns the report of the fit beside a scenario that 'apfsim import --fit' has written; nil if there is none.
func fitOf(scenario string) (*check.Report, error) {
	if filepath.Base(scenario) != fitFiles[0] {
		return nil, nil
	}
	path := filepath.Join(filepath.Dir(scenario), fitFiles[1])
	text, err := input.ReadFile(path, yaml.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	report := &check.Report{Report: &fit.Report{}}
	if err == nil {
		err = json.Unmarshal(text, report)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return report, nil
}

// confidenceLevel parses the flag --confidence.
func confidenceLevel(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	level, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		level /= 100
	}
	if err != nil || !(level >= 0.5 && level <= 0.9999) {
		return 0, fmt.Errorf("--confidence: %q: want a level from 50%% to 99.99%%, such as 95%%", text)
	}
	return level, nil
}

func runTune(cmd *cobra.Command, arg string, flags *tuneFlags) error {
	arg, err := experiment.InFolder(arg)
	if err != nil {
		return invalid(err)
	}
	options, err := flags.options(cmd, arg)
	if err != nil {
		return invalid(err)
	}
	warn(cmd.ErrOrStderr(), options.Scenario)
	ctx, stop := interruptible(cmd)
	defer stop()
	var p paths
	p.readScenarios(options.Scenario)
	if options.Fit != nil {
		p.read(filepath.Join(filepath.Dir(arg), fitFiles[1]))
	}
	p.folder("--out: ", flags.out, tune.Files...)
	var files atomicfile.Set
	defer files.Discard()
	if err := p.prepare(cmd, &files); err != nil {
		return err
	}
	steps := newSteps(cmd.ErrOrStderr(), flags.quiet)
	defer steps.clear()
	options.Progress = steps.next("candidates")
	var answer *tune.Answer
	runs := 0
	if flags.shard != "" {
		runs, err = tune.RunPart(ctx, options)
	} else {
		answer, err = tune.Run(ctx, options)
	}
	steps.clear()
	var infeasible *tune.Infeasible
	switch {
	case ctx.Err() != nil && flags.out != "":
		return fmt.Errorf("interrupted: the finished runs are kept in %s; run the same command again to continue", flags.out)
	case ctx.Err() != nil:
		return errors.New("interrupted; nothing was written")
	case errors.As(err, &infeasible):
		return invalid(fmt.Errorf("%s: %w", arg, err))
	case err != nil:
		return err
	}
	if flags.shard != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: wrote shard %s to %s: %d runs; use 'apfsim sweep merge' to merge the shards\n", flags.shard, flags.out, runs)
		return nil
	}
	if err := writeAnswer(&files, flags.out, answer); err != nil {
		return err
	}
	if err := render.Write(cmd.OutOrStdout(), answer.Document(), flags.format, textOptions(cmd.OutOrStdout(), false)); err != nil {
		return err
	}
	if answer.Needed && answer.Selected == nil {
		return &failure{status: statusThreshold}
	}
	return nil
}
