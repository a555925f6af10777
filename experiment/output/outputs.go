package output

import (
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"apfsim/internal/atomicfile"
	"apfsim/reports/files"
	"apfsim/reports/record"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
)

// Epoch is the date and time at which a run starts by default.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// recordedFile is a recorder with its file. The file belongs to an atomicfile.Set and is committed or removed together
// with the others.
type recordedFile struct {
	record.Recorder
	file *files.OutputFile
}

// Close implements record.Recorder. The error names the file.
func (f *recordedFile) Close() error { return f.file.Complete(f.Recorder.Close()) }

// CreateOpenMetrics creates a file of the metrics of a run of sc.
func CreateOpenMetrics(set *atomicfile.Set, path string, sc *scenario.Scenario, servers []*server.Server, start time.Time, intervalNs int64) (record.Recorder, error) {
	file, err := files.Create(set, path)
	if err != nil {
		return nil, err
	}
	return &recordedFile{record.NewOpenMetrics(file.Writer, sc, servers, start, intervalNs), file}, nil
}

// CreateEvents creates a file of the events of a run of sc between two times.
func CreateEvents(set *atomicfile.Set, path string, sc *scenario.Scenario, servers []*server.Server, fromNs, toNs int64) (record.Recorder, error) {
	file, err := files.Create(set, path)
	if err != nil {
		return nil, err
	}
	return &recordedFile{record.NewPerfetto(file.Writer, sc, servers, fromNs, toNs), file}, nil
}

// CreateRequestLog creates the request log of a run of sc in its folder within dir.
func CreateRequestLog(set *atomicfile.Set, dir string, sc *scenario.Scenario) (record.Recorder, error) {
	folder := Folder(dir, sc.Metadata.Name)
	if err := set.MakeFolder(folder); err != nil {
		return nil, fmt.Errorf("making the folder for the request log: %w", err)
	}
	file, err := files.Create(set, filepath.Join(folder, RequestsFile))
	if err != nil {
		return nil, err
	}
	file.File.Unsynced()
	return &recordedFile{record.NewRequestLog(file.Writer, sc), file}, nil
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
	return file.Complete(render.CSVRecords(file.Writer, report.FlowRecords(flows)))
}
