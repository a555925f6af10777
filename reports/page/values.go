package page

import (
	"fmt"

	"apfsim/reports/compare"
	"apfsim/reports/findings"
	"apfsim/reports/tables"
)

// valuesShown is how many statistics the section on changes lists.
const valuesShown = 40

// Values returns the page of a comparison of several values of a parameter.
func Values(v *compare.Values) Page {
	rows, title := compare.ListedValues(v, valuesShown, false)
	base := v.BaseSide()
	p := Page{
		Title: fmt.Sprintf("Comparison: %s over %s", base.Scenario, v.Parameter), Description: []string{compare.ValuesHow(v)}, Ran: compare.SideText(base),
		Verdict: &Verdict{Text: title, Table: tables.Values(v)}, Warnings: compare.ValuesWarnings(v),
		Footer: "All numbers are in comparison.json and comparison.csv.",
	}
	limited := false
	for _, c := range v.Comparisons {
		for _, f := range findings.Comparison(c) {
			if f.Group == tables.EstimateTables[0].Title { // the workloads; the tables have the levels
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
			t := tables.Limits(c)
			s.Parts = append(s.Parts, Part{Heading: c.Head.Label + ": " + t.Title, Table: t})
		}
		p.Sections = append(p.Sections, s)
	}
	if len(rows) > 0 {
		p.Sections = append(p.Sections, Section{Name: "changes", Title: "Changes", Note: title + ". The mean at each value, and the change from the base with its 95 % interval.",
			Parts: []Part{{Table: tables.ValueTable(v, "changes", "Changes, the largest first", rows)}}})
	}
	all, _ := v.Rows()
	p.Sections = append(p.Sections, Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: tables.AllValues(v, all)}}})
	return p
}
