package report

import (
	"fmt"

	"apfsim/reports/compare"
	"apfsim/reports/replicate"
)

// ComparisonDocument returns the page of a comparison.
func ComparisonDocument(c *compare.Comparison) Document {
	changes, title := compare.ListedChanges(c, false)
	p := Document{
		Title: "Comparison: " + c.Base.Scenario, Description: []string{"Base: " + c.Base.Label, "Head: " + c.Head.Label}, Ran: compare.SideText(&c.Base),
		Verdict: comparisonVerdict(c, title), Findings: ComparisonFindings(c), Warnings: c.Warnings,
		Footer: "All numbers are in comparison.json and comparison.csv.",
	}
	if head := compare.SideText(&c.Head); head != p.Ran {
		p.Ran = "base: " + p.Ran + "; head: " + head
	} else {
		p.Ran = "base and head: " + p.Ran
	}
	if c.Head.Scenario != c.Base.Scenario {
		p.Title += " and " + c.Head.Scenario
	}
	note := compare.ComparedHow(c)
	for _, text := range []string{compare.ComparedTests(c), "A number with several names is tested and listed once.", compare.ComparedScope(c)} {
		if text != "" {
			note += " " + text
		}
	}
	if text := compare.FoldedChanges(c, ""); text != "" {
		note += " " + text + "."
	}
	s := Section{Name: "changes", Title: "Changes", Note: title + ". " + note}
	if len(changes) > 0 {
		s.Parts = append(s.Parts, Part{Table: ChangeTable(changes)})
	}
	p.Sections = append(p.Sections, s)
	var parts []Part
	for _, metric := range []string{"wait", "latency"} {
		if plot := PercentilePlot(metric, []*replicate.Replications{c.BaseRuns, c.HeadRuns}, SideNames[:]); plot != nil {
			parts = append(parts, Part{Plot: plot})
		}
	}
	if len(parts) > 0 {
		p.Sections = append(p.Sections, Section{Name: "durations", Title: "Waits and latencies", Parts: parts})
	}
	p.Sections = append(p.Sections, Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: AllChangesTable(c)}}})
	return p
}

// comparisonVerdict returns the verdict of the limits or, without limits, the number of changes.
func comparisonVerdict(c *compare.Comparison, title string) *Verdict {
	if len(c.Limits) == 0 {
		if n := c.Distinct.Changed; n > 0 {
			improvements, regressions := c.Judged()
			title = fmt.Sprintf("%d of %d statistics changed (improvements: %d, regressions: %d)",
				n, c.Total(), improvements, regressions)
		}
		return &Verdict{Text: title}
	}
	t := LimitTable(c)
	return &Verdict{Judgement: passed(c.Passed), Text: t.Title, Table: t}
}
