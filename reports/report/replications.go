package report

import (
	"apfsim/reports/compare"
)

// ReplicationsDocument returns the report of several runs.
func ReplicationsDocument(r *compare.Replications) *Document {
	byName := r.ByName()
	d := &Document{
		Title: r.Name, Name: r.Name, Description: []string{r.Description}, Ran: r.Ran(), Replay: replayed(r.Replay), Verdict: replicationsVerdict(r),
		Findings: ReplicationFindings(r, byName), Warnings: r.Warnings,
		Sources: "All numbers are in replications.json and replications.csv.",
		Data:    r, Records: []*Records{estimateColumns.Records("replications", r.Statistics)},
	}
	d.Answer = AnswerOf(r.Verdict)
	d.add(replicationsScreen(r))
	d.add(CauseSection(r.Verdict))
	for i := range estimateTables {
		g := &estimateTables[i]
		parts := tablePart(g.Table(r, byName), "")
		if len(parts) > 0 && g.Tag == "workload" {
			if plot := PercentilePlot("wait", []*compare.Replications{r}, []string{""}); plot != nil {
				parts = append(parts, Part{Plot: plot})
			}
		}
		d.add(Section{Name: g.Tag, Title: g.Title, Parts: parts,
			Note: "Means of the runs, and percentiles of the requests of all runs together, ± half the width of their 95 % intervals, or with the ends of the interval."})
	}
	d.add(Section{Only: Terminal, Parts: []Part{{Note: "Means of the runs, and percentiles of all runs' requests together, ± half of their 95 % intervals, or (their ends). [a to b]: the range of the runs, where an interval would be unreliable."}}})
	d.add(Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: statisticsTable(r)}}, Only: HTML})
	if d.Verdict != nil {
		d.add(Section{Parts: []Part{{Table: d.Verdict.Table, Brief: thresholdsBrief}}, Only: Terminal})
	}
	if r.Precision != nil {
		d.add(Section{Parts: []Part{{Table: precisionTable(r, byName), Brief: thresholdsBrief}}, Only: Terminal})
	}
	return d
}

// replicationsVerdict returns the verdict of the thresholds, nil if there are none.
func replicationsVerdict(r *compare.Replications) *Verdict {
	if len(r.Thresholds) == 0 {
		return nil
	}
	t := replicatedThresholdTable(r)
	return &Verdict{Judgement: passed(r.Passed), Sentences: []string{t.Title}, Table: t}
}
