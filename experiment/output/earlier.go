package output

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"apfsim/internal/atomicfile"
	"apfsim/reports/record"
	"apfsim/reports/report"
	"apfsim/reports/result"
)

// earlierFiles returns the files that certainly are of an earlier run of the scenario in its folder. There was such a
// run if the folder contains a summary or replications of the scenario that apfsim wrote. Its files are
// recognized by the names that the run gives them, which follow from the priority levels in the summary,
// and the request log and the dumps by their contents, as the summary does not mention them.
func earlierFiles(folder, name string) []string {
	var names []string
	for _, s := range readEarlier(folder, SummaryFile, name) {
		names = append(names, SummaryFile, SeriesFile, ReportFile)
		if len(s.Servers) > 0 {
			names = append(names, serversFile)
		}
		if s.Total.Clients != nil {
			names = append(names, clientsFile)
		}
		for _, chart := range s.ChartNames() {
			names = append(names, filepath.Join(ChartsFolder, chart+".svg"), filepath.Join(ChartsFolder, chart+".png"))
		}
		if line, ok := firstLine(filepath.Join(folder, flowsFile)); ok && string(line) == report.FlowHead {
			names = append(names, flowsFile)
		}
		if s.hasLog(filepath.Join(folder, RequestsFile)) {
			names = append(names, RequestsFile)
		}
		names = append(names, s.dumps(folder)...)
	}
	if len(readEarlier(folder, ReplicationsFile, name)) > 0 {
		names = append(names, ReplicationsFile, replicationsTable, ReportFile)
	}
	slices.Sort(names)
	var found []string
	for _, name := range slices.Compact(names) {
		path := filepath.Join(folder, name)
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
			found = append(found, path)
		}
	}
	return found
}

// EarlierRun is the part of summary.json and replications.json that determines the names of the other files.
type EarlierRun struct {
	SchemaVersion  string
	Name           string
	DurationNs     int64
	Workloads      []struct{ Name string }
	PriorityLevels []struct{ Name string }
	Servers        []struct{ Name string }
	Total          struct{ Clients *struct{} }
}

// readEarlier reads the file with the name base, and the temporary files that a run left which was killed while it
// committed this file.
func readEarlier(folder, base, name string) (all []EarlierRun) {
	paths := append(atomicfile.Unfinished(folder, base), filepath.Join(folder, base))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		var r EarlierRun
		if err := json.Unmarshal(text, &r); err == nil && r.SchemaVersion == result.SchemaVersion && r.Name == name {
			all = append(all, r)
		}
	}
	return all
}

// ChartNames returns the names of the charts that a run may have, without extension.
func (r *EarlierRun) ChartNames() []string {
	var levels []string
	for _, l := range r.PriorityLevels {
		levels = append(levels, l.Name)
	}
	return report.RunPictureNames(levels)
}

// hasLog says whether the first line of a file is that of a request log with one of the run's workloads.
func (r *EarlierRun) hasLog(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	var first struct {
		ID                         *int64
		Workload, Outcome, Verb    string
		ArrivalNs, Client, Attempt *int64
	}
	if line, ok := firstLine(path); !ok || json.Unmarshal(line, &first) != nil {
		return false
	}
	return first.ID != nil && first.ArrivalNs != nil && first.Client != nil && first.Attempt != nil && first.Outcome != "" &&
		slices.ContainsFunc(r.Workloads, func(w struct{ Name string }) bool { return w.Name == first.Workload })
}

// dumps returns the names of the dumps of the run: files with a time of the run in their path and the columns of
// dumps.
func (r *EarlierRun) dumps(folder string) (names []string) {
	moments, _ := os.ReadDir(filepath.Join(folder, record.DumpFolder))
	for _, moment := range moments {
		at, err := time.ParseDuration(moment.Name())
		if err != nil || at.String() != moment.Name() || at < 0 || int64(at) > r.DurationNs {
			continue
		}
		within := []string{""}
		for i := range r.Servers {
			within = append(within, record.DumpServerFolder(i))
		}
		for _, server := range within {
			for kind, d := range record.DumpKinds {
				name := filepath.Join(record.DumpFolder, moment.Name(), server, d.Name+".csv")
				if line, ok := firstLine(filepath.Join(folder, name)); ok && record.IsDumpHead(kind, splitColumns(line)) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func splitColumns(line []byte) []string {
	columns := strings.Split(string(line), ",")
	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
	}
	return columns
}

// firstLine returns the first line of a file, if it has one of a reasonable length.
func firstLine(path string) (line []byte, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 1<<20))
	lines.Buffer(nil, 1<<20)
	ok = lines.Scan()
	return lines.Bytes(), ok
}

// isOneOf says whether a file is the same as one of others, possibly under another path.
func isOneOf(path string, others []string) bool {
	info, err := os.Stat(path)
	return err == nil && slices.ContainsFunc(others, func(other string) bool {
		o, err := os.Stat(other)
		return err == nil && os.SameFile(info, o)
	})
}
