package findings

import (
	"slices"
	"strings"

	"apfsim/reports/format"
	"apfsim/reports/judge"
	"apfsim/reports/replicate"
	"apfsim/reports/result"
	"apfsim/reports/tables"
	"apfsim/sim/metric"
)

// Replications says of each workload and each priority level what the figures are, with the verdict of
// the table of judgements, and how precise the statistics are that were to be precise.
func Replications(r *replicate.Replications, byName map[string]*replicate.Estimate) []Finding {
	var all []Finding
	for i := range tables.EstimateTables {
		g := &tables.EstimateTables[i]
		g.Each(r, byName, func(name string, _ []*replicate.Estimate) {
			stat := func(of metric.Name) *replicate.Estimate { return byName[of.With(g.Tag, name).String()] }
			f := judge.NoFigures()
			wait, rejected, waiting := stat(waitP99), stat(rejectedRate), stat(waitingRate)
			f.Undispatched = float64(judge.Boolean(wait == nil))
			for _, figure := range []struct {
				of   *replicate.Estimate
				into *float64
			}{{wait, &f.WaitP99}, {stat(waitMax), &f.WaitMax}, {rejected, &f.Rejected}, {waiting, &f.Waiting}, {stat(virtualP99), &f.VirtualP99},
				{stat(virtualRejectedRate), &f.VirtualRejected}, {stat(starvationMax), &f.Starvation}} {
				if figure.of != nil {
					*figure.into = figure.of.Mean
				}
			}
			// Where nobody waited or was rejected, what flows lack of their shares lies beyond the window.
			if least := stat(leastRatio); least != nil && (f.Rejected > 0 || f.WaitMax > 0) {
				f.Shortfall = 1 - least.Mean
			}
			stall := stat(stallMax)
			var parts []string
			if use := stat(utilisationMean); use != nil {
				parts = append(parts, "seats in use "+tables.EstimateText(use))
			}
			parts = append(parts, estimateWaited(wait))
			if stall != nil {
				if f.Stall = slices.Max(stall.Values.Present()); f.Stall >= result.StallNs {
					parts = append(parts, "longest stall of all runs "+format.Duration(f.Stall))
				}
			}
			if waiting.Mean > 0 {
				parts = append(parts, tables.EstimateText(waiting)+" still queued at the end")
			}
			parts = append(parts, estimateRejected(rejected))
			all = append(all, Finding{Group: g.Title, Judgement: f.Judge(), Subject: name, Text: strings.Join(parts, "; ") + "."})
		})
	}
	if r.Precision == nil {
		return all
	}
	title := tables.PrecisionTitle(r)
	for i := range r.Precision.Statistics {
		s := &r.Precision.Statistics[i]
		f := Finding{Group: title, Judgement: judge.Bad, Subject: s.Name, Text: "has no samples."}
		if e := byName[s.Name]; e != nil {
			f.Text = "is " + tables.EstimateText(tables.OfMean(e))
			if s.Reached != nil {
				f.Text += ", known to " + tables.PrecisionReached(r.Precision, s)
			}
			f.Text += "."
		}
		if s.Reached != nil && *s.Reached <= r.Precision.Wanted {
			f.Judgement = judge.Good
		}
		all = append(all, f)
	}
	return all
}

// What is said in plain language is about these statistics.
var (
	waitP99         = metric.Name{Metric: "wait", Stat: "p", Percentile: 99}
	rejectedRate    = metric.Name{Metric: "rejected", Stat: "rate"}
	waitingRate     = metric.Name{Metric: "waiting", Stat: "rate"}
	utilisationMean = metric.Name{Metric: "utilisation", Stat: "mean"}
	waitMax         = metric.Name{Metric: "wait", Stat: "max"}
	stallMax        = metric.Name{Metric: "stall", Stat: "max"}
	leastRatio      = metric.Name{Metric: "fairness", Stat: "leastRatio"}
	starvationMax   = metric.Name{Metric: "starvation", Stat: "max"}
	virtualP99      = metric.Name{Metric: "virtualWait", Stat: "p", Percentile: 99}

	virtualRejectedRate = metric.Name{Metric: "virtualRejected", Stat: "rate"}
)

// estimateWaited and rejected say what a statistic means for a group; nil has no samples.
func estimateWaited(e *replicate.Estimate) string {
	switch {
	case e == nil:
		return "no request was dispatched"
	case e.Mean == 0:
		return "99 % did not wait"
	}
	return "wait p99 " + tables.EstimateText(e)
}

func estimateRejected(e *replicate.Estimate) string {
	if e.Mean == 0 {
		return "0 % rejected in every run"
	}
	return tables.EstimateText(e) + " rejected"
}
