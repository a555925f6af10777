package compare

import (
	"fmt"
	"slices"

	"apfsim/reports/format"
)

// Ran returns a short description of what was simulated.
func (r *Replications) Ran() string {
	text := format.Window(r.DurationNs, r.WarmupNs, r.WarmupBy, r.FlowControl)
	if phases := r.AdjustmentPhasesNs; phases != nil {
		first, last := slices.Min(phases), slices.Max(phases)
		if first == last {
			text += ", adjustment phase " + format.Duration(float64(first))
		} else {
			text += fmt.Sprintf(", adjustment phases from %s to %s", format.Duration(float64(first)), format.Duration(float64(last)))
		}
	}
	return r.After(fmt.Sprintf("%d runs of %s, seeds %d to %d", len(r.Seeds), text, r.Seeds[0], r.Seeds[len(r.Seeds)-1]))
}

// ByName returns the statistics by their names.
func (r *Replications) ByName() map[string]*Estimate {
	all := map[string]*Estimate{}
	for i := range r.Statistics {
		all[r.Statistics[i].Name] = &r.Statistics[i]
	}
	return all
}

// Names returns the values of a tag: the names of all workloads, FlowSchemas or priority levels.
func (r *Replications) Names(tagName string) []string {
	var names []string
	for i := range r.Statistics {
		id := &r.Statistics[i].ID
		if id.Metric == "arrived" && id.Stat == "count" && len(id.Tags) == 1 && id.Tags[0].Name == tagName {
			names = append(names, id.Tags[0].Value)
		}
	}
	return names
}

// OfMean returns the estimate of the mean of the runs, in place of the percentile of all runs'
// requests together.
func (e *Estimate) OfMean() *Estimate {
	mean := *e
	mean.Merged, mean.MergedHalf, mean.MergedLow, mean.MergedHigh = nil, nil, nil, nil
	return &mean
}

// PrecisionTitle says whether the precision was reached, and in how many runs.
func (r *Replications) PrecisionTitle() string {
	text := "reached with %d runs"
	if !r.Precision.Met {
		text = "not reached with %d runs, the maximum"
	}
	// With all digits of the precision that was asked for, no other precision is written like it.
	return fmt.Sprintf("Precision of %s %% "+text, format.Significant(r.Precision.Wanted*100, 15), len(r.Seeds))
}

// ReachedText writes the precision of a statistic: half the width of its interval over its mean.
func (p *Precision) ReachedText(s *PrecisionResult) string {
	if s.Reached == nil {
		return "–"
	}
	return format.BesideLimit(*s.Reached, p.Wanted, "", true)
}
