package catalogue

import (
	"fmt"

	"apfsim/reports/report"
)

// Document has the sizes of catalogues, with their sources.
func Document(all []*Catalogue) *report.Document {
	d := &report.Document{Title: "Catalogues", Data: all}
	for _, c := range all {
		t := report.TextTable(c.Name+", "+c.Date, "size", "seats of a server", "servers", "price")
		t.Name, t.Caption = c.Name, c.Name
		for i := range t.Columns[1:] {
			t.Columns[1+i].Left = false
		}
		for i := range c.Sizes {
			s := &c.Sizes[i]
			requests, mutating := s.Limits(1)
			seats, servers, price := fmt.Sprintf("%d + %d", requests, mutating), "as now", "not known"
			if s.Seats > 0 {
				seats = fmt.Sprintf("%d of all", s.Seats)
			}
			if s.Replicas > 0 {
				servers = fmt.Sprint(s.Replicas)
			}
			if s.Price != nil {
				price = c.ShortPrice(*s.Price)
			}
			t.AddTexts(s.Name, seats, servers, price)
		}
		parts := []report.Part{{Table: t}, {Note: "Source: " + c.Source + "."}}
		if c.Note != "" {
			parts = append(parts, report.Part{Note: c.Note})
		}
		d.Sections = append(d.Sections, report.Section{Name: c.Name, Title: c.Name, Parts: parts})
	}
	return d
}
