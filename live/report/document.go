package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"apfsim/internal/atomicfile"
	"apfsim/reports/format"
	"apfsim/reports/render"
	"apfsim/reports/report"
)

// The measured section of a document is between these lines.
const (
	sectionStart = "<!-- measured -->\n"
	sectionEnd   = "<!-- end of measured -->\n"
)

// chartName is the file of the chart, in the folder images beside the folder of the document.
const chartName = "live-waits.svg"

// WriteDocument writes the measured section of a document, and its chart.
func (r *Results) WriteDocument(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, remaining, found := strings.Cut(string(text), sectionStart)
	_, after, ended := strings.Cut(remaining, sectionEnd)
	if !found || !ended {
		return fmt.Errorf("%s: has no section between the lines %q and %q", file, strings.TrimSpace(sectionStart), strings.TrimSpace(sectionEnd))
	}
	chart, err := r.Chart()
	if err != nil {
		return err
	}
	section, err := r.Markdown()
	if err != nil {
		return err
	}
	images := filepath.Join(filepath.Dir(file), "..", "images")
	if err := atomicfile.WriteFile(filepath.Join(images, chartName), chart); err != nil {
		return err
	}
	return atomicfile.WriteFile(file, []byte(before+sectionStart+"\n"+section+"\n"+sectionEnd+after))
}

// Markdown returns the measured section.
func (r *Results) Markdown() (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "kube-apiserver %s; %s.\n\n", r.Version, machine())
	fmt.Fprintf(&b, "![Share of the executed requests against their wait, live, in the replay and in the prediction, for the kinds of requests that wait](../images/%s)\n\n", chartName)
	fmt.Fprintf(&b, "Live and replay: the mean of the runs [the least..the most]. Other seeds: the least..the most.\n\n")
	d := &report.Document{}
	for _, part := range []report.Part{
		{Table: r.statisticTable()},
		{Table: r.limitTable(), Note: "Limits are of one run, live / replay."},
		{Table: r.runTable()},
		{Table: r.fitTable()},
		{Table: r.checkTable()},
	} {
		if len(part.Table.Rows) > 0 {
			d.Sections = append(d.Sections, report.Section{Parts: []report.Part{part}})
		}
	}
	err := render.Markdown(&b, d, format.TextOptions{})
	return b.String(), err
}

// limitTable returns the limits that the server set, of the first run of each case that is not void.
func (r *Results) limitTable() *report.Table {
	t := newTable("Limits after the adjustments", 4, "case", "level", "after", "limits")
	for i := range r.Cases {
		c := &r.Cases[i]
		if valid := c.valid(); len(valid) > 0 {
			for _, row := range limitRows(valid[0].Adjustments) {
				addRow(t, append([]string{c.Name}, row...)...)
			}
		}
	}
	return t
}

// runTable returns what was measured of each run besides its statistics.
func (r *Results) runTable() *report.Table {
	t := newTable("The runs", 2, "run", "result", "sender late, p90", "webhook overhead, calibrated", "p50", "p90", "wait without a queue, p50", "p99",
		"hand-over", "same outcome in the replay", "load average", "spec.servers of a scenario")
	servers := len(t.Columns) - 1
	t.Columns[servers].Left = true
	for i := range r.Cases {
		c := &r.Cases[i]
		for k := range c.Runs {
			run := &c.Runs[k]
			handover := ""
			if run.Handover > 0 {
				handover = milliseconds(float64(run.Handover))
			}
			addRow(t, fmt.Sprintf("%s %d", c.Name, k+1), run.verdict(), milliseconds(float64(run.LateP90)),
				milliseconds(float64(run.Overhead)), milliseconds(float64(run.OverheadP50)), milliseconds(float64(run.OverheadP90)),
				milliseconds(float64(run.NoiseP50)), milliseconds(float64(run.NoiseP99)),
				handover, fmt.Sprintf("%.1f %%", 100*run.SameOutcome), run.LoadAverage, run.Servers())
			t.Rows[len(t.Rows)-1][servers].Code = true
		}
	}
	return t
}

// fitTable returns how well scenarios predict the runs whose logs they are fitted to.
func (r *Results) fitTable() *report.Table {
	t := newTable("Scenarios fitted to the logs", 1, "run", "statistics", "within the intervals", "share", "stated")
	for i := range r.Cases {
		c := &r.Cases[i]
		for k := range c.Runs {
			if f := c.Runs[k].Fit; f != nil {
				addRow(t, fmt.Sprintf("%s %d", c.Name, k+1), fmt.Sprint(f.Statistics), fmt.Sprint(f.Within),
					fmt.Sprintf("%.1f %%", 100*float64(f.Within)/float64(max(1, f.Statistics))), fmt.Sprintf("%.0f %%", 100*f.Coverage))
			}
		}
	}
	return t
}

// checkTable returns the comparisons of the first run of each case that is not void.
func (r *Results) checkTable() *report.Table {
	t := newTable("What was compared", 3, "case", "comparison", "of the first run")
	for i := range r.Cases {
		c := &r.Cases[i]
		if valid := c.valid(); len(valid) > 0 {
			for _, check := range valid[0].Checks {
				addRow(t, c.Name, check.What, check.Detail)
			}
		}
	}
	return t
}

// verdict says in a few words how a run ended.
func (r *Run) verdict() string {
	switch failed := r.failed(); {
	case r.Void != "":
		return "void: " + r.Void
	case failed == 0:
		return fmt.Sprintf("all %d comparisons hold", len(r.Checks))
	default:
		return fmt.Sprintf("%d of %d comparisons fail", failed, len(r.Checks))
	}
}

func (r *Run) failed() (n int) {
	for _, c := range r.Checks {
		if !c.Passed {
			n++
		}
	}
	return n
}

// limitRows returns a row for each level whose limit moves: the level, the times and the limits.
func limitRows(all []Limits) (rows [][]string) {
	for i := 0; i < len(all); {
		level, first := all[i].Level, all[i]
		var at, limits []string
		moves := false
		for ; i < len(all) && all[i].Level == level; i++ {
			l := &all[i]
			at = append(at, fmt.Sprint(l.At.Round(100*time.Millisecond)))
			limits = append(limits, fmt.Sprintf("%d / %d", l.Live, l.Replay))
			moves = moves || l.Live != first.Live
		}
		if moves {
			rows = append(rows, []string{level, strings.Join(at, ", "), strings.Join(limits, ", ")})
		}
	}
	return rows
}
