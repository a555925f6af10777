package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"apfsim/experiment/incident"
	"apfsim/experiment/tune"
	"apfsim/internal/atomicfile"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario/loader"
	"apfsim/sim/trace/requests"
)

// diagnoseFormats are the formats of a diagnosis.
var diagnoseFormats = []string{"text", "json", "markdown"}

// diagnoseFlags are the flags of diagnose.
type diagnoseFlags struct {
	importFlags
	client, form, failOn string
	verbose              bool
	cluster              *kubectl // has the objects and the release of a log, if no file has; nil for none
}

func newDiagnose(cluster *kubectl) *cobra.Command {
	flags := diagnoseFlags{importFlags: importFlags{logs: "auto"}, cluster: cluster}
	cmd := &cobra.Command{
		Use:   "diagnose [SERVER=]FILE...",
		Short: "Say who was hurt in the logs of a server, by whom, when and how",
		Long: `Say who was hurt in the logs of a server, by whom, when and how. FILE is an audit log or the log of
kube-apiserver, as for 'apfsim import'; an audit log alone is enough. Without a log, FILE is the metrics of
a server (two scrapes of /metrics, a series of them, or answers of Prometheus), dumps of
/debug/api_priority_and_fairness, or the log of a client. Metrics say which priority level and which
FlowSchema were hurt, when and why, and do not name users; dumps with details do. A folder or a .tar.gz
stands for the files in it. Each file is recognized by its content.

With a log, the command imports the logs, replays them, and compares the replay with the logs. What the logs
themselves show, such as rejected requests, is a fact. Causes and remedies are concluded from the
replay: if it does not agree with the logs, the second line says why, causes are marked, and no
remedy is offered. Remedies are tried in the replay, and the cheapest one that holds in a scenario that
is fitted to the logs, too.`,
		Example: `  apfsim diagnose audit.log
  apfsim diagnose audit.log kube-apiserver.log --config cluster.yaml --metrics metrics.txt -o incident
  apfsim diagnose audit.log kube-apiserver.log --client app --format markdown
  apfsim diagnose before.txt after.txt -v`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.prometheus != "" {
				return noArguments(cmd, args)
			}
			return atLeastOne("a file of a server: a log, metrics, a dump")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runDiagnose(cmd, args, &flags)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&flags.out, "out", "o", "", "`DIR` for diagnosis.html, diagnosis.json, change.yaml and the files of the import; it is created if it does not exist")
	f.StringVar(&flags.client, "client", "", "`NAME` of a user: the diagnosis is about its requests and those that share queues with them")
	f.StringVar(&flags.prometheus, "prometheus", "", "`URL` of a Prometheus to ask in the place of files; --from and --to are times, by default the last hour. The queries are printed with -v")
	f.StringVar(&flags.form, "format", "text", "output `FORMAT`: text, json or markdown")
	f.StringVar(&flags.failOn, "fail-on", "", "`STATUS` from which on the exit status is 99: harm or warning")
	addVerbose(f, &flags.verbose)
	flags.addLogs(f)
	return cmd
}

func runDiagnose(cmd *cobra.Command, args []string, flags *diagnoseFlags) error {
	if err := oneOf("format", flags.form, diagnoseFormats); err != nil {
		return invalid(err)
	}
	if flags.failOn != "" {
		if err := oneOf("fail-on", flags.failOn, []string{string(result.Harm), string(result.Warning)}); err != nil {
			return invalid(err)
		}
	}
	if flags.prometheus != "" {
		return askPrometheus(cmd, flags)
	}
	files, notes, err := recognizeFiles(cmd, args)
	for _, note := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note: "+note)
	}
	if err != nil {
		return invalid(err)
	}
	if files.withoutRequests() {
		all, read := files.files()
		return runEvidence(cmd, all, read, flags)
	}
	args, notes, err = files.logs(&flags.importFlags)
	if err != nil {
		return invalid(err)
	}
	for _, note := range notes {
		fmt.Fprintln(cmd.ErrOrStderr(), "note: "+note)
	}
	if flags.cluster != nil && len(flags.config) == 0 {
		if err := flags.cluster.read(cmd, "version"); err != nil {
			return err
		}
		flags.config = []string{loader.Stdin}
	}
	options, err := flags.options(cmd, args)
	if err != nil {
		return invalid(err)
	}
	options.Files = files.sources()
	printAll(cmd.ErrOrStderr(), "note", options.Settings.Notes)
	printAll(cmd.ErrOrStderr(), "warning", options.Settings.Warnings)
	ctx, stop := interruptible(cmd)
	defer stop()
	var made atomicfile.Set
	defer made.Discard()
	if err := flags.paths(args, options.Settings, incident.PageFile, incident.DiagnosisFile, tune.ChangeFile).prepare(cmd, &made); err != nil {
		return err
	}
	steps := newSteps(cmd.ErrOrStderr(), false)
	options.Progress = steps.next
	diagnosis, err := incident.Diagnose(ctx, options, flags.client)
	steps.clear()
	if err != nil {
		return importError(ctx, err)
	}
	printAll(cmd.ErrOrStderr(), "warning", diagnosis.Warnings())
	document := diagnosis.Document()
	if flags.form == "markdown" || flags.verbose {
		document = diagnosis.Brief()
	}
	document.Next = "the same command with -o DIR, which writes a page, and files to replay"
	if flags.out != "" {
		document.Next = "apfsim run " + quoted(filepath.Join(flags.out, incident.ScenarioFile))
	}
	return writeDiagnosis(cmd, document, diagnosis.Verdict.Status, flags)
}

// writeDiagnosis prints a diagnosis, and fails if its status is as bad as a flag says.
func writeDiagnosis(cmd *cobra.Command, document *report.Document, status result.Status, flags *diagnoseFlags) error {
	text := textOptions(cmd.OutOrStdout(), false)
	text.Brief = !flags.verbose
	if err := render.Write(cmd.OutOrStdout(), document, flags.form, text); err != nil {
		return err
	}
	if flags.failOn != "" && !result.Status(flags.failOn).Worse(status) {
		return &failure{status: statusThreshold}
	}
	return nil
}

// importError returns the error of an import with its exit status.
func importError(ctx interface{ Err() error }, err error) error {
	var choice *incident.WrongChoice
	var bad *requests.BadLines
	var file *requests.FileError
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted; nothing was written")
	case errors.As(err, &choice), errors.As(err, &bad), errors.As(err, &file):
		return invalid(err)
	}
	return err
}
