package report

import (
	"fmt"
	"slices"
	"strconv"

	"apfsim/core/rules"
	"apfsim/lint/identity"
	"apfsim/reports/advice"
	"apfsim/reports/format"
)

// DifferenceDocument returns the report of what a change of the configuration does.
func DifferenceDocument(c *advice.Difference) *Document {
	release := "Kubernetes " + changeOf(rules.Label(c.From), rules.Label(c.To))
	d := &Document{Headline: "Change of the flow-control configuration, " + release, Description: []string{"Change of the flow-control configuration, " + release}, Data: c}
	parts := []Part{
		{Table: movedTable("Whose requests go to another priority level", "The requests of all clients go to the same priority levels as before.", c.Moved, true)},
		{Table: changedLevels(c.Levels)},
		{Table: movedTable("Whose requests only catch-all matches, after the change", "A FlowSchema other than catch-all matches the requests of all clients.", c.CatchAll, false)},
	}
	if len(c.Findings) > 0 {
		t := &Table{Title: "Findings", Columns: []Column{{Title: "Rule", Short: "rule", Left: true}, {Title: "Severity", Short: "severity", Left: true}, {Title: "Finding", Short: "finding", Left: true}}}
		for _, f := range c.Findings {
			t.Rows = append(t.Rows, []Cell{Word(f.Rule), Word(f.Severity), Word(f.Message)})
		}
		parts = append(parts, Part{Table: t})
	}
	if len(c.Work) > 0 {
		work := Part{Heading: "Rules that change the work of the servers"}
		for _, r := range c.Work {
			work.Items = append(work.Items, Item{Text: r.Release + ": " + r.After})
		}
		parts = append(parts, work)
	}
	d.add(Section{Parts: parts, Only: Terminal | Markdown})
	return d
}

// movedTable is a table of the requests that go another way, those of the control plane first.
func movedTable(title, none string, all []advice.MovedRequests, twoSides bool) *Table {
	t := &Table{Title: title, Columns: []Column{{Title: "Client", Short: "client", Left: true}, {Title: "Requests", Short: "requests", Left: true},
		{Title: "Before", Short: "before", Left: true}}}
	if twoSides {
		t.Columns = append(t.Columns, Column{Title: "After", Short: "after", Left: true})
	}
	target := func(at identity.Target) Cell {
		return Word(fmt.Sprintf("%s (%s)", at.Level, at.FlowSchema))
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b advice.MovedRequests) int { return fromBool(b.ControlPlane) - fromBool(a.ControlPlane) })
	for _, m := range sorted {
		client, requests := m.Client, m.Requests[0]
		if m.ControlPlane {
			client += " (control plane)"
		}
		if others := len(m.Requests) - 1; others > 0 {
			requests += " and " + strconv.Itoa(others) + " " + format.Plural(others, "other")
		}
		row := []Cell{Word(client), Word(requests), target(m.Before)}
		if twoSides {
			row = append(row, target(m.After))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(all) == 0 {
		t.Missing, t.NoHead = none, true
	}
	return t
}

func fromBool(b bool) int {
	if b {
		return 1
	}
	return 0
}

// changedLevels is the table of the levels whose limits change.
func changedLevels(levels []advice.UpgradedLevel) *Table {
	t := UpgradeLevels(&advice.Upgrade{Levels: levels})
	t.Title = "Whose seats change"
	if len(levels) == 0 {
		t.NoHead, t.Missing = true, "No priority level has other limits than before."
	}
	return t
}
