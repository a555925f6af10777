package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"apfsim/experiment/evidence"
	"apfsim/experiment/incident"
	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/sim/trace/logfile"
	"apfsim/sim/trace/requests"
)

// recognized are the files of a diagnosis with what each was taken for.
type recognized []recognizedFile

type recognizedFile struct {
	arg    string
	answer bool // it is an answer in the place of what was asked for
	inside bool // it is in an archive, which arg names
	evidence.File
}

// recognizeFiles says what each file is. A folder and an archive stand for the files in them; the notes say which of these are left
// out. Standard input is read no further than that takes.
func recognizeFiles(cmd *cobra.Command, args []string) (all recognized, notes []string, err error) {
	var wrong []error
	var named []string
	inFolder := map[string]bool{}
	for _, arg := range args {
		if info, err := os.Stat(arg); err != nil || !info.IsDir() {
			named = append(named, arg)
			continue
		}
		inside, left, err := evidence.Folder(arg)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", arg, err))
		}
		named, notes = append(named, inside...), append(notes, left...)
		for _, name := range inside {
			inFolder[name] = true
		}
	}
	stdin := bufio.NewReaderSize(cmd.InOrStdin(), evidence.HeadBytes)
	sources, err := requests.Sources(named, stdin, logfile.Options{})
	if err != nil {
		return nil, nil, errors.Join(append(wrong, err)...)
	}
	for i := range sources {
		s := &sources[i]
		f := recognizedFile{arg: named[i], File: evidence.File{Name: s.Name, Bundled: inFolder[named[i]], Open: func() (io.ReadCloser, error) { return os.Open(s.Name) }}}
		files, left, err := f.recognize(stdin, s.Stream)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", s.Name, err))
		}
		if s.Stream {
			cmd.SetIn(stdin) // from its beginning
		}
		all, notes = append(all, files...), append(notes, left...)
	}
	return all, notes, errors.Join(wrong...)
}

// recognize says what a file is, and returns the files in it if it is an archive.
func (f *recognizedFile) recognize(stdin *bufio.Reader, isStdin bool) (all recognized, notes []string, err error) {
	if isStdin {
		f.Open = func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }
		head, err := stdin.Peek(evidence.HeadBytes)
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		f.Kind = evidence.Recognize(head)
		f.answer = evidence.IsAnswer(f.Kind, head)
	} else if f.Kind, f.answer, err = evidence.RecognizeFile(f.Open); err != nil {
		return nil, nil, err
	}
	if f.Kind != incident.Archive {
		return recognized{*f}, nil, nil
	}
	r, err := f.Open()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	files, notes, err := evidence.Unpack(f.Name, r)
	for _, inside := range files {
		all = append(all, recognizedFile{arg: f.arg, inside: true, File: inside})
	}
	return all, notes, err
}

// withoutRequests reports whether no file is the log of a server, and at least one is of another kind that is known. If all files
// are unknown, the reader of logs says what is wrong with their lines.
func (all recognized) withoutRequests() bool {
	known := false
	for i := range all {
		if evidence.IsLog(all[i].Kind) {
			return false
		}
		known = known || all[i].Kind != incident.Other || all[i].answer
	}
	return known || len(all) == 0
}

// logs returns the arguments that name logs of servers. Metrics and objects become those of the flags, unless these are given, and
// notes say so.
func (all recognized) logs(flags *importFlags) (args, notes []string, err error) {
	var config []string
	note := func(f *evidence.File, text string) {
		notes = append(notes, fmt.Sprintf("%s: is %s, %s", f.Name, evidence.Words(f.Kind), text))
	}
	for i := range all {
		if all[i].inside {
			return nil, nil, fmt.Errorf("%s: is in an archive, which is not read beside the log of a server; unpack it, and give its folder", all[i].Name)
		}
		switch f := &all[i]; f.Kind {
		case incident.AuditLog, incident.HTTPLog, incident.Other, incident.Empty:
			args = append(args, f.arg)
		case incident.Metrics:
			if flags.metrics != "" {
				note(&f.File, "which is not used, as others are given")
				continue
			}
			flags.metrics = f.Name
			note(&f.File, "which is taken as --metrics")
		case incident.Objects:
			if len(flags.config) > 0 {
				note(&f.File, "which is not used, as --config is given")
				continue
			}
			config = append(config, f.Name)
			note(&f.File, "which is taken as --config")
		default:
			note(&f.File, "which is not used beside the log of a server; diagnose it without the log")
		}
	}
	flags.config = append(flags.config, config...)
	return args, notes, nil
}

// sources returns what the files were taken for.
func (all recognized) sources() (sources []incident.Source) {
	for i := range all {
		sources = append(sources, incident.Source{File: all[i].Name, Kind: all[i].Kind, Instances: []string{}})
	}
	return sources
}

func (all recognized) files() (files []evidence.File, read []string) {
	for i := range all {
		files = append(files, all[i].File)
		if read = append(read, all[i].Name); all[i].inside {
			read[i] = all[i].arg
		}
	}
	return files, read
}

// onlyLogs are the flags that are about logs of requests.
var onlyLogs = []string{"server", "config", "metrics", "zone", "year", "strict", "client"}

// runEvidence diagnoses a server without a log of its requests. read are the names of the files that are read.
func runEvidence(cmd *cobra.Command, files []evidence.File, read []string, flags *diagnoseFlags) error {
	for _, name := range onlyLogs {
		if cmd.Flags().Changed(name) {
			return invalid(fmt.Errorf("--%s: is about the log of a server, and none of the files is one", name))
		}
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	var p paths
	p.read(read...)
	p.folder("--out: ", flags.out, incident.PageFile, incident.DiagnosisFile)
	var made atomicfile.Set
	defer made.Discard()
	if err := p.prepare(cmd, &made); err != nil {
		return err
	}
	d, err := evidence.Diagnose(ctx, files)
	if err != nil {
		return importError(ctx, err)
	}
	document := d.Document()
	if flags.out != "" {
		list := d.Files()
		if err := list.AddTo(&made, flags.out); err != nil {
			return err
		}
		if err := made.Commit(); err != nil {
			return err
		}
	} else {
		document.Next = "the same command with -v, or with -o DIR, which writes a page"
	}
	return writeDiagnosis(cmd, document, d.Verdict.Status, flags)
}

// askPrometheus diagnoses servers by the metrics that a Prometheus has of them.
func askPrometheus(cmd *cobra.Command, flags *diagnoseFlags) error {
	files, err := flags.ask(cmd, &evidence.Prometheus{}, flags.verbose)
	if err != nil {
		return err
	}
	return runEvidence(cmd, files, nil, flags)
}

// ask asks a Prometheus for the metrics of servers, from --from to --to or in the last hour.
func (f *importFlags) ask(cmd *cobra.Command, p *evidence.Prometheus, verbose bool) ([]evidence.File, error) {
	p.URL, p.To = f.prometheus, time.Now()
	var wrong []error
	parse := func(flag, text string, into *time.Time) {
		if text == "" {
			return
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("--%s: %q: want a time such as 2026-01-02T15:04:05Z", flag, format.Printable(text)))
		}
		*into = at
	}
	parse("to", f.to, &p.To)
	p.From = p.To.Add(-time.Hour)
	parse("from", f.from, &p.From)
	if len(wrong) > 0 {
		return nil, invalid(errors.Join(wrong...))
	}
	if verbose {
		p.Asked = func(query string) { fmt.Fprintln(cmd.ErrOrStderr(), "query: "+query) }
	}
	ctx, stop := interruptible(cmd)
	defer stop()
	files, err := p.Ask(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, importError(ctx, err)
	case err != nil:
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	return files, nil
}
