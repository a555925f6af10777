package page

import (
	"fmt"

	"apfsim/reports/findings"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/plots"
	"apfsim/reports/replicate"
	"apfsim/reports/tables"
)

// OfReplications returns the report of several runs.
func OfReplications(r *replicate.Replications) Page {
	byName := tables.EstimatesByName(r)
	p := Page{
		Title: r.Name, Description: []string{r.Description}, Ran: tables.RanReplications(r), Verdict: ReplicationsVerdict(r), Findings: findings.OfReplications(r, byName), Warnings: r.Warnings,
		Footer: "All numbers are in replications.json and replications.csv.",
	}
	for i := range tables.EstimateTables {
		g := &tables.EstimateTables[i]
		t := g.Table(r, byName)
		if len(t.Rows) == 0 {
			continue
		}
		s := Section{Name: g.Tag, Title: g.Title, Parts: []Part{{Table: t}},
			Note: "Means of the runs, and percentiles of all runs’ requests together, with half of their 95 % intervals."}
		if g.Tag == "workload" {
			if plot := plots.OfPercentiles("wait", "How long requests waited", []*replicate.Replications{r}, []string{""}); plot != nil {
				s.Parts = append(s.Parts, Part{Plot: plot})
			}
		}
		p.Sections = append(p.Sections, s)
	}
	p.Sections = append(p.Sections, Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: tables.Statistics(r)}}})
	return p
}

func ReplicationsVerdict(r *replicate.Replications) *PageVerdict {
	if len(r.Thresholds) == 0 {
		return nil
	}
	t := &tables.Table{Name: "thresholds", Caption: "Thresholds", Columns: []tables.Column{{Title: "Threshold", Term: "threshold", Left: true},
		{Title: "Verdict", Left: true}, {Title: "Wanted", Left: true}, {Title: "Found", Left: true}}}
	failed := 0
	for i := range r.Thresholds {
		v := &r.Thresholds[i]
		verdict := tables.Cell{Text: "✓ holds", Mood: judge.Good}
		if !v.Passed {
			failed++
			verdict = tables.Cell{Text: fmt.Sprintf("✗ failed in %d of %d runs", len(v.FailedSeeds), len(r.Seeds)), Mood: judge.Bad}
		}
		t.Rows = append(t.Rows, []tables.Cell{{Text: v.Metric, Code: true}, verdict, {Text: v.Expression, Code: true}, tables.Word(tables.ReplicatedFound(v))})
	}
	var text string
	switch n := len(r.Thresholds); {
	case failed > 0:
		text = fmt.Sprintf("%d of %d %s failed", failed, n, format.Plural(n, "threshold"))
	case n == 1:
		text = "The threshold holds in every run"
	default:
		text = fmt.Sprintf("All %d thresholds hold in every run", n)
	}
	return &PageVerdict{Mood: passedMood(failed == 0), Text: text, Table: t}
}
