package output

import (
	"fmt"
	"path/filepath"
	"time"

	"apfsim/internal/atomicfile"
	"apfsim/reports/files"
	"apfsim/reports/observe"
	"apfsim/reports/openmetrics"
	"apfsim/reports/perfetto"
	"apfsim/reports/requestlog"
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

// openMetricsFile is OpenMetrics on its way into a file.
type openMetricsFile struct {
	*openmetrics.Recorder
	file *files.OutputFile
}

// CreateOpenMetrics begins a file of the metrics of a run of sc, as NewOpenMetrics makes them.
func CreateOpenMetrics(set *atomicfile.Set, path string, sc *scenario.Scenario, of observe.Levels, start time.Time, intervalNs int64) (Output, error) {
	file, err := files.Create(set, path)
	if err != nil {
		return nil, err
	}
	return &openMetricsFile{openmetrics.New(sc, of, start, intervalNs), file}, nil
}

// Err implements Output: nothing is written before the end.
func (*openMetricsFile) Err() error { return nil }

// Close implements Output.
func (f *openMetricsFile) Close() error { return f.file.Complete(f.Recorder.Write(f.file.Writer)) }

// Discard implements Output.
func (*openMetricsFile) Discard() {}

// eventsFile is Events on their way into a file.
type eventsFile struct {
	*perfetto.Recorder
	file *files.OutputFile
}

// CreateEvents begins a file of the events of a run of sc within a window, as NewEvents
// makes them.
func CreateEvents(set *atomicfile.Set, path string, sc *scenario.Scenario, of observe.Levels, fromNs, toNs int64) (Output, error) {
	file, err := files.Create(set, path)
	if err != nil {
		return nil, err
	}
	return &eventsFile{perfetto.New(file.Writer, sc, of, fromNs, toNs), file}, nil
}

// Close implements Output.
func (f *eventsFile) Close() error { return f.file.Complete(f.Recorder.Close()) }

// Discard implements Output.
func (*eventsFile) Discard() {}

// requestLogFile is a RequestLog on its way into a file.
type requestLogFile struct {
	*requestlog.Log
	file *files.OutputFile
}

// CreateRequestLog begins the request log of a run of sc below dir, in the folder named
// after the scenario.
func CreateRequestLog(set *atomicfile.Set, dir string, sc *scenario.Scenario) (Output, error) {
	folder := Folder(dir, sc.Metadata.Name)
	if err := set.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("making the folder for the request log: %w", err)
	}
	file, err := files.Create(set, filepath.Join(folder, RequestsFile))
	if err != nil {
		return nil, err
	}
	file.File.Unsynced()
	return &requestLogFile{requestlog.New(file.Writer, sc), file}, nil
}

// Close implements Output.
func (l *requestLogFile) Close() error { return l.file.Complete(l.Log.Close()) }

// Discard implements Output.
func (l *requestLogFile) Discard() { l.Log.Abandon() }
