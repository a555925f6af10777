package collect

import (
	"apfsim/reports/measure"
	"apfsim/reports/result"
)

// Replication is what is kept of one run until it is taken together with the others.
type Replication struct {
	Summary *result.Summary
	Parts   []measure.Part
}

// ReplicationOf returns what the run adds to others of the same scenario.
func ReplicationOf(r *result.Result) *Replication {
	return &Replication{Summary: r.Summary, Parts: r.Parts}
}

// parts returns the cells without what they hang on.
func (c *Collector) parts() []measure.Part {
	var parts []measure.Part
	for _, cells := range c.cells {
		for _, cl := range cells {
			if cl != nil {
				name := c.scenario.Spec.Workload[cl.workload].Name
				parts = append(parts, measure.Part{Workload: name, Schema: cl.group.schema, Level: cl.group.level.name, Timed: cl.Timed})
			}
		}
	}
	return parts
}
