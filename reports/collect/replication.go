package collect

import (
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// Replication holds the results of one run that are combined with those of the other replications
// of its scenario.
type Replication struct {
	Summary *result.Summary
	Parts   []measure.Part
}

// NewReplication returns what a run contributes.
func NewReplication(r *result.Result) *Replication {
	return &Replication{Summary: r.Summary, Parts: r.Parts}
}

// measuredParts returns the measures of all parts by name.
func (c *Collector) measuredParts() []measure.Part {
	var parts []measure.Part
	for _, byGroup := range c.inGroups {
		for _, cl := range byGroup {
			if cl != nil {
				name := c.scenario.Spec.Workload[cl.workload].Name
				parts = append(parts, measure.Part{Workload: name, Schema: cl.group.schema, Level: cl.group.level.name, Server: cl.server, Timed: cl.Timed, Batches: cl.batches.Batches})
			}
		}
	}
	return parts
}
