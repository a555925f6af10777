package reports

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"apfsim/reports/whole"
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
// named after the scenario, and its dumps unless they are nil. Every file is written whole
// or left as it was; an error says which one it was. Nothing is written before all files
// have been made.
func WriteDir(dir string, r *Result, dumps *Dumps) error {
	var files fileList
	if dumps != nil {
		files = dumps.files
	}
	files.add(SummaryFile, func(w io.Writer) error { return WriteJSON(w, r.Summary) })
	files.add(SeriesFile, func(w io.Writer) error { return WriteSeries(w, r.Series) })
	for _, c := range Charts(r) {
		files.addChart(c)
	}
	// The report comes last: where it is, all it goes with is.
	files.add(ReportFile, func(w io.Writer) error { return WriteHTML(w, r) })
	return replaceFiles(Folder(dir, r.Summary.Name), files)
}

// WriteReplications writes what several runs of a scenario say together below dir, in the
// folder named after the scenario, in the manner of WriteDir.
func WriteReplications(dir string, r *Replications) error {
	var files fileList
	files.add(ReplicationsFile, func(w io.Writer) error { return WriteJSON(w, r) })
	files.add(ReplicationsTable, r.WriteCSV)
	files.add(ReportFile, func(w io.Writer) error { return WriteReport(w, r.page()) })
	return replaceFiles(Folder(dir, r.Name), files)
}

// WriteComparison writes a comparison to the folder dir, in the manner of WriteDir.
func WriteComparison(dir string, c *Comparison) error {
	var files fileList
	files.add(ComparisonFile, func(w io.Writer) error { return WriteJSON(w, c) })
	files.add(ComparisonTable, c.writeCSV)
	files.add(ComparisonReport, func(w io.Writer) error { return WriteReport(w, c.page()) })
	return writeFiles(dir, files)
}

// WriteBench writes both sides of a comparison to the folder dir, for benchstat.
func WriteBench(dir string, c *Comparison) error {
	var files fileList
	files.add("base.txt", func(w io.Writer) error { return c.writeBench(w, false) })
	files.add("head.txt", func(w io.Writer) error { return c.writeBench(w, true) })
	return writeFiles(dir, files)
}

// replaceFiles writes the files and removes what an earlier run has left there besides.
func replaceFiles(folder string, files fileList) error {
	if err := writeFiles(folder, files); err != nil {
		return err
	}
	return removeStale(folder, files)
}

// writeFiles writes the files, none if making one of them has failed.
func writeFiles(folder string, files fileList) error {
	if files.err != nil {
		return files.err
	}
	tidied := ""
	for _, f := range files.files {
		path := filepath.Join(folder, f.name)
		if dir := filepath.Dir(path); dir != tidied {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return fmt.Errorf("making the folder for the results: %w", err)
			}
			whole.RemoveForgotten(dir)
			tidied = dir
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
	for _, f := range files.files {
		current[f.name] = true
	}
	names := []string{SummaryFile, SeriesFile, ReportFile, ReplicationsFile, ReplicationsTable, filepath.Join(DumpsFolder, "*", "dump_*.csv")}
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
			if moment := filepath.Dir(name); filepath.Dir(moment) == DumpsFolder {
				os.Remove(filepath.Join(folder, moment)) // once it is empty
			}
		}
	}
	os.Remove(filepath.Join(folder, DumpsFolder)) // if it is empty
	return nil
}

// fileList is files about to be written, the one that goes with all others last.
type fileList struct {
	files []file
	err   error // the first in making one
}

// add makes a file, unless making one before has failed.
func (l *fileList) add(name string, write func(io.Writer) error) {
	if l.err != nil {
		return
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		l.err = fmt.Errorf("making %s: %w", name, err)
		return
	}
	l.files = append(l.files, file{name, b.Bytes()})
}

func (l *fileList) addChart(c *Chart) {
	name := filepath.Join(ChartsFolder, c.Name)
	l.add(name+".svg", c.WriteSVG)
	l.add(name+".png", c.WritePNG)
}
