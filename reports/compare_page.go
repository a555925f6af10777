package reports

import "fmt"

// page returns the report of a comparison.
func (c *Comparison) page() Page {
	changes, title := c.listed(false)
	p := Page{
		Title: "Comparison", Ran: c.Base.Scenario + " and " + c.Head.Scenario,
		Description: fmt.Sprintf("Base: %s (%s). Head: %s (%s).", c.Base.Label, c.Base.text(), c.Head.Label, c.Head.text()),
		Verdict:     c.verdict(), Warnings: c.Warnings,
		Footer: "All numbers are in comparison.json and comparison.csv.",
	}
	note := c.how()
	if text := c.folded(); text != "" {
		note += " " + text + "."
	}
	s := Section{Name: "changes", Title: title, Note: note}
	if len(changes) > 0 {
		s.Parts = append(s.Parts, Part{Table: changesTable("changes", "Changes, the greatest first", changes)})
	}
	p.Sections = append(p.Sections, s)
	var plots []Part
	for _, of := range []struct{ metric, title string }{{"wait", "How long requests waited"}, {"latency", "How long requests took"}} {
		if plot := percentilesPlot(of.metric, of.title, []*Replications{c.base, c.head}, sideNames[:]); plot != nil {
			plots = append(plots, Part{Plot: plot})
		}
	}
	if len(plots) > 0 {
		p.Sections = append(p.Sections, Section{Name: "durations", Title: "Waits and latencies", Parts: plots})
	}
	all := changesTable("statistics", "Statistics by name, as thresholds call them", c.Changes[:min(flowsMost, len(c.Changes))])
	all.First = statisticsFirst
	if more := len(c.Changes) - flowsMost; more > 0 {
		all.Missing = fmt.Sprintf("Left out: %s, all in comparison.json.", counted(more, "statistic"))
	}
	p.Sections = append(p.Sections, Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: all}}})
	return p
}

// sideNames are what the two sides are called.
var sideNames = [2]string{"base", "head"}

func (c *Comparison) verdict() *PageVerdict {
	if len(c.Limits) == 0 {
		return nil
	}
	t := &Table{Name: "limits", Caption: "Limits of change", Columns: []Column{{Title: "Limit", Left: true}, {Title: "Verdict", Left: true}, {Title: "Change"}}}
	for i := range c.Limits {
		v := &c.Limits[i]
		verdict := Cell{Text: "✓ not exceeded for certain", Mood: Good}
		if !v.Passed {
			verdict = Cell{Text: "✗ exceeded", Mood: Bad}
		}
		t.Rows = append(t.Rows, []Cell{{Text: v.Expression, Code: true}, verdict, word(v.text())})
	}
	return &PageVerdict{Good: c.Passed, Text: c.limitsTitle(), Table: t}
}

func changesTable(name, caption string, changes []Change) *Table {
	t := &Table{Name: name, Caption: caption, Columns: []Column{{Title: "Statistic", Left: true}, {Title: "Base"}, {Title: "Head"},
		{Title: "Change"}, {Title: "For the", Left: true}}}
	for i := range changes {
		ch := &changes[i]
		cells := ch.cells()
		change := figure(ch.Difference, cells[3])
		if ch.Relative != nil {
			change.Value = *ch.Relative
		}
		t.Rows = append(t.Rows, []Cell{{Text: ch.Name, Code: true}, figure(ch.Base, cells[1]), figure(ch.Head, cells[2]),
			change, {Text: cells[4], Mood: ch.Mood}})
	}
	return t
}
