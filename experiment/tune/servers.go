package tune

import (
	"fmt"

	"apfsim/reports/result"
	"apfsim/sim/server"
)

// mostLimit is how many times as many seats a server is given at most.
const mostLimit = 4

// serverLimits raises max-requests-inflight. With a capacity, more seats can make a server slower, so that a limit says
// nothing of a lower one.
func (p *problem) serverLimits() {
	s := &p.Spec.Servers
	present, step := s.MaxRequestsInflight, 1
	if s.Capacity.IsSet() {
		step = max(1, present/10)
	}
	var all []*Candidate
	for v := present + step; v <= present*mostLimit; v += step {
		all = append(all, &Candidate{
			ID: fmt.Sprintf("max-requests-inflight %d", v), Remedy: result.RaiseInFlightLimit, Cost: Cost{Class: ServerLimits, Steps: len(all) + 1},
			Sentence: fmt.Sprintf("Start the servers with --max-requests-inflight=%d instead of %d.", v, present), requests: v, value: v,
		})
	}
	p.add("max-requests-inflight", !s.Capacity.IsSet(), all)
}

// replicas adds servers, each with as many seats as the others. They come after all limits, as a server more costs more than
// another value of a flag.
//
// There is no candidate for max-mutating-requests-inflight: with API Priority and Fairness only the sum of both limits
// counts, and max-requests-inflight raises it. One for the other flag would be the same servers again.
func (p *problem) replicas() {
	s := &p.Spec.Servers
	if len(s.MaintenancePhases) > 0 || len(s.KubernetesVersion) > 1 {
		return // the scenario says something of each server, and nothing of more
	}
	var all []*Candidate
	for v := s.Replicas + 1; v <= min(s.Replicas*mostLimit, server.MostReplicas); v++ {
		all = append(all, &Candidate{
			ID: fmt.Sprintf("replicas %d", v), Remedy: result.MoreReplicas, Cost: Cost{Class: ServerLimits, Steps: len(all) + 1},
			Sentence: fmt.Sprintf("Run %d servers instead of %d.", v, s.Replicas), servers: v, value: v,
		})
	}
	// With a store, the watch caches of more servers read more from etcd.
	p.add("replicas", p.Spec.Store == nil, all)
}
