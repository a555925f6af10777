package scenario

import (
	"slices"

	"apfsim/sim/workload"
)

// Steady says whether the scenario has one server that is there from the beginning to the end, executes
// always at the same speed, has no store and calls nobody. Every request then reaches flow control, and the reports
// need not say anything of servers.
func (s *Spec) Steady() bool {
	v := &s.Servers
	changes := slices.ContainsFunc(s.Events, func(e Event) bool { return e.Apply == nil })
	calls := slices.ContainsFunc(s.Workload, func(w workload.Workload) bool {
		return w.ClientTimeout.IsSet() || slices.ContainsFunc(w.Requests, func(r workload.WeightedRequest) bool { return len(r.Calls) > 0 })
	})
	return v.Replicas <= 1 && s.Store == nil && !changes && !calls && !v.Capacity.IsSet() && v.Memory == nil && v.LoadBalancer == nil &&
		v.GoawayChance == 0 && v.Startup == (Servers{}).Startup && !v.Maintenance
}

// ServersEnd says whether servers may end during the run. The others may ignore what would happen then.
func (s *Spec) ServersEnd() bool {
	return s.Servers.Memory != nil && s.Servers.Memory.Limit > 0 || s.Servers.Probes != nil ||
		slices.ContainsFunc(s.Events, func(e Event) bool { return e.ServerChange.IsSet() && e.Speed == nil })
}
