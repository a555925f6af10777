package scenario

import (
	"slices"

	"apfsim/core/config"
	"apfsim/core/maintain"
	"apfsim/core/rules"
	"apfsim/document"
	"apfsim/sim/network"
	"apfsim/sim/quantity"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// Servers configures the simulated API servers, which are all the same but for their releases.
type Servers struct {
	server.Settings

	LoadBalancer *network.LoadBalancer `json:"loadBalancer,omitempty" jsonschema_description:"What chooses the server of each connection; without it, at random among the servers that listen."`
	GoawayChance float64               `json:"goawayChance,omitempty" jsonschema:"minimum=0,maximum=0.02" message:"{value}: want {want}, as kube-apiserver accepts" jsonschema_description:"--goaway-chance: the probability that a request makes its client connect anew."`

	server.Process

	Probes *workload.Probes `json:"probes,omitempty"`

	Maintenance bool `json:"maintenance,omitempty" jsonschema_description:"Every server maintains the flow-control objects, each minute from its own start; events with apply are an operator's writes."`

	MaintenancePhases []quantity.Duration `json:"maintenancePhases,omitempty" jsonschema_description:"For each server, when it first maintains the objects, less than 1m; without it, the servers are evenly spread over the minute."`
}

// MaintenancePhaseNs returns when a server that is there from the beginning first maintains the
// flow-control objects. Such servers have started at different times before the run; as these are not
// known, they are evenly spread over the minute.
func (s *Servers) MaintenancePhaseNs(server int) int64 {
	if len(s.MaintenancePhases) > 0 {
		return int64(s.MaintenancePhases[server])
	}
	return int64(server) * maintain.PeriodNs / int64(s.Replicas)
}

// AdjustmentPhaseNs returns the time from the start of a server to its first periodic adjustment; servers count from 0.
func (s *Spec) AdjustmentPhaseNs(server int) int64 {
	return s.Servers.AdjustmentPhase.AtNs(s.Seed, server)
}

func (c *checker) servers() {
	s := &c.scenario.Spec.Servers
	if n := len(s.KubernetesVersion); n != 1 && n != s.Replicas {
		c.Fail("spec.servers.kubernetesVersion", "has %d releases for %d servers; want one for all, or one for each", n, s.Replicas)
	}
	for i, version := range s.KubernetesVersion {
		path := "spec.servers.kubernetesVersion"
		if len(s.KubernetesVersion) > 1 {
			path = document.Index(path, i)
		}
		c.release(path, version)
	}
	if s.FlowControl == server.PriorityAndFairness && s.MaxRequestsInflight == 0 && s.MaxMutatingRequestsInflight == 0 {
		c.Fail("spec.servers.maxRequestsInflight",
			"is 0, and so is maxMutatingRequestsInflight; want more than 0 for one of them: PriorityAndFairness divides their sum")
	}
	if s.Capacity != nil {
		s.Capacity.Check(c.Checker, "spec.servers.capacity")
	}
	if s.Memory != nil {
		s.Memory.Check(c.Checker, "spec.servers.memory")
	}
	if s.Network != nil {
		s.Network.Check(c.Checker, "spec.servers.network", c.scenario.Spec.Store != nil)
	}
	if s.Seats != nil {
		c.seats()
	}
	s.Startup.Check(c.Checker, "spec.servers.startup")
	c.probes()
	if s.Shutdown.SendRetryAfter {
		c.flag("spec.servers.shutdown.sendRetryAfter", func(r *rules.Rules) bool { return r.Server.SendRetryAfter })
	}
	if s.Shutdown.WatchTerminationGracePeriod > 0 {
		c.flag("spec.servers.shutdown.watchTerminationGracePeriod", func(r *rules.Rules) bool { return r.Server.WatchGracePeriod })
	}
	if s.Maintenance && s.FlowControl != server.PriorityAndFairness {
		c.Fail("spec.servers.maintenance", "needs PriorityAndFairness, whose objects are maintained")
	}
	if n := len(s.MaintenancePhases); n > 0 && !s.Maintenance {
		c.Fail("spec.servers.maintenancePhases", "needs maintenance")
	} else if n > 0 && n != s.Replicas {
		c.Fail("spec.servers.maintenancePhases", "has %d phases for %d servers; want one for each", n, s.Replicas)
	}
	for i, phase := range s.MaintenancePhases {
		if phase < 0 || phase >= maintain.PeriodNs {
			c.Fail(document.Index("spec.servers.maintenancePhases", i), "%v: want 0s to less than %v", phase, quantity.Duration(maintain.PeriodNs))
		}
	}
}

// seats checks the numbers by which seats are estimated.
func (c *checker) seats() {
	if c.scenario.Spec.Servers.FlowControl != server.PriorityAndFairness {
		c.Fail("spec.servers.seats", "needs PriorityAndFairness, which limits by seats")
		return
	}
	c.scenario.Spec.Servers.Seats.Check(c.Checker, "spec.servers.seats", c.scenario.Spec.ReleaseRules())
}

// whatIf checks the rules that no release has. Complete is as for Check.
func (c *checker) whatIf(complete bool) {
	s := &c.scenario.Spec.Servers
	switch {
	case s.WhatIf == nil:
		return
	case s.FlowControl != server.PriorityAndFairness:
		c.Fail("spec.servers.whatIf", "needs PriorityAndFairness, whose rules it changes")
		return
	}
	var levels []string
	if complete {
		for _, objects := range c.scenario.Configurations() {
			for _, level := range objects.PriorityLevels {
				if level.Spec.Type != config.TypeExempt && !slices.Contains(levels, level.Name) {
					levels = append(levels, level.Name)
				}
			}
		}
	}
	s.WhatIf.Check(c.Checker, "spec.servers.whatIf", c.scenario.Spec.ReleaseRules(), levels)
}

// releases returns the releases that the servers have at some time.
func (s *Spec) releases() []server.Version {
	all := slices.Clone([]server.Version(s.Servers.KubernetesVersion))
	for i := range s.Events {
		if e := &s.Events[i]; e.Rollout != nil && e.Rollout.KubernetesVersion != "" {
			all = append(all, server.Version(e.Rollout.KubernetesVersion))
		} else if e.Start != nil && e.Start.KubernetesVersion != "" {
			all = append(all, server.Version(e.Start.KubernetesVersion))
		}
	}
	return all
}

// ReleaseRules returns the rules of the releases that the servers have at some time, without servers.seats and servers.whatIf. Releases that
// are not supported are left out.
func (s *Spec) ReleaseRules() (all []*rules.Rules) {
	for _, v := range s.releases() {
		if r, err := s.Servers.ReleaseRules(v); err == nil {
			all = append(all, r)
		}
	}
	return all
}

// probes checks the probes of the servers, and what else says who restarts them or which of them are ready.
func (c *checker) probes() {
	s := &c.scenario.Spec.Servers
	if s.Probes != nil {
		s.Probes.Check(c.Checker, "spec.servers.probes")
		if s.Startup.RestartAfter > 0 {
			c.Fail("spec.servers.startup.restartAfter", "%v: cannot be set with probes, with which the kubelet restarts the server after its own back-off", s.Startup.RestartAfter)
		}
	}
	if b := s.LoadBalancer; b != nil && b.Readiness {
		switch {
		case s.Probes == nil || s.Probes.Readiness == nil:
			c.Fail("spec.servers.loadBalancer.readiness", "needs servers.probes with a readiness probe, which finds out which servers are ready")
		case b.Probe != nil:
			c.Fail("spec.servers.loadBalancer.readiness", "cannot be set with probe; want one of the two")
		}
	}
}

// release checks that a release is supported and has the feature gates, and warns once of what there is to say of it.
func (c *checker) release(path string, version server.Version) {
	release, err := rules.For(document.Abridge(string(version)))
	if err != nil {
		c.Fail(path, "%v", err)
		return
	}
	note := rules.Note(string(version))
	if note != "" && !slices.ContainsFunc(c.Warnings, func(w document.Error) bool { return w.Message == note }) {
		c.Warn(path, "%s", note)
	}
	for gate, on := range c.scenario.Spec.Servers.FeatureGates { // in any order, as errors are sorted by position
		if err := release.SetGate(document.Abridge(gate), on); err != nil {
			c.Fail(document.Join("spec.servers.featureGates", gate), "%v", err)
		}
	}
}

// flag checks that a server has, at some time, a release with a flag that older ones do not have.
func (c *checker) flag(path string, exists func(*rules.Rules) bool) {
	for _, v := range c.scenario.Spec.releases() {
		if r, err := rules.For(string(v)); err == nil && exists(r) {
			return
		}
	}
	c.Fail(path, "is a flag of servers of Kubernetes %s and later; the scenario has none of them", rules.Since(exists))
}
