package reports_test

import (
	"testing"

	"apfsim/reports/collect"
	"apfsim/reports/compare"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// Two of four runs reject everything, the others nothing, and the longest waits are as different: the plain intervals would
// include negative times and shares of more than 1.
func TestIntervalsStayInTheRangeOfTheStatistic(t *testing.T) {
	all := compare.NewReplicator("x", 0, nil)
	for i := range uint64(4) {
		n := int64(100 * (i % 2))
		h := measure.New(measure.FinePrecision)
		wait := measure.Wait
		for range 100 {
			h.Timed[wait].Record(1 + n*1e6)
		}
		all.Add(&collect.Replication{
			Summary: &result.Summary{Seed: i, DurationNs: 1e9, Workloads: []result.Group{{Name: "a",
				Counts: metric.Counts{Arrived: 100, Rejected: n, Executed: 100 - n}, Wait: result.NewDistribution(&h.Timed[wait])}}},
			Parts: []measure.Part{{Workload: "a", Timed: h.Timed}},
		})
	}
	r := all.Replications()
	rejected, wait := estimateOf(t, r, "rejected{workload:a}.rate"), estimateOf(t, r, "wait{workload:a}.p(99)")
	if *rejected.Low != 0 || *rejected.High != 1 {
		t.Errorf("the share is from %v to %v", *rejected.Low, *rejected.High)
	}
	if *wait.Low != 0 || *wait.High <= wait.Mean || *wait.MergedLow != max(*wait.Merged-*wait.MergedHalf, 0) ||
		*wait.MergedHigh != *wait.Merged+*wait.MergedHalf {
		t.Errorf("the wait is from %v to %v, merged from %v to %v", *wait.Low, *wait.High, *wait.MergedLow, *wait.MergedHigh)
	}
	for i := range r.Statistics {
		e := &r.Statistics[i]
		if low, high := e.ID.Range(); e.Low != nil && (*e.Low < low || *e.High > high || *e.Low > e.Mean || *e.High < e.Mean) {
			t.Errorf("%s: %v is from %v to %v", e.Name, e.Mean, *e.Low, *e.High)
		}
	}
}
