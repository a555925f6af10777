package report

import (
	"slices"

	"apfsim/reports/compare"
	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// ReplicationFindings returns the findings of several runs: workloads, priority levels, and how precise the
// statistics are that --precision names.
func ReplicationFindings(r *compare.Replications, byName map[string]*compare.Estimate) []Finding {
	var all []Finding
	of := map[string]string{metric.TagWorkload: result.OfWorkload, metric.TagPriorityLevel: result.OfLevel}
	for i := range estimateTables {
		g := &estimateTables[i]
		g.Each(r, byName, func(name string, _ []*compare.Estimate) {
			estimate := func(s metric.Name) *compare.Estimate { return byName[s.With(g.Tag, name).String()] }
			all = append(all, Finding{Group: g.Title, Judgement: judge.Mark(r.Verdict, of[g.Tag], name), Subject: name, Text: estimatesText(estimate)})
		})
	}
	if r.Precision == nil {
		return all
	}
	title := r.PrecisionTitle()
	for i := range r.Precision.Statistics {
		s := &r.Precision.Statistics[i]
		f := Finding{Group: title, Judgement: judge.Bad, Subject: s.Name, Text: "no samples"}
		if e := byName[s.Name]; e != nil {
			p := parts{estimateText(e)}
			if s.Reached != nil {
				p.add("relative half-width %s", r.Precision.ReachedText(s))
			}
			f.Text = p.text()
		}
		if s.Reached != nil && *s.Reached <= r.Precision.Wanted {
			f.Judgement = judge.Good
		}
		all = append(all, f)
	}
	return all
}

var utilisationMean = metric.Name{Metric: "utilisation", Stat: "mean"}

// estimatesText states the figures of a workload or a priority level over all runs. estimate returns
// a statistic, nil if it has no samples.
func estimatesText(estimate func(metric.Name) *compare.Estimate) string {
	var p parts
	if use := estimate(utilisationMean); use != nil {
		p.add("seats in use %s", estimateText(use))
	}
	switch wait := estimate(judge.WaitP99); {
	case wait == nil:
		p.add("0 dispatched")
	case printedValue(wait) == 0:
		p.add("99 %% did not wait")
	default:
		p.add("wait p99 %s", estimateText(wait))
	}
	if stall := estimate(judge.StallMax); stall != nil {
		if longest := slices.Max(stall.Values.Present()); longest >= result.StallNs {
			p.add("longest stall of all runs %s", format.Duration(longest))
		}
	}
	if waiting := estimate(judge.Waiting); waiting != nil && waiting.Mean > 0 {
		p.add("%s still queued at the end", estimateText(waiting))
	}
	rejected := estimate(judge.Rejected)
	if rejected == nil {
		return p.text()
	}
	p.add("%s rejected", estimateText(rejected))
	if n := estimate(judge.NotServed); n != nil && n.Mean > rejected.Mean {
		p.add("%s not served, with these", estimateText(n))
	}
	return p.text()
}

// printedValue returns the value of an estimate that outputs show.
func printedValue(e *compare.Estimate) float64 {
	value, _, _ := e.Printed()
	return value
}
