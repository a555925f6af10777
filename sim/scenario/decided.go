package scenario

import (
	"apfsim/sim/trace"
	"apfsim/sim/workload"
)

// Decided says which decisions a replay takes from the log that its trace is of. The others are made by the
// simulated servers.
type Decided struct {
	// Routes are FlowSchema and priority level: if the servers have the configuration that the server of the log had
	// and keep it.
	Routes bool
	// Seats are those of the execution and those after it: if the releases of the servers estimate them as the release
	// of the server of the log.
	Seats bool
}

// Decided returns what the replay of a trace takes from its log.
func (s *Scenario) Decided(t *workload.TraceArrivals) (d Decided) {
	if t == nil || t.Decided != trace.DecidedByLog {
		return d
	}
	d = Decided{Routes: true, Seats: true}
	of := t.Server
	if of == nil {
		of = &trace.Server{}
	}
	if of.Configuration != "" {
		for _, objects := range s.Configurations() {
			d.Routes = d.Routes && objects.Digest() == of.Configuration
		}
	}
	if of.KubernetesVersion == "" {
		return d
	}
	logged, err := s.Spec.Servers.RulesOf(Version(of.KubernetesVersion))
	d.Seats = err == nil
	for i := range s.Spec.Servers.Replicas {
		r, err := s.Spec.Servers.RulesOf(s.Spec.Servers.KubernetesVersion.Of(i))
		d.Seats = d.Seats && err == nil && r.EstimatesAs(logged)
	}
	for i := range s.Spec.Events {
		if e := &s.Spec.Events[i]; e.Rollout != nil && e.Rollout.KubernetesVersion != "" {
			r, err := s.Spec.Servers.RulesOf(Version(e.Rollout.KubernetesVersion))
			d.Seats = d.Seats && err == nil && r.EstimatesAs(logged)
		}
	}
	return d
}
