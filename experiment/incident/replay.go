package incident

import (
	"bytes"
	"context"
	"io/fs"
	"time"

	"apfsim/reports/collect"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario"
	"apfsim/sim/scenario/loader"
)

// replayFiles are the files of an import that are not in their folder yet.
type replayFiles struct {
	texts map[string][]byte
	trace folder
}

// Open implements fs.FS.
func (f *replayFiles) Open(name string) (fs.File, error) {
	if name == TraceFile {
		return f.trace.open()
	}
	text, ok := f.texts[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &textFile{bytes.NewReader(text), name}, nil
}

// textFile is a text that is read as a file.
type textFile struct {
	*bytes.Reader
	name string
}

// Close implements fs.File.
func (f *textFile) Close() error { return nil }

// Stat implements fs.File.
func (f *textFile) Stat() (fs.FileInfo, error) { return f, nil }

// These methods implement fs.FileInfo.

func (f *textFile) Name() string       { return f.name }
func (f *textFile) Mode() fs.FileMode  { return 0o444 }
func (f *textFile) ModTime() time.Time { return time.Time{} }
func (f *textFile) IsDir() bool        { return false }
func (f *textFile) Sys() any           { return nil }

// load loads the scenario of the import.
func (f *replayFiles) load(text string) (*scenario.Scenario, error) {
	f.texts[ScenarioFile] = []byte(text)
	loaded, errs := loader.Load(f, ScenarioFile, loader.Options{})
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return loaded[0], nil
}

// Load loads a scenario, ScenarioFile, of files that are in memory.
func Load(texts map[string][]byte) (*scenario.Scenario, error) {
	return (&replayFiles{texts: texts}).load(string(texts[ScenarioFile]))
}

// replay runs a scenario of the import. The summary compares it with the log.
func replay(ctx context.Context, sc *scenario.Scenario, progress format.Progress) (*result.Result, error) {
	run := sim.New(sc)
	measurement := collect.Measure(run, result.Interval(int64(sc.Spec.Duration)))
	all := max(1, int(int64(sc.Spec.Duration)/second))
	if err := run.Execute(ctx, func(nowNs int64, _ uint64) { progress.Report(int(nowNs/second), all) }); err != nil {
		return nil, err
	}
	r := measurement.Result()
	judge.Verdict(r)
	return r, nil
}
