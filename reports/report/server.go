package report

import (
	"apfsim/reports/scrape"
)

// BesideServerDocument returns the page of runs beside what a server did.
func BesideServerDocument(c *scrape.Comparison) Document {
	files, length := c.ServerText()
	p := Document{
		Title: "Beside a server: " + c.Run.Scenario, Description: []string{"Run: " + c.Run.Label, "Server: " + files + ", " + length}, Ran: c.RunText(),
		Verdict: &Verdict{Text: c.Title()}, Warnings: c.Warnings,
		Footer: "All numbers are in comparison.json and comparison.csv.",
	}
	s := Section{Name: "server", Title: "The server and the run", Note: c.How()}
	for _, t := range BesideServerTables(c, false) {
		s.Parts = append(s.Parts, Part{Heading: t.Title, Table: t})
	}
	p.Sections = append(p.Sections, s)
	return p
}
