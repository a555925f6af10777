package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"apfsim/core/config"
	"apfsim/reports/advice"
	"apfsim/reports/format"
)

// maintenanceVerbs say what a server does, by the action.
var maintenanceVerbs = map[string]string{"create": "creates", "restore": "puts right", "annotate": "annotates", "delete": "deletes"}

// TextMaintenance writes what servers do to the flow-control objects of a cluster.
func TextMaintenance(w io.Writer, r *advice.Maintenance) error {
	t := newTextWriter(format.TextOptions{})
	for i := range r.Releases {
		var before *advice.MaintenancePass
		if i > 0 {
			before = &r.Releases[i-1]
		}
		if err := t.maintenancePass(r, before, &r.Releases[i]); err != nil {
			return err
		}
	}
	if len(r.Changed) > 0 {
		t.heading("Maintained objects whose specs have changed before")
		t.paragraph("Their specs are those of the release, so that an upgrade has changed them, or a server has undone an edit. " +
			"Such an object keeps an edit only if the same edit sets the annotation " + config.AutoupdateAnnotation + " to \"false\".")
		for _, o := range r.Changed {
			fmt.Fprintf(&t, "  %s, generation %d\n", maintainedObject(&o), o.Generation)
		}
	}
	_, err := w.Write(t.Bytes())
	return err
}

// maintainedObject names an object, with its place if it was read from a file.
func maintainedObject(o *advice.MaintainedObject) string {
	text := o.Kind + " " + format.Printable(o.Name)
	if o.File != "" {
		text += " (" + format.Printable(o.Position.String()) + ")"
	}
	return text
}

// paragraph writes text in lines of the width of the terminal.
func (t *textWriter) paragraph(text string) {
	for _, line := range format.Wrap(text, t.options.Width-2) {
		fmt.Fprintf(t, "  %s\n", line)
	}
}

// maintenancePass writes what the servers of one release do.
func (t *textWriter) maintenancePass(r *advice.Maintenance, before, p *advice.MaintenancePass) error {
	if before == nil {
		fmt.Fprintf(t, "Each server of Kubernetes %s, in a pass each minute\n", p.Release)
	} else {
		t.heading(fmt.Sprintf("The first server of Kubernetes %s", p.Release))
	}
	if len(p.Writes) == 0 {
		t.note("writes nothing")
	}
	for i := range p.Writes {
		t.maintenanceWrite(&p.Writes[i])
	}
	if len(p.Contests) == 0 {
		return nil
	}
	t.heading(fmt.Sprintf("While servers of %s and %s run", before.Release, p.Release))
	t.paragraph(fmt.Sprintf("Every server makes a pass each minute, counted from its own start, and undoes what those of the other release have done. "+
		"This ends when the last server of %s has stopped: at most a minute later, the objects are those of %s.", before.Release, p.Release))
	for i := range p.Contests {
		c := &p.Contests[i]
		switch {
		case !c.ExistsNew:
			fmt.Fprintf(t, "  %s %s exists after a pass of %s, and not after one of %s\n", c.Kind, c.Name, before.Release, p.Release)
		case !c.ExistsOld:
			fmt.Fprintf(t, "  %s %s exists after a pass of %s, and not after one of %s\n", c.Kind, c.Name, p.Release, before.Release)
		default:
			fmt.Fprintf(t, "  %s %s has other specs\n", c.Kind, c.Name)
			t.differences(c.Differences)
		}
		fmt.Fprintf(t, "      to keep it as it is: %s\n", c.Keep)
	}
	var rows aligned
	rows.left = []bool{true}
	rows.row("servers of "+p.Release, "share of each minute as "+before.Release+" leaves them", "changes of each in a minute")
	for _, m := range p.Rollout {
		rows.row(fmt.Sprintf("%d of %d", m.NewServers, r.Servers), format.Percent(m.OldShare), strconv.FormatFloat(m.Changes, 'f', 1, 64))
	}
	if len(p.Rollout) == 0 {
		return nil
	}
	return rows.write(t, func(_ int, line string) string { return line })
}

// maintenanceWrite writes a write.
func (t *textWriter) maintenanceWrite(w *advice.MaintenanceWrite) {
	fmt.Fprintf(t, "  %s %s: %s\n", maintenanceVerbs[w.Action], maintainedObject(&w.MaintainedObject), w.Reason)
	t.differences(w.Differences)
	if w.Keep != "" {
		fmt.Fprintf(t, "      to keep it: %s\n", w.Keep)
	}
}

// differences writes the fields in which two specs differ.
func (t *textWriter) differences(all []config.Difference) {
	for _, d := range all {
		fmt.Fprintf(t, "      %s: %s\n", d.Path, format.Printable(change(cmp.Or(d.Before, "absent"), cmp.Or(d.After, "absent"))))
	}
}
