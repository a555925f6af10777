package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"apfsim/experiment"
	"apfsim/experiment/incident"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
)

// importFlags are the flags of import.
type importFlags struct {
	out, server, from, to string
	logs, zone            string
	year                  int
	config                []string
	metrics, version      string
	strict                bool
	fit                   fitFlags

	// Of metrics, in the place of logs.
	series     bool
	prometheus string
	flows      []string
	verbose    bool
}

func newImport() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "import [SERVER=]FILE... -o DIR",
		Short: "Make a trace and a scenario from the logs of a server, or a scenario from its metrics",
		Long: `Make a trace and a scenario from audit logs and httplogs (lines "HTTP" of kube-apiserver at
verbosity 3). The lines of a request are joined by their audit ID. FILE can be compressed with gzip,
and - is standard input. Files can be in any order.

DIR/scenario.yaml replays DIR/trace.jsonl as it stands. DIR/import.json says what was read, derived,
drawn and left out; the same is printed.

With --fit, DIR/fitted/scenario.yaml has a workload for each kind of user, verb and resource, with an
arrival process and a distribution of execution times, so that their number can be changed. Retries
are recognised. The scenario is run several times, and its statistics are compared with the recorded
ones; DIR/fitted/fit.json has the result. FILE can then also be a request log of 'apfsim run
--requests', a trace, or a folder with one of them; the two files are then written to DIR. The capacity
of the server is fitted as well; with --capacity-from, to the log of FILE and to others of the same server.

With --metrics-series or --prometheus, the scenario is made from metrics alone: a workload for each
FlowSchema, with its rate by interval, executions and seats. FILE is then a series of samples, or two or
more scrapes of /metrics, and may also be the flow-control objects. Metrics do not say how many users, and
so how many flows, a FlowSchema has: the scenario is run with 1, with 10 and with as many as requests, each
run is compared with the series, and DIR/scenario.yaml has the number with which they differ least.
The first line says whether it agrees with the series.`,
		Example: `  apfsim import audit.log kube-apiserver.log --config cluster.yaml --metrics metrics.txt -o incident
  apfsim import audit.log -o incident --from 2026-10-02T09:30:01Z --to 20s
  apfsim run kubelet-list-loop --requests -o results
  apfsim import --fit results/kubelet-list-loop --scenario scenarios/kubelet-list-loop.yaml --replications 9 -o fitted
  apfsim import --metrics-series before.txt after.txt cluster.yaml -o measured`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case flags.prometheus != "" && flags.series:
				return usage(cmd, "--prometheus: takes the place of --metrics-series and its files")
			case flags.prometheus != "":
				return noArguments(cmd, args)
			case flags.series:
				return atLeastOne("a file with the metrics of a server")(cmd, args)
			}
			return atLeastOne("a file with the log of a server")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if flags.series || flags.prometheus != "" {
				return importSeries(cmd, args, &flags)
			}
			return runImport(cmd, args, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "out", "o", "", "`DIR` for the files; it is created if it does not exist")
	f.StringVar(&flags.logs, "format", "auto", "`FORMAT` of the lines that are read: auto, audit, httplog")
	flags.addLogs(f)
	f.BoolVar(&flags.series, "metrics-series", false, "make the scenario from metrics: FILE is a series of samples, or scrapes, and the flow-control objects")
	f.StringVar(&flags.prometheus, "prometheus", "", "make the scenario from what the Prometheus at this `URL` has; --from and --to are times, by default the last hour. The queries are printed with -v")
	f.StringArrayVar(&flags.flows, "flows", nil, "with metrics, `SCHEMA=N`: the FlowSchema has N flows; may be repeated")
	addVerbose(f, &flags.verbose)
	addFit(cmd, &flags.fit)
	return cmd
}

// addLogs adds the flags that say which part of which logs is read, and what is known of the server beside them.
func (f *importFlags) addLogs(flags *pflag.FlagSet) {
	flags.StringVar(&f.server, "server", "", "`NAME` of the server whose requests are imported, if the logs are of several; default: the one with the most")
	flags.StringVar(&f.from, "from", "", "leave out what arrived before this `TIME`: 2026-01-02T15:04:05Z, or 90s after the first arrival")
	flags.StringVar(&f.to, "to", "", "leave out what arrived at this `TIME` or later")
	flags.StringVar(&f.zone, "zone", "", "time `ZONE` of httplogs, such as Europe/Berlin or +02:00; default UTC, or what a collector's time before the line shows")
	flags.IntVar(&f.year, "year", 0, "`YEAR` of httplogs; default: that of the audit log, or else of the file's modification")
	flags.StringArrayVar(&f.config, "config", nil, "`FILE` of the server's flow-control objects; may be repeated")
	flags.StringVar(&f.metrics, "metrics", "", "`FILE` with the metrics of the server: numbers and sizes of objects, limits, version")
	flags.StringVar(&f.version, "version", "", "`VERSION` of Kubernetes; default: that of the metrics, or else the newest")
	flags.BoolVar(&f.strict, "strict", false, "refuse logs with lines that cannot be read")
}

func runImport(cmd *cobra.Command, args []string, flags *importFlags) error {
	if flags.out == "" {
		return usage(cmd, "want -o DIR, the folder for the files")
	}
	if len(flags.flows) > 0 {
		return invalid(errors.New("--flows: needs --metrics-series or --prometheus"))
	}
	recorded := flags.fit.fit && isRecorded(args)
	if err := flags.fit.check(cmd, recorded); err != nil {
		return invalid(err)
	}
	if recorded {
		return fitRequests(cmd, args[0], flags.out, &flags.fit)
	}
	options, err := flags.options(cmd, args)
	if err != nil {
		return invalid(err)
	}
	printAll(cmd.ErrOrStderr(), "note", options.Settings.Notes)
	printAll(cmd.ErrOrStderr(), "warning", options.Settings.Warnings)
	ctx, stop := interruptible(cmd)
	defer stop()
	var made atomicfile.Set
	defer made.Discard()
	if err := flags.paths(args, options.Settings).prepare(cmd, &made); err != nil {
		return err
	}
	steps := newSteps(cmd.ErrOrStderr(), flags.fit.quiet)
	options.Progress = steps.next
	report, err := incident.Import(ctx, options)
	steps.clear()
	if err != nil {
		return importError(ctx, suggestSeries(cmd, args, err))
	}
	d := report.Document(flags.out, filepath.Join(flags.out, incident.ScenarioFile))
	if err := render.Text(cmd.OutOrStdout(), d, format.TextOptions{Width: 100}); err != nil || !flags.fit.fit {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return fitRequests(cmd, flags.out, filepath.Join(flags.out, experiment.FittedFolder), &flags.fit)
}

// paths returns the files that an import reads and writes, and others that are written beside them.
func (f *importFlags) paths(args []string, settings *incident.Settings, also ...string) *paths {
	var p paths
	for _, arg := range args {
		p.read(arg)
		if _, file, named := strings.Cut(arg, "="); named { // SERVER=FILE
			p.read(file)
		}
	}
	p.read(f.config...)
	p.read(f.metrics, f.fit.base)
	p.folder("--out: ", f.out, append(settings.Written(), also...)...)
	if f.fit.fit {
		p.WriteFolder("--out", filepath.Join(f.out, experiment.FittedFolder), fitFiles...)
	}
	return &p
}

// options checks the flags, and reads the files other than the logs.
func (f *importFlags) options(cmd *cobra.Command, args []string) (incident.Options, error) {
	o := incident.Options{Server: f.server, Strict: f.strict, Dir: f.out}
	var wrong []error
	fail := func(flag string, err error) {
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--%s: %w", flag, err))
		}
	}
	for _, m := range []struct {
		flag, text string
		into       **incident.Moment
	}{{"from", f.from, &o.From}, {"to", f.to, &o.To}} {
		if m.text != "" {
			moment, err := incident.ParseMoment(m.text)
			fail(m.flag, err)
			*m.into = &moment
		}
	}
	var logs logfile.Options
	var err error
	logs.Format, err = logfile.ParseFormat(f.logs)
	fail("format", err)
	logs.Zone, err = requests.ParseZone(f.zone)
	fail("zone", err)
	if f.year != 0 {
		if f.year < 2014 || f.year > 2200 {
			fail("year", fmt.Errorf("%d: want the year in which the log was written", f.year))
		}
		logs.Reference = time.Date(f.year, time.July, 2, 12, 0, 0, 0, time.UTC) // the middle: all days of the year are nearest in it
	}
	o.Sources, err = requests.Sources(args, cmd.InOrStdin(), logs)
	if err != nil {
		wrong = append(wrong, err)
	}
	o.Settings, err = incident.ReadSettings(nil, f.version, f.config, f.metrics)
	if err != nil {
		wrong = append(wrong, err)
	}
	return o, errors.Join(wrong...)
}
