package result

import (
	"fmt"
	"math"

	"apfsim/reports/format"
	"apfsim/reports/measure"
)

// CapacityBounds says how far the statistics of a run depend on what is not known of the capacity of its servers. They are of the run and of runs with the
// ends of the interval of the capacity, with the same seed.
type CapacityBounds struct {
	Runs      int              `json:"runs"`      // with the ends
	Worst     Status           `json:"worst"`     // of the verdicts on these
	Workloads []WorkloadBounds `json:"workloads"` // in the scenario's order
}

// WorkloadBounds are the least and the greatest value of statistics of a workload, null if one of the runs has no value. Latencies of runs with the
// reason BeyondFit count with BeyondFactor.
type WorkloadBounds struct {
	Name         string   `json:"name"`
	Rejected     *Between `json:"rejected"` // share of the requests that arrived
	LatencyP50Ns *Between `json:"latencyP50Ns"`
	LatencyP99Ns *Between `json:"latencyP99Ns"`
}

// Between are the least and the greatest value of a statistic.
type Between struct {
	Least    float64 `json:"least"`
	Greatest float64 `json:"greatest"`
}

// What the bounds of a latency and of a share of rejected requests may be apart for a figure between them to be worth something: as much as a prediction
// may differ from a live server (lab/live.md).
const (
	boundsFactor = 1.5
	boundsNs     = 10_000_000 // within which a factor says nothing
	boundsPoints = 0.1
)

// BeyondFactor is how many times as long, or as short, as in a run latencies may be if the servers execute more at a time than when their capacity
// was measured. With lists of a live server, at loads of 0.8 and 1.1 times what it could serve, no latency at p50 or p99 was farther from runs with a
// capacity from its logs (docs/background/fidelity.md).
const BeyondFactor = 2.5

// FewestBounded is how many requests of a workload have bounds that say something.
const FewestBounded = 100

// Bound adds the bounds, and a reason to trust the figures less if they are too far apart. The others are the results of runs with the ends of the
// interval of the capacity.
func (s *Summary) Bound(others []*Summary) {
	b := &CapacityBounds{Runs: len(others), Worst: OK}
	for _, o := range others {
		if o.Verdict != nil && o.Verdict.Status.Worse(b.Worst) {
			b.Worst = o.Verdict.Status
		}
	}
	runs := append([]*Summary{s}, others...)
	var widest *WorkloadBounds
	most := 1.0
	for i := range s.Workloads {
		var groups []*Group
		var factors []float64
		for _, run := range runs {
			groups = append(groups, &run.Workloads[i])
			factors = append(factors, 1)
			if run.Verdict.Distrusts(BeyondFit) {
				factors[len(factors)-1] = BeyondFactor
			}
		}
		w := WorkloadBounds{Name: s.Workloads[i].Name,
			Rejected: between(groups, nil, func(g *Group) (float64, bool) {
				return float64(g.Rejected) / float64(max(1, g.Arrived)), g.Arrived > 0
			}),
			LatencyP50Ns: between(groups, factors, func(g *Group) (float64, bool) {
				return percentileOf(g.Latency, func(d *Distribution) int64 { return d.P50Ns })
			}),
			LatencyP99Ns: between(groups, factors, func(g *Group) (float64, bool) {
				return percentileOf(g.Latency, func(d *Distribution) int64 { return d.P99Ns })
			}),
		}
		b.Workloads = append(b.Workloads, w)
		if apart := w.apart(s.Workloads[i].Latency); s.Workloads[i].Arrived >= FewestBounded && apart > most {
			widest, most = &w, apart
		}
	}
	s.CapacityBounds = b
	if widest != nil {
		s.addTrustFirst(WideBounds, fmt.Sprintf("how fast the servers execute is known within bounds only, and with these %s has a latency of %s at p50 and of %s at p99, and %s of its requests are rejected",
			format.Printable(widest.Name), widest.LatencyP50Ns.Text(format.Duration), widest.LatencyP99Ns.Text(format.Duration), widest.Rejected.Text(format.Percent)))
	}
}

// Text returns the bounds, "–" if there are none.
func (b *Between) Text(of func(float64) string) string {
	if b == nil {
		return "–"
	}
	least, greatest := of(b.Least), of(b.Greatest)
	if least == greatest {
		return least
	}
	return least + " to " + greatest
}

// apart returns how many times as far apart as they may be the bounds are that are farthest apart, on the scale of each. Those of percentiles of too few
// latencies are not considered.
func (w *WorkloadBounds) apart(latency *Distribution) (most float64) {
	for percent, b := range map[float64]*Between{50: w.LatencyP50Ns, 99: w.LatencyP99Ns} {
		if b != nil && measure.Enough(percent, latency.Count) && b.Least > 0 && b.Greatest > b.Least+boundsNs {
			most = max(most, math.Log(b.Greatest/b.Least)/math.Log(boundsFactor))
		}
	}
	if b := w.Rejected; b != nil {
		most = max(most, (b.Greatest-b.Least)/boundsPoints)
	}
	return most
}

func percentileOf(d *Distribution, of func(*Distribution) int64) (float64, bool) {
	if d == nil {
		return 0, false
	}
	return float64(of(d)), true
}

// between returns the least and the greatest value of groups, each of which may be off by its factor; nil if one has none.
func between(groups []*Group, factors []float64, value func(*Group) (float64, bool)) *Between {
	b := &Between{math.Inf(1), math.Inf(-1)}
	for i, g := range groups {
		x, ok := value(g)
		if !ok {
			return nil
		}
		factor := 1.0
		if factors != nil {
			factor = factors[i]
		}
		b.Least, b.Greatest = min(b.Least, x/factor), max(b.Greatest, x*factor)
	}
	return b
}
