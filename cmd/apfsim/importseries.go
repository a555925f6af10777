package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"apfsim/experiment/evidence"
	"apfsim/experiment/fit"
	"apfsim/experiment/incident"
	"apfsim/internal/atomicfile"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/sim/scenario/loader"
)

// notOfSeries are the flags that are about logs.
var notOfSeries = []string{"format", "zone", "year", "strict", "metrics", "fit", "scenario", "replications", "max-workloads", "capacity", "capacity-from"}

// mostFlows bounds --flows: each flow is a client of the run.
const mostFlows = 100_000

// importSeries makes a scenario of metrics.
func importSeries(cmd *cobra.Command, args []string, flags *importFlags) error {
	if flags.out == "" {
		return usage(cmd, "want -o DIR, the folder for the files")
	}
	options := evidence.ImportOptions{Server: flags.server, Name: fit.ScenarioName(filepath.Base(files.Canonical(flags.out)))}
	var wrong []error
	var read []string
	var packed packedObjects
	var bundled []string // objects in folders
	for _, name := range notOfSeries {
		if cmd.Flags().Changed(name) {
			wrong = append(wrong, fmt.Errorf("--%s: is about logs, and the scenario is made from metrics", name))
		}
	}
	var err error
	if options.Flows, err = parseFlows(flags.flows); err != nil {
		wrong = append(wrong, err)
	}
	if flags.prometheus == "" {
		for _, m := range []struct {
			flag, text string
			into       **incident.Moment
		}{{"from", flags.from, &options.From}, {"to", flags.to, &options.To}} {
			if m.text == "" {
				continue
			}
			moment, err := incident.ParseMoment(m.text)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("--%s: %w", m.flag, err))
			}
			*m.into = &moment
		}
		all, notes, err := recognizeFiles(cmd, args)
		if err != nil {
			wrong = append(wrong, err)
		}
		for i := range all {
			f := &all[i]
			switch f.Kind {
			case incident.Metrics, incident.TSDBDump, incident.QueryRange, incident.Version:
				options.Files = append(options.Files, f.File)
				read = append(read, f.arg)
			case incident.Objects:
				if !f.Bundled {
					flags.config = append(flags.config, f.Name)
				} else if !f.inside {
					bundled = append(bundled, f.Name)
				} else if err := packed.add(&f.File); err != nil {
					wrong = append(wrong, fmt.Errorf("%s: %w", f.Name, err))
				}
			case incident.AuditLog, incident.HTTPLog, incident.Other, incident.Empty:
				wrong = append(wrong, fmt.Errorf("%s: is %s; want metrics of a server, or its flow-control objects", f.Name, evidence.Words(f.Kind)))
			default:
				notes = append(notes, fmt.Sprintf("%s: is %s, which is not used", f.Name, evidence.Words(f.Kind)))
			}
		}
		if packed.text.Len() > 0 {
			loader.ReplaceStdin(packed.name, packed.text.Bytes())
			bundled = append(bundled, loader.Stdin)
		}
		for _, note := range notes {
			fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: note: %s\n", note)
		}
	}
	named := flags.config
	flags.config = append(slices.Clone(named), bundled...)
	settings, err := incident.ReadSettings(nil, flags.version, flags.config, "")
	if err != nil && len(bundled) > 0 {
		broken := err
		if settings, err = incident.ReadSettings(nil, flags.version, named, ""); err == nil {
			flags.config = named
			fmt.Fprintf(cmd.ErrOrStderr(), "apfsim: note: %v; the objects of the bundle are left out\n", broken)
		}
	}
	if err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) > 0 {
		return invalid(errors.Join(wrong...))
	}
	printAll(cmd.ErrOrStderr(), "note", settings.Notes)
	printAll(cmd.ErrOrStderr(), "warning", settings.Warnings)
	release, objects := settings.Server()
	if flags.version != "" {
		options.Release = release
	}
	if len(flags.config) > 0 {
		options.Objects = &objects
	}
	if flags.prometheus != "" {
		if options.Files, err = flags.ask(cmd, &evidence.Prometheus{Import: true}, flags.verbose); err != nil {
			return err
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var p paths
	p.read(read...)
	p.read(flags.config...)
	p.folder("--out: ", flags.out, evidence.ImportFiles...)
	var made atomicfile.Set
	defer made.Discard()
	if err := p.prepare(cmd, &made); err != nil {
		return err
	}
	steps := newSteps(cmd.ErrOrStderr(), flags.fit.quiet)
	options.Progress = steps.next
	imported, err := evidence.Import(ctx, options)
	steps.clear()
	if err != nil {
		return importError(ctx, err)
	}
	list := imported.Files()
	if err := list.AddTo(&made, flags.out); err != nil {
		return err
	}
	if err := made.Commit(); err != nil {
		return err
	}
	document := imported.Document("apfsim run " + quoted(filepath.Join(flags.out, incident.ScenarioFile)))
	return render.Text(cmd.OutOrStdout(), document, format.TextOptions{Width: 100})
}

// packedObjects are flow-control objects in archives. They take the place of standard input, as a reader of objects opens files only.
type packedObjects struct {
	name string // of the first file
	text bytes.Buffer
}

func (p *packedObjects) add(f *evidence.File) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if p.name == "" {
		p.name = f.Name
	} else {
		p.text.WriteString("\n---\n")
	}
	_, err = p.text.ReadFrom(r)
	return err
}

// parseFlows reads SCHEMA=N.
func parseFlows(texts []string) (flows map[string]int, err error) {
	flows = map[string]int{}
	var wrong []error
	for _, text := range texts {
		name, number, _ := strings.Cut(text, "=")
		n, err := strconv.Atoi(number)
		if err != nil || name == "" || n < 1 || n > mostFlows {
			wrong = append(wrong, fmt.Errorf("--flows: %q: want SCHEMA=N, a FlowSchema and how many flows it has, 1 to %d, such as service-accounts=20", format.Printable(text), mostFlows))
			continue
		}
		if _, twice := flows[name]; twice {
			wrong = append(wrong, fmt.Errorf("--flows: %s is given twice", format.Printable(name)))
		}
		flows[name] = n
	}
	return flows, errors.Join(wrong...)
}

// suggestSeries adds to the error of an import of logs that the files are metrics.
func suggestSeries(cmd *cobra.Command, args []string, err error) error {
	if slices.Contains(args, "-") {
		return err
	}
	all, _, _ := recognizeFiles(cmd, args) // the error says what cannot be read
	for i := range all {
		switch all[i].Kind {
		case incident.Metrics, incident.TSDBDump, incident.QueryRange:
			return &incident.WrongChoice{Message: fmt.Sprintf("%s: is %s; to make a scenario from metrics, use --metrics-series", all[i].Name, evidence.Words(all[i].Kind))}
		}
	}
	return err
}
