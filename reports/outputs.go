package reports

import (
	"bufio"
	"fmt"
	"path/filepath"
	"time"

	"apfsim/internal/atomicfile"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Output is an observer that makes a file of what it sees. The file is one of a atomicfile.Set: it takes
// its place, or is taken away, together with the others. Either Close or Discard must be called,
// after the run.
type Output interface {
	server.Observer

	// Err returns the first error that has come up in writing. There is no use in going on then.
	Err() error

	// Close writes what is left. The error says which file cannot be written.
	Close() error

	// Discard ends the writing. After Close it does nothing.
	Discard()
}

// Epoch is the time of day at which a run begins that is not told otherwise.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// outputFile is a file of a set that is written piece by piece.
type outputFile struct {
	*bufio.Writer
	file *atomicfile.File
}

func createOutput(set *atomicfile.Set, path string) (*outputFile, error) {
	if err := atomicfile.Replaceable(path); err != nil {
		return nil, err
	}
	file, err := set.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return &outputFile{bufio.NewWriterSize(file, 1<<16), file}, nil
}

// complete ends the file unless making it has failed.
func (f *outputFile) complete(err error) error {
	if err == nil {
		err = f.Flush()
	}
	if err != nil {
		return fmt.Errorf("%s could not be written and is left as it was: %w", f.file.Path(), err)
	}
	return nil
}

// openMetricsFile is OpenMetrics on its way into a file.
type openMetricsFile struct {
	*OpenMetrics
	file *outputFile
}

// CreateOpenMetrics begins a file of the metrics of a run of sc, as NewOpenMetrics makes them.
func CreateOpenMetrics(set *atomicfile.Set, path string, sc *scenario.Scenario, of Levels, start time.Time, intervalNs int64) (Output, error) {
	file, err := createOutput(set, path)
	if err != nil {
		return nil, err
	}
	return &openMetricsFile{NewOpenMetrics(sc, of, start, intervalNs), file}, nil
}

// Err implements Output: nothing is written before the end.
func (*openMetricsFile) Err() error { return nil }

// Close implements Output.
func (f *openMetricsFile) Close() error { return f.file.complete(f.OpenMetrics.Write(f.file.Writer)) }

// Discard implements Output.
func (*openMetricsFile) Discard() {}

// eventsFile is Events on their way into a file.
type eventsFile struct {
	*Events
	file *outputFile
}

// CreateEvents begins a file of the events of a run of sc within a window, as NewEvents
// makes them.
func CreateEvents(set *atomicfile.Set, path string, sc *scenario.Scenario, of Levels, fromNs, toNs int64) (Output, error) {
	file, err := createOutput(set, path)
	if err != nil {
		return nil, err
	}
	return &eventsFile{NewEvents(file.Writer, sc, of, fromNs, toNs), file}, nil
}

// Close implements Output.
func (f *eventsFile) Close() error { return f.file.complete(f.Events.Close()) }

// Discard implements Output.
func (*eventsFile) Discard() {}

// requestLogFile is a RequestLog on its way into a file.
type requestLogFile struct {
	*RequestLog
	file *outputFile
}

// CreateRequestLog begins the request log of a run of sc below dir, in the folder named
// after the scenario.
func CreateRequestLog(set *atomicfile.Set, dir string, sc *scenario.Scenario) (Output, error) {
	folder := Folder(dir, sc.Metadata.Name)
	if err := set.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("making the folder for the request log: %w", err)
	}
	file, err := createOutput(set, filepath.Join(folder, RequestsFile))
	if err != nil {
		return nil, err
	}
	file.file.Unsynced()
	return &requestLogFile{NewRequestLog(file.Writer, sc), file}, nil
}

// Close implements Output.
func (l *requestLogFile) Close() error { return l.file.complete(l.RequestLog.Close()) }

// Discard implements Output.
func (l *requestLogFile) Discard() { l.RequestLog.abandon() }
