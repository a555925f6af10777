// Package output writes and reads the folders of results.
package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"apfsim/internal/atomicfile"
	"apfsim/reports/benchstat"
	"apfsim/reports/charts"
	"apfsim/reports/compare"
	"apfsim/reports/csvfile"
	"apfsim/reports/dumps"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/page"
	"apfsim/reports/replicate"
	"apfsim/reports/result"
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
func Folder(dir, name string) string { return filepath.Join(dir, files.Name(name)) }

// WriteRun commits a set of files of a run, such as its request log, together with its summary,
// series, charts and report, and its dumps unless they are nil. These go below dir, to the folder
// named after the scenario, from which the files of an earlier run are removed at the same time but
// for those that are among inputs: what the command's runs read. Either all of this is done or, with an error
// that says why, none.
func WriteRun(set *atomicfile.Set, dir string, r *result.Result, dumps *dumps.Recorder, inputs []string) error {
	var files files.List
	if dumps != nil {
		files = dumps.Files
	}
	files.Add(SeriesFile, func(w io.Writer) error { return csvfile.WriteSeries(w, r) })
	for _, c := range charts.Run(r) {
		addChart(&files, c)
	}
	files.Add(ReportFile, func(w io.Writer) error { return page.WriteRun(w, r) })
	// The summary comes last: where it is, all it goes with is.
	files.Add(SummaryFile, func(w io.Writer) error { return format.WriteJSON(w, r.Summary) })
	return replaceFiles(set, dir, r.Summary.Name, files, inputs)
}

// WriteReplications writes what several runs of a scenario say together below dir, in the
// folder named after the scenario, in the manner of WriteRun.
func WriteReplications(dir string, r *replicate.Replications, inputs []string) error {
	var files files.List
	files.Add(ReplicationsTable, func(w io.Writer) error { return csvfile.WriteReplications(w, r) })
	files.Add(ReportFile, func(w io.Writer) error { return page.Write(w, page.Replications(r)) })
	files.Add(ReplicationsFile, func(w io.Writer) error { return format.WriteJSON(w, r) })
	var set atomicfile.Set
	return errors.Join(replaceFiles(&set, dir, r.Name, files, inputs), set.Discard())
}

// WriteComparison writes a comparison to the folder dir: all of its files, or none.
func WriteComparison(dir string, c *compare.Comparison) error {
	var list files.List
	list.Add(ComparisonTable, func(w io.Writer) error { return csvfile.WriteComparison(w, c) })
	list.Add(ComparisonReport, func(w io.Writer) error { return page.Write(w, page.Comparison(c)) })
	list.Add(ComparisonFile, func(w io.Writer) error { return format.WriteJSON(w, c) })
	return files.Write(dir, list)
}

// WriteBench writes both sides of a comparison to the folder dir, for benchstat: both files, or none.
func WriteBench(dir string, c *compare.Comparison) error {
	var list files.List
	list.Add("base.txt", func(w io.Writer) error { return benchstat.Write(c, w, false) })
	list.Add("head.txt", func(w io.Writer) error { return benchstat.Write(c, w, true) })
	return files.Write(dir, list)
}

// replaceFiles commits a set together with files in the folder of the results of a scenario, and
// removes what an earlier run has left there besides.
func replaceFiles(set *atomicfile.Set, dir, name string, files files.List, inputs []string) error {
	folder := Folder(dir, name)
	earlier := earlierFiles(folder, name) // before there is anything of this run's
	if err := files.AddTo(set, folder); err != nil {
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

func addChart(l *files.List, c *charts.Chart) {
	name := filepath.Join(ChartsFolder, c.Name)
	l.Add(name+".svg", c.WriteSVG)
	l.Add(name+".png", c.WritePNG)
}
