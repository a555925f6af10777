package report

import (
	"apfsim/reports/replicate"
)

// ReplicationsDocument returns the page of several runs.
func ReplicationsDocument(r *replicate.Replications) Document {
	byName := r.ByName()
	p := Document{
		Title: r.Name, Description: []string{r.Description}, Ran: r.Ran(), Replay: replayed(r.Replay), Verdict: replicationsVerdict(r), Findings: ReplicationFindings(r, byName), Warnings: r.Warnings,
		Footer: "All numbers are in replications.json and replications.csv.",
	}
	for i := range EstimateTables {
		g := &EstimateTables[i]
		t := g.Table(r, byName)
		if len(t.Rows) == 0 {
			continue
		}
		s := Section{Name: g.Tag, Title: g.Title, Parts: []Part{{Table: t}},
			Note: "Means of the runs, and percentiles of the requests of all runs together, ± half the width of their 95 % intervals."}
		if g.Tag == "workload" {
			if plot := PercentilePlot("wait", []*replicate.Replications{r}, []string{""}); plot != nil {
				s.Parts = append(s.Parts, Part{Plot: plot})
			}
		}
		p.Sections = append(p.Sections, s)
	}
	p.Sections = append(p.Sections, Section{Name: "statistics", Title: "All statistics", Parts: []Part{{Table: StatisticsTable(r)}}})
	return p
}

// replicationsVerdict returns the verdict of the thresholds, nil if there are none.
func replicationsVerdict(r *replicate.Replications) *Verdict {
	if len(r.Thresholds) == 0 {
		return nil
	}
	t := ReplicatedThresholdTable(r)
	return &Verdict{Judgement: passed(r.Passed), Text: t.Title, Table: t}
}
