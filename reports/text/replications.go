package text

import (
	"fmt"
	"io"

	"apfsim/reports/format"
	"apfsim/reports/replicate"
	"apfsim/reports/result"
	"apfsim/reports/tables"
)

// WriteReplications writes the replications for people to read: means with the half-width of their
// intervals, for the workloads, the priority levels and the thresholds.
func WriteReplications(r *replicate.Replications, w io.Writer, options format.TextOptions) error {
	t := replicationsText{newTextWriter(options), r, tables.EstimatesByName(r)}
	t.head(r.Name, tables.RanReplications(r), r.Description)
	for _, g := range tables.EstimateTables {
		t.groups(&g)
	}
	fmt.Fprintln(t, t.paint(Dim, "  Means of the runs, and percentiles of all runs' requests together, ± half of their 95 % intervals."))
	t.verdicts()
	t.reached()
	t.warnings(&result.Summary{Warnings: r.Warnings})
	_, err := w.Write(t.Bytes())
	return err
}

type replicationsText struct {
	textWriter
	*replicate.Replications
	byName map[string]*replicate.Estimate
}

func (t *replicationsText) groups(g *tables.EstimateTable) {
	tb := &format.TextTable{Left: 1}
	row := []string{g.Head}
	for _, c := range g.Columns {
		row = append(row, c.Title)
	}
	tb.Row(row...)
	g.Each(t.Replications, t.byName, func(name string, estimates []*replicate.Estimate) {
		row := []string{t.name(name, 100)}
		for _, e := range estimates {
			cell := "–"
			if e != nil {
				cell = tables.EstimateText(e)
			}
			row = append(row, cell)
		}
		tb.Row(row...)
	})
	if len(tb.Rows) > 1 {
		t.heading(g.Title)
		t.table(tb)
	}
}

func (t *replicationsText) verdicts() {
	if len(t.Thresholds) == 0 {
		return
	}
	failed := 0
	tb := &format.TextTable{Left: 3}
	for i := range t.Thresholds {
		v := &t.Thresholds[i]
		mark := "✓"
		if !v.Passed {
			failed++
			mark = "✗"
		}
		tb.Row(mark, format.Shorten(format.Printable(v.Metric), 50), format.Printable(v.Expression), tables.ReplicatedFound(v))
	}
	title := "Thresholds: all hold in every run"
	if failed > 0 {
		title = fmt.Sprintf("Thresholds: %d of %d failed", failed, len(t.Thresholds))
	}
	t.heading(title)
	t.judged(tb, func(row int) bool { return t.Thresholds[row].Passed })
}

func (t *replicationsText) reached() {
	p := t.Precision
	if p == nil {
		return
	}
	t.heading(tables.PrecisionTitle(t.Replications))
	tb := &format.TextTable{Left: 1}
	for i := range p.Statistics {
		s := &p.Statistics[i]
		text := result.NoSamples
		if e := t.byName[s.Name]; e != nil {
			text = tables.EstimateText(tables.OfMean(e))
		}
		tb.Row(format.Printable(s.Name), text, tables.PrecisionReached(p, s))
	}
	t.table(tb)
}
