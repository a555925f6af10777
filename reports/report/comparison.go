package report

import (
	"fmt"
	"slices"

	"apfsim/reports/compare"
)

// changesOnPage is how many changes a page lists before all statistics.
const changesOnPage = 40

// ComparisonDocument returns the report of a comparison. With all, it lists the statistics that did not change as
// well.
func ComparisonDocument(c *compare.Comparison, all bool) *Document {
	changes, title := compare.ListedChanges(c, all)
	answer, screen, shown := comparisonScreen(c, all)
	brief := changes
	if !all {
		brief = slices.DeleteFunc(slices.Clone(changes), func(ch compare.Change) bool {
			return slices.ContainsFunc(shown, func(name string) bool { return name == ch.Name || slices.Contains(ch.Also, name) })
		})
		if room := comparedShown - len(shown); len(brief) > room {
			brief = brief[:room]
			title += "; --all lists them"
		}
		changes = changes[:min(len(changes), changesOnPage)]
	}
	base, head := compare.SideText(&c.Base), compare.SideText(&c.Head)
	d := &Document{
		Title: "Comparison: " + c.Base.Scenario, Description: []string{"Base: " + c.Base.Label, "Head: " + c.Head.Label}, Ran: "base and head: " + base,
		Sides: []Side{{"base", c.Base.Label, base}, {"head", c.Head.Label, head}}, Headline: title,
		Verdict: comparisonVerdict(c, title), Findings: ComparisonFindings(c), Warnings: c.Warnings,
		Sources: "All numbers are in comparison.json and comparison.csv.",
		Data:    c, Records: []*Records{changeColumns.Records("comparison", c.Changes)},
	}
	if d.Answer = answer; answer != nil {
		d.Headline = d.Answer.Status + ": " + d.Answer.Sentence
	}
	d.add(screen)
	for i := range c.Changes {
		change := &c.Changes[i]
		d.Samples = append(d.Samples, Samples{change.Name, change.Unit, [2][]float64{change.BaseEstimate.Present(), change.HeadEstimate.Present()}})
	}
	if head != base {
		d.Ran = "base: " + base + "; head: " + head
	}
	if c.Head.Scenario != c.Base.Scenario {
		d.Title += " and " + c.Head.Scenario
	}
	note := title + ". " + compare.ComparedHow(c)
	for _, text := range []string{compare.ComparedTests(c), "A number with several names is tested and listed once.", compare.ComparedScope(c)} {
		if text != "" {
			note += " " + text
		}
	}
	for _, text := range []string{compare.ComparedHow(c), compare.ComparedTests(c), compare.ComparedScope(c)} {
		if text != "" {
			d.How = append(d.How, text)
		}
	}
	if text := compare.FoldedChanges(c, ""); text != "" {
		note += " " + text + "."
	}
	s := Section{Name: "changes", Title: "Changes", Note: note}
	for _, p := range tablePart(ChangeTable(changes), "") {
		p.Only = HTML
		s.Parts = append(s.Parts, p)
	}
	for _, p := range append(tablePart(ChangeTable(brief), ""), Part{Table: &Table{}})[:1] {
		p.Only, p.Table = Terminal|Markdown, p.Table.titled(title)
		s.Parts = append(s.Parts, p)
	}
	if text := compare.FoldedChanges(c, "~ "); text != "" && !all {
		s.Parts = append(s.Parts, Part{Note: text})
	}
	d.add(s)
	if len(c.Limits) > 0 {
		d.add(Section{Parts: []Part{{Table: d.Verdict.Table}}, Only: Terminal | Markdown})
	}
	var parts []Part
	for _, metric := range []string{"wait", "latency"} {
		if plot := PercentilePlot(metric, []*compare.Replications{c.BaseRuns, c.HeadRuns}, SideNames[:]); plot != nil {
			parts = append(parts, Part{Plot: plot})
		}
	}
	d.add(Section{Name: "durations", Title: "Waits and latencies", Parts: parts, Only: HTML})
	d.add(Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: allChangesTable(c)}}, Only: HTML})
	return d
}

// comparisonVerdict returns the verdict of the limits or, without limits, the number of changes. It does not count which are
// better or worse, as many of them are of the same requests.
func comparisonVerdict(c *compare.Comparison, title string) *Verdict {
	if len(c.Limits) == 0 {
		if n := c.Distinct.Changed; n > 0 {
			title = fmt.Sprintf("%d of %d statistics changed", n, c.Total())
		}
		return &Verdict{Sentences: []string{title}}
	}
	t := limitTable(c)
	return &Verdict{Judgement: passed(c.Passed), Sentences: []string{t.Title}, Table: t}
}
