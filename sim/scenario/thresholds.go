package scenario

import (
	"strconv"

	"apfsim/document"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// thresholds checks that all metrics, tags and values exist. What names there are in the
// flow-control configuration is known if it is complete.
func (c *checker) thresholds(complete bool) {
	errors, warnings := c.scenario.checkThresholds(c.scenario.Spec.Thresholds, complete)
	c.Errors = append(c.Errors, errors...)
	c.Warnings = append(c.Warnings, warnings...)
}

// CheckThresholds returns what is wrong with thresholds that are not the scenario's own: metrics, tags and values that do not
// exist, and windows that do not fit.
func (s *Scenario) CheckThresholds(all metric.Thresholds) document.Errors {
	errors, _ := s.checkThresholds(all, true)
	return errors
}

func (sc *Scenario) checkThresholds(all metric.Thresholds, complete bool) (errors, warnings document.Errors) {
	return all.Check(sc.tagValues(complete))
}

// tagValues returns what is known of a run of the scenario before it begins. The configuration is complete if all of it could be
// read.
func (sc *Scenario) tagValues(complete bool) *metric.Run {
	s := &sc.Spec
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
		for _, objects := range sc.Configurations() {
			for _, schema := range objects.FlowSchemas {
				schemas = append(schemas, schema.Name)
			}
			for _, level := range objects.PriorityLevels {
				levels = append(levels, level.Name)
			}
		}
		run.Values[metric.TagFlowSchema], run.Values[metric.TagPriorityLevel] = schemas, levels
	}
	return &run
}
