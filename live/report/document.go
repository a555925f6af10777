package report

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"apfsim/internal/atomicfile"
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
	before, rest, found := strings.Cut(string(text), sectionStart)
	_, after, ended := strings.Cut(rest, sectionEnd)
	if !found || !ended {
		return fmt.Errorf("%s: has no section between the lines %q and %q", file, strings.TrimSpace(sectionStart), strings.TrimSpace(sectionEnd))
	}
	chart, err := r.Chart()
	if err != nil {
		return err
	}
	images := filepath.Join(filepath.Dir(file), "..", "images")
	if err := atomicfile.WriteFile(filepath.Join(images, chartName), chart); err != nil {
		return err
	}
	return atomicfile.WriteFile(file, []byte(before+sectionStart+"\n"+r.Markdown()+"\n"+sectionEnd+after))
}

// Markdown returns the measured section.
func (r *Results) Markdown() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "kube-apiserver %s; %s.\n\n", r.Version, machine())
	fmt.Fprintf(&b, "![Share of the executed requests against their wait, live, in the replay and in the prediction, for the kinds of requests that wait](../images/%s)\n\n", chartName)
	fmt.Fprintf(&b, "Live and replay: the mean of the runs [the least..the most]. Other seeds: the least..the most.\n\n")
	for i, row := range r.rows() {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---|---|---|---:|---:|---:|---:|\n")
		}
	}
	b.WriteString("\n### Limits after the adjustments\n\nOf one run, live / replay:\n\n| case | level | after | limits |\n|---|---|---|---|\n")
	for i := range r.Cases {
		c := &r.Cases[i]
		valid := c.valid()
		if len(valid) == 0 {
			continue
		}
		for _, row := range limitRows(valid[0].Adjustments) {
			b.WriteString("| " + c.Name + " | " + strings.Join(row, " | ") + " |\n")
		}
	}
	b.WriteString("\n### The runs\n\n| run | result | sender late, p90 | webhook overhead, calibrated | p50 | p90 | wait without a queue, p50 | p99 | hand-over | same outcome in the replay | load average | spec.servers of a scenario |\n|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|\n")
	for i := range r.Cases {
		c := &r.Cases[i]
		for k := range c.Runs {
			run := &c.Runs[k]
			handover := ""
			if run.Handover > 0 {
				handover = milliseconds(float64(run.Handover))
			}
			fmt.Fprintf(&b, "| %s %d | %s | %s | %s | %s | %s | %s | %s | %s | %.1f %% | %s | %s |\n", c.Name, k+1, run.verdict(), milliseconds(float64(run.LateP90)),
				milliseconds(float64(run.Overhead)), milliseconds(float64(run.OverheadP50)), milliseconds(float64(run.OverheadP90)),
				milliseconds(float64(run.NoiseP50)), milliseconds(float64(run.NoiseP99)),
				handover, 100*run.SameOutcome, run.LoadAverage, code(run.Servers()))
		}
	}
	r.writeFits(&b)
	b.WriteString("\n### What was compared\n\n| case | comparison | of the first run |\n|---|---|---|\n")
	for i := range r.Cases {
		c := &r.Cases[i]
		valid := c.valid()
		if len(valid) == 0 {
			continue
		}
		for _, check := range valid[0].Checks {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", c.Name, check.What, check.Detail)
		}
	}
	return b.String()
}

// code returns a text as code, if there is one.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// writeFits writes how well scenarios predict the runs whose logs they are fitted to.
func (r *Results) writeFits(b *bytes.Buffer) {
	rows := ""
	for i := range r.Cases {
		c := &r.Cases[i]
		for k := range c.Runs {
			if f := c.Runs[k].Fit; f != nil {
				rows += fmt.Sprintf("| %s %d | %d | %d | %.1f %% | %.0f %% |\n", c.Name, k+1, f.Statistics, f.Within, 100*float64(f.Within)/float64(max(1, f.Statistics)), 100*f.Coverage)
			}
		}
	}
	if rows != "" {
		fmt.Fprintf(b, "\n### Scenarios fitted to the logs\n\n| run | statistics | within the intervals | share | stated |\n|---|---:|---:|---:|---:|\n%s", rows)
	}
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
