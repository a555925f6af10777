package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"apfsim/core/config"
	"apfsim/core/estimate"
	"apfsim/document"
	"apfsim/experiment"
	"apfsim/lint"
	"apfsim/lint/metrics"
	"apfsim/reports/format"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// lintFlags are the flags of config lint.
type lintFlags struct {
	configFlags
	failOn   string
	disable  []string
	assumed  []string
	metrics  string
	scenario string
	rules    bool
}

var failOns = []string{"error", "warning", "note", "none"}

func newConfigLint() *cobra.Command {
	var flags lintFlags
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Find problems in valid FlowSchemas and PriorityLevelConfigurations",
		Long: `Find problems in valid FlowSchemas and PriorityLevelConfigurations: rules that match no request,
FlowSchemas without effect because earlier ones match the same requests, priority levels without
seats, edits that the server undoes. FILE can be a folder, which is read with all its subfolders,
or - for standard input. Objects of other kinds are skipped.

With --metrics, rules about the cost of lists use the object counts of a server. With --scenario,
rules about load use the load of that scenario. The exit status is 99 if there is a finding with
the severity of --fail-on or a higher one.`,
		Example: `  apfsim config lint cluster.yaml
  apfsim config lint cluster.yaml --version 1.30 --disable overlap --format json
  apfsim config lint --rules`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.rules {
				return writeRules(cmd.OutOrStdout())
			}
			if len(args) == 0 {
				return usage(cmd, "want a file of flow-control objects")
			}
			return runLint(cmd, args, &flags)
		},
	}
	flags.addVersion(cmd)
	flags.addBase(cmd)
	flags.addServer(cmd)
	f := cmd.Flags()
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "kubernetes-version" { // the name of the flag before other commands had it
			name = "version"
		}
		return pflag.NormalizedName(name)
	})
	f.StringVar(&flags.failOn, "fail-on", "warning", "lowest `SEVERITY` of findings that gives exit status 99: "+strings.Join(failOns, ", "))
	f.StringArrayVar(&flags.disable, "disable", nil, "`RULE` that is not checked; may be repeated")
	f.StringArrayVar(&flags.assumed, "assume-level", nil, "`NAME` of a priority level that something else brings, such as another chart; may be repeated")
	f.StringVar(&flags.metrics, "metrics", "", "`FILE` with the metrics of a kube-apiserver, for its numbers of objects")
	f.StringVar(&flags.scenario, "scenario", "", "`SCENARIO` to run with the objects, for the load of each priority level; a file or a library name")
	f.BoolVar(&flags.rules, "rules", false, "list the rules")
	return cmd
}

func runLint(cmd *cobra.Command, args []string, flags *lintFlags) error {
	in, err := flags.input(cmd)
	if err != nil {
		return err
	}
	if flags.scenario != "" && slices.Contains(args, loader.Stdin) {
		return invalid(errors.New("--scenario: needs the objects twice; use a file instead of -"))
	}
	loaded := loader.LoadConfig(in.Rules, flags.base, args)
	inSources := 0 // errors in files that could be read
	var mistakes, notes document.Errors
	for _, source := range loaded.Sources {
		held, changed, refused := config.Merge(source.Damaged.Objects, source.Objects).In(in.Rules)
		in.Incomplete = in.Incomplete || len(source.Errors) > source.Damaged.Errors || len(refused) > 0
		inSources += len(source.Errors) + len(refused)
		mistakes = append(append(mistakes, source.Errors...), refused...)
		notes = append(append(notes, source.Notes...), changed...)
		in.Objects = config.Merge(in.Objects, held)
	}
	if len(loaded.Errors) > inSources {
		return invalid(loaded.Errors)
	}
	printAll(cmd.ErrOrStderr(), "note", slices.DeleteFunc(notes, isNotServed)) // they are findings
	if flags.metrics != "" {
		if in.Stored, err = readMetrics(flags.metrics); err != nil {
			return invalid(fmt.Errorf("--metrics: %w", err))
		}
	}
	if flags.scenario != "" && len(mistakes) == 0 {
		if in.Load, err = measureLoad(cmd, flags.scenario, args); err != nil {
			return err
		}
	}
	findings := append(lint.Invalid(mistakes), lint.Check(in)...)
	lint.Sort(findings)
	if flags.format == "json" {
		err = format.WriteJSON(cmd.OutOrStdout(), toJSON(findings))
	} else {
		err = writeFindings(cmd.OutOrStdout(), findings, in.Objects)
	}
	switch {
	case err != nil:
		return err
	case len(mistakes) > 0:
		return &failure{status: statusInvalid}
	case slices.ContainsFunc(findings, func(f lint.Finding) bool { return failsOn(f.Severity, flags.failOn) }):
		return &failure{status: statusThreshold}
	}
	return nil
}

// failsOn reports whether a severity is at least the one with this name.
func failsOn(s lint.Severity, name string) bool {
	for _, limit := range []lint.Severity{lint.Note, lint.Warning, lint.Error} {
		if limit.String() == name {
			return s >= limit
		}
	}
	return false // none
}

// input checks the flags and returns the input for lint, without objects.
func (f *lintFlags) input(cmd *cobra.Command) (in lint.Input, err error) {
	if err := oneOf("base", f.base, []string{scenario.BaseSuggested, scenario.BaseMandatory}); err != nil {
		return in, invalid(err)
	}
	if err := oneOf("fail-on", f.failOn, failOns); err != nil {
		return in, invalid(err)
	}
	if in.ServerLimit, err = f.serverLimit(); err != nil {
		return in, err
	}
	for _, id := range f.disable {
		if ids := lint.IDs(); !slices.Contains(ids, id) {
			return in, invalid(fmt.Errorf("--disable: there is no rule %q%s; 'apfsim config lint --rules' lists them", id, document.Suggest(id, ids)))
		}
	}
	in.Off, in.Assumed = f.disable, f.assumed
	if in.Rules, err = f.release(cmd); err != nil {
		return in, err
	}
	in.Base = config.Mandatory(in.Rules)
	if f.base == scenario.BaseSuggested {
		in.Base = config.Suggested(in.Rules)
	}
	return in, nil
}

func readMetrics(name string) (estimate.Store, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	store, err := metrics.ReadStore(file)
	if err != nil {
		return nil, fmt.Errorf("%s %w", name, err)
	}
	return store, nil
}

// measureLoad runs the scenario once with the objects of the files and returns its load.
func measureLoad(cmd *cobra.Command, name string, files []string) (*lint.Load, error) {
	loaded, err := experiment.Load([]string{name}, loader.Options{ConfigFiles: files})
	if err != nil {
		return nil, invalid(err)
	}
	if len(loaded) != 1 {
		return nil, invalid(fmt.Errorf("--scenario: %s contains %d scenarios; want one", name, len(loaded)))
	}
	// The caller has printed the notes about the files of objects.
	printAll(cmd.ErrOrStderr(), "note", slices.DeleteFunc(slices.Clone(loaded[0].Notes), func(m document.Error) bool {
		return m.File != ""
	}))
	loaded[0].Spec.Replications = 1 // also for progress
	ctx, stop := interruptible(cmd)
	defer stop()
	progress := newProgress(cmd.ErrOrStderr(), loaded, false)
	defer progress.pause()
	return experiment.MeasureLoad(ctx, loaded[0], progress)
}

// jsonFinding is a finding in the format of --format json.
type jsonFinding struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Kind     string `json:"kind"`
	Name     string `json:"name"`
}

func toJSON(findings []lint.Finding) []jsonFinding {
	all := make([]jsonFinding, len(findings))
	for i, f := range findings {
		all[i] = jsonFinding{f.Rule, f.Severity.String(), f.Message, f.Position.File, f.Position.Line, f.Kind, f.Name}
	}
	return all
}

// writeFindings writes a line for each finding, and a line with their numbers.
func writeFindings(w io.Writer, findings []lint.Finding, objects config.Objects) error {
	counts := map[lint.Severity]int{}
	for _, f := range findings {
		counts[f.Severity]++
		at := f.Position.String()
		if at != "" {
			at += ": "
		}
		if _, err := fmt.Fprintf(w, "%s%s: %s [%s]\n", at, f.Severity, f.Message, f.Rule); err != nil {
			return err
		}
	}
	found := "no findings"
	if len(findings) > 0 {
		found = fmt.Sprintf("%s, %s, %s", number(counts[lint.Error], "error"), number(counts[lint.Warning], "warning"), number(counts[lint.Note], "note"))
	}
	_, err := fmt.Fprintf(w, "%s in %s and %s\n", found, number(len(objects.FlowSchemas), "FlowSchema"), number(len(objects.PriorityLevels), "priority level"))
	return err
}

// number returns a count with its noun, in the singular or plural.
func number(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func writeRules(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range lint.Rules() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", r.ID, r.Severity, strings.ReplaceAll(firstSentence(r.Finds), "`", ""))
	}
	return table.Flush()
}

func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if i := strings.Index(text, ". "); i >= 0 {
		return text[:i+1]
	}
	return text
}
