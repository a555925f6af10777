package report

import (
	"fmt"
	"strconv"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/reports/advice"
	"apfsim/reports/format"
)

// MaintenanceDocument returns the report of what servers do to the flow-control objects of a cluster.
func MaintenanceDocument(m *advice.Maintenance) *Document {
	d := &Document{Data: m}
	var parts []Part
	for i := range m.Releases {
		p := &m.Releases[i]
		writes := Part{Items: writeItems(p.Writes)}
		if i == 0 {
			d.Description = []string{fmt.Sprintf("Each server of Kubernetes %s, in a pass each minute", rules.Label(p.Release))}
		} else {
			writes.Heading = "The first server of Kubernetes " + rules.Label(p.Release)
		}
		parts = append(parts, writes)
		if len(p.Contests) > 0 {
			parts = append(parts, contests(m.Releases[i-1].Release, p), Part{Table: rollout(m.Servers, m.Releases[i-1].Release, p), Tight: true})
		}
	}
	if len(m.Changed) > 0 {
		changed := Part{Heading: "Maintained objects whose specs have changed before",
			Lead: "Their specs are those of the release, so that an upgrade has changed them, or a server has undone an edit. " +
				"Such an object keeps an edit only if the same edit sets the annotation " + config.AutoupdateAnnotation + " to \"false\"."}
		for i := range m.Changed {
			changed.Items = append(changed.Items, Item{Text: fmt.Sprintf("%s, generation %d", maintainedObject(&m.Changed[i]), m.Changed[i].Generation)})
		}
		parts = append(parts, changed)
	}
	d.add(Section{Parts: parts, Only: Terminal})
	return d
}

// maintainedObject names an object, with its place if it was read from a file.
func maintainedObject(o *advice.MaintainedObject) string {
	text := o.Kind + " " + o.Name
	if o.File != "" {
		text += " (" + o.Position.String() + ")"
	}
	return text
}

// maintenanceVerbs say what a server does, by the action.
var maintenanceVerbs = map[string]string{"create": "creates", "restore": "puts right", "annotate": "annotates", "delete": "deletes"}

// writeItems are the writes of a server.
func writeItems(writes []advice.MaintenanceWrite) (items []Item) {
	for i := range writes {
		w := &writes[i]
		item := Item{fmt.Sprintf("%s %s: %s", maintenanceVerbs[w.Action], maintainedObject(&w.MaintainedObject), w.Reason), differences(w.Differences)}
		if w.Keep != "" {
			item.Details = append(item.Details, "to keep it: "+w.Keep)
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return []Item{{Text: "writes nothing"}}
	}
	return items
}

// contests are the objects that servers of two releases change in turns.
func contests(before string, p *advice.MaintenancePass) Part {
	part := Part{Heading: fmt.Sprintf("While servers of %s and %s run", before, p.Release),
		Lead: fmt.Sprintf("Every server makes a pass each minute, counted from its own start, and undoes what those of the other release have done. "+
			"This ends when the last server of %s has stopped: at most a minute later, the objects are those of %s.", before, p.Release)}
	for i := range p.Contests {
		c := &p.Contests[i]
		item := Item{Text: c.Kind + " " + c.Name}
		switch exists := " exists after a pass of %s, and not after one of %s"; {
		case !c.ExistsNew:
			item.Text += fmt.Sprintf(exists, before, p.Release)
		case !c.ExistsOld:
			item.Text += fmt.Sprintf(exists, p.Release, before)
		default:
			item.Text += " has other specs"
			item.Details = differences(c.Differences)
		}
		item.Details = append(item.Details, "to keep it as it is: "+c.Keep)
		part.Items = append(part.Items, item)
	}
	return part
}

// rollout is the table of how long contested objects are as the servers of the release before leave them; it has no
// columns if there is one server.
func rollout(servers int, before string, p *advice.MaintenancePass) *Table {
	columns := Definition[advice.ReleaseMix]{
		{Column: Column{Short: "servers of " + p.Release, Left: true}, Cell: func(m *advice.ReleaseMix) Cell { return Word(fmt.Sprintf("%d of %d", m.NewServers, servers)) }},
		{Column: Column{Short: "share of each minute as " + before + " leaves them"}, Cell: func(m *advice.ReleaseMix) Cell { return Word(format.Percent(m.OldShare)) }},
		{Column: Column{Short: "changes of each in a minute"}, Cell: func(m *advice.ReleaseMix) Cell { return Word(strconv.FormatFloat(m.Changes, 'f', 1, 64)) }},
	}
	t := &Table{}
	if len(p.Rollout) > 0 {
		t.Columns = columns.Columns()
	}
	for i := range p.Rollout {
		t.Rows = append(t.Rows, columns.Row(&p.Rollout[i]))
	}
	return t
}
