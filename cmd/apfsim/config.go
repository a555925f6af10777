package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/document/yaml"
	"apfsim/reports/advice"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check and print flow-control configurations",
	}
	cmd.AddCommand(newConfigValidate(), newConfigLint(), newConfigSeats(), newConfigDefaults(), newConfigDiff())
	return cmd
}

// configFlags are the common flags of commands that read a flow-control configuration.
type configFlags struct {
	version           string
	gates             []string
	base              string
	requests, mutated int
	format            string
}

func (f *configFlags) addVersion(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.version, "version", rules.Default().Version,
		"`VERSION` of Kubernetes: a minor release such as 1.26, for its newest patch release, or 1.26.8; from "+rules.Versions()[0])
}

// release returns the rules of the release that addVersion's flag names.
func (f *configFlags) release(cmd *cobra.Command) (*rules.Rules, error) {
	r, err := releaseOf(cmd, "version", f.version)
	if err != nil {
		return nil, err
	}
	for _, text := range f.gates {
		name, value, _ := strings.Cut(text, "=")
		on, err := strconv.ParseBool(value)
		if err != nil {
			return nil, invalid(fmt.Errorf("--feature-gates: %q: want NAME=true or NAME=false", text))
		}
		if err := r.SetGate(name, on); err != nil {
			return nil, invalid(fmt.Errorf("--feature-gates: %w", err))
		}
	}
	return r, nil
}

// addGates adds the flag with the feature gates of the servers.
func (f *configFlags) addGates(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.gates, "feature-gates", nil, "`NAME=BOOL` of feature gates of the servers, separated by commas: "+strings.Join(rules.Gates(), ", ")+
		"; without a gate, the default of the release. With an etcd that cannot serve consistent reads from the cache (before 3.4.31 or 3.5.13), give ConsistentListFromCache=false")
}

// releaseOf returns the rules of the release that a flag names, and prints what there is to say of it.
func releaseOf(cmd *cobra.Command, flag, version string) (*rules.Rules, error) {
	r, err := rules.For(version)
	if err != nil {
		return nil, invalid(fmt.Errorf("--%s: %w", flag, err))
	}
	if note := rules.Note(version); note != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: warning: --%s: %s\n", flag, note)
	}
	return r, nil
}

func (f *configFlags) addBase(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.base, "base", scenario.BaseSuggested,
		"`BASE`: the objects that those of the files are added to or replace: Suggested (those of a new cluster) or Mandatory")
}

// addLimits adds the flags on which the number of seats of the server depends.
func (f *configFlags) addLimits(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.requests, "max-requests-inflight", 400, "`N`: value of the server's flag of the same name")
	cmd.Flags().IntVar(&f.mutated, "max-mutating-requests-inflight", 200, "`N`: value of the server's flag of the same name")
}

// addServer adds the flags of addLimits and the format.
func (f *configFlags) addServer(cmd *cobra.Command) {
	f.addLimits(cmd)
	addFormat(cmd, &f.format, "text", "output", answerFormats)
}

var answerFormats = render.Names(0)

// serverLimit checks the flags of addServer and returns the number of seats of the server.
func (f *configFlags) serverLimit() (int, error) {
	if err := oneOf("format", f.format, answerFormats); err != nil {
		return 0, invalid(err)
	}
	return f.limit()
}

// limit checks the flags of addLimits and returns the number of seats of the server.
func (f *configFlags) limit() (int, error) {
	const most = 10_000_000
	if f.requests < 0 || f.mutated < 0 || f.requests+f.mutated < 1 || f.requests+f.mutated > most {
		return 0, invalid(fmt.Errorf("--max-requests-inflight %d --max-mutating-requests-inflight %d: want a sum from 1 to %d",
			f.requests, f.mutated, most))
	}
	return f.requests + f.mutated, nil
}

// load reads the configuration of the files for a release and prints its notes and warnings.
func (f *configFlags) load(cmd *cobra.Command, release *rules.Rules, files []string) (*loader.Config, error) {
	if err := oneOf("base", f.base, []string{scenario.BaseSuggested, scenario.BaseMandatory}); err != nil {
		return nil, invalid(err)
	}
	loaded := loader.LoadConfig(release, f.base, files)
	notes := loaded.Notes
	if cmd.Name() == "validate" { // which reports them as errors
		notes = slices.DeleteFunc(slices.Clone(notes), isNotServed)
	}
	printAll(cmd.ErrOrStderr(), "note", notes)
	if err := loaded.Errors.Err(); err != nil {
		return nil, invalid(err)
	}
	printAll(cmd.ErrOrStderr(), "warning", loaded.Warnings)
	return loaded, nil
}

// isNotServed reports whether a note is about an API version that the release does not serve.
func isNotServed(note document.Error) bool { return note.Path == "apiVersion" }

// notServed returns the notes about API versions that the release does not serve. A server refuses such objects, although
// what they say is known.
func notServed(notes document.Errors) document.Errors {
	return slices.DeleteFunc(slices.Clone(notes), func(n document.Error) bool { return !isNotServed(n) })
}

// printAll prints notes or warnings, one per line.
func printAll(stderr io.Writer, what string, all document.Errors) {
	for _, m := range all {
		fmt.Fprintf(stderr, "apfsim: %s: %v\n", what, m)
	}
}

func newConfigValidate() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check files of FlowSchemas and PriorityLevelConfigurations",
		Long: `Check files of FlowSchemas and PriorityLevelConfigurations with the rules of a server, and print
what each file contains. An API version that the release does not serve is an error, because the server refuses
the object. Notes on stderr say which fields the release does not know. FILE can be a folder (all its .yaml, .yml and .json files except hidden
ones) or - for standard input. Objects of other kinds are skipped, so the output of helm template
can be checked directly. A file without any of these objects is an error.`,
		Example: `  kubectl get flowschemas,prioritylevelconfigurations -o yaml > cluster.yaml
  apfsim config validate cluster.yaml
  apfsim config validate - < cluster.yaml`,
		Args: atLeastOne("a file of flow-control objects, a folder of them, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			release, err := flags.release(cmd)
			if err != nil {
				return err
			}
			loaded, err := flags.load(cmd, release, args)
			if err != nil {
				return err
			}
			if refused := notServed(loaded.Notes); len(refused) > 0 {
				return invalid(refused)
			}
			for _, source := range loaded.Sources {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), source.Summary()); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "valid: %d FlowSchemas and %d priority levels, including the base\n",
				len(loaded.Objects.FlowSchemas), len(loaded.Objects.PriorityLevels))
			return err
		},
	}
	flags.addVersion(cmd)
	flags.addBase(cmd)
	return cmd
}

func newConfigSeats() *cobra.Command {
	var flags configFlags
	cmd := &cobra.Command{
		Use:   "seats [FILE...]",
		Short: "Print the limits of the priority levels in seats",
		Long: `Print for each priority level the nominal concurrency limit, the lower limit after lending, the
upper limit with borrowing, the maximum number of seats of one request, and the limit that the
level can reach, as all levels together cannot lend more seats than they have.`,
		Example: `  apfsim config seats
  apfsim config seats cluster.yaml --max-requests-inflight 800`,
		RunE: func(cmd *cobra.Command, args []string) error {
			limit, err := flags.serverLimit()
			if err != nil {
				return err
			}
			release, err := flags.release(cmd)
			if err != nil {
				return err
			}
			loaded, err := flags.load(cmd, release, args)
			if err != nil {
				return err
			}
			d := report.SeatsDocument(advice.DivideSeats(release, loaded.Objects, limit))
			return render.Write(cmd.OutOrStdout(), d, flags.format, format.TextOptions{})
		},
	}
	flags.addVersion(cmd)
	flags.addGates(cmd)
	flags.addBase(cmd)
	flags.addServer(cmd)
	return cmd
}

func newConfigDefaults() *cobra.Command {
	var flags configFlags
	var mandatory bool
	cmd := &cobra.Command{
		Use:   "defaults",
		Short: "Print the flow-control objects of a new cluster as YAML",
		Long: `Print the flow-control objects that the servers of a release create in a new cluster, as YAML in
the newest API version that the release serves.`,
		Example: `  apfsim config defaults
  apfsim config defaults --version 1.24 --mandatory`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			release, err := flags.release(cmd)
			if err != nil {
				return err
			}
			objects := config.Suggested(release)
			if mandatory {
				objects = config.Mandatory(release)
			}
			text, err := yaml.Marshal(objects.Manifest(release))
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	flags.addVersion(cmd)
	cmd.Flags().BoolVar(&mandatory, "mandatory", false, "print only the mandatory objects")
	return cmd
}
