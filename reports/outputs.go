package reports

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"apfsim/reports/whole"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Output is an observer that makes files of what it sees. Either Commit or Abandon must be
// called, after the run.
type Output interface {
	server.Observer

	// Err returns the first error that has come up in writing. There is no use in going on then.
	Err() error

	// Commit completes the files and puts them into their places. When it fails, what was
	// there before is still there.
	Commit() error

	// Abandon removes what has been written. After Commit it does nothing.
	Abandon() error
}

// Epoch is the time of day at which a run begins that is not told otherwise.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// wholeFile is a file that takes its place only when it is complete.
type wholeFile struct {
	*bufio.Writer
	pending *whole.File
	path    string
}

func createWhole(path string) (*wholeFile, error) {
	if err := whole.Replaceable(path); err != nil {
		return nil, err
	}
	pending, err := whole.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return &wholeFile{bufio.NewWriterSize(pending, 1<<16), pending, path}, nil
}

// commit puts the file into its place unless making it has failed.
func (f *wholeFile) commit(err error) error { return f.commitBy(f.pending.Commit, err) }

// commitBy is commit with a way to put the file into its place: one of f.pending's.
func (f *wholeFile) commitBy(put func() error, err error) error {
	if err == nil {
		err = f.Flush()
	}
	if err == nil {
		err = put()
	}
	if err != nil {
		f.pending.Abandon()
		return fmt.Errorf("%s could not be written and is left as it was: %w", f.path, err)
	}
	return nil
}

// Abandon implements Output.
func (f *wholeFile) Abandon() error { return f.pending.Abandon() }

// openMetricsFile is OpenMetrics on its way into a file.
type openMetricsFile struct {
	*OpenMetrics
	*wholeFile
}

// CreateOpenMetrics begins a file of the metrics of a run of sc, as NewOpenMetrics makes them.
func CreateOpenMetrics(path string, sc *scenario.Scenario, of Levels, start time.Time, intervalNs int64) (Output, error) {
	file, err := createWhole(path)
	if err != nil {
		return nil, err
	}
	return &openMetricsFile{NewOpenMetrics(sc, of, start, intervalNs), file}, nil
}

// Err implements Output: nothing is written before the end.
func (*openMetricsFile) Err() error { return nil }

// Commit implements Output.
func (f *openMetricsFile) Commit() error { return f.commit(f.OpenMetrics.Write(f.Writer)) }

// eventsFile is Events on their way into a file.
type eventsFile struct {
	*Events
	*wholeFile
}

// CreateEvents begins a file of the events of a run of sc within a window, as NewEvents
// makes them.
func CreateEvents(path string, sc *scenario.Scenario, of Levels, fromNs, toNs int64) (Output, error) {
	file, err := createWhole(path)
	if err != nil {
		return nil, err
	}
	return &eventsFile{NewEvents(file.Writer, sc, of, fromNs, toNs), file}, nil
}

// Commit implements Output.
func (f *eventsFile) Commit() error { return f.commit(f.Events.Close()) }

// RequestLogFile is a RequestLog on its way into a file.
type RequestLogFile struct {
	*RequestLog
	*wholeFile
}

// CreateRequestLog begins the request log of a run of sc below dir, in the folder named
// after the scenario.
func CreateRequestLog(dir string, sc *scenario.Scenario) (*RequestLogFile, error) {
	folder := Folder(dir, sc.Metadata.Name)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("making the folder for the request log: %w", err)
	}
	file, err := createWhole(filepath.Join(folder, RequestsFile))
	if err != nil {
		return nil, err
	}
	return &RequestLogFile{NewRequestLog(file.Writer, sc), file}, nil
}

// Commit implements Output.
func (l *RequestLogFile) Commit() error {
	return l.commitBy(l.pending.CommitUnsynced, l.RequestLog.Close())
}

// Abandon implements Output.
func (l *RequestLogFile) Abandon() error {
	l.RequestLog.abandon()
	return l.wholeFile.Abandon()
}
