// Package output writes and reads folders of results: of a run, of replications, of a comparison, and of a sweep.
// All files of a result are committed together.
package output

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"apfsim/internal/atomicfile"
	"apfsim/reports/charts"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/record"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// File names within the folder of a scenario's results.
const (
	SummaryFile  = "summary.json"
	SeriesFile   = report.SeriesRecords + ".csv"
	serversFile  = report.ServersRecords + ".csv"
	clientsFile  = report.ClientsRecords + ".csv"
	flowsFile    = report.FlowsRecords + ".csv"
	ReportFile   = "report.html"
	RequestsFile = "requests.jsonl"
	ChartsFolder = "charts"

	ReplicationsFile  = "replications.json"
	replicationsTable = "replications.csv"
	comparisonFile    = "comparison.json"
	comparisonTable   = "comparison.csv"
	ComparisonReport  = "comparison.html"

	benchBase = "base.txt"
	benchHead = "head.txt"
)

// Written has the names of the files that results write to their folders. A name that ends with a slash
// stands for all files in that folder. A run writes those of Run, and RequestsFile, Flows and Dumps if they
// are asked for.
var Written = struct{ Run, Flows, Dumps, Comparison, Bench, Sweep []string }{
	Run: []string{SummaryFile, SeriesFile, serversFile, clientsFile, ReportFile, ChartsFolder + "/",
		ReplicationsFile, replicationsTable},
	Flows:      []string{flowsFile},
	Dumps:      []string{record.DumpFolder + "/"},
	Comparison: []string{comparisonFile, comparisonTable, ComparisonReport},
	Bench:      []string{benchBase, benchHead},
	Sweep:      []string{report.SweepFile, report.SweepResultsFile, report.SweepSummaryFile, report.SweepVerdictFile, report.SweepRunsFolder + "/", ChartsFolder + "/", ReportFile},
}

// Folder returns the folder of the results of a scenario within dir.
func Folder(dir, name string) string { return filepath.Join(dir, files.Name(name)) }

// WriteRun writes the tables, charts, report and summary of a run, and its dumps, to the folder DIR/NAME of its
// scenario. It commits them together with the files in set, such as the request log, and removes the files of an earlier
// run from the folder, except for inputs, which are files that the runs of this command read. If it returns an error,
// nothing is changed. It returns the report, for those who print it.
func WriteRun(set *atomicfile.Set, dir string, r *result.Result, dumps record.Dumps, inputs []string) (*report.Document, error) {
	d := report.RunDocument(r)
	files := dumps.Files()
	addTables(&files, d)
	for _, c := range charts.Of(d) {
		addChart(&files, c)
	}
	files.Add(ReportFile, func(w io.Writer) error { return render.HTML(w, d) })
	// The summary is written last: if it exists, all other files exist.
	files.Add(SummaryFile, func(w io.Writer) error { return render.JSON(w, d, format.TextOptions{}) })
	return d.Printed(), replaceFiles(set, dir, d.Name, files, inputs)
}

// WriteReplications writes the report of several runs to the folder DIR/NAME of their scenario, in the same way as
// WriteRun.
func WriteReplications(dir, name string, d *report.Document, inputs []string) error {
	var files files.List
	addTables(&files, d)
	files.Add(ReportFile, func(w io.Writer) error { return render.HTML(w, d) })
	files.Add(ReplicationsFile, func(w io.Writer) error { return render.JSON(w, d, format.TextOptions{}) })
	var set atomicfile.Set
	return errors.Join(replaceFiles(&set, dir, name, files, inputs), set.Discard())
}

// WriteComparison writes the files of a comparison to the folder dir: either all or none. Those of a comparison of several
// values, and of runs beside a server, have the same names.
func WriteComparison(dir string, d *report.Document) error {
	var list files.List
	addTables(&list, d)
	list.Add(ComparisonReport, func(w io.Writer) error { return render.HTML(w, d) })
	list.Add(comparisonFile, func(w io.Writer) error { return render.JSON(w, d, format.TextOptions{}) })
	return files.Write(dir, list)
}

// WriteBench writes the files of both sides of a comparison for benchstat to the folder dir: either both or none.
func WriteBench(dir string, d *report.Document) error {
	var list files.List
	list.Add(benchBase, func(w io.Writer) error { return render.Benchstat(w, d, 0) })
	list.Add(benchHead, func(w io.Writer) error { return render.Benchstat(w, d, 1) })
	return files.Write(dir, list)
}

// replaceFiles commits the set together with the files in the folder of the results of a scenario, and removes the
// other files of an earlier run from it.
func replaceFiles(set *atomicfile.Set, dir, name string, files files.List, inputs []string) error {
	folder := Folder(dir, name)
	earlier := earlierFiles(folder, name) // before files of this run are created
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
	for _, path := range stale { // remove their folders, too, if they are empty
		for dir := filepath.Dir(path); len(dir) > len(folder) && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
	}
	return nil
}

// addTables adds a file for each table for programs of a document.
func addTables(l *files.List, d *report.Document) {
	for _, t := range d.Records {
		l.Add(t.Name+".csv", func(w io.Writer) error { return render.CSVRecords(w, t) })
	}
}

func addChart(l *files.List, c *charts.Chart) {
	name := filepath.Join(ChartsFolder, c.Name)
	l.Add(name+".svg", c.WriteSVG)
	l.Add(name+".png", c.WritePNG)
}
