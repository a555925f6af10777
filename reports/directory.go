package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"apfsim/internal/atomicfile"
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

// WriteDir commits a set of files of a run, such as its request log, together with its summary,
// series, charts and report, and its dumps unless they are nil. These go below dir, to the folder
// named after the scenario, from which the files of an earlier run are removed at the same time but
// for those that are among inputs: what the command's runs read. Either all of this is done or, with an error
// that says why, none.
func WriteDir(set *atomicfile.Set, dir string, r *Result, dumps *Dumps, inputs []string) error {
	var files fileList
	if dumps != nil {
		files = dumps.files
	}
	files.add(SeriesFile, func(w io.Writer) error { return WriteSeries(w, r) })
	for _, c := range Charts(r) {
		files.addChart(c)
	}
	files.add(ReportFile, func(w io.Writer) error { return WriteHTML(w, r) })
	// The summary comes last: where it is, all it goes with is.
	files.add(SummaryFile, func(w io.Writer) error { return WriteJSON(w, r.Summary) })
	return replaceFiles(set, dir, r.Summary.Name, files, inputs)
}

// WriteReplications writes what several runs of a scenario say together below dir, in the
// folder named after the scenario, in the manner of WriteDir.
func WriteReplications(dir string, r *Replications, inputs []string) error {
	var files fileList
	files.add(ReplicationsTable, func(w io.Writer) error { return r.WriteCSV(w) })
	files.add(ReportFile, func(w io.Writer) error { return WriteReport(w, r.page()) })
	files.add(ReplicationsFile, func(w io.Writer) error { return WriteJSON(w, r) })
	var set atomicfile.Set
	return errors.Join(replaceFiles(&set, dir, r.Name, files, inputs), set.Discard())
}

// WriteComparison writes a comparison to the folder dir: all of its files, or none.
func WriteComparison(dir string, c *Comparison) error {
	var files fileList
	files.add(ComparisonTable, func(w io.Writer) error { return c.writeCSV(w) })
	files.add(ComparisonReport, func(w io.Writer) error { return WriteReport(w, c.page()) })
	files.add(ComparisonFile, func(w io.Writer) error { return WriteJSON(w, c) })
	return writeFiles(dir, files)
}

// WriteBench writes both sides of a comparison to the folder dir, for benchstat: both files, or none.
func WriteBench(dir string, c *Comparison) error {
	var files fileList
	files.add("base.txt", func(w io.Writer) error { return c.writeBench(w, false) })
	files.add("head.txt", func(w io.Writer) error { return c.writeBench(w, true) })
	return writeFiles(dir, files)
}

// replaceFiles commits a set together with files in the folder of the results of a scenario, and
// removes what an earlier run has left there besides.
func replaceFiles(set *atomicfile.Set, dir, name string, files fileList, inputs []string) error {
	folder := Folder(dir, name)
	earlier := earlierFiles(folder, name) // before there is anything of this run's
	if err := files.addTo(set, folder); err != nil {
		return err
	}
	current := map[string]bool{}
	for _, f := range set.Files() {
		current[filepath.Clean(f.Path())] = true
	}
	var stale []string
	for _, path := range earlier {
		if !current[path] && !isOneOf(path, inputs) {
			stale = append(stale, path)
			set.Remove(path)
		}
	}
	if err := set.Commit(); err != nil {
		return err
	}
	for _, path := range stale { // their folders go with them, once they are empty
		for dir := filepath.Dir(path); len(dir) > len(folder) && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
	}
	return nil
}

// writeFiles writes the files, none if making or writing one of them fails.
func writeFiles(folder string, files fileList) error {
	var set atomicfile.Set
	err := files.addTo(&set, folder)
	if err == nil {
		err = set.Commit()
	}
	return errors.Join(err, set.Discard())
}

// addTo adds the files to a set.
func (l *fileList) addTo(set *atomicfile.Set, folder string) error {
	if l.err != nil {
		return l.err
	}
	for _, f := range l.files {
		path := filepath.Join(folder, f.name)
		if err := set.MakeFolder(filepath.Dir(path)); err != nil {
			return fmt.Errorf("making the folder for the results: %w", err)
		}
		if err := set.Write(path, f.data); err != nil {
			return fmt.Errorf("%s could not be written and is left as it was: %w", path, err)
		}
	}
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
	l.files = append(l.files, file{name: name, data: b.Bytes()})
}

func (l *fileList) addChart(c *Chart) {
	name := filepath.Join(ChartsFolder, c.Name)
	l.add(name+".svg", c.WriteSVG)
	l.add(name+".png", c.WritePNG)
}
