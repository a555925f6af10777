package scenario

import (
	"apfsim/sim/server"
	"apfsim/sim/trace"
	"apfsim/sim/workload"
)

// Clients returns what the clients of a run are made with.
func (s *Scenario) Clients() workload.Settings {
	c := workload.Settings{Seed: s.Spec.Seed, Duration: s.Spec.Duration, Workloads: s.Spec.Workload, Stored: s.Spec.Store != nil}
	for i := range s.Spec.Workload {
		c.Decided = append(c.Decided, s.Decided(s.Spec.Workload[i].Arrivals.Trace))
	}
	return c
}

// Decided returns what the replay of a trace takes from its log.
func (s *Scenario) Decided(t *workload.TraceArrivals) (d workload.Decided) {
	if t == nil || t.Decided != trace.DecidedByLog {
		return d
	}
	d = workload.Decided{Routes: true, Seats: true}
	origin := t.Server
	if origin == nil {
		origin = &trace.Server{}
	}
	if origin.Configuration != "" {
		for _, objects := range s.Configurations() {
			d.Routes = d.Routes && objects.Digest() == origin.Configuration
		}
	}
	if origin.KubernetesVersion == "" {
		return d
	}
	logged, err := s.Spec.Servers.ReleaseRules(server.Version(origin.KubernetesVersion))
	d.Seats = err == nil
	for _, version := range s.Spec.releases() {
		r, err := s.Spec.Servers.RulesFor(version)
		d.Seats = d.Seats && err == nil && r.EstimatesAs(logged)
	}
	return d
}
