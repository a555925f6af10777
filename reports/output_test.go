package reports_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rivo/uniseg"

	"apfsim/experiment/output"
	"apfsim/internal/atomicfile"
	"apfsim/reports/charts"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

var (
	rewrite = flag.Bool("rewrite", false, "rewrite the golden files")
	long    = flag.Bool("long", false, "simulate the whole library, and more random runs")
)

// some returns a number of cases, and all of them with -long.
func some(n, all int) int {
	if *long {
		return all
	}
	return n
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -rewrite accepts):\n%s", path, diff)
	}
}

func judgedStory() *result.Result {
	return storyResult(
		thresholdOf("wait{workload:mice}", "wait", tags("workload", "mice"), "max", "<", 4e9, metric.Nanoseconds),
		thresholdOf("rejected", "rejected", nil, "rate", "==", 0, metric.NoUnit),
		thresholdOf("wait{workload:unheard}", "wait", tags("workload", "unheard"), "max", "<", 4e9, metric.Nanoseconds))
}

func rendered(t *testing.T, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTheStoryInEveryFormat(t *testing.T) {
	r := judgedStory()
	golden(t, "story.txt", rendered(t, func(w io.Writer) error { return render.Text(w, report.RunDocument(r), format.TextOptions{}) }))
	golden(t, "story.json", rendered(t, func(w io.Writer) error { return format.WriteJSON(w, r.Summary) }))
	golden(t, "story.csv", rendered(t, func(w io.Writer) error { return seriesCSV(w, r) }))
}

func TestSummaryReadsBack(t *testing.T) {
	r := judgedStory()
	text := rendered(t, func(w io.Writer) error { return format.WriteJSON(w, r.Summary) })
	var back result.Summary
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*r.Summary, back, cmpopts.IgnoreFields(result.Flow{}, "QueuedIn", "Workload", "Short"), cmpopts.IgnoreFields(result.Verdict{}, "ID", "Few")); diff != "" {
		t.Error(diff)
	}
}

func TestColourOnlyWhereAsked(t *testing.T) {
	s := judgedStory().Summary
	plain := rendered(t, func(w io.Writer) error {
		return render.Text(w, report.RunDocument(&result.Result{Summary: s}), format.TextOptions{})
	})
	coloured := rendered(t, func(w io.Writer) error {
		return render.Text(w, report.RunDocument(&result.Result{Summary: s}), format.TextOptions{Colour: true})
	})
	if bytes.Contains(plain, []byte("\x1b")) {
		t.Error("an escape sequence in plain text")
	}
	stripped := string(coloured)
	for _, code := range []string{"1", "2", "22", "31", "32", "33", "0"} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+code+"m", "")
	}
	if stripped != string(plain) {
		t.Error("colour changes more than colour")
	}
}

func TestTextFitsItsWidthWhateverTheNames(t *testing.T) {
	r := judgedStory()
	long := strings.Repeat("測試-very-long-", 20) + "\x1b[31mend"
	r.Summary.Workloads[0].Name, r.Summary.Flows[1].Name, r.Summary.PriorityLevels[1].Name = long, long, long
	for line := range strings.Lines(string(rendered(t, func(w io.Writer) error { return render.Text(w, report.RunDocument(r), format.TextOptions{Width: 120}) }))) {
		if width := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); width > 120 {
			t.Errorf("%d columns: %s", width, line)
		}
		if strings.Contains(line, "\x1b") {
			t.Errorf("a name's escape sequence reaches the terminal: %q", line)
		}
	}
}

// queuedStory is the story with queues that were found full, which it does not have itself.
func queuedStory() *result.Result {
	r := judgedStory()
	r.Series[2].QueueLengths[1] = []int32{0, 3, 0, 1}
	return r
}

func TestChartsAreWholeAndTheSameEveryTime(t *testing.T) {
	first, second := charts.Of(report.RunDocument(queuedStory())), charts.Of(report.RunDocument(queuedStory()))
	var names []string
	for i, c := range first {
		names = append(names, c.Name)
		svg := rendered(t, c.WriteSVG)
		if !bytes.Equal(svg, rendered(t, second[i].WriteSVG)) {
			t.Errorf("%s.svg differs from run to run", c.Name)
		}
		d := xml.NewDecoder(bytes.NewReader(svg))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s.svg: %v", c.Name, err)
			}
		}
		if !bytes.Contains(svg, []byte(c.Title)) || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s.svg has no title, or a number that is none", c.Name)
		}
		picture := rendered(t, c.WritePNG)
		if !bytes.Equal(picture, rendered(t, second[i].WritePNG)) {
			t.Errorf("%s.png differs from run to run", c.Name)
		}
		if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
			t.Errorf("%s.png: %v", c.Name, err)
		}
	}
	if diff := cmp.Diff([]string{"wait", "wait-over-time", "seats", "requests", "queues-low", "service-low"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestARunInWhichNothingHappensHasNoCharts(t *testing.T) {
	s := newStage(storyScenario())
	s.tick(30)
	r := s.collector.Result()
	if charts := charts.Of(report.RunDocument(r)); len(charts) != 0 {
		t.Errorf("%d charts of nothing", len(charts))
	}
	rendered(t, func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) })
	rendered(t, func(w io.Writer) error { return render.Text(w, report.RunDocument(r), format.TextOptions{}) })
}

// below returns the files below a folder, with slashes.
func below(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// place writes files, and the folders that they are in.
func place(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// storyFiles are those that the story's run writes.
var storyFiles = []string{
	"charts/requests.png", "charts/requests.svg", "charts/seats.png", "charts/seats.svg",
	"charts/service-low.png", "charts/service-low.svg", "charts/wait-over-time.png",
	"charts/wait-over-time.svg", "charts/wait.png", "charts/wait.svg",
	"report.html", "series.csv", "summary.json",
}

const storyLine = `{"id":1,"arrivalNs":1,"user":"u","verb":"get","workload":"mice","client":0,"outcome":"executed","attempt":1}` + "\n"

func TestDirectoryHasEveryFile(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // the second time over the first
		if _, err := output.WriteRun(&atomicfile.Set{}, dir, judgedStory(), nil, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(storyFiles, below(t, filepath.Join(dir, "story"))); diff != "" {
			t.Error(diff)
		}
	}
}

// The folder is of one run. What an earlier run of the scenario has left goes, by the names of its
// levels and by what is in the files; whatever else is there stays.
func TestFilesOfAnEarlierRunGo(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "story")
	earlier := judgedStory()
	earlier.Summary.PriorityLevels[0].Name = "gone/x"
	earlier.Summary.Workloads[0].Name = "mice"
	if _, err := output.WriteRun(&atomicfile.Set{}, dir, earlier, nil, nil); err != nil {
		t.Fatal(err)
	}
	dump := "PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum" + "\n"
	place(t, folder, map[string]string{
		"charts/queues-gone_x.svg": "", "charts/service-gone_x.png": "", "requests.jsonl": storyLine, "dumps/1s/dump_queues.csv": dump,
		"dumps/2s/dump_queues.csv": dump,
	})
	users := map[string]string{
		"charts/queues-mine.svg": "", "charts/mine.svg": "", "dumps/2s/notes.txt": "", "dumps/2s/dump_requests.csv": dump,
		"dumps/later/dump_queues.csv": dump, "dumps/1000h0m0s/dump_queues.csv": dump, "comparison.json": "", "trace.jsonl": storyLine,
		".notes-0123456789abcdef": "",
	}
	place(t, folder, users)
	if _, err := output.WriteRun(&atomicfile.Set{}, dir, judgedStory(), nil, nil); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(users))
	want = append(want, storyFiles...)
	slices.Sort(want)
	got := below(t, folder)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Stat(filepath.Join(folder, "dumps", "1s")); err == nil {
		t.Error("the folder of a dump is there, and empty")
	}
}

// A folder without a summary of the scenario is the user's, whatever its files are called.
func TestFilesOfAUserStay(t *testing.T) {
	for _, summary := range []string{"", "{", `{"schemaVersion":"v9","name":"story"}`, `{"schemaVersion":"apfsim/v1alpha1","name":"other"}`} {
		dir := t.TempDir()
		users := map[string]string{
			"charts/queues-a.svg": "a", "charts/queues-low.svg": "b", "dumps/1s/dump_queues.csv": "c", "requests.jsonl": storyLine, "replications.json": "{}",
			"replications.csv": "d",
		}
		place(t, filepath.Join(dir, "story"), users)
		if summary != "" {
			place(t, filepath.Join(dir, "story"), map[string]string{"summary.json": summary})
		}
		if _, err := output.WriteRun(&atomicfile.Set{}, dir, judgedStory(), nil, nil); err != nil {
			t.Fatal(err)
		}
		for name, text := range users {
			if got, err := os.ReadFile(filepath.Join(dir, "story", filepath.FromSlash(name))); err != nil || string(got) != text {
				t.Errorf("beside %q, %s is %q, %v", summary, name, got, err)
			}
		}
	}
}

// Beside the summary, a log that is no log of its workloads stays, and so does the trace that the
// run has read.
func TestLogsThatStay(t *testing.T) {
	for text, stays := range map[string]bool{
		storyLine: false, strings.Replace(storyLine, "mice", "rats", 1): true, `{"arrivalNs":1,"verb":"get"}`: true, "": true, "x": true,
	} {
		for _, isInput := range []bool{false, true}[:map[bool]int{false: 2, true: 1}[stays]] {
			dir := t.TempDir()
			log := filepath.Join(dir, "story", output.RequestsFile)
			place(t, dir, map[string]string{"story/requests.jsonl": text})
			var inputs []string
			if isInput {
				inputs = []string{filepath.Join(dir, ".", "story", "..", "story", output.RequestsFile)}
			}
			for range 2 {
				if _, err := output.WriteRun(&atomicfile.Set{}, dir, judgedStory(), nil, inputs); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := os.Stat(log); (err == nil) != (stays || isInput) {
				t.Errorf("%q, an input: %v: %v", text, isInput, err)
			}
		}
	}
}

// If the process is killed while files take their places, the summary is not there, and the next
// run knows by the temporary files of both summaries what is left.
func TestRunAfterOneThatWasKilled(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "story")
	if _, err := output.WriteRun(&atomicfile.Set{}, dir, judgedStory(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(folder, output.SummaryFile), filepath.Join(folder, ".summary.json.0123456789abcdef.apfsim-old")); err != nil {
		t.Fatal(err)
	}
	place(t, folder, map[string]string{
		"requests.jsonl": storyLine, "charts/queues-new.svg": "",
		".summary.json.1123456789abcdef.apfsim-tmp": `{"schemaVersion":"apfsim/v1alpha1","name":"story","priorityLevels":[{"name":"new"}]}`,
		".summary.json.2123456789abcdef.apfsim-tmp": `{"schemaVersion":"apfsim/v1alpha1","name"`,
	})
	if _, err := output.ReadResults(folder); !errors.Is(err, output.ErrNoResults) {
		t.Errorf("what is not complete reads as %v", err)
	}
	if _, err := output.WriteRun(&atomicfile.Set{}, dir, judgedStory(), nil, nil); err != nil {
		t.Fatal(err)
	}
	got := slices.DeleteFunc(below(t, folder), func(name string) bool { return strings.HasPrefix(name, ".summary.json.") })
	if diff := cmp.Diff(storyFiles, got); diff != "" {
		t.Error(diff)
	}
}

// Whatever charts a run has, the next one knows them.
func TestChartsAreKnownToTheNextRun(t *testing.T) {
	r := queuedStory()
	var earlier output.EarlierRun
	for _, l := range r.Summary.PriorityLevels {
		earlier.PriorityLevels = append(earlier.PriorityLevels, struct{ Name string }{l.Name})
	}
	for _, c := range charts.Of(report.RunDocument(r)) {
		if !slices.Contains(earlier.ChartNames(), c.Name) {
			t.Errorf("%s would stay beside the charts of another run", c.Name)
		}
	}
}

// A folder where a file belongs leaves all as it was: the files of the earlier run, and nothing of
// the new one, be it a log that was complete.
func TestAFileThatCannotBeWrittenIsNamed(t *testing.T) {
	for _, name := range []string{output.SummaryFile, output.ReportFile, "charts/wait.svg", "charts/seats.png"} {
		dir := t.TempDir()
		folder := filepath.Join(dir, "story")
		if _, err := output.WriteRun(&atomicfile.Set{}, dir, judgedStory(), nil, nil); err != nil {
			t.Fatal(err)
		}
		taken := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.Remove(taken), os.Mkdir(taken, 0o777)); err != nil {
			t.Fatal(err)
		}
		place(t, folder, map[string]string{"requests.jsonl": "the earlier run's"})
		before := map[string]string{}
		for _, name := range below(t, folder) {
			text, _ := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
			before[name] = string(text)
		}
		var set atomicfile.Set
		if err := set.Write(filepath.Join(folder, output.RequestsFile), []byte("the new run's")); err != nil {
			t.Fatal(err)
		}
		later := judgedStory()
		later.Summary.Seed++
		if _, err := output.WriteRun(&set, dir, later, nil, nil); err == nil || !strings.Contains(err.Error(), taken) {
			t.Errorf("error %v, want one that names %s", err, taken)
		}
		if err := set.Discard(); err != nil {
			t.Error(err)
		}
		after := map[string]string{}
		for _, name := range below(t, folder) {
			text, _ := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
			after[name] = string(text)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("%s in the way:\n%s", name, diff)
		}
	}
}

func TestAVerdictNeverReadsAsTheLimitItMisses(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		v    result.Verdict
		want string
	}{
		{result.Verdict{Value: value(3_000_400_000), Limit: 3e9, Unit: "ns"}, "3.0004 s"},
		{result.Verdict{Value: value(3e9), Limit: 3e9, Unit: "ns"}, "3 s"},
		{result.Verdict{Value: value(1e9 + 1./3), Limit: 1e9, Unit: "ns"}, "1.0000000003 s"}, // a mean
		{result.Verdict{Value: value(math.Nextafter(1e9, 2e9)), Limit: 1e9, Unit: "ns"}, "1.0000000000000002 s"},
		{result.Verdict{Value: value(999_999_999), Limit: 1e9, Unit: "ns"}, "0.999999999 s"},
		{result.Verdict{Value: value(250_000_001_000), Limit: 250e9, Unit: "ns"}, "250.000001 s"},
		{result.Verdict{Value: value(12_401), Limit: 12_400}, "12401"},
		{result.Verdict{Value: value(123_456_789_123), Limit: 123_456_789_000}, "123456789123"},
		{result.Verdict{Value: value(1e-9 + 1e-14), Limit: 1e-9}, "0.00000000100001"},
		{result.Verdict{Value: value(0.99981), Limit: 1}, "0.9998"},
		{result.Verdict{Value: value(0.99981), Limit: 0.95}, "1"},
		{result.Verdict{Note: "no samples"}, "no samples"},
	} {
		if got := c.v.Found(); got != c.want {
			t.Errorf("%+v reads %q, want %q", c.v, got, c.want)
		}
	}
}

type brokenPipe struct{ after int }

var errBroken = errors.New("broken pipe")

func (b *brokenPipe) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestWritersReturnWhatGoesWrong(t *testing.T) {
	r := judgedStory()
	for name, write := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return render.Text(w, report.RunDocument(r), format.TextOptions{}) },
		"json": func(w io.Writer) error { return format.WriteJSON(w, r.Summary) },
		"csv":  func(w io.Writer) error { return seriesCSV(w, r) },
		"html": func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) },
	} {
		if err := write(&brokenPipe{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, fmt.Sprint(err))
		}
	}
}

// seriesCSV writes the intervals of a run's levels and workloads.
func seriesCSV(w io.Writer, r *result.Result) error {
	return render.CSVRecords(w, report.RunDocument(r).Records[0])
}
