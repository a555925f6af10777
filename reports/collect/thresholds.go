package collect

import (
	"strconv"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/server"
)

// judge evaluates a threshold on the finished statistics. A threshold over windows is evaluated by
// Windowed.
func (c *Collector) judge(s *result.Summary, t *metric.Threshold) result.Verdict {
	v := NewVerdict(t)
	if t.Over > 0 {
		v.Note = "not evaluated: the run was not observed by windows"
		return v
	}
	value, note := c.value(s, t)
	v.AtLeast = c.longer(s, t)
	if note != "" {
		v.Note = note
		return v
	}
	v.Value, v.Passed = &value, t.Holds(value)
	if _, is := v.ID.Percent(); is {
		counted := *t
		counted.Stat = "count"
		n, _ := c.value(s, &counted)
		v.Few = result.FewOf(&v.ID, int64(n))
	}
	return v
}

// value returns the value of a threshold: the statistic of its name or, if summaries do not have that, one of measured
// requests. Without a value, it returns a note that says why.
func (c *Collector) value(s *result.Summary, t *metric.Threshold) (value float64, note string) {
	name := t.Name()
	if value, note, ok := result.StatisticValue(s, &name); ok {
		return value, note
	}
	workload := c.workloadNamed(t.Tag(metric.TagWorkload))
	switch {
	case name.Metric == "virtualWait":
		ns, _, ok := c.virtual.PercentileNs(workload, name.Percentile)
		if !ok {
			return 0, metric.NoSamples
		}
		return float64(ns), ""
	case t.Tag(metric.TagFlow) != "":
		return c.flowRequestsValue(t, &name)
	}
	m := c.merged(func(p *workloadInGroup) bool {
		return (workload == server.NoWorkload || p.workload == workload) && Tagged(t, metric.TagServer, strconv.Itoa(p.server)) &&
			Tagged(t, metric.TagFlowSchema, p.group.schema) && Tagged(t, metric.TagPriorityLevel, p.group.level.name)
	})
	return thresholdValue(m, &name, c.windowSeconds())
}

// longer says whether the value of a threshold is a lower bound, because some probes still waited when the run ended.
func (c *Collector) longer(s *result.Summary, t *metric.Threshold) bool {
	workload := c.workloadNamed(t.Tag(metric.TagWorkload))
	name := t.Name()
	if name.Metric != "virtualWait" || workload == server.NoWorkload || s.Workloads[workload].VirtualWait == nil {
		return false
	}
	percent, is := name.Percent()
	if !is {
		return s.Workloads[workload].VirtualWait.IsLowerBound(result.DistributionField(name.Stat + "Ns"))
	}
	_, atLeast, _ := c.virtual.PercentileNs(workload, percent)
	return atLeast
}

func (c *Collector) windowSeconds() float64 { return float64(c.toNs-c.fromNs) / 1e9 }

// workloadNamed returns the index of a workload of the scenario, NoWorkload if there is none.
func (c *Collector) workloadNamed(name string) int {
	for i := range c.scenario.Spec.Workload {
		if c.scenario.Spec.Workload[i].Name == name {
			return i
		}
	}
	return server.NoWorkload
}

// flowRequestsValue evaluates a threshold on the requests of all flows of a name. The requests of a
// flow are not divided by workload, so a threshold that has the tag workload, too, has a value only
// if all requests of the flow come from one workload.
func (c *Collector) flowRequestsValue(t *metric.Threshold, name *metric.Name) (value float64, note string) {
	m := measure.New(measure.CoarsePrecision)
	found := false
	for f := range c.flows() {
		if f.name() != t.Tag(metric.TagFlow) || !Tagged(t, metric.TagFlowSchema, f.group.schema) || !Tagged(t, metric.TagPriorityLevel, f.level.name) {
			continue
		}
		if len(c.eachLevel) > 1 && t.Tag(metric.TagServer) != "" {
			return 0, "the requests of a flow are not divided by server"
		}
		if f.mixed && t.Tag(metric.TagWorkload) != "" {
			return 0, "the flow has requests of several workloads and is not divided by workload"
		}
		if !Tagged(t, metric.TagWorkload, c.scenario.Spec.Workload[f.workload].Name) {
			continue
		}
		found = true
		f.addTo(m)
	}
	if !found {
		return 0, result.NoSuchFlow
	}
	return thresholdValue(m, name, c.windowSeconds())
}
