package result

import (
	"strings"
	"testing"
)

func boundedRun(p50, p99 float64, rejected int64, status Status) *Summary {
	g := Group{Name: "lists", Latency: &Distribution{Count: 1000 - rejected, P50Ns: int64(p50 * 1e6), P99Ns: int64(p99 * 1e6)}}
	g.Arrived, g.Rejected = 1000, rejected
	rare := Group{Name: "rare", Latency: &Distribution{P50Ns: int64(p50 * p50 * 1e6), P99Ns: int64(p99 * p99 * 1e6)}}
	rare.Arrived = 3
	o := NewOverall()
	o.Status = status
	return &Summary{Workloads: []Group{g, rare, {Name: "none"}}, Verdict: o}
}

// The bounds are the least and the greatest values of the run and of those with the ends. They are a reason to trust the run less, before all others, if
// a latency is more than 1.5 times and 10 ms as long with one as with another, or 10 points more are rejected; not those of a few requests.
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		name   string
		others []*Summary
		note   string
	}{
		{"near", []*Summary{boundedRun(8, 50, 0, OK), boundedRun(17, 70, 99, Harm)}, ""},
		{"p50", []*Summary{boundedRun(8, 50, 0, OK), boundedRun(18.5, 60, 0, Warning)}, "lists has a latency of 8 ms to 18.5 ms at p50 and of 50 ms to 60 ms at p99, and 0 % of its requests are rejected"},
		{"p99", []*Summary{boundedRun(10, 50, 0, OK), boundedRun(10, 76, 0, Unknown)}, "lists has a latency of 10 ms at p50 and of 50 ms to 76 ms at p99"},
		{"rejected", []*Summary{boundedRun(10, 55, 0, OK), boundedRun(10, 55, 101, Harm)}, "0 % to 10.1 % of its requests are rejected"},
	} {
		s := boundedRun(10, 55, 0, OK)
		s.AddTrust(WhatIf, "what if")
		s.Bound(c.others)
		if worst := c.others[1].Verdict.Status; s.CapacityBounds.Worst != worst || s.CapacityBounds.Runs != 2 {
			t.Errorf("%s: %+v, want the worst to be %s", c.name, s.CapacityBounds, worst)
		}
		if none := s.CapacityBounds.Workloads[2]; none.LatencyP50Ns != nil || none.Rejected != nil {
			t.Errorf("%s: a workload without requests has bounds: %+v", c.name, none)
		}
		notes := s.Verdict.Notes()
		if c.note == "" {
			if len(notes) != 1 {
				t.Errorf("%s: %q", c.name, notes)
			}
			continue
		}
		if len(notes) != 2 || notes[1] != "what if" || !strings.Contains(notes[0], c.note) || !s.Verdict.Distrusts(WideBounds) {
			t.Errorf("%s: %q, want one with %q before the other", c.name, notes, c.note)
		}
	}
}

// In a run beyond what was measured, latencies count as 2.5 times as long or as short; those of a run within it do not.
func TestBoundsBeyondWhatWasMeasured(t *testing.T) {
	s, slow := boundedRun(10, 55, 0, OK), boundedRun(20, 100, 0, OK)
	slow.AddTrust(BeyondFit, "beyond")
	s.Bound([]*Summary{slow})
	got := s.CapacityBounds.Workloads[0]
	if want := (Between{8e6, 50e6}); *got.LatencyP50Ns != want {
		t.Errorf("p50 is %v, want %v", *got.LatencyP50Ns, want)
	}
	if want := (Between{40e6, 250e6}); *got.LatencyP99Ns != want {
		t.Errorf("p99 is %v, want %v", *got.LatencyP99Ns, want)
	}
}
