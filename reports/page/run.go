package page

import (
	"fmt"
	"strconv"

	"apfsim/reports/findings"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/plots"
	"apfsim/reports/result"
	"apfsim/reports/tables"
)

// OfRun returns the report of a run.
func OfRun(r *result.Result) Page {
	s := r.Summary
	p := Page{
		Title: s.Name, Description: []string{s.Description}, Ran: result.Ran(s), Verdict: thresholdsVerdict(s),
		Findings: findings.OfRun(s), Warnings: s.Warnings,
		Footer: "All numbers are in summary.json, their course over time in series.csv.",
	}
	if s.Fingerprint != "" {
		p.Footer += " Fingerprint of what was decided: " + s.Fingerprint
	}
	add := func(name, title string, parts ...Part) {
		if len(parts) > 0 {
			p.Sections = append(p.Sections, Section{Name: name, Title: title, Parts: parts})
		}
	}
	workloads := []Part{{Table: tables.Groups("workloads", "Workload", s.Workloads, &s.Total)}}
	if wait := plots.OfWaits(r); wait != nil {
		workloads = append(workloads, Part{Plot: wait})
	}
	add("workloads", "Workloads", workloads...)
	var levels []Part
	if t := tables.Levels(s); len(t.Rows) > 0 {
		levels = append(levels, Part{Table: t})
	}
	if len(s.FlowSchemas) > 0 {
		levels = append(levels, Part{Heading: "By FlowSchema", Table: tables.Groups("flow-schemas", "FlowSchema", s.FlowSchemas, nil)})
	}
	add("levels", "Priority levels", levels...)
	course := waitPlots(r)
	for i, series := range r.Series {
		if plots := plots.OfSeries(r, series, strconv.Itoa(i)); len(plots) > 0 {
			course = append(course, Part{Heading: result.LevelTitle(s, series.Level), Plot: plots[0]})
			for _, plot := range plots[1:] {
				course = append(course, Part{Plot: plot})
			}
		}
	}
	add("course", "Over time", course...)
	if len(s.Flows) > 0 {
		add("flows", "Flows", Part{Table: tables.Flows(s)})
	}
	return p
}

func thresholdsVerdict(s *result.Summary) *PageVerdict {
	if len(s.Thresholds) == 0 {
		return nil
	}
	t := &tables.Table{Name: "thresholds", Caption: "Thresholds", Columns: []tables.Column{{Title: "Threshold", Term: "threshold", Left: true},
		{Title: "Verdict", Left: true}, {Title: "Wanted", Left: true}, {Title: "Found"}}}
	failed := 0
	for i := range s.Thresholds {
		v := &s.Thresholds[i]
		found, verdict := tables.Word(v.Found()), tables.Cell{Text: "✓ holds", Mood: judge.Good}
		if v.Value != nil {
			found = tables.Figure(*v.Value, v.Found())
		}
		if !v.Passed {
			failed++
			verdict = tables.Cell{Text: "✗ failed", Mood: judge.Bad}
		}
		t.Rows = append(t.Rows, []tables.Cell{{Text: v.Metric, Code: true}, verdict, {Text: v.Expression, Code: true}, found})
	}
	v := &PageVerdict{Mood: passedMood(failed == 0), Table: t}
	switch n := len(s.Thresholds); {
	case failed > 0:
		v.Text = fmt.Sprintf("%d of %s failed", failed, format.Counted(n, "threshold"))
	case n == 1:
		v.Text = "The threshold holds"
	default:
		v.Text = fmt.Sprintf("All %d thresholds hold", n)
	}
	return v
}

func passedMood(passed bool) judge.Mood {
	if passed {
		return judge.Good
	}
	return judge.Bad
}
