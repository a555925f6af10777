package reports_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"apfsim/experiment/output"
	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/judge"
	"apfsim/reports/render"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim"
	"apfsim/sim/scenario/loader"

	"apfsim/internal/browsertest"
)

// browser is a tab of headless Chromium.
type browser struct{ *browsertest.Browser }

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// newBrowser opens a tab of the browser, whose pages are files and send no request.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	return &browser{browsertest.New(t, func(url string) bool { return strings.HasPrefix(url, "file:") || strings.HasPrefix(url, "data:") })}
}

func eval[T any](b *browser, expression string) T {
	b.T.Helper()
	return browsertest.Eval[T](b.Browser, expression)
}

// prefer sets what the system would: a colour scheme, and no motion, which a test would have
// to wait for.
func (b *browser) prefer(scheme string) {
	b.T.Helper()
	if _, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}}); err != nil {
		b.T.Fatal(err)
	}
}

// open shows a page, as wide as a small screen, with all its parts open, and waits for its plots.
func (b *browser) open(write func(io.Writer) error) {
	b.T.Helper()
	b.openFolded(write)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll(".folds > details").forEach(d => { d.open = true })`))
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.querySelectorAll("figure canvas").length === document.querySelectorAll("figure").length`, browsertest.UntilItHolds)); err != nil {
		b.T.Fatalf("the plots are not all drawn: %v", err)
	}
}

// openFolded shows a page as a reader sees it first, and waits for the plots of the first screen.
func (b *browser) openFolded(write func(io.Writer) error) {
	b.T.Helper()
	var text bytes.Buffer
	if err := write(&text); err != nil {
		b.T.Fatal(err)
	}
	file := filepath.Join(b.T.TempDir(), "report.html")
	if err := os.WriteFile(file, text.Bytes(), 0o666); err != nil {
		b.T.Fatal(err)
	}
	b.prefer("light")
	b.Do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+filepath.ToSlash(file)))
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.querySelectorAll(".picture canvas").length === document.querySelectorAll(".picture figure").length`, browsertest.UntilItHolds)); err != nil {
		b.T.Fatalf("the picture is not drawn: %v", err)
	}
}

// showPlot scrolls a plot into view and returns where its data area is.
func (b *browser) showPlot(name string) (left, top, width, height float64) {
	b.T.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("#plot-%s").scrollIntoView({block: "center", behavior: "instant"})`, name)))
	box := eval[[]float64](b, fmt.Sprintf(`(() => { const r = document.querySelector("#plot-%s .u-over").getBoundingClientRect(); return [r.left, r.top, r.width, r.height] })()`, name))
	return box[0], box[1], box[2], box[3]
}

// reads returns the values that the legend of a plot shows: where, and of each line.
func (b *browser) reads(name string) []string {
	b.T.Helper()
	return eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("#plot-%s .u-value")].map(e => e.textContent)`, name))
}

func (b *browser) column(table string, column int) []float64 {
	b.T.Helper()
	return eval[[]float64](b, fmt.Sprintf(`[...document.querySelectorAll("#table-%s tbody tr:not(.total)")].map(r => +r.cells[%d].dataset.v)`, table, column))
}

// interval reads "12–12.5 s".
func interval(t *testing.T, text string) (from, to float64) {
	t.Helper()
	if n, err := fmt.Sscanf(strings.Replace(text, "–", " ", 1), "%g %g s", &from, &to); n != 2 {
		t.Fatalf("%q is no interval: %v", text, err)
	}
	return from, to
}

func simulated(t *testing.T, yaml string) *result.Result {
	t.Helper()
	scenarios, mistakes := loader.Load(fstest.MapFS{"s.yaml": {Data: []byte(yaml)}}, "s.yaml", loader.Options{})
	if err := mistakes.Err(); err != nil {
		t.Fatal(err)
	}
	run := sim.New(scenarios[0])
	intervalNs := result.Interval(int64(scenarios[0].Spec.Duration))
	collector := collect.New(scenarios[0], run.Server, intervalNs)
	run.Observe(collector.Observer())
	if err := run.Execute(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return collector.Result()
}

// What a reader sees first has a picture, who was harmed, who filled the seats, what may help and how far to trust it; all
// else is folded, and opens in each of the ways.
func TestTheFirstScreenInABrowser(t *testing.T) {
	b := newBrowser(t)
	r := simulated(t, strings.Replace(crowded, "clients: 20", "clients: 80", 1))
	judge.Verdict(r)
	b.openFolded(func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) })
	open := func() int { return eval[int](b, `document.querySelectorAll(".folds > details[open]").length`) }
	folds := eval[int](b, `document.querySelectorAll(".folds > details").length`)
	if folds < 6 || open() != 0 {
		t.Errorf("%d of %d parts are open at first", open(), folds)
	}
	if got := eval[string](b, `document.querySelector(".answer b").textContent`); got != "HARM" {
		t.Errorf("the status is %q", got)
	}
	if n := eval[int](b, `document.querySelectorAll(".picture canvas").length`); n != 2 {
		t.Errorf("the picture has %d plots", n)
	}
	for _, table := range []string{"harmed", "filled", "try"} {
		if rows := eval[int](b, fmt.Sprintf(`document.querySelectorAll(".screen #table-%s tbody tr").length`, table)); rows == 0 {
			t.Errorf("%s has no rows", table)
		}
	}
	if got := eval[string](b, `document.querySelector(".screen .note").textContent`); !strings.HasPrefix(got, "Trust: ") {
		t.Errorf("the last line of the first screen is %q", got)
	}
	for _, size := range []struct{ width, height, screens int64 }{{1440, 900, 2}, {390, 844, 4}} {
		b.Do(chromedp.EmulateViewport(size.width, size.height))
		if height := eval[int64](b, `document.documentElement.scrollHeight`); height > size.screens*size.height {
			t.Errorf("at %d × %d the folded page has %d pixels", size.width, size.height, height)
		}
		b.fits(t, "first screen", size.width)
	}
	b.Do(chromedp.EmulateViewport(1440, 900))
	if below := eval[float64](b, `document.querySelector(".screen .note").getBoundingClientRect().bottom`); below > 900 {
		t.Errorf("the first screen ends at %g pixels", below)
	}

	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#levels"`))
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.querySelector("#levels").closest("details").open`, browsertest.UntilItHolds)); err != nil {
		t.Error(err)
	}
	if open() != 1 {
		t.Errorf("the anchor opens %d parts", open())
	}
	b.Do(chromedp.Click(chromedp.CSS("#unfold")))
	if open() != folds {
		t.Errorf("the button opens %d of %d parts", open(), folds)
	}
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.querySelector("#unfold").textContent === "Close all"`, browsertest.UntilItHolds)); err != nil {
		t.Error(err)
	}
	b.Do(chromedp.Click(chromedp.CSS("#unfold")))
	if open() != 0 {
		t.Errorf("the button leaves %d parts open", open())
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`addEventListener("beforeprint", () => { window.printed = document.querySelectorAll(".folds > details[open]").length })`))
	if _, err := chromedp.Run(b.Ctx, chromedp.PrintToPDF()); err != nil {
		t.Fatal(err)
	}
	if printed := eval[int](b, `window.printed`); printed != folds || open() != 0 {
		t.Errorf("%d of %d parts are printed, %d are open afterwards", printed, folds, open())
	}
	b.NoComplaints()
}

func TestTheReportInABrowser(t *testing.T) {
	b := newBrowser(t)
	r := simulated(t, strings.Replace(crowded, "clients: 20", "clients: 80", 1))
	b.open(func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) })
	for _, scheme := range []string{"dark", "light"} {
		b.prefer(scheme)
		b.accessible(t, scheme, axeScript(t))
	}

	// The level with the elephants, and its number in the names of plots.
	level := slices.IndexFunc(r.Series, func(s *result.Series) bool { return s.Queued() })
	if level < 0 {
		t.Fatal("nothing was queued")
	}
	series := r.Series[level]
	seats, requests, queues := fmt.Sprint("seats-", level), fmt.Sprint("requests-", level), fmt.Sprint("queues-", level)

	t.Run("sort by mouse and keyboard", func(t *testing.T) {
		head := "#table-workloads thead th:nth-child(2)"
		b.Do(chromedp.Click(chromedp.CSS(head + " button")))
		down := b.column("workloads", 1)
		if len(down) != 3 || !slices.IsSortedFunc(down, func(x, y float64) int { return int(y - x) }) {
			t.Errorf("arrived, greatest first: %v", down)
		}
		if got := eval[string](b, fmt.Sprintf(`document.querySelector("%s").getAttribute("aria-sort")`, head)); got != "descending" {
			t.Errorf("aria-sort is %q", got)
		}
		b.Do(chromedp.Focus(chromedp.CSS(head+" button")), chromedp.KeyEvent(kb.Enter))
		if up := b.column("workloads", 1); !slices.IsSorted(up) || slices.Equal(up, down) {
			t.Errorf("arrived, least first: %v", up)
		}
		if last := eval[string](b, `document.querySelector("#table-workloads tbody").lastElementChild.cells[0].textContent`); last != "all" {
			t.Errorf("the last row is %q, want that of all", last)
		}
	})

	t.Run("filter and show all", func(t *testing.T) {
		count := func() int { return eval[int](b, `document.querySelectorAll("#table-flows tbody tr").length`) }
		if n := count(); n != 50 {
			t.Errorf("%d flows at first", n)
		}
		b.Do(chromedp.SendKeys(chromedp.CSS("#table-flows input"), "team-7:"))
		if n := count(); n != 1 {
			t.Errorf("%d flows match team-7:", n)
		}
		b.Do(chromedp.Evaluate[chromedp.Void](`(e => { e.value = ""; e.dispatchEvent(new Event("input")) })(document.querySelector("#table-flows input"))`),
			chromedp.Click(chromedp.CSS("#table-flows .all")))
		if n := count(); n != len(r.Summary.Flows) {
			t.Errorf("%d flows of %d", n, len(r.Summary.Flows))
		}
		// Sorting reaches the rows that were not shown.
		b.Do(chromedp.Click(chromedp.CSS("#table-flows .all")), chromedp.Click(chromedp.CSS("#table-flows thead th:nth-child(1) button")))
		names := eval[[]string](b, `[...document.querySelectorAll("#table-flows tbody th")].map(e => e.textContent)`)
		seven, ten := -1, -1
		for i, name := range names {
			if strings.HasPrefix(name, "team-7:") {
				seven = i
			}
			if strings.HasPrefix(name, "team-10:") {
				ten = i
			}
		}
		if len(names) != 50 || seven < 0 || ten < seven {
			t.Errorf("by name, team-7 is at %d and team-10 at %d of %d", seven, ten, len(names))
		}
	})

	t.Run("explanation", func(t *testing.T) {
		b.Do(chromedp.Click(chromedp.CSS(`#table-levels a[href="#term-jain"]`)))
		open := func() bool { return eval[bool](b, `document.querySelector("#explain").matches(":popover-open")`) }
		if !open() {
			t.Error("a click on the question mark opens nothing")
		}
		if got := eval[string](b, `document.querySelector("#explain").textContent`); !strings.Contains(got, "1 if the ratio of all flows is the same") {
			t.Errorf("the explanation of fairness: %q", got)
		}
		b.Do(chromedp.KeyEvent(kb.Escape))
		if open() {
			t.Error("Escape does not close the explanation")
		}
	})

	t.Run("hover", func(t *testing.T) {
		left, top, width, height := b.showPlot(seats)
		b.Do(chromedp.MouseEvent(chromedp.MouseMoved, left+width*0.6, top+height/2))
		values := b.reads(seats)
		from, _ := interval(t, values[0])
		if math.Abs(from-24) > 1 { // of 40 s
			t.Errorf("the pointer at 24 s reads %q", values[0])
		}
		checkSeats(t, series, values)
	})

	t.Run("keyboard", func(t *testing.T) {
		holder := fmt.Sprintf("#plot-%s .plot", seats)
		b.Do(chromedp.Focus(chromedp.CSS(holder)), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
		values := b.reads(seats)
		if from, _ := interval(t, values[0]); from != float64(series.Points[2].StartNs)/1e9 {
			t.Errorf("Home, right, right: at %q", values[0])
		}
		checkSeats(t, series, values)
		said := eval[string](b, fmt.Sprintf(`document.querySelector("%s").getAttribute("aria-valuetext")`, holder))
		if !strings.HasPrefix(said, values[0]+": seats in use "+values[1]) {
			t.Errorf("a screen reader hears %q where the legend has %q", said, values)
		}
	})

	t.Run("zoom moves all time axes", func(t *testing.T) {
		left, top, width, height := b.showPlot(requests)
		b.Do(chromedp.DragAndDropXY(left+width*0.5, top+height/2, left+width*0.75, top+height/2, 5))
		edges := func(plot string) (from, to float64) {
			left, top, width, height := b.showPlot(plot)
			read := func(x float64) float64 {
				b.Do(chromedp.MouseEvent(chromedp.MouseMoved, x, top+height/2))
				at, _ := interval(t, b.reads(plot)[0])
				return at
			}
			return read(left + 1), read(left + width - 1)
		}
		for _, plot := range []string{requests, seats} {
			if from, to := edges(plot); math.Abs(from-20) > 0.5 || math.Abs(to-30) > 0.5 {
				t.Errorf("%s shows %v to %v s, want 20 to 30", plot, from, to)
			}
		}
		// With Ctrl the wheel zooms out; 0 resets.
		left, top, width, height = b.showPlot(seats)
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("#plot-%s .u-over").dispatchEvent(
			new WheelEvent("wheel", {deltaY: 120, ctrlKey: true, cancelable: true, clientX: %g, clientY: %g}))`, seats, left+width/2, top+height/2)))
		if from, to := edges(requests); from > 19.5 || to < 30.5 || from < 10 || to > 38 {
			t.Errorf("after the wheel %s shows %v to %v s", requests, from, to)
		}
		b.Do(chromedp.Focus(chromedp.CSS(fmt.Sprintf("#plot-%s .plot", seats))), chromedp.KeyEvent("0"))
		if from, to := edges(requests); from > 0.1 || to < 39 {
			t.Errorf("after a reset %s shows %v to %v s", requests, from, to)
		}
	})

	t.Run("queues", func(t *testing.T) {
		left, top, width, height := b.showPlot(queues)
		longest, column, most := 0, 0, int32(0)
		for i, lengths := range series.QueueLengths {
			for q, n := range lengths {
				if n > most {
					longest, column, most = q, i, n
				}
			}
		}
		columns, rows := float64(len(series.QueueLengths)), float64(len(series.QueueLengths[column]))
		b.Do(chromedp.MouseEvent(chromedp.MouseMoved, left+width*(float64(column)+0.7)/columns, top+height*(1-(float64(longest)+0.5)/rows)))
		got := eval[string](b, fmt.Sprintf(`document.querySelector("#plot-%s .reading").textContent`, queues))
		want := fmt.Sprintf("queue %d: %d waiting; dealt to ", longest, most)
		if !strings.Contains(got, want) {
			t.Errorf("the map reads %q, want … %s", got, want)
		}
	})

	t.Run("themes", func(t *testing.T) {
		paper := func() string { return eval[string](b, `getComputedStyle(document.body).backgroundColor`) }
		for scheme, want := range map[string]string{"light": "rgb(247, 248, 249)", "dark": "rgb(20, 23, 26)"} {
			b.prefer(scheme)
			if got := paper(); got != want {
				t.Errorf("%s: the paper is %s", scheme, got)
			}
		}
		b.prefer("dark")
		b.WaitFor(`document.querySelector("#theme").textContent === "Light"`) // the page learns of it a moment later
		before := paper()
		b.Do(chromedp.Click(chromedp.CSS("#theme")))
		b.WaitFor(fmt.Sprintf(`getComputedStyle(document.body).backgroundColor !== %q`, before)) // the switch changes it
	})

	t.Run("focus is visible", func(t *testing.T) {
		b.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
		kinds := map[string]bool{}
		for range 40 {
			b.Do(chromedp.KeyEvent(kb.Tab))
			got := eval[[]string](b, `(e => [e.tagName + " " + e.className, getComputedStyle(e).outlineStyle, getComputedStyle(e).outlineWidth])(document.activeElement)`)
			kinds[got[0]] = true
			if got[1] != "solid" || got[2] != "2px" {
				t.Errorf("the focus on %s is outlined %s %s", got[0], got[1], got[2])
			}
		}
		for _, want := range []string{"BUTTON head", "A term", "DIV scroll", "DIV plot"} {
			if !kinds[want] {
				t.Errorf("Tab does not reach %s, but %v", want, kinds)
			}
		}
	})

	t.Run("no overflow on a telephone", func(t *testing.T) {
		for _, width := range []int64{390, 320} {
			b.Do(chromedp.EmulateViewport(width, 844))
			for _, plot := range []string{"wait", seats, queues} {
				b.showPlot(plot)
			}
			b.fits(t, "report", width)
		}
	})

	t.Run("print", func(t *testing.T) {
		if _, err := chromedp.Run(b.Ctx, chromedp.PrintToPDF()); err != nil {
			t.Fatal(err)
		}
		if plots, drawn := eval[int](b, `document.querySelectorAll("figure").length`), eval[int](b, `document.querySelectorAll("figure canvas").length`); plots == 0 || drawn != plots {
			t.Errorf("%d of %d plots are drawn when the page is printed", drawn, plots)
		}
	})

	b.NoComplaints()
}

// What comparisons and replications show: values with intervals.
func TestIntervalsInABrowser(t *testing.T) {
	b := newBrowser(t)
	p := &report.Document{Title: "intervals", Sections: []report.Section{{Name: "s", Title: "s", Parts: []report.Part{
		{Table: &report.Table{Name: "t", Columns: []report.Column{{Title: "what", Left: true}, {Title: "wait"}},
			Rows: [][]report.Cell{{{Text: "a"}, {Text: "3 ms", Margin: "1 ms", Number: true, Value: 3}}, {{Text: "b"}, {Text: "10 ms", Margin: "2 ms", Number: true, Value: 10}}}}},
		{Plot: &report.Plot{Name: "p", Title: "p", X: report.Axis{Label: "time", Unit: "s"}, Y: report.Axis{Label: "wait", Unit: "ns"},
			At: []float64{0, 1, 2}, Lines: []report.Line{
				{Name: "base", Kind: report.KindPercentile, Values: []float64{2e6, 3e6, 4e6}, Low: []float64{1e6, 2e6, 3e6}, High: []float64{3e6, 4e6, 5e6}},
				{Name: "head", Kind: report.KindBasePercentile, Index: 1, Values: []float64{5e6, 6e6, 7e6}},
			}}}}}}}
	b.open(func(w io.Writer) error { return render.HTML(w, p) })
	b.Do(chromedp.Focus(chromedp.CSS("#plot-p .plot")), chromedp.KeyEvent(kb.End))
	shown := eval[[]string](b, `[...document.querySelectorAll("#plot-p .u-series")].filter(e => e.offsetParent).map(e => e.textContent)`)
	if want := []string{"time2 s", "base4 ms (3 ms–5 ms)", "head7 ms"}; !slices.Equal(shown, want) {
		t.Errorf("the legend reads %q, want %q", shown, want)
	}
	b.Do(chromedp.Click(chromedp.CSS("#table-t thead th:nth-child(2) button")))
	if got := eval[string](b, `document.querySelector("#table-t tbody td").textContent`); got != "10 ms ± 2 ms" {
		t.Errorf("the greatest is %q", got)
	}
	b.NoComplaints()
}

// A chart reads as the tables do.
func TestNumbersOfChartsInABrowser(t *testing.T) {
	b := newBrowser(t)
	plot := func(name, unit string, values ...float64) report.Part {
		at := make([]float64, len(values))
		for i := range at {
			at[i] = float64(i)
		}
		return report.Part{Plot: &report.Plot{Name: name, Title: name, X: report.Axis{Label: "time", Unit: "s"}, Y: report.Axis{Label: name, Unit: unit},
			At: at, Lines: []report.Line{{Name: "a", Values: values}}}}
	}
	b.open(func(w io.Writer) error {
		return render.HTML(w, &report.Document{Title: "numbers", Sections: []report.Section{{Name: "s", Title: "s", Parts: []report.Part{
			plot("wait", "ns", 0, 12.3456e6, 59.96e9, 119.4e9, 119.6e9, 250e9, 3599.9e9, 7199.4e9, 7259e9, 10799e9, math.NaN()),
			plot("share", "share", 0, 0.00002, 0.4567, 0.999, 0.9995, 0.99999, 1, 1.234),
			plot("seats", "", 9999.4, 9999.6, 19451),
		}}}})
	})
	for name, want := range map[string][]string{
		"wait":  {"0", "12.3 ms", "60 s", "119 s", "2 min", "4 min 10 s", "60 min", "119 min 59 s", "2 h 1 min", "3 h", "–"},
		"share": {"0 %", "0.002 %", "45.7 %", "99.9 %", ">99.9 %", ">99.9 %", "100 %", "123 %"},
		"seats": {"9999", "10 k", "19.5 k"},
	} {
		b.Do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("#plot-%s .values").open = true`, name)))
		if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](fmt.Sprintf(`document.querySelector("#plot-%s .values td") !== null`, name), browsertest.UntilItHolds)); err != nil {
			t.Fatal(err)
		}
		if got := eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll("#plot-%s .values td")].map(e => e.textContent)`, name)); !slices.Equal(got, want) {
			t.Errorf("%s reads %q, want %q", name, got, want)
		}
	}
	b.NoComplaints()
}

// fits waits until a page is no wider than the screen: charts follow a change of its width a
// moment later.
func (b *browser) fits(t *testing.T, name string, width int64) {
	t.Helper()
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](fmt.Sprintf(`document.documentElement.scrollWidth <= %d`, width), browsertest.UntilItHolds)); err != nil {
		t.Errorf("%s: at %d px the page is %d px wide (%v)", name, width, eval[int64](b, `document.documentElement.scrollWidth`), err)
	}
}

// The pages of comparisons and replications at the width of a telephone: the verdict first,
// nothing wider than the screen, and what matters of each row within it.
func TestComparisonsInABrowser(t *testing.T) {
	b := newBrowser(t)
	written := writtenPages(t)
	for _, page := range []struct {
		file, verdict string
		tables        []string // of long names
	}{
		{filepath.Join("crowded", output.ReportFile), "", []string{"statistics"}},
		{output.ComparisonReport, "Limits: 1 of 1 exceeded.", []string{"limits", "changes", "statistics"}},
	} {
		b.open(written(page.file))
		if page.verdict != "" {
			if got := eval[string](b, `document.querySelector(".why li").textContent`); got != page.verdict {
				t.Errorf("%s: below the answer stands %q, want %q", page.file, got, page.verdict)
			}
		}
		for _, width := range []int64{390, 320} {
			b.Do(chromedp.EmulateViewport(width, 844))
			b.fits(t, page.file, width)
			if got := eval[int64](b, `document.querySelector("#theme").offsetHeight`); got > 40 {
				t.Errorf("%s: at %d px the name of the theme is broken", page.file, width)
			}
			for _, table := range page.tables {
				if got := eval[float64](b, fmt.Sprintf(`Math.max(...[...document.querySelectorAll("#table-%s :is(th, td)")].map(e => { const r = document.createRange(); r.selectNodeContents(e); return r.getBoundingClientRect().right }))`, table)); got > float64(width) {
					t.Errorf("%s: at %d px the table of %s reaches to %v px", page.file, width, table, got)
				}
			}
		}
	}
	b.NoComplaints()
}

// writtenPages writes the pages of several runs and of a comparison, and returns how to read one.
func writtenPages(t *testing.T) func(file string) func(io.Writer) error {
	t.Helper()
	sc := load(t, crowded, "spec.duration=10s", "spec.warmup=2s")
	twice := load(t, crowded, "spec.duration=10s", "spec.warmup=2s", "spec.workload[0].arrivals.poisson.rate=120/s")
	base, head := replicated(t, sc, 1, 6), replicated(t, twice, 1, 6)
	limit, err := compare.ParseLimit("rejected{workload:elephants}.rate > +5%")
	if err != nil {
		t.Fatal(err)
	}
	c := compare.Compare("before", base, "after", head)
	if err := c.Judge([]compare.Limit{limit}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(output.WriteReplications(dir, base.Name, report.ReplicationsDocument(base), nil), output.WriteComparison(dir, report.ComparisonDocument(c, false))); err != nil {
		t.Fatal(err)
	}
	return func(file string) func(io.Writer) error {
		return func(w io.Writer) error {
			text, err := os.ReadFile(filepath.Join(dir, file))
			if err == nil {
				_, err = w.Write(text)
			}
			return err
		}
	}
}

// pages returns a report of each kind: of a run with an event, of several runs, and of a comparison.
func pages(t *testing.T) map[string]func(io.Writer) error {
	t.Helper()
	written := writtenPages(t)
	run := simulated(t, strings.Replace(eventful, "  workload:\n", `  thresholds:
    "wait{workload:mice}": ["p(99) < 100ms"]
    "rejected{workload:mice}": ["rate == 0"]
  workload:
`, 1))
	return map[string]func(io.Writer) error{
		"run":          func(w io.Writer) error { return render.HTML(w, report.RunDocument(run)) },
		"replications": written(filepath.Join("crowded", output.ReportFile)),
		"comparison":   written(output.ComparisonReport),
	}
}

// On a usual screen every column of every table is in sight; on a telephone a table may scroll within
// its box, and the page may not. No heading is on a page twice.
func TestPagesFitTheirScreens(t *testing.T) {
	b := newBrowser(t)
	for name, write := range pages(t) {
		t.Run(name, func(t *testing.T) {
			b.open(write)
			headings := eval[[]string](b, `[...document.querySelectorAll("h1, h2, h3")].map(e => e.textContent.trim())`)
			seen := map[string]bool{}
			for _, h := range headings {
				if seen[h] {
					t.Errorf("the heading %q is on the page twice", h)
				}
				seen[h] = true
			}
			if len(headings) < 4 {
				t.Errorf("there are only the headings %q", headings)
			}
			for _, width := range []int64{1440, 1280, 390} {
				for _, scheme := range []string{"light", "dark"} {
					b.prefer(scheme)
					b.Do(chromedp.EmulateViewport(width, 900))
					b.fits(t, name, width)
					if *shots == "" || width == 1280 {
						continue
					}
					shot, err := chromedp.Run(b.Ctx, chromedp.FullScreenshot(100))
					if err != nil {
						t.Fatal(err)
					}
					keepShot(t, fmt.Sprintf("page-%s-%d-%s", name, width, scheme), shot)
				}
				cut := eval[[]string](b, `[...document.querySelectorAll(".table")].filter(e => { const s = e.querySelector(".scroll"); return s.scrollWidth > s.clientWidth }).map(e => e.id)`)
				if width >= 1440 && len(cut) > 0 {
					t.Errorf("at %d px these tables have columns out of sight: %v", width, cut)
				}
				// What does not scroll within a box ends within the page.
				wide := eval[[]string](b, `[...document.querySelectorAll("main *, header *, footer *")].filter(e => !e.closest(".scroll") && !e.closest("[hidden], template, .u-wrap, .bound") && e.offsetParent && getComputedStyle(e).clipPath === "none" && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + " " + e.className + " " + e.textContent.slice(0, 40))`)
				if len(wide) > 0 {
					t.Errorf("at %d px these reach beyond the page: %q", width, wide)
				}
			}
		})
	}
	b.NoComplaints()
}

// The waits of workloads are drawn the same way round on all pages: times along x, shares along y.
func TestWaitsAreDrawnTheSameWayRound(t *testing.T) {
	b := newBrowser(t)
	for name, write := range pages(t) {
		t.Run(name, func(t *testing.T) {
			b.open(write)
			if got, want := eval[string](b, `(p => p.x.label + " " + p.x.unit + ", " + p.y.label + " " + p.y.unit)(JSON.parse(document.querySelector("#plots").textContent).find(p => p.name === "wait"))`),
				"waited longer than ns, share of requests share"; got != want {
				t.Errorf("the axes are %q, want %q", got, want)
			}
			// What is read farther right is a longer wait, of fewer requests.
			read := func(key string) (ms float64, label string) {
				b.showPlot("wait")
				b.Do(chromedp.Focus(chromedp.CSS("#plot-wait .plot")), chromedp.KeyEvent(key))
				label = eval[string](b, `document.querySelector("#plot-wait .u-series").textContent`)
				var unit string
				if _, err := fmt.Sscanf(strings.TrimPrefix(label, "waited longer than"), "%g %s", &ms, &unit); err != nil {
					t.Fatalf("%q: %v", label, err)
				}
				return ms * map[string]float64{"ns": 1e-6, "µs": 1e-3, "ms": 1, "s": 1000}[unit], label
			}
			left, leftLabel := read(kb.Home)
			if name != "run" {
				// The bounds of the least percentile are to be seen, too.
				inset := eval[float64](b, `document.querySelector("#plot-wait .u-cursor-x").getBoundingClientRect().left - document.querySelector("#plot-wait .u-over").getBoundingClientRect().left`)
				if inset < 10 {
					t.Errorf("the least percentile is %v px from the left end of the plot", inset)
				}
			}
			right, rightLabel := read(kb.End)
			if left <= 0 || right <= left {
				t.Errorf("at the left end the plot reads %q, at the right end %q", leftLabel, rightLabel)
			}
		})
	}
	b.NoComplaints()
}

// Where an interval is read, what happened in it is told: an event of the scenario, and the adjustment
// that moved a limit.
func TestMarksAreRead(t *testing.T) {
	b := newBrowser(t)
	r := simulated(t, eventful)
	b.open(func(w io.Writer) error { return render.HTML(w, report.RunDocument(r)) })
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("#plot-waits-0 .values").open = true`))
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.querySelector("#plot-waits-0 .values td") !== null`, browsertest.UntilItHolds)); err != nil {
		t.Fatal(err)
	}
	got := eval[[]string](b, `[...document.querySelectorAll("#plot-waits-0 .values tbody th")].map(e => e.textContent).filter(t => t.includes(";"))`)
	want := []string{"10–10.1 s; limit of workload-low: 5 → 39 seats",
		"20–20.1 s; event: apply PriorityLevelConfiguration workload-low; limit of workload-low: 39 → 30 seats"}
	if !slices.Equal(got, want) {
		t.Errorf("the marked intervals are %q, want %q", got, want)
	}
	b.NoComplaints()
}

// What stands beside axes is in the units of the tables, and on a telephone, too, no number is written
// over another.
func TestNumbersBesideAxes(t *testing.T) {
	b := newBrowser(t)
	for name, write := range pages(t) {
		t.Run(name, func(t *testing.T) {
			b.open(write)
			b.Do(chromedp.Evaluate[chromedp.Void](`{
				window.written = [];
				const fillText = CanvasRenderingContext2D.prototype.fillText;
				CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
					const at = this.getTransform().transformPoint({ x, y });
					window.written.push({ plot: this.canvas.closest("figure").id, text, x: at.x, y: at.y, wide: this.measureText(text).width, centred: this.textAlign === "center" });
					fillText.apply(this, arguments);
				};
			}`))
			b.Do(chromedp.EmulateViewport(390, 900))
			if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`new Set(window.written.map(t => t.plot)).size === document.querySelectorAll("figure").length`, browsertest.UntilItHolds)); err != nil {
				t.Fatalf("not all plots are drawn anew: %v", err)
			}
			type text struct {
				Plot, Text string
				X, Y, Wide float64
				Centred    bool
			}
			texts := eval[[]text](b, `window.written`)
			numbers := 0
			for i, a := range texts {
				if strings.HasPrefix(a.Plot, "plot-wait") && a.Plot != "plot-waiting" && strings.Trim(a.Text, "0123456789.") != a.Text {
					numbers++
					if strings.HasSuffix(a.Text, " k") || strings.HasSuffix(a.Text, " M") || strings.HasSuffix(a.Text, " G") {
						t.Errorf("%s: a time is written as %q", a.Plot, a.Text)
					}
				}
				for _, b := range texts[:i] {
					if a.Plot == b.Plot && a.Centred && b.Centred && a.Y == b.Y && a.Text != b.Text && math.Abs(a.X-b.X) < (a.Wide+b.Wide)/2 {
						t.Errorf("%s: %q is written over %q", a.Plot, a.Text, b.Text)
					}
				}
			}
			if numbers < 5 {
				t.Errorf("beside the axes of waits are only %d numbers", numbers)
			}
		})
	}
	b.NoComplaints()
}

// checkSeats compares the values in the legend of the plot of seats with the series.
func checkSeats(t *testing.T, series *result.Series, values []string) {
	t.Helper()
	from, to := interval(t, values[0])
	for _, p := range series.Points {
		if math.Abs(float64(p.StartNs)/1e9-from) > 1e-6 {
			continue
		}
		if math.Abs(float64(p.EndNs)/1e9-to) > 1e-6 {
			t.Errorf("%s ends at %v s", values[0], float64(p.EndNs)/1e9)
		}
		for i, want := range []float64{p.SeatsInUse, p.CurrentLimit, p.NominalLimit} {
			got, err := strconv.ParseFloat(values[i+1], 64)
			if err != nil || math.Abs(got-want) > 0.006*want {
				t.Errorf("%s: value %d reads %q, the series has %v", values[0], i, values[i+1], want)
			}
		}
		return
	}
	t.Errorf("no interval begins at %v s", from)
}
