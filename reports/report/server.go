package report

import "apfsim/reports/scrape"

// BesideServerDocument returns the report of runs beside what a server did. With all, it also has the priority levels
// and FlowSchemas that [scrape.Comparison.Listed] leaves out.
func BesideServerDocument(c *scrape.Comparison, all bool) *Document {
	files, length := c.ServerText()
	d := &Document{
		Title: "Beside a server: " + c.Run.Scenario, Description: []string{"Run: " + c.Run.Label, "Server: " + files + ", " + length}, Ran: c.RunText(),
		Sides: []Side{{"run", c.Run.Label, c.RunText()}, {"server", files, length}}, How: []string{c.How()}, Headline: c.Title(),
		Verdict: &Verdict{Sentences: []string{c.Title()}}, Warnings: c.Warnings,
		Sources: "All numbers are in comparison.json and comparison.csv.",
		Data:    c, Records: []*Records{serverColumns.Records("comparison", c.Statistics)},
	}
	s := Section{Name: "server", Title: "The server and the run", Note: c.How(), Parts: []Part{{Table: &Table{Title: c.Title()}, Only: Terminal}}}
	for _, t := range besideServerTables(c, all) {
		s.Parts = append(s.Parts, Part{Heading: t.Title, Table: t})
	}
	d.add(s)
	return d
}
