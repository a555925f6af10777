package report

import (
	"fmt"

	"apfsim/reports/compare"
)

// How many statistics are listed unless all are asked for: on a terminal, where each has a line for each value, and
// on a page.
const (
	valuesShown       = 12
	valuesShownOnPage = 40
)

// ValuesDocument returns the report of a comparison of several values of a parameter. With all, a terminal and
// Markdown list all statistics.
func ValuesDocument(v *compare.Values, all bool) *Document {
	rows, title := compare.ListedValues(v, valuesShown, all)
	onPage, titleOnPage := compare.ListedValues(v, valuesShownOnPage, false)
	base, counts := v.BaseSide(), valueCountTable(v)
	d := &Document{
		Title: fmt.Sprintf("Comparison: %s over %s", base.Scenario, v.Parameter), Name: base.Scenario, Ran: v.Ran(),
		Description: []string{compare.ValuesHow(v)}, How: []string{compare.ValuesHow(v)}, Headline: title,
		Verdict: &Verdict{Sentences: []string{titleOnPage}, Table: counts}, Warnings: compare.ValuesWarnings(v),
		Sources: "All numbers are in comparison.json and comparison.csv.",
		Data:    v, Records: []*Records{valueColumns().Records("comparison", valueChanges(v))},
	}
	parts := []Part{{Table: counts, Only: Terminal}, {Table: counts.titled(""), Only: Markdown}, {Table: &Table{Title: title}, Only: Terminal}}
	if len(rows) > 0 {
		parts[2].Table = valueListTable(v, rows).titled(title)
		parts = append(parts, Part{Table: valueTable(v, "", "", rows), Only: Markdown})
	}
	d.add(Section{Parts: parts, Only: Terminal | Markdown})
	limits := Section{Name: "limits", Title: "Limits"}
	for _, c := range v.Comparisons {
		for _, f := range ComparisonFindings(c) {
			if f.Group == estimateTables[0].Title { // the workloads; the tables have the levels
				f.Group = c.Head.Label
				d.Findings = append(d.Findings, f)
			}
		}
		if len(c.Limits) > 0 {
			t := limitTable(c)
			t.Title = c.Head.Label + ": " + t.Title
			limits.Parts = append(limits.Parts, Part{Heading: t.Title, Table: t})
		}
	}
	if len(limits.Parts) > 0 {
		d.Verdict.Judgement = passed(v.Passed)
		d.add(limits)
	}
	if len(onPage) > 0 {
		d.add(Section{Name: "changes", Title: "Changes", Note: titleOnPage + ". The mean at each value, and the change from the base with its 95 % interval.",
			Parts: []Part{{Table: valueTable(v, "changes", "Changes, the largest first", onPage)}}, Only: HTML})
	}
	d.add(Section{Name: "durations", Title: "Waits and latencies", Parts: percentilesByValue(v), Only: HTML})
	every, _ := v.Rows()
	d.add(Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: allValuesTable(v, every)}}, Only: HTML})
	return d
}

// percentilesByValue returns the plots of the waits and the latencies at all values, those of the first
// workloads if there are more of them than a page has room for.
func percentilesByValue(v *compare.Values) (parts []Part) {
	const most = 6 // plots of each metric
	runs, labels := []*compare.Replications{v.Comparisons[0].BaseRuns}, []string{v.Base + " (base)"}
	for i, value := range v.HeadValues() {
		runs, labels = append(runs, v.Comparisons[i].HeadRuns), append(labels, value)
	}
	for _, metric := range []string{"wait", "latency"} {
		all := valuePercentilePlots(metric, runs, v.Parameter, labels)
		parts = append(parts, plotParts(all[:min(most, len(all))], "")...)
	}
	return parts
}
