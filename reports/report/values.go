package report

import (
	"fmt"

	"apfsim/reports/compare"
	"apfsim/reports/replicate"
)

// valuesShown is how many statistics the section on changes lists.
const valuesShown = 40

// ValuesDocument returns the page of a comparison of several values of a parameter.
func ValuesDocument(v *compare.Values) Document {
	rows, title := compare.ListedValues(v, valuesShown, false)
	base := v.BaseSide()
	p := Document{
		Title: fmt.Sprintf("Comparison: %s over %s", base.Scenario, v.Parameter), Description: []string{compare.ValuesHow(v)}, Ran: v.Ran(),
		Verdict: &Verdict{Text: title, Table: ValueCountTable(v)}, Warnings: compare.ValuesWarnings(v),
		Footer: "All numbers are in comparison.json and comparison.csv.",
	}
	limited := false
	for _, c := range v.Comparisons {
		for _, f := range ComparisonFindings(c) {
			if f.Group == EstimateTables[0].Title { // the workloads; the tables have the levels
				f.Group = c.Head.Label
				p.Findings = append(p.Findings, f)
			}
		}
		limited = limited || len(c.Limits) > 0
	}
	if limited {
		p.Verdict.Judgement = passed(v.Passed)
		s := Section{Name: "limits", Title: "Limits"}
		for _, c := range v.Comparisons {
			t := LimitTable(c)
			s.Parts = append(s.Parts, Part{Heading: c.Head.Label + ": " + t.Title, Table: t})
		}
		p.Sections = append(p.Sections, s)
	}
	if len(rows) > 0 {
		p.Sections = append(p.Sections, Section{Name: "changes", Title: "Changes", Note: title + ". The mean at each value, and the change from the base with its 95 % interval.",
			Parts: []Part{{Table: ValueTable(v, "changes", "Changes, the largest first", rows)}}})
	}
	if parts := percentilesByValue(v); len(parts) > 0 {
		p.Sections = append(p.Sections, Section{Name: "durations", Title: "Waits and latencies", Parts: parts})
	}
	all, _ := v.Rows()
	p.Sections = append(p.Sections, Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: AllValuesTable(v, all)}}})
	return p
}

// percentilesByValue returns the plots of the waits and the latencies at all values, those of the first
// workloads if there are more of them than a page has room for.
func percentilesByValue(v *compare.Values) (parts []Part) {
	const most = 6 // plots of each metric
	runs, labels := []*replicate.Replications{v.Comparisons[0].BaseRuns}, []string{v.Base + " (base)"}
	for i, value := range v.HeadValues() {
		runs, labels = append(runs, v.Comparisons[i].HeadRuns), append(labels, value)
	}
	for _, metric := range []string{"wait", "latency"} {
		all := ValuePercentilePlots(metric, runs, v.Parameter, labels)
		for _, plot := range all[:min(most, len(all))] {
			parts = append(parts, Part{Plot: plot})
		}
	}
	return parts
}
