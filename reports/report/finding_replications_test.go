package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"apfsim/reports/compare"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// replicationsOf is five runs with these values of statistics, by name.
func replicationsOf(statistics ...compare.Estimate) *compare.Replications {
	r := &compare.Replications{Name: "x", Seeds: []uint64{1, 2, 3, 4, 5}}
	for _, s := range statistics {
		e := compare.EstimateOf(s.Values)
		e.ID = metric.MustParseName(s.Name)
		e.Name, e.Unit, e.Better, e.PriorityLevel = s.Name, s.Unit, s.Better, s.PriorityLevel
		r.Statistics = append(r.Statistics, e)
	}
	return r
}

func estimatesOf(tag string, waitNs, rejected compare.RunValues) []compare.Estimate {
	return []compare.Estimate{{Name: "arrived{" + tag + "}.count", Values: compare.RunValues{9, 9, 9, 9, 9}}, {Name: "waiting{" + tag + "}.rate", Values: compare.RunValues{0, 0, 0, 0, 0}},
		{Name: "wait{" + tag + "}.p(99)", Unit: "ns", Better: metric.Lower, Values: waitNs}, {Name: "rejected{" + tag + "}.rate", Better: metric.Lower, Values: rejected}}
}

func linesOf(all []Finding) string {
	var lines []string
	for _, f := range all {
		lines = append(lines, string(f.Judgement)+"|"+f.Subject+" "+f.Text)
	}
	return strings.Join(lines, "\n")
}

// Values with mean 3 and standard deviation 1 in five runs have the interval ± 2.776/√5 = 1.2.
func TestReplications(t *testing.T) {
	none, part := compare.RunValues{0, 0, 0, 0, 0}, compare.RunValues{0.2, 0.2, 0.3, 0.4, 0.4}
	all := estimatesOf("workload:a", compare.RunValues{2e6, 2e6, 3e6, 4e6, 4e6}, none)
	all = append(all, estimatesOf("workload:b", none, none)...)
	all = append(all, estimatesOf("priorityLevel:low", compare.RunValues{5e6, 5e6, 5e6, 5e6, 5e6}, part)...)
	all = append(all, compare.Estimate{Name: "utilisation{priorityLevel:low}.mean", Values: part})
	absent := compare.RunValues{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	all = append(all, slices.Delete(estimatesOf("priorityLevel:stuck", absent, part), 2, 3)...)
	all = append(all, compare.Estimate{Name: "utilisation{priorityLevel:stuck}.mean", Values: part})
	r := replicationsOf(all...)
	r.Verdict = &result.Overall{Judged: []result.Judged{{Of: result.OfWorkload, Name: "a", Arrived: 9}, {Of: result.OfWorkload, Name: "b", Arrived: 9},
		{Of: result.OfLevel, Name: "low", Arrived: 900, NotServed: 300}, {Of: result.OfLevel, Name: "stuck", Arrived: 900, NotServed: 300}}}
	reached := 0.4
	r.Precision = &compare.Precision{Wanted: 0.1, Statistics: []compare.PrecisionResult{{Name: "wait{workload:a}.p(99)", Reached: &reached}, {Name: "wait{workload:c}.p(99)"}}}
	want := `good|a wait p99 3.0 ±1.2 ms; 0 % rejected
good|b 99 % did not wait; 0 % rejected
bad|low seats in use 30 ±12 %; wait p99 5 ms; 30 ±12 % rejected
bad|stuck seats in use 30 ±12 %; 0 dispatched; 30 ±12 % rejected
bad|wait{workload:a}.p(99) 3.0 ±1.2 ms; relative half-width 40 %
bad|wait{workload:c}.p(99) no samples`
	if got := linesOf(ReplicationFindings(r, r.ByName())); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
