package output

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"apfsim/internal/atomicfile"
	"apfsim/internal/input"
	"apfsim/reports/charts"
	"apfsim/reports/compare"
	"apfsim/reports/files"
	"apfsim/reports/format"
	"apfsim/reports/measure"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// ReadSweep reads the description of the sweep in a folder. The error is fs.ErrNotExist if there is none.
func ReadSweep(dir string) (*report.Sweep, error) {
	path := filepath.Join(dir, report.SweepFile)
	text, err := input.ReadFile(path, longestResult)
	if err != nil {
		return nil, err
	}
	var s report.Sweep
	if err := decodeResults(text, &s, &s.SchemaVersion); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := CheckSweep(&s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &s, nil
}

// CheckSweep returns what is wrong with a sweep that was read from a file.
func CheckSweep(s *report.Sweep) error {
	points := 1
	for i := range s.Parameters {
		n := len(s.Parameters[i].Values)
		if n == 0 || n > report.MaxSweepRuns/points {
			return fmt.Errorf("parameters[%d].values: %d values; want from 1 value to %d points", i, n, report.MaxSweepRuns)
		}
		points *= n
	}
	if s.Replications < 1 || s.Replications > report.MaxSweepRuns/points {
		return fmt.Errorf("replications: %d: want from 1 to %d, for %d %s", s.Replications, report.MaxSweepRuns/points, points, format.Plural(points, "point"))
	}
	for i, name := range s.Charts {
		if _, err := metric.ParseName(name); err != nil {
			return fmt.Errorf("charts[%d]: %w", i, err)
		}
	}
	return nil
}

// BeginSweep writes the description of the sweep to the folder dir, which may contain runs of the same sweep
// that was interrupted. The statistics that are shown may differ from those of the earlier one. The error
// wraps sweep.ErrDifferentSweep if the folder contains another sweep.
func BeginSweep(s *report.Sweep, dir string) error {
	there, err := ReadSweep(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if different := s.Differences(there, dir); len(different) > 0 {
			return fmt.Errorf("%s: %w; use the arguments with which it was started, or another folder\n%s",
				dir, report.ErrDifferentSweep, strings.Join(different, "\n"))
		}
		if slices.Equal(s.Charts, there.Charts) {
			return nil
		}
		if err := removeCharts(there, dir); err != nil {
			return err
		}
	}
	var list files.List
	list.Add(report.SweepFile, func(w io.Writer) error { return format.WriteJSON(w, s) })
	return files.Write(dir, list)
}

// SweepRunFile returns the name of a run's file.
func SweepRunFile(s *report.Sweep, run int) string {
	point, seed := s.PointOf(run)
	return filepath.Join(report.SweepRunsFolder, fmt.Sprintf("point-%0*d-seed-%d.csv", len(strconv.Itoa(s.Points())), point+1, seed))
}

// columns returns the columns of results.csv and of the file of each run.
func columns(s *report.Sweep) []string {
	return append(s.Paths(), "seed", "statistic", "value", "unit")
}

// sumRow is in the last row of a run's file in the place of the statistic. The value of this row is the
// SHA-256 sum of all rows above it.
const sumRow = "sha256"

// sumOfText returns the SHA-256 sum in hexadecimal digits.
func sumOfText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// histogramRow is in the place of the statistic in the rows of a run's file that have a histogram as their value.
const histogramRow = "histogram"

// durationsOfPart is the value of such a row: the durations of one kind of the requests of a part.
type durationsOfPart struct {
	Workload, FlowSchema, PriorityLevel string
	Server                              int
	Timing                              measure.Timing
	Counts                              [][2]int64 // a duration in nanoseconds, and how many requests have it, in ascending order
	Batches                             measure.Batches
}

// newHistogramRow returns a histogram of a part. It has the greatest duration of each bucket, but the exact ones of the
// shortest and of the longest duration, so that percentiles remain the same.
func newHistogramRow(p *measure.Part, t measure.Timing) *durationsOfPart {
	row := &durationsOfPart{p.Workload, p.Schema, p.Level, p.Server, t, nil, p.Batches[t]}
	h := &p.Timed[t]
	row.Counts = append(row.Counts, [2]int64{h.LeastNs, 1})
	first := true
	h.Each(func(_, mostNs, n int64) {
		if first {
			n--
			first = false
		}
		if n > 0 {
			row.Counts = append(row.Counts, [2]int64{min(mostNs, h.MostNs), n})
		}
	})
	return row
}

// parseHistogram is the reverse of newHistogramRow.
func parseHistogram(text string) (p measure.Part, err error) {
	var row durationsOfPart
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		return p, err
	}
	if row.Timing >= measure.Timings {
		return p, fmt.Errorf("timing %d: want less than %d", row.Timing, measure.Timings)
	}
	p = measure.Part{Workload: row.Workload, Schema: row.FlowSchema, Level: row.PriorityLevel, Server: row.Server,
		Timed: measure.New(measure.FinePrecision).Timed}
	for _, c := range row.Counts {
		p.Timed[row.Timing].RecordN(c[0], c[1])
	}
	p.Batches[row.Timing] = row.Batches
	return p, nil
}

// verdictRow is in the place of the statistic in the row of a run's file that has its verdict.
const verdictRow = "verdict"

// verdictOfRun is the value of that row.
type verdictOfRun struct {
	Verdict   *result.Overall
	Arrived   int64 // requests
	NotServed *result.NotServed
}

// SweepRun is what the file of a run has.
type SweepRun struct {
	Statistics []result.Statistic
	Parts      []measure.Part
	Summary    *result.Summary // only the verdict, and the counts that it is about
}

// WriteSweepRun writes the statistics of a run that has ended to its file.
// The file also has the histograms of the durations of its requests, from which percentiles of several runs are computed.
func WriteSweepRun(s *report.Sweep, dir string, run int, summary *result.Summary, parts []measure.Part) error {
	var list files.List
	list.Add(SweepRunFile(s, run), func(w io.Writer) error {
		var text bytes.Buffer
		out := csv.NewWriter(&text)
		out.Write(columns(s))
		key := s.Key(run)
		for _, statistic := range result.ListStatistics(summary, s.Flows) {
			out.Write(append(slices.Clone(key), statistic.Name.String(), format.AllDigits(&statistic.Value), string(statistic.Name.Unit)))
		}
		for i := range parts {
			for t := range parts[i].Timed {
				if parts[i].Timed[t].N == 0 {
					continue
				}
				row, err := json.Marshal(newHistogramRow(&parts[i], measure.Timing(t)))
				if err != nil {
					return err
				}
				out.Write(append(slices.Clone(key), histogramRow, string(row), string(metric.Nanoseconds)))
			}
		}
		if summary.Verdict != nil {
			row, err := json.Marshal(verdictOfRun{summary.Verdict, summary.Total.Arrived, summary.Total.NotServed})
			if err != nil {
				return err
			}
			out.Write(append(slices.Clone(key), verdictRow, string(row), ""))
		}
		out.Flush()
		out.Write(append(slices.Clone(key), sumRow, sumOfText(text.Bytes()), ""))
		out.Flush()
		_, err := text.WriteTo(w)
		return err
	})
	return files.Write(dir, list)
}

// ReadSweepRun reads the file of a run. The error is fs.ErrNotExist if the run has not been made.
func ReadSweepRun(s *report.Sweep, dir string, run int) (*SweepRun, error) {
	path := filepath.Join(dir, SweepRunFile(s, run))
	text, err := input.ReadFile(path, longestResult)
	if err != nil {
		return nil, err
	}
	r, err := parseRun(s, text, run)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove the file and repeat the sweep", path, err)
	}
	return r, nil
}

func parseRun(s *report.Sweep, text []byte, run int) (*SweepRun, error) {
	in := csv.NewReader(bytes.NewReader(text))
	var rows [][]string
	above := int64(0) // number of bytes before the last row
	for {
		at := in.InputOffset()
		row, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		rows, above = append(rows, row), at
	}
	if len(rows) < 2 || !slices.Equal(rows[0], columns(s)) {
		return nil, fmt.Errorf("want the columns %s and at least one row", strings.Join(columns(s), ","))
	}
	key := s.Key(run)
	if sum := rows[len(rows)-1][len(key):]; sum[0] != sumRow || sum[1] != sumOfText(text[:above]) {
		return nil, errors.New("has been changed: the last row is not the SHA-256 sum of the rows above it")
	}
	r := &SweepRun{Statistics: make([]result.Statistic, 0, len(rows)-2), Summary: &result.Summary{}}
	for i, row := range rows[1 : len(rows)-1] {
		if !slices.Equal(row[:len(key)], key) {
			return nil, fmt.Errorf("line %d: %s: want %s", i+2, strings.Join(row[:len(key)], ","), strings.Join(key, ","))
		}
		row = row[len(key):]
		if row[0] == histogramRow {
			part, err := parseHistogram(row[1])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+2, err)
			}
			r.Parts = append(r.Parts, part)
			continue
		}
		if row[0] == verdictRow {
			var v verdictOfRun
			if err := json.Unmarshal([]byte(row[1]), &v); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+2, err)
			}
			_, r.Summary.Seed = s.PointOf(run)
			r.Summary.Verdict, r.Summary.Total.Arrived, r.Summary.Total.NotServed = v.Verdict, v.Arrived, v.NotServed
			continue
		}
		value, err := strconv.ParseFloat(row[1], 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("line %d: value %q: want a number", i+2, row[1])
		}
		name, err := metric.ParseName(row[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
		r.Statistics = append(r.Statistics, result.Statistic{Name: name, Value: value})
	}
	return r, nil
}

// FinishSweep writes the tables and charts of a sweep whose runs are all in dir: results.csv with a row
// for each run and statistic, summary.csv with a row for each point and statistic, the 95 % interval
// of the mean and the percentiles of the requests of all runs, a chart of each statistic that is shown, verdict.json with the
// verdict at each point, and a page. Either all files are written or none. It returns the report.
func FinishSweep(s *report.Sweep, ctx context.Context, dir string, progress format.Progress) (*report.Document, error) {
	var set atomicfile.Set
	defer set.Discard()
	results, err := files.Create(&set, filepath.Join(dir, report.SweepResultsFile))
	if err != nil {
		return nil, err
	}
	summary, err := files.Create(&set, filepath.Join(dir, report.SweepSummaryFile))
	if err != nil {
		return nil, err
	}
	t := &report.SweepTables{Sweep: s}
	for _, name := range s.Charts {
		t.Shown = append(t.Shown, report.ShownStatistic{Name: name, Points: make([]*compare.Estimate, s.Points())})
	}
	if err := write(t, ctx, dir, csv.NewWriter(results), csv.NewWriter(summary), progress); err != nil {
		return nil, err
	}
	d := report.SweepDocument(t)
	var made files.List
	for _, c := range charts.Of(d) {
		addChart(&made, c)
	}
	made.Add(ReportFile, func(w io.Writer) error { return render.HTML(w, d) })
	made.Add(report.SweepVerdictFile, func(w io.Writer) error { return format.WriteJSON(w, t.PointVerdicts()) })
	if err := errors.Join(results.Complete(nil), summary.Complete(nil), made.AddTo(&set, dir)); err != nil {
		return nil, err
	}
	return d, set.Commit()
}

// write reads the runs point by point and writes both tables.
func write(t *report.SweepTables, ctx context.Context, dir string, results, summary *csv.Writer, progress format.Progress) error {
	results.Write(columns(t.Sweep))
	summary.Write(append(t.Paths(), "statistic", "unit", "n", "mean", "stddev", "low", "high", "merged", "mergedLow", "mergedHigh", "noInterval", "least", "most"))
	for point := range t.Points() {
		runs := compare.NewReplicator(t.Scenario, 0, nil)
		for k := range t.Replications {
			run := point*t.Replications + k
			if err := ctx.Err(); err != nil {
				return err
			}
			progress.Report(run, t.Runs())
			read, err := ReadSweepRun(t.Sweep, dir, run)
			if err != nil {
				return err
			}
			key := t.Key(run)
			for i := range read.Statistics {
				s := &read.Statistics[i]
				results.Write(append(slices.Clone(key), s.Name.String(), format.AllDigits(&s.Value), string(s.Name.Unit)))
			}
			runs.AddValues(read.Statistics, k)
			runs.AddParts(read.Parts)
			runs.AddVerdict(read.Summary)
		}
		values, all := t.Point(point), runs.Replications()
		t.Verdicts = append(t.Verdicts, all.Verdict)
		for _, got := range all.Statistics {
			got.Values = nil
			summary.Write(append(slices.Clone(values), got.Name, got.Unit, strconv.Itoa(got.N),
				format.AllDigits(&got.Mean), format.AllDigits(got.StdDev), format.AllDigits(got.Low), format.AllDigits(got.High),
				format.AllDigits(got.Merged), format.AllDigits(got.MergedLow), format.AllDigits(got.MergedHigh),
				string(got.NoInterval), format.AllDigits(&got.Least), format.AllDigits(&got.Most)))
			if i := slices.Index(t.Sweep.Charts, got.Name); i >= 0 {
				t.Shown[i].Points[point] = &got
			}
		}
	}
	results.Flush()
	summary.Flush()
	return errors.Join(results.Error(), summary.Error())
}

// removeCharts removes the charts of a sweep from dir.
func removeCharts(s *report.Sweep, dir string) error {
	for _, name := range s.ChartNames() {
		for _, ending := range []string{".svg", ".png"} {
			err := os.Remove(filepath.Join(dir, ChartsFolder, name+ending))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing a chart of the earlier --chart: %w", err)
			}
		}
	}
	return nil
}
