package tune

import (
	"fmt"

	"apfsim/experiment/catalogue"
	"apfsim/sim/scenario"
)

// size is the size of all servers together, which replaces that of the present configuration.
type size struct {
	name                        string // in the catalogue
	requests, mutating, servers int
	fewer                       bool // seats than the servers have now, in one of them or together
}

// sizeOf returns a size of a catalogue for a cluster.
func sizeOf(s *catalogue.Size, now *scenario.Servers) *size {
	z := &size{name: s.Name, servers: s.Servers(now.Replicas)}
	z.requests, z.mutating = s.Limits(now.Replicas)
	each := now.MaxRequestsInflight + now.MaxMutatingRequestsInflight
	z.fewer = z.each() < each || z.each()*z.servers < each*now.Replicas
	return z
}

// each returns the seats of a server.
func (z *size) each() int { return z.requests + z.mutating }

// isOf says whether servers have the size. Only the sum of the two limits counts.
func (z *size) isOf(s *scenario.Servers) bool {
	return z.servers == s.Replicas && z.each() == s.MaxRequestsInflight+s.MaxMutatingRequestsInflight
}

// applyTo gives servers the size.
func (z *size) applyTo(s *scenario.Servers) {
	s.MaxRequestsInflight, s.MaxMutatingRequestsInflight, s.Replicas = z.requests, z.mutating, z.servers
}

// changes are the flags of the present servers that differ, and their number.
func (z *size) changes(now *scenario.Servers) (all []Change) {
	for _, f := range []struct {
		path     string
		from, to int
	}{
		{"max-requests-inflight", now.MaxRequestsInflight, z.requests},
		{"max-mutating-requests-inflight", now.MaxMutatingRequestsInflight, z.mutating},
		{serversPath, now.Replicas, z.servers},
	} {
		if f.from != f.to {
			all = append(all, Change{Kind: serverKind, Path: f.path, From: f.from, To: f.to, Because: "the size " + z.name})
		}
	}
	return all
}

// within says whether a size has in no server more seats than another, and no more servers.
func (z *size) within(other *size) bool {
	return z.each() <= other.each() && z.servers <= other.servers
}

// checkSizes returns an error if the servers of a scenario cannot have another number, which a size has.
func checkSizes(sc *scenario.Scenario, c *catalogue.Catalogue) error {
	s := &sc.Spec.Servers
	for i := range c.Sizes {
		if n := c.Sizes[i].Servers(s.Replicas); n != s.Replicas && (len(s.MaintenancePhases) > 0 || len(s.KubernetesVersion) > 1) {
			return &Infeasible{fmt.Sprintf("the scenario says something of each of %d servers, and the size %s has %d; remove maintenancePhases, and give kubernetesVersion once",
				s.Replicas, c.Sizes[i].Name, n)}
		}
	}
	return nil
}
