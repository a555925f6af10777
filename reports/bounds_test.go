package reports_test

import (
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Of five runs, one rejects nearly everything, one nearly nothing, and the longest waits are as different: plain intervals of
// Student's t would include negative times and shares of more than 1.
func TestIntervalsStayInTheRangeOfTheStatistic(t *testing.T) {
	all := compare.NewReplicator("x", 0, nil)
	for i := range uint64(5) {
		n := []int64{2, 30, 60, 80, 99}[i]
		h := measure.New(measure.FinePrecision)
		wait := measure.Wait
		for k := range int64(1200) {
			h.Timed[wait].Record(1 + k%100*n*1e4)
		}
		all.Add(&collect.Replication{
			Summary: &result.Summary{Seed: i, DurationNs: 1e9, Workloads: []result.Group{{Name: "a",
				Counts: metric.Counts{Arrived: 100, Rejected: n, Executed: 100 - n}, Wait: result.NewDistribution(&h.Timed[wait])}}},
			Parts: []measure.Part{{Workload: "a", Timed: h.Timed}},
		})
	}
	r := all.Replications()
	rejected, wait := estimateOf(t, r, "rejected{workload:a}.rate"), estimateOf(t, r, "wait{workload:a}.p(99)")
	if !(*rejected.Low > 0 && *rejected.Low < 0.2 && *rejected.High > 0.8 && *rejected.High < 1) {
		t.Errorf("the share is from %v to %v", *rejected.Low, *rejected.High)
	}
	if !(*wait.Low > 0 && *wait.High > wait.Mean && 0 <= *wait.MergedLow && *wait.MergedLow < *wait.Merged && *wait.MergedHigh >= *wait.Merged) ||
		*wait.MergedHalf != max(*wait.Merged-*wait.MergedLow, *wait.MergedHigh-*wait.Merged) {
		t.Errorf("the wait is from %v to %v, merged from %v to %v", *wait.Low, *wait.High, *wait.MergedLow, *wait.MergedHigh)
	}
	for i := range r.Statistics {
		e := &r.Statistics[i]
		if low, high := e.ID.Range(); e.Low != nil && (*e.Low < low || *e.High > high || *e.Low > e.Mean || *e.High < e.Mean) {
			t.Errorf("%s: %v is from %v to %v", e.Name, e.Mean, *e.Low, *e.High)
		}
	}
}
