package reports_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"apfsim/experiment/output"
	"apfsim/reports/charts"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/workload"
)

// smallSweep is a grid of two by three points, two runs each.
func smallSweep() *report.Sweep {
	return &report.Sweep{SchemaVersion: result.SchemaVersion, Version: "v1", Scenario: "small", Set: []string{},
		Inputs: []report.SweepInput{{Name: "small.yaml", SHA256: "00"}},
		Parameters: []report.Parameter{{Path: "spec.workload[mice].clients", Values: []string{"1", "16"}},
			{Path: "level[a,b].handSize", Values: []string{"4", "6", "8"}}},
		Seed: 5, Replications: 2, Charts: []string{"wait.max", "rejected.rate"}}
}

// summaryOf makes up what comes of a run: the longest wait in µs, unless there was none.
func summaryOf(us int64) *result.Summary {
	g := result.Group{Counts: metric.Counts{Arrived: 10, Executed: 8, Rejected: 2}}
	if us > 0 {
		g.Wait = &result.Distribution{Count: 8, MaxNs: us * 1000}
	}
	return &result.Summary{DurationNs: 1e9, Total: g}
}

// swept returns the folder of a sweep, each run of which has the wait that waits says.
func swept(t *testing.T, s *report.Sweep, waits ...int64) string {
	t.Helper()
	dir := t.TempDir()
	if err := output.BeginSweep(s, dir); err != nil {
		t.Fatal(err)
	}
	for run, us := range waits {
		if err := output.WriteSweepRun(s, dir, run, summaryOf(us), nil); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPointsOfASweep(t *testing.T) {
	s := smallSweep()
	var got []string
	for run := range s.Runs() {
		got = append(got, s.DescribeRun(run))
	}
	want := []string{}
	for _, clients := range []string{"1", "16"} {
		for _, hand := range []string{"4", "6", "8"} {
			for _, seed := range []string{"5", "6"} {
				want = append(want, "spec.workload[mice].clients="+clients+", level[a,b].handSize="+hand+", seed "+seed)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The summary is the arithmetic of a textbook over the rows of the results.
func TestTablesOfASweep(t *testing.T) {
	s := smallSweep()
	// At the fourth point no run has waits, at the fifth one of two.
	waits := []int64{1, 3, 10, 10, 2, 8, 0, 0, 0, 7, 4, 6}
	dir := swept(t, s, waits...)
	if _, err := output.FinishSweep(s, t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	table := func(name string) (rows [][]string) {
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if rows, err = csv.NewReader(file).ReadAll(); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(rows, func(row []string) bool { return row[2] != "wait.max" && row[3] != "wait.max" })
	}
	var results [][]string
	for run, us := range waits {
		point, seed := s.PointOf(run)
		if us > 0 {
			results = append(results, append(s.Point(point), strconv.FormatUint(seed, 10), "wait.max", strconv.FormatInt(us*1000, 10), "ns"))
		}
	}
	if diff := cmp.Diff(results, table(report.SweepResultsFile)); diff != "" {
		t.Error(diff)
	}
	summary := table(report.SweepSummaryFile)
	for i, point := range []int{0, 1, 2, 4, 5} { // of two values a and b
		a, b := float64(waits[2*point])*1000, float64(waits[2*point+1])*1000
		n, mean, sd := "2", (a+b)/2, math.Abs(a-b)/math.Sqrt2
		if point == 4 {
			n, mean, sd = "1", 7000, math.NaN()
		}
		row := summary[i]
		if got, want := row[:5], append(s.Point(point), "wait.max", "ns", n); !slices.Equal(got, want) {
			t.Errorf("row %q, want %q", got, want)
		}
		if got, want := row[7:13], []string{"", "", "", "", "", "few-runs"}; !slices.Equal(got, want) {
			t.Errorf("row %q, want no interval", row)
		}
		for j, want := range []float64{mean, sd} {
			if got, err := strconv.ParseFloat(row[5+j], 64); math.IsNaN(want) != (err != nil) || math.Abs(got-want) > 1e-4*math.Abs(want)+1e-9 {
				t.Errorf("point %d: column %d is %s, want %v", point, 5+j, row[5+j], want)
			}
		}
	}
	if len(summary) != 5 {
		t.Errorf("%d rows of wait.max, want 5", len(summary))
	}
}

func TestTextOfASweep(t *testing.T) {
	s := smallSweep()
	dir := swept(t, s, 1, 3, 10, 10, 2, 8, 0, 0, 0, 7, 4, 6)
	d, err := output.FinishSweep(s, t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `small  6 points, 2 runs each, seeds 5 to 6

wait.max
  clients     handSize=4  handSize=6     handSize=8
  1        2 [1 to 3 µs]       10 µs  5 [2 to 8 µs]
  16                   –        7 µs  5 [4 to 6 µs]

rejected.rate
  clients  handSize=4  handSize=6  handSize=8
  1              20 %        20 %        20 %
  16             20 %        20 %        20 %
  Means of the runs, and percentiles of the requests of all runs together, ± half of their 95 % intervals, or
  (their ends). [a to b]: the range of the runs, where an interval would be unreliable.
`
	got := string(rendered(t, func(w io.Writer) error { return render.Text(w, d, format.TextOptions{}) }))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestChartsOfASweep(t *testing.T) {
	for dimensions := range 4 {
		s := smallSweep()
		s.Parameters = append(s.Parameters, report.Parameter{Path: "spec.c", Values: []string{"x", "y"}})
		runs := []int64{1, 3, 10, 10, 2, 8, 0, 0, 0, 7, 4, 6, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		for i := range s.Parameters {
			if i >= dimensions {
				s.Parameters[i].Values = s.Parameters[i].Values[:1]
			}
		}
		s.Charts = append(s.Charts, "retries.count", "fairness{priorityLevel:none}.jain")
		dir := swept(t, s, runs[:s.Runs()]...)
		d, err := output.FinishSweep(s, t.Context(), dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		made := charts.Of(d)
		drawn := map[int]int{1: 3, 2: 3}[dimensions] // nothing has an index of Jain
		if len(made) != drawn {
			t.Errorf("%d dimensions: %d charts, want %d", dimensions, len(made), drawn)
		}
		if warnings := d.NoPictures; len(warnings) != 1 {
			t.Errorf("%d dimensions: warnings %q", dimensions, warnings)
		}
		for _, c := range made {
			svg, err := os.ReadFile(filepath.Join(dir, output.ChartsFolder, c.Name+".svg"))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(svg, rendered(t, c.WriteSVG)) {
				t.Errorf("%s is not the same when it is drawn again", c.Name)
			}
			texts, d := "", xml.NewDecoder(bytes.NewReader(svg))
			for {
				token, err := d.Token()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
				if text, ok := token.(xml.CharData); ok {
					texts += string(text)
				}
			}
			for i := range dimensions {
				if !strings.Contains(texts, s.Parameters[i].Path) {
					t.Errorf("%s: there is no %s in %q", c.Name, s.Parameters[i].Path, texts)
				}
			}
			picture, err := png.Decode(bytes.NewReader(rendered(t, c.WritePNG)))
			if err != nil || picture.Bounds().Dx() < 500 {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	}
}

// What stands in the statistics comes back, whatever the names.
func TestRunOfASweepReadsBack(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([ -~äß,"]|\n){1,12}`)
		s := smallSweep()
		s.Parameters[0].Path, s.Parameters[0].Values[0] = text.Draw(t, "path"), text.Draw(t, "value")
		sum := summaryOf(rapid.Int64Range(0, 1e12).Draw(t, "wait"))
		sum.Workloads = []result.Group{{Name: text.Draw(t, "workload"), Counts: metric.Counts{Arrived: rapid.Int64Range(0, 1e15).Draw(t, "arrived")}}}
		run := rapid.IntRange(0, s.Runs()-1).Draw(t, "run")
		if err := output.WriteSweepRun(s, dir, run, sum, nil); err != nil {
			t.Fatal(err)
		}
		read, err := output.ReadSweepRun(s, dir, run)
		if err != nil {
			t.Fatal(err)
		}
		got := read.Statistics
		want := result.ListStatistics(sum, false)
		if len(got) != len(want) {
			t.Fatalf("%d statistics, want %d", len(got), len(want))
		}
		for i := range got {
			if !got[i].Name.Equal(&want[i].Name) || got[i].Value != want[i].Value || got[i].Name.Unit != want[i].Name.Unit {
				t.Errorf("%+v, want %+v", got[i], want[i])
			}
		}
	})
}

// Whoever interrupts a merge finds whole files of some runs, and merges the rest later.
func TestInterruptedMergeGoesOn(t *testing.T) {
	s := smallSweep()
	whole := swept(t, s, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
	out := swept(t, s)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := output.MergeShards(s, ctx, []string{whole}, out, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that of the context", err)
	}
	if _, err := os.Stat(filepath.Join(out, report.SweepRunsFolder)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something has been merged: %v", err)
	}
	if _, err := output.FinishSweep(s, ctx, whole, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of the tables, want that of the context", err)
	}
	if _, err := os.Stat(filepath.Join(whole, report.SweepResultsFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there are tables: %v", err)
	}
	if err := output.MergeShards(s, t.Context(), []string{whole}, out, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(filesOf(os.DirFS(whole)), filesOf(os.DirFS(out))); diff != "" {
		t.Errorf("(-whole +merged)\n%s", diff)
	}
}

// Two folders have the same run, and not the same of it: one of them is wrong.
func TestPartsThatDifferAreRefused(t *testing.T) {
	s := smallSweep()
	a, b := swept(t, s, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), swept(t, s, 1, 9)
	want := "spec.workload[mice].clients=1, level[a,b].handSize=4, seed 6: differs between " + a + " and " + b
	if _, err := output.ReadShards([]string{a, b}, nil); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Ten runs that are missing are told by name, and how many there are in all.
func TestMissingRunsAreTold(t *testing.T) {
	s := smallSweep()
	_, err := output.ReadShards([]string{swept(t, s, 1)}, nil)
	if err == nil || strings.Count(err.Error(), "is missing from all folders") != 10 || !strings.Contains(err.Error(), "11 of 12 runs are missing") {
		t.Error(err)
	}
}

// The files of ten points, from 1 to 10, have numbers of two digits, and so an order.
func TestFilesOfRunsAreInOrder(t *testing.T) {
	s := &report.Sweep{Parameters: []report.Parameter{{Path: "spec.duration", Values: strings.Fields("1s 2s 3s 4s 5s 6s 7s 8s 9s 10s")}}, Replications: 1}
	var names []string
	for run := range s.Runs() {
		names = append(names, output.SweepRunFile(s, run))
	}
	if !slices.IsSorted(names) || names[9] != filepath.Join(report.SweepRunsFolder, "point-10-seed-0.csv") {
		t.Errorf("%q", names)
	}
}

// filesOf returns the content of all files.
func filesOf(dir fs.FS) map[string]string {
	files := map[string]string{}
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(dir, name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		panic(err)
	}
	return files
}

func TestSpoiltRunsAndSweepsAreRefused(t *testing.T) {
	s := smallSweep()
	dir := swept(t, s, 1, 2)
	path := filepath.Join(dir, output.SweepRunFile(s, 1))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string]string{
		"nothing":            "",
		"no rows":            strings.SplitAfter(string(good), "\n")[0],
		"another seed":       strings.ReplaceAll(string(good), ",6,", ",7,"),
		"another point":      strings.ReplaceAll(string(good), "1,4,6,", "1,6,6,"),
		"a missing column":   strings.ReplaceAll(string(good), ",unit\n", "\n"),
		"another number":     strings.ReplaceAll(string(good), "arrived.count,10,", "arrived.count,11,"),
		"a row less":         strings.Replace(string(good), "1,4,6,arrived.count,10,requests\n", "", 1),
		"no sum":             string(good)[:strings.LastIndex(string(good), "1,4,6,sha256")],
		"no number":          strings.ReplaceAll(string(good), "arrived.count,10,", "arrived.count,ten,"),
		"no finite number":   strings.ReplaceAll(string(good), "arrived.count,10,", "arrived.count,NaN,"),
		"half of a line":     string(good[:len(good)-20]),
		"a quote too many":   string(good) + `"`,
		"other columns' CSV": strings.ReplaceAll(string(good), "statistic", "statistics"),
	} {
		if text == string(good) {
			t.Errorf("%s: nothing is spoilt", what)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := output.ReadSweepRun(s, dir, 1); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v", what, err)
		}
	}
	// A sum that is right does not make good what it is the sum of, such as another run's file.
	rows := string(good)[:strings.LastIndex(string(good), "1,4,6,sha256")]
	for want, spoilt := range map[string]string{
		`line 2: 1,4,7: want 1,4,6`:          strings.ReplaceAll(rows, ",6,", ",7,"),
		`line 2: 1,6,6: want 1,4,6`:          strings.ReplaceAll(rows, "1,4,6,", "1,6,6,"),
		`line 2: value "ten": want a number`: strings.ReplaceAll(rows, "arrived.count,10,", "arrived.count,ten,"),
		`line 2: value "NaN": want a number`: strings.ReplaceAll(rows, "arrived.count,10,", "arrived.count,NaN,"),
		`line 2: value "Inf": want a number`: strings.ReplaceAll(rows, "arrived.count,10,", "arrived.count,Inf,"),
	} {
		if err := os.WriteFile(path, []byte(spoilt+"1,4,6,sha256,"+fmt.Sprintf("%x", sha256.Sum256([]byte(spoilt)))+",\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := output.ReadSweepRun(s, dir, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	manifest := filepath.Join(dir, report.SweepFile)
	text, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	for old, new := range map[string]string{
		`"apfsim/v1alpha1"`:      `"apfsim/v2"`,
		`"replications": 2`:      `"replications": 0`,
		`"wait.max"`:             `"wait.mux"`,
		`{`:                      `[`,
		"\"1\",\n        \"16\"": "",
	} {
		spoilt := bytes.Replace(text, []byte(old), []byte(new), 1)
		if bytes.Equal(spoilt, text) {
			t.Errorf("there is no %s", old)
		}
		if err := os.WriteFile(manifest, spoilt, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := output.ReadSweep(dir); err == nil || !strings.Contains(err.Error(), manifest) {
			t.Errorf("%s: error %v", new, err)
		}
	}
}

func TestASweepOfMoreThanAMillionRunsIsRefused(t *testing.T) {
	s := smallSweep()
	for replications, ok := range map[int]bool{166_666: true, 166_667: false} {
		s.Replications = replications
		if err := output.CheckSweep(s); (err == nil) != ok {
			t.Errorf("%d runs at six points: %v", replications, err)
		}
	}
}

// Every field of a sweep that its results depend on keeps another one out of its folder.
func TestDifferencesOfSweeps(t *testing.T) {
	for want, change := range map[string]func(s *report.Sweep){
		"apfsim: v2, but v1 in ":                                                   func(s *report.Sweep) { s.Version = "v2" },
		"scenario: other, but small in ":                                           func(s *report.Sweep) { s.Scenario = "other" },
		"files: large.yaml, but small.yaml in ":                                    func(s *report.Sweep) { s.Inputs[0].Name = "large.yaml" },
		"small.yaml: the contents differ from those with which ":                   func(s *report.Sweep) { s.Inputs[0].SHA256 = "11" },
		"--set: spec.duration=1s, but none in ":                                    func(s *report.Sweep) { s.Set = []string{"spec.duration=1s"} },
		"--seed: 6, but 5 in ":                                                     func(s *report.Sweep) { s.Seed = 6 },
		"--replications: 3, but 2 in ":                                             func(s *report.Sweep) { s.Replications = 3 },
		"--flows: true, but false in ":                                             func(s *report.Sweep) { s.Flows = true },
		"--over: spec.workload[mice].clients=2,16 level[a,b].handSize=4,6,8, but ": func(s *report.Sweep) { s.Parameters[0].Values[0] = "2" },
		"--over: spec.workload[mice].clients=1,16 level[a,b].queues=4,6,8, but ":   func(s *report.Sweep) { s.Parameters[1].Path = "level[a,b].queues" },
	} {
		dir := swept(t, smallSweep())
		s := smallSweep()
		change(s)
		if err := output.BeginSweep(s, dir); !errors.Is(err, report.ErrDifferentSweep) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s; error: %v", want, err)
		}
	}
	dir := swept(t, smallSweep())
	s := smallSweep()
	s.Charts = []string{"wait.max"}
	if err := output.BeginSweep(s, dir); err != nil {
		t.Error(err)
	}
	if there, err := output.ReadSweep(dir); err != nil || !cmp.Equal(s, there) {
		t.Errorf("%v\n%s", err, cmp.Diff(s, there))
	}
}

func TestChosenCharts(t *testing.T) {
	sc := &scenario.Scenario{}
	sc.Spec.Workload = []workload.Workload{{Name: "mice"}, {Name: "a,b"}}
	s := smallSweep()
	if err := s.SetCharts(nil, []*scenario.Scenario{sc}); err != nil {
		t.Fatal(err)
	}
	want := []string{"wait{workload:mice}.p(99)", "rejected{workload:mice}.rate", `wait{workload:"a,b"}.p(99)`, `rejected{workload:"a,b"}.rate`}
	if diff := cmp.Diff(want, s.Charts); diff != "" {
		t.Error(diff)
	}
}
