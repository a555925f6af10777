package reports

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"apfsim/sim/scenario"

	"github.com/google/renameio/v2"
)

// File names within the folder of a scenario's results.
const (
	SummaryFile  = "summary.json"
	SeriesFile   = "series.csv"
	ReportFile   = "report.html"
	RequestsFile = "requests.jsonl"
	ChartsFolder = "charts"
)

// Folder returns where the results of the scenario called name go below dir.
func Folder(dir, name string) string { return filepath.Join(dir, fileName(name)) }

// file is a file that is about to be written.
type file struct {
	name string // below the scenario's folder
	data []byte
}

// WriteDir writes summary, series, charts and report of a run below dir, in the folder
// named after the scenario. Every file is written whole or left as it was; an error says
// which one it was. Nothing is written before all files have been made.
func WriteDir(dir string, r *Result) error {
	files, err := render(r)
	if err != nil {
		return err
	}
	folder := Folder(dir, r.Summary.Name)
	if err := os.MkdirAll(filepath.Join(folder, ChartsFolder), 0o777); err != nil {
		return fmt.Errorf("making the folder for the results: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(folder, f.name)
		err := renameio.WriteFile(path, f.data, 0o666, renameio.WithTempDir(filepath.Dir(path)))
		if err != nil {
			return fmt.Errorf("%s could not be written and is left as it was: %w", path, err)
		}
	}
	return removeStale(filepath.Join(folder, ChartsFolder), files)
}

// removeStale removes the charts that an earlier run has left and this one does not have.
func removeStale(folder string, files []file) error {
	current := map[string]bool{}
	for _, f := range files {
		current[filepath.Base(f.name)] = true
	}
	for _, kind := range []string{"wait", "seats", "requests", "queues-*", "service-*"} {
		for _, format := range []string{".svg", ".png"} {
			found, err := filepath.Glob(filepath.Join(folder, kind+format))
			if err != nil {
				return err
			}
			for _, path := range found {
				if current[filepath.Base(path)] {
					continue
				}
				if err := os.Remove(path); err != nil {
					return fmt.Errorf("removing a chart of an earlier run: %w", err)
				}
			}
		}
	}
	return nil
}

func render(r *Result) ([]file, error) {
	var files []file
	add := func(name string, write func(io.Writer) error) error {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			return fmt.Errorf("making %s: %w", name, err)
		}
		files = append(files, file{name, b.Bytes()})
		return nil
	}
	if err := add(SummaryFile, func(w io.Writer) error { return WriteJSON(w, r.Summary) }); err != nil {
		return nil, err
	}
	if err := add(SeriesFile, func(w io.Writer) error { return WriteSeries(w, r.Series) }); err != nil {
		return nil, err
	}
	charts := Charts(r)
	for _, c := range charts {
		name := filepath.Join(ChartsFolder, c.Name)
		if err := add(name+".svg", c.WriteSVG); err != nil {
			return nil, err
		}
		if err := add(name+".png", c.WritePNG); err != nil {
			return nil, err
		}
	}
	// The report comes last: where it is, all it goes with is.
	err := add(ReportFile, func(w io.Writer) error { return WriteHTML(w, r, charts) })
	return files, err
}

// RequestLogFile is a request log that takes its place only when it is complete.
type RequestLogFile struct {
	*RequestLog
	pending *os.File // nil once it has taken its place or is gone
	path    string
}

// CreateRequestLog begins the request log of a run of sc below dir, in the folder named
// after the scenario. Either Commit or Abandon must be called.
func CreateRequestLog(dir string, sc *scenario.Scenario) (*RequestLogFile, error) {
	folder := Folder(dir, sc.Metadata.Name)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("making the folder for the request log: %w", err)
	}
	path := filepath.Join(folder, RequestsFile)
	// Unlike renameio's, this file is not synced before it takes its place: for gigabytes,
	// that would take longer than the run.
	pending, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf(".%s-%d", RequestsFile, os.Getpid())), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return &RequestLogFile{NewRequestLog(pending, sc), pending, path}, nil
}

// Commit completes the log and puts it into its place. When it fails, what was there
// before is still there.
func (l *RequestLogFile) Commit() error {
	err := l.RequestLog.Close()
	if err == nil {
		err = l.pending.Close()
	}
	if err == nil {
		err = os.Rename(l.pending.Name(), l.path)
	}
	if err != nil {
		l.Abandon()
		return fmt.Errorf("%s could not be written and is left as it was: %w", l.path, err)
	}
	l.pending = nil
	return nil
}

// Abandon removes what has been written of the log. After Commit it does nothing.
func (l *RequestLogFile) Abandon() error {
	if l.pending == nil {
		return nil
	}
	l.RequestLog.abandon()
	l.pending.Close() // it may be closed already
	err := os.Remove(l.pending.Name())
	l.pending = nil
	return err
}
