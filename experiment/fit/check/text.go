package check

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"apfsim/experiment/fit"
	"apfsim/reports/format"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// mostShown is how many workloads the text shows; the report has all.
const mostShown = 10

// WriteText writes the report for a terminal.
func (r *Report) WriteText(out io.Writer) error {
	var w bytes.Buffer
	fmt.Fprintf(&w, "%s in %s, of which %s are retries. The fitted scenario has %s:\n\n", format.Counted(int(r.Requests), "request"), format.Duration(float64(r.DurationNs)),
		format.Quantity(r.Retries), format.Counted(len(r.Workloads), "workload"))
	table := [][]string{{"workload", "clients", "first", "retries", "arrivals of a client", "execution"}}
	shown := r.Workloads[:min(mostShown, len(r.Workloads))]
	for _, f := range shown {
		table = append(table, []string{f.Name, strconv.Itoa(f.Clients), format.Quantity(f.First), format.Quantity(f.Retries), f.Arrivals, f.Execution})
	}
	align(&w, table, 1, 2, 3)
	if more := len(r.Workloads) - len(shown); more > 0 {
		fmt.Fprintf(&w, "  and %s with fewer requests\n", format.Counted(more, "workload"))
	}
	notes := slices.Clone(r.Notes)
	for _, f := range shown {
		for _, n := range f.Notes {
			notes = append(notes, f.Name+": "+n)
		}
	}
	list(&w, "Notes", notes)
	if r.Check != nil {
		r.Check.write(&w, shown)
	}
	_, err := out.Write(w.Bytes())
	return err
}

// list writes sentences with a heading, if there are any.
func list(w *bytes.Buffer, heading string, sentences []string) {
	if len(sentences) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", heading)
	for _, s := range sentences {
		for i, line := range format.Wrap(format.Printable(s), 96) {
			prefix := "    "
			if i == 0 {
				prefix = "  - "
			}
			fmt.Fprintf(w, "%s%s\n", prefix, line)
		}
	}
}

func (c *Check) write(w *bytes.Buffer, workloads []fit.Workload) {
	fmt.Fprintf(w, "\n%s.\n", c.summary())
	if c.Skipped != "" {
		fmt.Fprintf(w, "Note: %s.\n", c.Skipped)
	}
	switch d := c.WaitErrors; {
	case c.Skipped != "":
	case d != nil:
		fmt.Fprintf(w, `The waits in the log are longer than they were: those of level exempt, where no request waits, are %s
on average and %s at p99. The intervals contain this error, and %s to begin an execution.
`, format.Duration(float64(d.MeanNs)), format.Duration(float64(d.P99Ns)), format.Duration(handOverNs))
	case c.WaitMarginNs > 0:
		fmt.Fprintf(w, `The waits in the log of a real server can be longer than they were. The log does not say by how much, so the
intervals of the waits are %s longer.
`, format.Duration(float64(c.WaitMarginNs)))
	}
	shown := func(r *Row) bool {
		return !r.Within || r.Group != "workload" || slices.ContainsFunc(workloads, func(f fit.Workload) bool { return f.Name == r.Name })
	}
	table := [][]string{{"requests of", "statistic", "recorded", "simulated", "least", "most", ""}}
	before := ""
	for i := range c.Rows {
		r := &c.Rows[i]
		if !shown(r) {
			continue
		}
		name := map[string]string{"all": "all", "priorityLevel": "level " + r.Name, "workload": r.Name}[r.Group]
		row := []string{name, r.Statistic, r.text(&r.Recorded), r.text(r.Median), r.text(r.Low), r.text(r.High), ""}
		if name == before {
			row[0] = ""
		}
		if !r.Within {
			row[6] = "outside"
		}
		before = name
		table = append(table, row)
	}
	fmt.Fprintln(w)
	align(w, table, 2, 3, 4, 5)
	var moved []string
	for _, m := range c.Moved {
		moved = append(moved, fmt.Sprintf("%s: recorded %s; simulated %s", m.Workload, m.Recorded, m.Simulated))
	}
	list(w, "Requests that the simulated server classified differently", moved)
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

// align writes a table. The columns in right are flush right.
func align(w *bytes.Buffer, table [][]string, right ...int) {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range table {
		var line strings.Builder
		for i, cell := range row {
			space := strings.Repeat(" ", widths[i]-len([]rune(cell)))
			if slices.Contains(right, i) {
				cell = space + cell
			} else {
				cell += space
			}
			line.WriteString("  " + cell)
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}
