package scenario

import "apfsim/sim/metric"

// thresholds checks that all metrics, tags and values exist.
func (v *validator) thresholds() {
	s := &v.scenario.Spec
	run := metric.Run{Judged: s.Duration - s.Warmup, Values: map[string][]string{}}
	if s.Servers.FlowControl == MaxInFlight || s.Servers.FlowControl == NoFlowControl {
		run.FlowControl = s.Servers.FlowControl
	}
	workloads := make([]string, len(s.Workload))
	for i := range s.Workload {
		workloads[i] = s.Workload[i].Name
	}
	run.Values[metric.TagWorkload] = workloads
	if v.configured {
		var schemas, levels []string
		for _, objects := range v.scenario.Configurations() {
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
	v.mistakes = append(v.mistakes, errors...)
	v.warnings = append(v.warnings, warnings...)
}
