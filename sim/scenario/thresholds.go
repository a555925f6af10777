package scenario

import (
	"strconv"

	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// thresholds checks that all metrics, tags and values exist. What names there are in the
// flow-control configuration is known if it is complete.
func (c *checker) thresholds(complete bool) {
	s := &c.scenario.Spec
	run := metric.Run{Judged: s.Duration - s.LongestWarmup(), Values: map[string][]string{}}
	if s.Servers.FlowControl == server.MaxInFlight || s.Servers.FlowControl == server.NoFlowControl {
		run.FlowControl = s.Servers.FlowControl
	}
	workloads := make([]string, len(s.Workload))
	for i := range s.Workload {
		workloads[i] = s.Workload[i].Name
	}
	run.Values[metric.TagWorkload] = workloads
	for i := range min(s.Servers.Replicas, server.MostReplicas) {
		run.Values[metric.TagServer] = append(run.Values[metric.TagServer], strconv.Itoa(i))
	}
	if complete {
		var schemas, levels []string
		for _, objects := range c.scenario.Configurations() {
			for _, schema := range objects.FlowSchemas {
				schemas = append(schemas, schema.Name)
			}
			for _, level := range objects.PriorityLevels {
				levels = append(levels, level.Name)
			}
		}
		run.Values[metric.TagFlowSchema], run.Values[metric.TagPriorityLevel] = schemas, levels
	}
	errors, warnings := s.Thresholds.Check(&run)
	c.Errors = append(c.Errors, errors...)
	c.Warnings = append(c.Warnings, warnings...)
}
