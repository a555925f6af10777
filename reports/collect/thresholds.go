package collect

import (
	"apfsim/reports/histogram"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/reports/threshold"
	"apfsim/sim/metric"
)

// judge evaluates a threshold on the finished statistics. One over windows is left to
// WindowedThresholds.
func (c *Collector) judge(s *result.Summary, t *metric.Threshold) result.Verdict {
	v := threshold.NewVerdict(t)
	if t.Over > 0 {
		v.Note = "not evaluated: nothing observes its windows"
		return v
	}
	value, note := c.value(s, t)
	if note != "" {
		v.Note = note
		return v
	}
	v.Value, v.Passed = &value, t.Holds(value)
	return v
}

// value returns what a threshold is compared with, or a note that says why it has none.
func (c *Collector) value(s *result.Summary, t *metric.Threshold) (value float64, note string) {
	switch t.Metric {
	case "starvation", "service", "demand", "fairShare":
		return threshold.FlowsValue(s.Flows, t)
	case "stall":
		return threshold.StallValue(s, t)
	case "virtualWait", "virtualRejected":
		return c.virtualValue(t)
	}
	if t.Metric == "fairness" || t.Metric == "utilisation" || t.Metric == "waiting" && t.Stat == "mean" {
		for i := range s.PriorityLevels {
			if l := &s.PriorityLevels[i]; l.Name == t.Tag("priorityLevel") {
				return threshold.LevelValue(l, t)
			}
		}
		return 0, result.NoSuchLevel
	}
	if t.Tag("flow") != "" {
		return c.flowRequestsValue(t)
	}
	m := c.merged(func(cl *cell) bool {
		for _, tag := range t.Tags {
			switch tag.Name {
			case "workload":
				if c.scenario.Spec.Workload[cl.workload].Name != tag.Value {
					return false
				}
			case "flowSchema":
				if cl.group.schema != tag.Value {
					return false
				}
			case "priorityLevel":
				if cl.group.level.name != tag.Value {
					return false
				}
			}
		}
		return true
	})
	return threshold.RequestsValue(m, t, c.windowSeconds())
}

func (c *Collector) windowSeconds() float64 { return float64(c.toNs-c.fromNs) / 1e9 }

// flowRequestsValue evaluates a threshold on the requests of the flows of a name. These
// are not told apart by workload, so that a workload besides is an answer only if it is
// the flow's only one.
func (c *Collector) flowRequestsValue(t *metric.Threshold) (value float64, note string) {
	m := measure.New[uint32](histogram.CoarsePrecision)
	found := false
	for _, f := range c.flows {
		if f.name != t.Tag("flow") || !threshold.Tagged(t, "flowSchema", f.group.schema) || !threshold.Tagged(t, "priorityLevel", f.level.name) {
			continue
		}
		if f.mixed() && t.Tag("workload") != "" {
			return 0, "the flow has requests of several workloads, which it does not tell apart"
		}
		if !threshold.Tagged(t, "workload", c.scenario.Spec.Workload[f.workload].Name) {
			continue
		}
		found = true
		f.addTo(m)
	}
	if !found {
		return 0, result.NoSuchFlow
	}
	return threshold.RequestsValue(m, t, c.windowSeconds())
}

// virtualValue returns what a threshold on the probes of a workload is compared with.
func (c *Collector) virtualValue(t *metric.Threshold) (value float64, note string) {
	for i := range c.scenario.Spec.Workload {
		if c.scenario.Spec.Workload[i].Name != t.Tag("workload") {
			continue
		}
		v := c.virtual.Result(i)
		switch {
		case v == nil:
			return 0, result.NoSamples
		case t.Metric == "virtualRejected":
			return v.RejectedRate(), ""
		}
		return threshold.DurationValue(&c.virtual.Workloads[i].Waits, v.Probes, t)
	}
	return 0, result.NoSamples
}
