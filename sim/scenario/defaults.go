package scenario

import (
	"time"

	"apfsim/core/rules"
	"apfsim/sim/quantity"
	"apfsim/sim/workload"
)

// New returns a scenario with the defaults that there are before a file is decoded. The JSON Schema
// says them as well; a test compares the two. Those of workloads are in package workload.
func New() *Scenario {
	return &Scenario{Spec: Spec{
		Seed:         1,
		Replications: 1,
		Servers: Servers{
			Replicas:                    1,
			KubernetesVersion:           Versions{Version(rules.Latest().Version)},
			MaxRequestsInflight:         400,
			MaxMutatingRequestsInflight: 200,
			RequestTimeout:              quantity.Duration(time.Minute),
			FlowControl:                 PriorityAndFairness,
		},
		Config: Config{Base: BaseSuggested},
	}}
}

// SetDefaults fills in what a decoded scenario leaves out and what follows from other fields.
func (s *Scenario) SetDefaults() {
	if store := s.Spec.Store; store != nil {
		store.SetDefaults()
		if c := s.Spec.Servers.Capacity; c != nil && c.Cores > 0 && c.WatchEvent == 0 {
			c.WatchEvent = store.Costs.WatchEvent
		}
	}
	for i := range s.Spec.Events {
		e := &s.Spec.Events[i]
		if e.Rollout != nil {
			e.Rollout.KubernetesVersion = rules.Canonical(e.Rollout.KubernetesVersion)
		}
		if e.Start != nil {
			e.Start.KubernetesVersion = rules.Canonical(e.Start.KubernetesVersion)
		}
	}
	for i := range s.Spec.Workload {
		s.Spec.Workload[i].SetDefaults()
	}
	s.Spec.Workload = workload.AddCallbacks(s.Spec.Workload)
}
