package fit

import (
	"fmt"
	"slices"
	"strconv"

	"apfsim/reports/format"
	"apfsim/reports/report"
)

// mostShown is how many workloads the document shows; JSON has all.
const mostShown = 10

// workloadColumns are the columns of fitted workloads.
var workloadColumns = report.Definition[Workload]{
	{Column: report.Column{Short: "workload", Left: true}, Cell: func(w *Workload) report.Cell { return report.Word(w.Name) }},
	{Column: report.Column{Short: "clients"}, Cell: func(w *Workload) report.Cell { return report.Word(strconv.Itoa(w.Clients)) }},
	{Column: report.Column{Short: "first"}, Cell: func(w *Workload) report.Cell { return report.Word(format.Quantity(w.First)) }},
	{Column: report.Column{Short: "retries"}, Cell: func(w *Workload) report.Cell { return report.Word(format.Quantity(w.Retries)) }},
	{Column: report.Column{Short: "arrivals of a client", Left: true}, Cell: func(w *Workload) report.Cell { return report.Word(w.Arrivals) }},
	{Column: report.Column{Short: "execution", Left: true}, Cell: func(w *Workload) report.Cell { return report.Word(w.Execution) }},
}

// Shown returns the workloads that the document shows.
func (r *Report) Shown() []Workload { return r.Workloads[:min(mostShown, len(r.Workloads))] }

// Document returns the report of a fit.
func (r *Report) Document() *report.Document {
	shown := r.Shown()
	table := &report.Table{Columns: workloadColumns.Columns()}
	notes := slices.Clone(r.Notes)
	for i := range shown {
		table.Rows = append(table.Rows, workloadColumns.Row(&shown[i]))
		for _, n := range shown[i].Notes {
			notes = append(notes, shown[i].Name+": "+n)
		}
	}
	parts := []report.Part{
		{Paragraph: fmt.Sprintf("%s in %s, of which %s are retries. The fitted scenario has %s:", format.Counted(int(r.Requests), "request"),
			format.Duration(float64(r.DurationNs)), format.Quantity(r.Retries), format.Counted(len(r.Workloads), "workload"))},
		{Table: table},
	}
	if more := len(r.Workloads) - len(shown); more > 0 {
		parts = append(parts, report.Part{Note: fmt.Sprintf("and %s with fewer requests", format.Counted(more, "workload"))})
	}
	parts = append(parts, report.Part{Heading: "Notes", List: notes})
	return &report.Document{Title: "Fit", Data: r, Sections: []report.Section{{Name: "fit", Title: "Fit", Parts: parts}}}
}
