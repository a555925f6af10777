package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"apfsim/experiment/fit"
	"apfsim/reports/format"
	"apfsim/reports/report"
)

// Document returns the report of a fit and of its check.
func (r *Report) Document() *report.Document {
	d := r.Report.Document()
	d.Data = r
	if section := &d.Sections[0]; r.Check != nil {
		section.Parts = append(section.Parts, r.Check.parts(r.Shown())...)
	}
	return d
}

// parts returns the parts of a document that compare the fitted scenario with what was recorded.
func (c *Check) parts(workloads []fit.Workload) []report.Part {
	lines := []string{c.summary() + "."}
	if caution := c.Caution(); caution != "" {
		lines = append(lines, "Note: "+caution+".")
	}
	switch d := c.WaitErrors; {
	case c.Skipped != "":
		lines = append(lines, "Note: "+c.Skipped+".")
	case d != nil:
		lines = append(lines, fmt.Sprintf(`The waits in the log are longer than they were: those of level exempt, where no request waits, are %s
on average and %s at p99. The intervals contain this error, and %s to begin an execution.`,
			format.Duration(float64(d.MeanNs)), format.Duration(float64(d.P99Ns)), format.Duration(handOverNs)))
	case c.WaitMarginNs > 0:
		lines = append(lines, fmt.Sprintf(`The waits in the log of a real server can be longer than they were. The log does not say by how much, so the
intervals of the waits are %s longer.`, format.Duration(float64(c.WaitMarginNs))))
	}
	table := &report.Table{Columns: []report.Column{{Short: "requests of", Left: true}, {Short: "statistic", Left: true},
		{Short: "recorded"}, {Short: "simulated"}, {Short: "least"}, {Short: "most"}, {Left: true}}}
	before := ""
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Within && r.Group == "workload" && !slices.ContainsFunc(workloads, func(f fit.Workload) bool { return f.Name == r.Name }) {
			continue
		}
		name := map[string]string{"all": "all", "priorityLevel": "level " + r.Name, "workload": r.Name}[r.Group]
		row := make([]report.Cell, 0, len(table.Columns))
		for _, text := range []string{name, r.Statistic, r.text(&r.Recorded), r.text(r.Median), r.text(r.Low), r.text(r.High), ""} {
			row = append(row, report.Word(text))
		}
		if name == before {
			row[0].Text = ""
		}
		if !r.Within {
			row[6].Text = "outside"
		}
		before = name
		table.Rows = append(table.Rows, row)
	}
	var moved []string
	for _, m := range c.Moved {
		moved = append(moved, fmt.Sprintf("%s: recorded %s; simulated %s", m.Workload, m.Recorded, m.Simulated))
	}
	return []report.Part{{Paragraph: strings.Join(lines, "\n")}, {Table: table},
		{Heading: "Requests that the simulated server classified differently", List: moved}}
}

// text returns a value of the row.
func (r *Row) text(x *float64) string {
	switch {
	case x == nil:
		return "–"
	case r.Unit == "ns":
		return format.Duration(*x)
	case r.Unit == "1":
		return strconv.FormatFloat(*x, 'f', 2, 64)
	}
	return format.Quantity(int64(*x))
}
