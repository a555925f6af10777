package reports

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"apfsim/reports/whole"
	"apfsim/sim/scenario"
)

// File names within the folder of a scenario's results.
const (
	SummaryFile  = "summary.json"
	SeriesFile   = "series.csv"
	ReportFile   = "report.html"
	RequestsFile = "requests.jsonl"
	ChartsFolder = "charts"

	ReplicationsFile  = "replications.json"
	ReplicationsTable = "replications.csv"
	ComparisonFile    = "comparison.json"
	ComparisonTable   = "comparison.csv"
	ComparisonReport  = "comparison.html"
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
	return replaceFiles(Folder(dir, r.Summary.Name), files)
}

// WriteReplications writes what several runs of a scenario say together below dir, in the
// folder named after the scenario, in the manner of WriteDir.
func WriteReplications(dir string, r *Replications) error {
	var files fileList
	err := files.add(ReplicationsFile, func(w io.Writer) error { return WriteJSON(w, r) })
	if err == nil {
		err = files.add(ReplicationsTable, r.WriteCSV)
	}
	if err == nil {
		err = files.add(ReportFile, func(w io.Writer) error { return WriteReport(w, r.page()) })
	}
	if err != nil {
		return err
	}
	return replaceFiles(Folder(dir, r.Name), files)
}

// WriteComparison writes a comparison to the folder dir, in the manner of WriteDir.
func WriteComparison(dir string, c *Comparison) error {
	var files fileList
	err := files.add(ComparisonFile, func(w io.Writer) error { return WriteJSON(w, c) })
	if err == nil {
		err = files.add(ComparisonTable, c.writeCSV)
	}
	if err == nil {
		err = files.add(ComparisonReport, func(w io.Writer) error { return WriteReport(w, c.page()) })
	}
	if err != nil {
		return err
	}
	return writeFiles(dir, files)
}

// WriteBench writes both sides of a comparison to the folder dir, for benchstat.
func WriteBench(dir string, c *Comparison) error {
	var files fileList
	for _, head := range []bool{false, true} {
		name := map[bool]string{false: "base.txt", true: "head.txt"}[head]
		if err := files.add(name, func(w io.Writer) error { return c.writeBench(w, head) }); err != nil {
			return err
		}
	}
	return writeFiles(dir, files)
}

// replaceFiles writes the files and removes what an earlier run has left there besides.
func replaceFiles(folder string, files fileList) error {
	if err := writeFiles(folder, files); err != nil {
		return err
	}
	return removeStale(folder, files)
}

func writeFiles(folder string, files fileList) error {
	for _, f := range files {
		path := filepath.Join(folder, f.name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return fmt.Errorf("making the folder for the results: %w", err)
		}
		err := whole.WriteFile(path, f.data)
		if err != nil {
			return fmt.Errorf("%s could not be written and is left as it was: %w", path, err)
		}
	}
	return nil
}

// removeStale removes the files that an earlier run has left and this one does not have.
func removeStale(folder string, files fileList) error {
	current := map[string]bool{}
	for _, f := range files {
		current[f.name] = true
	}
	names := []string{SummaryFile, SeriesFile, ReportFile, ReplicationsFile, ReplicationsTable}
	for _, kind := range []string{"wait", "seats", "requests", "queues-*", "service-*"} {
		for _, format := range []string{".svg", ".png"} {
			names = append(names, filepath.Join(ChartsFolder, kind+format))
		}
	}
	for _, name := range names {
		found, err := fs.Glob(os.DirFS(folder), filepath.ToSlash(name))
		if err != nil {
			return err
		}
		for _, name := range found {
			if name = filepath.FromSlash(name); current[name] {
				continue
			}
			if err := os.Remove(filepath.Join(folder, name)); err != nil {
				return fmt.Errorf("removing a file of an earlier run: %w", err)
			}
		}
	}
	return nil
}

// fileList is files about to be written, the one that goes with all others last.
type fileList []file

func (l *fileList) add(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("making %s: %w", name, err)
	}
	*l = append(*l, file{name, b.Bytes()})
	return nil
}

func render(r *Result) (fileList, error) {
	var files fileList
	if err := files.add(SummaryFile, func(w io.Writer) error { return WriteJSON(w, r.Summary) }); err != nil {
		return nil, err
	}
	if err := files.add(SeriesFile, func(w io.Writer) error { return WriteSeries(w, r.Series) }); err != nil {
		return nil, err
	}
	for _, c := range Charts(r) {
		name := filepath.Join(ChartsFolder, c.Name)
		if err := files.add(name+".svg", c.WriteSVG); err != nil {
			return nil, err
		}
		if err := files.add(name+".png", c.WritePNG); err != nil {
			return nil, err
		}
	}
	// The report comes last: where it is, all it goes with is.
	err := files.add(ReportFile, func(w io.Writer) error { return WriteHTML(w, r) })
	return files, err
}

// RequestLogFile is a request log that takes its place only when it is complete.
type RequestLogFile struct {
	*RequestLog
	pending *whole.File
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
	pending, err := whole.Create(path)
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
		err = l.pending.CommitUnsynced()
	}
	if err != nil {
		l.Abandon()
		return fmt.Errorf("%s could not be written and is left as it was: %w", l.path, err)
	}
	return nil
}

// Abandon removes what has been written of the log. After Commit it does nothing.
func (l *RequestLogFile) Abandon() error {
	l.RequestLog.abandon()
	return l.pending.Abandon()
}
