package conformance

import (
	"fmt"
	"slices"
	"testing"

	"apfsim/core/config"
	"apfsim/core/flowcontrol"
	"apfsim/core/rules"
	"apfsim/lab/conformance/ours"
	"apfsim/lab/conformance/trial"
	"apfsim/lab/conformance/upstream"
)

// A scenario with an adjustment phase begins like a server that has been idle and is
// written its configuration: that adjusts the limits and begins a new window of demand, and
// leaves the timer of the periodic adjustments as it was.
func TestAdjustmentPhase(t *testing.T) {
	objects := config.Suggested(rules.Default())
	burst := server(objects)
	burst.MaxRequestsInflight, burst.MaxMutatingRequestsInflight = 40, 20
	for i := range int64(2400) {
		send(burst, record{ArrivalNs: 1 + i*8_000_003, User: fmt.Sprint("user-", i%40), Verb: "get", Path: "/version",
			ExecutionNs: 140*millisecond + 37*i})
	}
	for _, phaseNs := range []int64{1 * second, 3*second + 500*millisecond, 9 * second} {
		t.Run(fmt.Sprint(phaseNs), func(t *testing.T) {
			idleNs := flowcontrol.AdjustmentPeriodNs - phaseNs
			late := *burst
			late.Objects = trial.Objects{Objects: otherShares(objects)}
			late.Changes = []trial.Change{{AtNs: idleNs, Objects: trial.Objects{Objects: objects}}}
			late.Requests = nil
			for _, r := range burst.Requests {
				r.ArrivalNs += idleNs
				late.Requests = append(late.Requests, r)
			}
			if !settle(&late, rules.Default()) {
				t.Fatal("events coincide")
			}
			settled := *burst
			settled.Requests = slices.Clone(late.Requests)
			for i := range settled.Requests {
				settled.Requests[i].ArrivalNs -= idleNs
			}
			theirs := upstream.Run(t, &late)
			mine, err := ours.ReplayInPhase(&settled, phaseNs)
			if err != nil {
				t.Fatal(err)
			}
			unphased, err := ours.Replay(&settled)
			if err != nil {
				t.Fatal(err)
			}
			moved := 0
			for i, d := range theirs.Decisions {
				d.EndNs -= idleNs
				if d.DispatchNs >= 0 {
					d.DispatchNs -= idleNs
				}
				if d != mine.Decisions[i] {
					t.Fatalf("request %d: %+v, upstream decides %+v", i+1, mine.Decisions[i], d)
				}
				if d != unphased.Decisions[i] {
					moved++
				}
			}
			if moved < len(burst.Requests)/4 {
				t.Errorf("only %d decisions depend on the phase", moved)
			}
		})
	}
}

// otherShares returns the objects with one level's shares changed.
func otherShares(o config.Objects) config.Objects {
	changed := *o.PriorityLevel("workload-low")
	spec := *changed.Spec.Limited
	shares := int32(1)
	spec.NominalConcurrencyShares = &shares
	changed.Spec.Limited = &spec
	return config.Merge(o, config.Objects{PriorityLevels: []*config.PriorityLevel{&changed}})
}
