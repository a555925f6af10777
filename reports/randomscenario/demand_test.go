package randomscenario

import (
	"math"
	"slices"

	"apfsim/reports/result"
	"apfsim/sim/scenario"
	"apfsim/sim/workload"
)

// given says whether the scenario gives the executions: nothing that happens at the servers changes them.
func given(spec *scenario.Spec) bool {
	return spec.Store == nil && spec.Servers.Capacity == nil && !spec.Servers.Handover.Given() && !slices.ContainsFunc(spec.Workload, func(w workload.Workload) bool {
		return w.Delay.Given() || w.ClientTimeout.Given() || slices.ContainsFunc(w.Requests, func(r workload.WeightedRequest) bool { return len(r.Calls) > 0 })
	})
}

// kind is what requests have in common whose mean counts for those that have not been executed.
type kind struct{ workload, verb, group, resource, subresource string }

func (l *Line) kind() kind {
	if l.Resource == "" {
		return kind{workload: l.Workload, verb: l.Verb}
	}
	return kind{l.Workload, l.Verb, l.APIGroup, l.Resource, l.Subresource}
}

// mean is a sum of so many.
type mean struct{ sum, n float64 }

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

// seatSecondsOf returns what a request has occupied that was executed.
func (l *Line) seatSeconds() float64 {
	return float64(max(1, l.Seats, l.FinalSeats)) * float64(*l.FinishNs-*l.DispatchNs+l.AdditionalLatencyNs) / 1e9
}

// demands returns the demand of each flow by the log, in seat-seconds. It is a lower bound where atLeast says so: dispatch
// can make a request narrower, and then the log does not say what it asked for.
func (c *check) demands() (demands map[string]float64, atLeast map[string]bool) {
	demands, atLeast = map[string]float64{}, map[string]bool{}
	// Means by flow and kind, by level and kind, by flow, and by level.
	means := map[any]*mean{}
	type ofKind struct {
		name string
		kind
	}
	type ofLevel string
	keysOf := func(l *Line) []any {
		flow := flowKey(l.PriorityLevel, l.Flow)
		return []any{ofKind{flow, l.kind()}, ofKind{"level " + l.PriorityLevel, l.kind()}, flow, ofLevel(l.PriorityLevel)}
	}
	counted := func(yield func(flow string, l *Line)) {
		for i := range c.lines {
			if l := &c.lines[i]; l.Flow != "" && l.ArrivalNs >= c.fromNs {
				yield(flowKey(l.PriorityLevel, l.Flow), l)
			}
		}
	}
	counted(func(_ string, l *Line) {
		if l.Outcome != "executed" {
			return
		}
		for _, key := range keysOf(l) {
			if means[key] == nil {
				means[key] = &mean{}
			}
			means[key].add(l.seatSeconds())
		}
	})
	given := given(&c.ran.Scenario.Spec)
	alone, known := map[string]float64{}, map[string]bool{}
	counted(func(flow string, l *Line) {
		own := float64(max(1, l.Seats, l.FinalSeats)) * float64(l.ExecutionNs+l.AdditionalLatencyNs) / 1e9
		alone[flow] += own
		atLeast[flow] = atLeast[flow] || l.AdditionalLatencyNs > 0
		switch {
		case l.Outcome == "executed":
			demands[flow] += l.seatSeconds()
		case given:
			demands[flow] += own
		default:
			x := 0.0
			for _, key := range keysOf(l) {
				if m := means[key]; m != nil {
					x = m.sum / m.n
					break
				}
			}
			if l.Outcome == "executing" {
				x = max(x, float64(max(1, l.Seats, l.FinalSeats))*float64(c.toNs-*l.DispatchNs)/1e9)
			}
			demands[flow] += x
		}
		known[flow] = known[flow] || means[ofLevel(l.PriorityLevel)] != nil
	})
	for flow := range demands {
		if !given {
			atLeast[flow] = false
			if !known[flow] {
				demands[flow] = max(demands[flow], alone[flow])
				atLeast[flow] = true // a store does not log an execution that is given
			}
		}
	}
	return demands, atLeast
}

// fairness compares the demands with those of the log, and what follows from demands and services with its definition.
func (c *check) fairness() {
	want, atLeast := c.demands()
	levels := map[string][]*result.Flow{}
	for i := range c.ran.Flows {
		f := &c.ran.Flows[i]
		levels[f.PriorityLevel] = append(levels[f.PriorityLevel], f)
		key := flowKey(f.PriorityLevel, f.Name)
		if near := math.Abs(f.DemandSeatSeconds-want[key]) <= 1e-6*max(1, want[key]); !near && !(atLeast[key] && f.DemandSeatSeconds > want[key]) {
			c.fail("flow %s: demand %v, of the log %v", key, f.DemandSeatSeconds, want[key])
		}
	}
	for i := range c.ran.Result.Summary.PriorityLevels {
		l := &c.ran.Result.Summary.PriorityLevels[i]
		c.shares(l, levels[l.Name])
	}
}

// shares compares the fair shares of a level's flows with what water-filling gives, step by step, and the indexes with
// their formulas.
func (c *check) shares(l *result.Level, flows []*result.Flow) {
	total, waiting := 0.0, 0
	shares := make([]float64, len(flows))
	for _, f := range flows {
		total += f.ServiceSeatSeconds
	}
	for left := total; ; {
		waiting = 0
		for i, f := range flows {
			if shares[i] < f.DemandSeatSeconds {
				waiting++
			}
		}
		if waiting == 0 || left <= 1e-9*total {
			break
		}
		each, gave := left/float64(waiting), 0.0
		for i, f := range flows {
			if more := f.DemandSeatSeconds - shares[i]; more > 0 {
				more = min(more, each)
				shares[i] += more
				gave += more
			}
		}
		left -= gave
	}
	sum, squares, n, most, least := 0.0, 0.0, 0, 0.0, math.Inf(1)
	for i, f := range flows {
		c.near("fair share of "+flowKey(l.Name, f.Name), f.FairShareSeatSeconds, shares[i])
		if f.FairShareSeatSeconds <= 0 {
			continue
		}
		ratio := f.ServiceSeatSeconds / f.FairShareSeatSeconds
		sum, squares, n, most, least = sum+ratio, squares+ratio*ratio, n+1, max(most, math.Abs(ratio-1)), min(least, ratio)
	}
	got := l.Fairness
	if (got != nil) != (squares > 0) {
		c.fail("level %s: fairness %+v, want one: %v", l.Name, got, squares > 0)
	}
	if got == nil {
		return
	}
	if got.Flows != n {
		c.fail("level %s: fairness of %d flows, want %d", l.Name, got.Flows, n)
	}
	c.near("Jain's index of "+l.Name, got.Jain, sum*sum/(float64(n)*squares))
	c.near("max-min error of "+l.Name, got.MaxMinError, most)
	c.near("least ratio of "+l.Name, got.LeastRatio, least)
}
