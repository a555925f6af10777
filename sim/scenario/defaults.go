package scenario

import (
	"time"

	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// New returns a scenario with the defaults that there are before a file is decoded. That of the release is
// rules.Default; the tags of the fields say the others.
func New() *Scenario {
	s := &Scenario{}
	s.Spec.Servers.KubernetesVersion = server.Versions{server.Version(rules.Default().Version)}
	document.SetDefaults(s)
	return s
}

// podGracePeriod is the terminationGracePeriodSeconds of a pod that does not say it.
const podGracePeriod = quantity.Duration(30 * time.Second)

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
	servers := &s.Spec.Servers
	release := rules.Default() // if there is an error, which Check reports
	if len(servers.KubernetesVersion) > 0 {
		if first, err := servers.Rules(); err == nil {
			release = first
		}
	}
	workload.SetNodes(s.Spec.Workload, release)
	if servers.Probes != nil {
		servers.Probes.SetDefaults(release)
		if servers.Shutdown.KillAfter == 0 {
			servers.Shutdown.KillAfter = podGracePeriod
		}
		s.Spec.Workload = workload.AddProbes(s.Spec.Workload, servers.Probes, servers.Replicas)
	}
}
