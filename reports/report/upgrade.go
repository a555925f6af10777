package report

import (
	"cmp"
	"fmt"
	"strconv"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/reports/advice"
	"apfsim/reports/format"
)

// UpgradeDocument returns the report of what an upgrade changes for a configuration.
func UpgradeDocument(u *advice.Upgrade) *Document {
	d := &Document{Description: []string{fmt.Sprintf("Upgrade from Kubernetes %s to %s", rules.Label(u.From), rules.Label(u.To))}, Data: u}
	var parts []Part
	if len(u.Maintained) > 0 {
		parts = append(parts, Part{Heading: "Objects that the servers of " + u.From + " do not leave as they are given", Items: objectItems(u.Maintained)})
	}
	parts = append(parts, Part{Heading: "Objects that the servers change", Items: objectItems(u.Objects)})
	var changes, versions []Item
	for _, r := range u.Rules {
		changes = append(changes, Item{r.Release + " " + r.Rule, []string{"before: " + r.Before, "after:  " + r.After}})
	}
	for _, v := range u.APIVersions {
		versions = append(versions, Item{Text: fmt.Sprintf("%s from %s on (%d %s); use %s", v.Name, v.RemovedIn, v.Objects, format.Plural(v.Objects, "object"), v.Use)})
	}
	parts = append(parts,
		Part{Heading: "Rules that change", Items: orNone(changes)},
		Part{Heading: "API versions that the servers no longer serve", Items: orNone(versions)},
		Part{Table: UpgradeLevels(u)})
	if u.Request != nil {
		parts = append(parts, Part{Table: upgradedRequest(u.Request)})
	}
	d.add(Section{Parts: parts, Only: Terminal})
	return d
}

// orNone returns items, or one that says that there are none.
func orNone(items []Item) []Item {
	if len(items) == 0 {
		return []Item{{Text: "none"}}
	}
	return items
}

// objectItems are objects that servers change, each with the release that does so.
func objectItems(objects []advice.UpgradedObject) (items []Item) {
	verbs := map[string]string{advice.Created: "creates", advice.Deleted: "deletes", advice.PutRight: "puts right"}
	for _, o := range objects {
		items = append(items, Item{fmt.Sprintf("%s %s %s %s", o.Release, verbs[o.Change], o.Kind, o.Name), differences(o.Differences)})
	}
	return orNone(items)
}

// differences are the fields in which two specs differ.
func differences(all []config.Difference) (texts []string) {
	for _, d := range all {
		texts = append(texts, d.Path+": "+changeOf(cmp.Or(d.Before, "absent"), cmp.Or(d.After, "absent")))
	}
	return texts
}

// changeOf is a value before and after a change, or one value if both are equal.
func changeOf(before, after string) string {
	if before == after {
		return before
	}
	return before + " → " + after
}

// upgradeColumns are the limits of a priority level before and after an upgrade.
var upgradeColumns = Definition[advice.UpgradedLevel]{
	{Column: Column{Title: "Priority level", Short: "priority level", Left: true}, Cell: func(l *advice.UpgradedLevel) Cell { return Word(l.Name) }},
	limitsColumn("Shares", "shares", func(l *advice.LevelSeats) int { return int(l.Shares) }),
	limitsColumn("Nominal", "nominal", func(l *advice.LevelSeats) int { return l.Nominal }),
	limitsColumn("Lower", "lower", func(l *advice.LevelSeats) int { return l.Lower }),
	limitsColumn("Upper", "upper", func(l *advice.LevelSeats) int { return l.Upper }),
	limitsColumn("Seat cap", "seat cap", func(l *advice.LevelSeats) int { return l.SeatCap }),
}

// limitsColumn is a column with a value before and after an upgrade, or one value if both are equal.
// A dash stands for a level that does not exist, and for the seat cap of a level that has none.
func limitsColumn(title, head string, get func(*advice.LevelSeats) int) ColumnOf[advice.UpgradedLevel] {
	value := func(l *advice.LevelSeats) string {
		if l == nil || head == "seat cap" && get(l) == 0 {
			return noValue.Text
		}
		return strconv.Itoa(get(l))
	}
	return ColumnOf[advice.UpgradedLevel]{Column: Column{Title: title, Short: head}, Cell: func(l *advice.UpgradedLevel) Cell {
		return Word(changeOf(value(l.Before), value(l.After)))
	}}
}

// UpgradeLevels is the table of the limits of priority levels before and after an upgrade.
func UpgradeLevels(u *advice.Upgrade) *Table {
	t := &Table{Title: "Limits of the priority levels, in seats", Columns: upgradeColumns.Columns()}
	for i := range u.Levels {
		t.Rows = append(t.Rows, upgradeColumns.Row(&u.Levels[i]))
	}
	return t
}

// upgradedRequest is the table of how flow control handles a request before and after the upgrade. It has only the first
// row if the request bypasses flow control before and after.
func upgradedRequest(r *advice.UpgradedRequest) *Table {
	t := &Table{Title: "The request", Columns: []Column{{Left: true}, {Left: true}}, NoHead: true}
	row := func(name string, value func(*advice.Explanation) string) {
		t.Rows = append(t.Rows, []Cell{Word(name), Word(changeOf(value(r.Before), value(r.After)))})
	}
	row("flow control", func(e *advice.Explanation) string {
		if e.Bypasses {
			return "bypassed"
		}
		return "applies"
	})
	if r.Before.Bypasses && r.After.Bypasses {
		return t
	}
	flow := func(name string, value func(*advice.Explanation) string) {
		row(name, func(e *advice.Explanation) string {
			if e.Bypasses {
				return noValue.Text
			}
			return value(e)
		})
	}
	flow("FlowSchema", func(e *advice.Explanation) string { return e.Flow.FlowSchema })
	flow("priority level", func(e *advice.Explanation) string { return e.Flow.PriorityLevel })
	flow("seats while it executes", func(e *advice.Explanation) string {
		if e.Seats == nil {
			return "0"
		}
		return strconv.Itoa(e.Seats.InitialSeats)
	})
	flow("seats afterwards", func(e *advice.Explanation) string {
		if e.Seats == nil || e.Seats.FinalSeats == 0 {
			return "0"
		}
		return fmt.Sprintf("%d for %s", e.Seats.FinalSeats, format.Duration(float64(e.Seats.AdditionalLatencyNs)))
	})
	return t
}
