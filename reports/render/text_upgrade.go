package render

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"apfsim/reports/advice"
	"apfsim/reports/format"
)

// TextUpgrade writes what an upgrade changes for a configuration.
func TextUpgrade(w io.Writer, u *advice.Upgrade) error {
	t := newTextWriter(format.TextOptions{})
	fmt.Fprintf(&t, "Upgrade from Kubernetes %s to %s\n", u.From, u.To)

	if len(u.Maintained) > 0 {
		t.heading("Objects that the servers of " + u.From + " do not leave as they are given")
		writeObjects(&t, u.Maintained)
	}
	t.heading("Objects that the servers change")
	if len(u.Objects) == 0 {
		t.note("none")
	}
	writeObjects(&t, u.Objects)

	t.heading("Rules that change")
	if len(u.Rules) == 0 {
		t.note("none")
	}
	for _, r := range u.Rules {
		fmt.Fprintf(&t, "  %s %s\n      before: %s\n      after:  %s\n", r.Release, r.Rule, r.Before, r.After)
	}

	t.heading("API versions that the servers no longer serve")
	if len(u.APIVersions) == 0 {
		t.note("none")
	}
	for _, v := range u.APIVersions {
		fmt.Fprintf(&t, "  %s from %s on (%d %s); use %s\n", v.Name, v.RemovedIn, v.Objects, format.Plural(v.Objects, "object"), v.Use)
	}

	t.heading("Limits of the priority levels, in seats")
	t.rows(upgradeLevels(u))
	if u.Request != nil {
		t.heading("The request")
		var rows aligned
		rows.left = []bool{true, true}
		for _, row := range requestRows(u.Request) {
			rows.row(row.name, format.Printable(change(row.value(u.Request.Before), row.value(u.Request.After))))
		}
		if err := rows.write(&t, func(_ int, line string) string { return line }); err != nil {
			return err
		}
	}
	_, err := w.Write(t.Bytes())
	return err
}

// writeObjects writes objects that servers change, each with the release that does so.
func writeObjects(t *textWriter, objects []advice.UpgradedObject) {
	verbs := map[string]string{advice.Created: "creates", advice.Deleted: "deletes", advice.PutRight: "puts right"}
	for _, o := range objects {
		fmt.Fprintf(t, "  %s %s %s %s\n", o.Release, verbs[o.Change], o.Kind, format.Printable(o.Name))
		for _, d := range o.Differences {
			fmt.Fprintf(t, "      %s: %s\n", d.Path, format.Printable(change(cmp.Or(d.Before, "absent"), cmp.Or(d.After, "absent"))))
		}
	}
}

// requestRow is a property of how flow control handles a request.
type requestRow struct {
	name  string
	value func(*advice.Explanation) string
}

// requestRows returns the properties to print: only the first if the request bypasses flow control
// before and after the upgrade.
func requestRows(r *advice.UpgradedRequest) []requestRow {
	flow := func(name string, get func(*advice.Explanation) string) requestRow {
		return requestRow{name, func(e *advice.Explanation) string {
			if e.Bypasses {
				return "–"
			}
			return get(e)
		}}
	}
	rows := []requestRow{{"flow control", func(e *advice.Explanation) string {
		if e.Bypasses {
			return "bypassed"
		}
		return "applies"
	}}}
	if r.Before.Bypasses && r.After.Bypasses {
		return rows
	}
	return append(rows,
		flow("FlowSchema", func(e *advice.Explanation) string { return e.Flow.FlowSchema }),
		flow("priority level", func(e *advice.Explanation) string { return e.Flow.PriorityLevel }),
		flow("seats while it executes", func(e *advice.Explanation) string {
			if e.Seats == nil {
				return "0"
			}
			return strconv.Itoa(e.Seats.InitialSeats)
		}),
		flow("seats afterwards", func(e *advice.Explanation) string {
			if e.Seats == nil || e.Seats.FinalSeats == 0 {
				return "0"
			}
			return fmt.Sprintf("%d for %s", e.Seats.FinalSeats, format.Duration(float64(e.Seats.AdditionalLatencyNs)))
		}),
	)
}
