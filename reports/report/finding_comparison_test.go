package report

import (
	"slices"
	"testing"

	"apfsim/reports/compare"
	"apfsim/sim/metric"
)

func TestComparison(t *testing.T) {
	none, once, noisy := compare.RunValues{0, 0, 0, 0, 0}, compare.RunValues{2e6, 2e6, 3e6, 4e6, 4e6}, compare.RunValues{4e6, 2e6, 3e6, 2e6, 4e6}
	// The differences 4, 4, 6, 8 and 8 ms have the interval 6 ± 2.483 ms: 83 % of 3 ms, 28 % of 9 ms.
	thrice := compare.RunValues{6e6, 6e6, 9e6, 12e6, 12e6}
	side := func(a, b compare.RunValues, flow compare.Estimate) *compare.Replications {
		all := append(estimatesOf("workload:a", a, none), estimatesOf("workload:b", b, compare.RunValues{0.1, 0.1, 0.1, 0.1, 0.1})...)
		return replicationsOf(append(all, flow)...)
	}
	flow := func(v compare.RunValues) compare.Estimate {
		return compare.Estimate{Name: "wait{flow:s/f}.p(99)", Unit: "ns", Better: metric.Lower, PriorityLevel: "low", Values: v}
	}
	for _, c := range []struct {
		base, head *compare.Replications
		want       string
	}{
		{side(once, once, flow(once)), side(thrice, noisy, flow(thrice)), `bad|a wait p99 3 ms → 9 ms (+200 ±171 %); rejected 0 % → 0 % (equal)
|b wait p99 3 ms → 3 ms (no significant change); rejected 10 % → 10 % (equal)
bad|wait p99, higher flows (1): s/f`},
		{side(thrice, none, flow(thrice)), side(once, none, flow(once)), `good|a wait p99 9 ms → 3 ms (−67, from −100 to −29 %); rejected 0 % → 0 % (equal)
|b wait p99 0 → 0 (equal); rejected 10 % → 10 % (equal)
good|wait p99, lower flows (1): s/f`},
	} {
		if got := linesOf(ComparisonFindings(compare.Compare("base", c.base, "head", c.head))); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// Statistics may have samples on only one side, or on neither.
func TestRequestsOnOneSide(t *testing.T) {
	none, some := compare.RunValues{0, 0, 0, 0, 0}, compare.RunValues{2e6, 2e6, 3e6, 4e6, 4e6}
	part := compare.RunValues{0.2, 0.2, 0.2, 0.2, 0.2}
	without := func(tag string) []compare.Estimate { return slices.Delete(estimatesOf(tag, none, none), 2, 3) } // none dispatched
	idle := func(tag string) []compare.Estimate {
		return []compare.Estimate{{Name: "arrived{" + tag + "}.count", Values: none}}
	}
	use := func(name string, v compare.RunValues) []compare.Estimate {
		return []compare.Estimate{{Name: "utilisation{priorityLevel:" + name + "}.mean", Values: v}}
	}
	base := replicationsOf(slices.Concat(estimatesOf("workload:gone", some, none), without("workload:stuck"), without("workload:late"), estimatesOf("workload:early", some, none),
		idle("workload:quiet"), idle("workload:nobody"), estimatesOf("priorityLevel:low", some, none), use("low", part), without("priorityLevel:shut"), use("shut", part),
		idle("priorityLevel:high"), use("high", none))...)
	head := replicationsOf(slices.Concat(estimatesOf("workload:new", some, none), without("workload:stuck"), estimatesOf("workload:late", some, none), without("workload:early"),
		estimatesOf("workload:quiet", some, none), idle("workload:nobody"), idle("priorityLevel:low"), use("low", none), without("priorityLevel:shut"), use("shut", part),
		estimatesOf("priorityLevel:high", some, none), use("high", part))...)
	want := `|gone requests only in the base
|stuck 0 dispatched on both sides; rejected 0 % → 0 % (equal)
|late 0 dispatched in the base; rejected 0 % → 0 % (equal)
|early 0 dispatched in the head; rejected 0 % → 0 % (equal)
|quiet requests only in the head
|new requests only in the head
|low seats in use 20 % → 0 % (no significant change); requests only in the base
|shut seats in use 20 % → 20 % (equal); 0 dispatched on both sides; rejected 0 % → 0 % (equal)
|high seats in use 0 % → 20 % (no significant change); requests only in the head`
	if got := linesOf(ComparisonFindings(compare.Compare("base", base, "head", head))); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Flows with the same change share a finding.
func TestFlowsThatChanged(t *testing.T) {
	few, many := compare.RunValues{0.1, 0.1, 0.2, 0.2, 0.1}, compare.RunValues{0.5, 0.6, 0.7, 0.8, 0.5}
	side := func(a, b compare.RunValues) *compare.Replications {
		return replicationsOf(compare.Estimate{Name: "rejected{flow:s/f}.rate", Better: metric.Lower, PriorityLevel: "low", Values: a},
			compare.Estimate{Name: "rejected{flow:s/g}.rate", Better: metric.Lower, PriorityLevel: "low", Values: b})
	}
	if got, want := linesOf(ComparisonFindings(compare.Compare("base", side(few, many), "head", side(many, few)))), `bad|rejected, higher flows (1): s/f
good|rejected, lower flows (1): s/g`; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
