package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"apfsim/internal/atomicfile"
	"apfsim/reports/charts"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
)

// chartName is the name of the chart, whose file is in the folder docs/images beside the folder of the document.
const chartName = "live-waits"

// The section of the page of the documentation that all cases share that are compared with a replay is between these lines.
const (
	sectionStart = "<!-- measured -->\n"
	sectionEnd   = "<!-- end of measured -->\n"
)

// caseSection returns the lines between which the section of another case is.
func caseSection(name string) (start, end string) {
	return "<!-- " + name + " -->\n", "<!-- end of " + name + " -->\n"
}

// WriteDocument writes the measured section of a page, and its chart.
func (r *Results) WriteDocument(file string) error {
	return writeSection(file, sectionStart, sectionEnd, r.Document())
}

// WriteDocument writes the section of the case of a page.
func (b *Busy) WriteDocument(file string) error {
	start, end := caseSection(b.Name)
	return writeSection(file, start, end, b.Document())
}

// WriteDocument writes the section of the case of a page.
func (f *Forecast) WriteDocument(file string) error {
	start, end := caseSection(f.Name)
	return writeSection(file, start, end, f.Document())
}

// writeSection writes a document as a section of a page, and its charts beside it.
func writeSection(file, start, end string, d *report.Document) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, remaining, found := strings.Cut(string(text), start)
	_, after, ended := strings.Cut(remaining, end)
	if !found || !ended {
		return fmt.Errorf("%s: has no section between the lines %q and %q", file, strings.TrimSpace(start), strings.TrimSpace(end))
	}
	var section, images bytes.Buffer
	if err := render.Markdown(&section, d, format.TextOptions{}); err != nil {
		return err
	}
	for _, chart := range charts.Of(d) {
		if err := chart.WriteFile(filepath.Join(filepath.Dir(file), "..", "docs", "images", chart.Name+".svg")); err != nil {
			return err
		}
		fmt.Fprintf(&images, "![Share of the executed requests against their wait, live, in the replay and in the prediction, "+
			"for the kinds of requests that wait](../docs/images/%s.svg)\n\n", chart.Name)
	}
	return atomicfile.WriteFile(file, []byte(before+start+"\n"+images.String()+section.String()+"\n"+end+after))
}

// machine says on which server and machine the runs were made.
func machine(version string) string {
	return fmt.Sprintf("kube-apiserver %s; %s, %s/%s, processors: %d.", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
}

// Document returns the report of all cases. A terminal shows the statistics and what fails, and the documentation shows all
// that was measured.
func (r *Results) Document() *report.Document {
	d := &report.Document{Name: "live test", Ran: machine(r.Version),
		Pictures: slices.Values([]*report.Picture{r.picture()})}
	add := func(p report.Part) {
		if p.Table == nil || len(p.Table.Rows) > 0 {
			d.Sections = append(d.Sections, report.Section{Parts: []report.Part{p}})
		}
	}
	add(report.Part{Only: report.Markdown, Note: "Live and replay: the mean of the runs [the least..the most]. Other seeds: the least..the most."})
	add(report.Part{Table: tableOf("", statisticColumns, r.statisticRows())})
	var fitted []runRow
	for _, run := range r.runRows() {
		if run.Fit != nil {
			fitted = append(fitted, run)
		}
	}
	for _, p := range []report.Part{
		{Table: tableOf("Limits after the adjustments", limitColumns, r.limitRows()), Note: "Limits are of one run, live / replay."},
		{Table: tableOf("The runs", runColumns, r.runRows())},
		{Table: tableOf("Scenarios fitted to the logs", fitColumns, fitted)},
		{Table: tableOf("What was compared", checkColumns, r.checkRows())},
	} {
		p.Only = report.Markdown
		add(p)
	}
	verdict := r.Failures()
	for _, name := range r.Void() {
		verdict = append(verdict, name+": all runs are void, so that nothing is shown")
	}
	if len(verdict) == 0 {
		add(report.Part{Only: report.Terminal, Paragraph: "All comparisons hold."})
	} else {
		add(report.Part{Only: report.Terminal, Heading: "What does not hold", List: verdict})
	}
	return d
}

// Document returns the report of one run: its comparisons, and what else was measured.
func (r *Run) Document(name string, took time.Duration) *report.Document {
	d := &report.Document{Name: name, Ran: fmt.Sprintf("%s, %v", r.verdict(), took.Round(time.Second))}
	row := runRow{name, r}
	measured := &report.Table{NoHead: true, Columns: []report.Column{{Left: true}, {Left: true}}}
	for _, c := range runColumns[2:] { // the name and the result are above
		if cell := c.Cell(&row); cell.Text != "" {
			measured.Rows = append(measured.Rows, []report.Cell{report.Word(c.Title), cell})
		}
	}
	compared := tableOf("", checkColumns, r.checkRows(name))
	compared.NoHead = true
	parts := []report.Part{{Table: measured}, {Table: compared}}
	if f := r.Fit; f != nil {
		title := fmt.Sprintf("Scenario fitted to the logs: %d of %d statistics are within the %.0f %% prediction intervals", f.Within, f.Statistics, 100*f.Coverage)
		parts = append(parts, report.Part{Table: &report.Table{Title: title}}, report.Part{Heading: "Outside", List: f.Outside})
	}
	d.Sections = []report.Section{{Parts: parts}}
	return d
}
