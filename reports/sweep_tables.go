package reports

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"apfsim/internal/atomicfile"
)

// SweepTables is what the runs of a sweep say of the statistics that are shown.
type SweepTables struct {
	*Sweep
	shown []shownStatistic
}

// shownStatistic is one statistic at every point; nil where no run has samples of it.
type shownStatistic struct {
	name   string
	points []*Estimate
}

// Finish writes the tables and charts of a sweep whose runs are all in dir: results.csv, a
// row for each run and statistic; summary.csv, a row for each point and statistic, with the
// 95 % interval of the mean; and a chart of each statistic that is shown. All of them are
// written, or none.
func (s *Sweep) Finish(ctx context.Context, dir string, progress Progress) (*SweepTables, error) {
	var set atomicfile.Set
	defer set.Discard()
	results, err := createOutput(&set, filepath.Join(dir, SweepResults))
	if err != nil {
		return nil, err
	}
	summary, err := createOutput(&set, filepath.Join(dir, SweepSummary))
	if err != nil {
		return nil, err
	}
	t := &SweepTables{Sweep: s}
	for _, name := range s.Charts {
		t.shown = append(t.shown, shownStatistic{name: name, points: make([]*Estimate, s.Points())})
	}
	if err := t.write(ctx, dir, csv.NewWriter(results), csv.NewWriter(summary), progress); err != nil {
		return nil, err
	}
	var charts fileList
	for _, c := range t.Charts() {
		charts.addChart(c)
	}
	if err := errors.Join(results.complete(nil), summary.complete(nil), charts.addTo(&set, dir)); err != nil {
		return nil, err
	}
	return t, set.Commit()
}

// write reads the runs, point by point, and writes both tables.
func (t *SweepTables) write(ctx context.Context, dir string, results, summary *csv.Writer, progress Progress) error {
	results.Write(t.columns())
	summary.Write(append(t.paths(), "statistic", "unit", "n", "mean", "stddev", "low", "high"))
	for point := range t.Points() {
		of := NewReplicator(t.Scenario, 0, nil)
		for k := range t.Replications {
			run := point*t.Replications + k
			if err := ctx.Err(); err != nil {
				return err
			}
			progress.tell(run, t.Runs())
			all, err := t.ReadRun(dir, run)
			if err != nil {
				return err
			}
			key := t.key(run)
			for i := range all {
				s := &all[i]
				results.Write(append(slices.Clone(key), s.Name, allDigits(&s.Value), s.Unit))
			}
			of.addValues(all, k)
		}
		values := t.Point(point)
		for _, e := range of.order {
			got := estimateOf(e.values)
			got.Name, got.Unit, got.Values = e.Name, e.Unit, nil
			summary.Write(append(slices.Clone(values), got.Name, got.Unit, strconv.Itoa(got.N),
				allDigits(&got.Mean), allDigits(got.StdDev), allDigits(got.Low), allDigits(got.High)))
			if i := slices.Index(t.Sweep.Charts, got.Name); i >= 0 {
				t.shown[i].points[point] = &got
			}
		}
	}
	results.Flush()
	summary.Flush()
	return errors.Join(results.Error(), summary.Error())
}

// WriteText writes the statistics that are shown for people to read: a table of each, with
// the values of the last parameter side by side if there are several parameters.
func (t *SweepTables) WriteText(w io.Writer, options TextOptions) error {
	text := newTextWriter(options)
	ran := fmt.Sprintf("%s, %s each, seeds %d to %d", counted(t.Points(), "point"), counted(t.Replications, "run"), t.Seed, t.Seed+uint64(t.Replications-1))
	if t.Replications == 1 {
		ran = fmt.Sprintf("%s, seed %d", counted(t.Points(), "point"), t.Seed)
	}
	text.head(t.Scenario, ran, "")
	for i := range t.shown {
		t.shown[i].write(&text, t.Sweep)
	}
	if t.Replications > 1 {
		fmt.Fprintln(text, text.paint(dim, "  Means of the runs ± half of their 95 % intervals."))
	}
	_, err := w.Write(text.Bytes())
	return err
}

func (of *shownStatistic) write(t *textWriter, s *Sweep) {
	t.heading(printable(of.name))
	cell := func(point int) string {
		if e := of.points[point]; e != nil {
			return e.text()
		}
		return "–"
	}
	paths := s.paths()
	left := len(paths)
	last := []string{""}
	if left > 1 {
		left--
		last = s.Parameters[left].Values
	}
	tb := &table{left: left}
	var head []string
	short := shortPaths(paths)
	for i := range left {
		head = append(head, squeeze(printable(short[i]), 40))
	}
	for _, value := range last {
		if value != "" {
			value = squeeze(printable(short[left]+"="+value), 40)
		}
		head = append(head, value)
	}
	tb.row(head...)
	for point := 0; point < s.Points(); point += len(last) {
		row := append([]string(nil), s.Point(point)[:left]...)
		for i := range row {
			row[i] = squeeze(printable(row[i]), 40)
		}
		for i := range last {
			row = append(row, cell(point+i))
		}
		tb.row(row...)
	}
	t.table(tb)
}

// shortPaths returns the last fields of the paths, unless two of them are the same.
func shortPaths(paths []string) []string {
	short := make([]string, len(paths))
	for i, path := range paths {
		short[i] = path[strings.LastIndexByte(path, '.')+1:]
		if slices.Contains(short[:i], short[i]) {
			return paths
		}
	}
	return short
}

// removeCharts removes the charts that the sweep has drawn in dir.
func (s *Sweep) removeCharts(dir string) error {
	for _, name := range s.chartNames() {
		for _, ending := range []string{".svg", ".png"} {
			err := os.Remove(filepath.Join(dir, ChartsFolder, name+ending))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing a chart that is not asked for any more: %w", err)
			}
		}
	}
	return nil
}

// chartNames returns the names of the files of the charts, without ending: words of the
// statistics' names, all different.
func (s *Sweep) chartNames() []string {
	var names []string
	for _, statistic := range s.Charts {
		words := strings.FieldsFunc(statistic, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
		})
		name := strings.Join(words, "-")
		name = name[:min(len(name), 100)]
		unique := name
		for n := 2; slices.Contains(names, unique); n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		names = append(names, unique)
	}
	return names
}
