package output

import (
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"apfsim/internal/atomicfile"
	"apfsim/reports/files"
	"apfsim/reports/openmetrics"
	"apfsim/reports/perfetto"
	"apfsim/reports/render"
	"apfsim/reports/requestlog"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Output is an observer that writes a file. The file belongs to an atomicfile.Set and is committed or removed
// together with the others. Either Close or Discard must be called after the run.
type Output interface {
	// Observer returns what the output observes of the run.
	Observer() server.Observer

	// Err returns the first error in writing. The run can be cancelled then.
	Err() error

	// Close writes the rest of the file. The error names the file.
	Close() error

	// Discard stops the writing. After Close it does nothing.
	Discard()
}

// Epoch is the date and time at which a run starts by default.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// openMetricsFile writes OpenMetrics to a file.
type openMetricsFile struct {
	openmetrics.Recorders
	file *files.OutputFile
}

// CreateOpenMetrics creates a file of the metrics of a run of sc.
func CreateOpenMetrics(set *atomicfile.Set, path string, sc *scenario.Scenario, servers []*server.Server, start time.Time, intervalNs int64) (Output, error) {
	file, err := files.Create(set, path)
	if err != nil {
		return nil, err
	}
	return &openMetricsFile{openmetrics.NewOfServers(sc, servers, start, intervalNs), file}, nil
}

// Err implements Output: nothing is written before the end.
func (*openMetricsFile) Err() error { return nil }

// Close implements Output.
func (f *openMetricsFile) Close() error { return f.file.Complete(f.Recorders.Write(f.file.Writer)) }

// Discard implements Output.
func (*openMetricsFile) Discard() {}

// eventsFile writes events to a file.
type eventsFile struct {
	*perfetto.Recorder
	file *files.OutputFile
}

// CreateEvents creates a file of the events of a run of sc between two times.
func CreateEvents(set *atomicfile.Set, path string, sc *scenario.Scenario, servers []*server.Server, fromNs, toNs int64) (Output, error) {
	file, err := files.Create(set, path)
	if err != nil {
		return nil, err
	}
	return &eventsFile{perfetto.NewOfServers(file.Writer, sc, servers, fromNs, toNs), file}, nil
}

// Close implements Output.
func (f *eventsFile) Close() error { return f.file.Complete(f.Recorder.Close()) }

// Discard implements Output.
func (*eventsFile) Discard() {}

// requestLogFile writes a request log to a file.
type requestLogFile struct {
	*requestlog.Log
	file *files.OutputFile
}

// CreateRequestLog creates the request log of a run of sc in its folder within dir.
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

// WriteFlows writes the statistics of all flows of a run of sc to its folder within dir.
func WriteFlows(set *atomicfile.Set, dir string, sc *scenario.Scenario, flows iter.Seq[*result.Flow]) error {
	folder := Folder(dir, sc.Metadata.Name)
	if err := set.MakeFolder(folder); err != nil {
		return fmt.Errorf("making the folder for the flows: %w", err)
	}
	file, err := files.Create(set, filepath.Join(folder, flowsFile))
	if err != nil {
		return err
	}
	return file.Complete(render.CSVFlows(file.Writer, flows))
}

// Close implements Output.
func (l *requestLogFile) Close() error { return l.file.Complete(l.Log.Close()) }

// Discard implements Output.
func (l *requestLogFile) Discard() { l.Log.Abandon() }
