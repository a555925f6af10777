package reports

import (
	"apfsim/core/queueset"
	"apfsim/sim/metric"
)

// newVerdict returns the verdict on a threshold that has not been evaluated, and so does
// not hold.
func newVerdict(t *metric.Threshold) Verdict {
	v := Verdict{Metric: t.Key, Expression: t.Text, Limit: t.Limit}
	if t.Over > 0 {
		v.Expression += " over " + t.Over.String()
	}
	if t.Unit == metric.Nanoseconds {
		v.Unit = "ns"
	}
	return v
}

// judge evaluates a threshold on the finished statistics. One over windows is left to
// WindowedThresholds.
func (c *Collector) judge(s *Summary, t *metric.Threshold) Verdict {
	v := newVerdict(t)
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
func (c *Collector) value(s *Summary, t *metric.Threshold) (value float64, note string) {
	switch t.Metric {
	case "starvation", "service", "demand", "fairShare":
		return flowsValue(s.Flows, t)
	case "stall":
		return stallValue(s, t)
	case "virtualWait", "virtualRejected":
		return c.virtualValue(t)
	}
	if t.Metric == "fairness" || t.Metric == "utilisation" || t.Metric == "waiting" && t.Stat == "mean" {
		for i := range s.PriorityLevels {
			if l := &s.PriorityLevels[i]; l.Name == t.Tag("priorityLevel") {
				return levelValue(l, t)
			}
		}
		return 0, noSuchLevel
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
	return requestsValue(m, t, c.windowSeconds())
}

func (c *Collector) windowSeconds() float64 { return float64(c.toNs-c.fromNs) / 1e9 }

// flowRequestsValue evaluates a threshold on the requests of the flows of a name. These
// are not told apart by workload, so that a workload besides is an answer only if it is
// the flow's only one.
func (c *Collector) flowRequestsValue(t *metric.Threshold) (value float64, note string) {
	m := newMeasures[uint32](coarsePrecision)
	found := false
	for _, f := range c.flows {
		if f.name != t.Tag("flow") || !tagged(t, "flowSchema", f.group.schema) || !tagged(t, "priorityLevel", f.level.name) {
			continue
		}
		if f.mixed() && t.Tag("workload") != "" {
			return 0, "the flow has requests of several workloads, which it does not tell apart"
		}
		if !tagged(t, "workload", c.scenario.Spec.Workload[f.workload].Name) {
			continue
		}
		found = true
		f.addTo(m)
	}
	if !found {
		return 0, noSuchFlow
	}
	return requestsValue(m, t, c.windowSeconds())
}

// tagged says whether the threshold's tag, if it has it, has the value.
func tagged(t *metric.Threshold, name, value string) bool {
	want := t.Tag(name)
	return want == "" || want == value
}

// Notes of a threshold that has no value.
const (
	noSamples   = "no samples"
	noSuchFlow  = "no such flow appeared"
	noSuchLevel = "the priority level was not there"
)

func requestsValue[C count](m *measures[C], t *metric.Threshold, seconds float64) (value float64, note string) {
	if of, timed := timingOf(t.Metric); timed {
		return durationValue(&m.timed[of], m.arrived, t)
	}
	if t.Metric == "arrived" {
		if t.Stat == "perSecond" {
			return float64(m.arrived) / seconds, ""
		}
		return float64(m.arrived), ""
	}
	if m.arrived == 0 {
		return 0, noSamples
	}
	n := float64(m.number(t))
	if t.Stat == "rate" {
		n /= float64(m.arrived)
	}
	return n, ""
}

// number returns the count that a threshold is about.
func (t *tally) number(of *metric.Threshold) int64 {
	switch of.Metric {
	case "executed":
		return t.executed
	case "rejected":
		reason := of.Tag("reason")
		if reason == "" {
			return t.rejectedTotal()
		}
		for r := queueset.Rejection(0); r < queueset.Rejections; r++ {
			if r.String() == reason {
				return t.rejected[r]
			}
		}
	case "timedOut":
		return t.rejected[queueset.TimedOut]
	case "retries":
		return t.retries
	case "waiting":
		return t.waiting()
	case "executing":
		return t.executing()
	}
	panic("reports: no count for the threshold on " + of.Key)
}

// durationValue evaluates a statistic of durations. How many there are has an answer
// whenever there were requests that might have had one.
func durationValue[C count](h *histogram[C], arrived int64, t *metric.Threshold) (value float64, note string) {
	if t.Stat == "count" && arrived > 0 {
		return float64(h.n), ""
	}
	if h.n == 0 {
		return 0, noSamples
	}
	switch t.Stat {
	case "mean":
		return h.meanNs(), ""
	case "min":
		return float64(h.leastNs), ""
	case "med":
		return float64(h.percentileNs(50)), ""
	case "max":
		return float64(h.mostNs), ""
	case "p":
		return float64(h.percentileNs(t.Percentile)), ""
	}
	panic("reports: no statistic for the threshold " + t.Text)
}

func levelValue(l *Level, t *metric.Threshold) (value float64, note string) {
	switch {
	case t.Metric == "waiting":
		return l.MeanWaiting, ""
	case t.Stat == "peak":
		return float64(l.PeakSeats), ""
	case t.Metric == "utilisation" && l.Utilisation == nil:
		return 0, "an exempt level has no limit to use up"
	case t.Stat == "saturated":
		return l.Utilisation.Saturated, ""
	case t.Stat == "mean" && l.Utilisation.Mean == nil || t.Metric == "fairness" && l.Fairness == nil:
		return 0, noSamples
	case t.Stat == "mean":
		return *l.Utilisation.Mean, ""
	case t.Stat == "jain":
		return l.Fairness.Jain, ""
	case t.Stat == "maxMinError":
		return l.Fairness.MaxMinError, ""
	case t.Stat == "leastRatio":
		return l.Fairness.LeastRatio, ""
	case t.Stat == "flows":
		return float64(l.Fairness.Flows), ""
	}
	panic("reports: no statistic of a priority level for the threshold " + t.Text)
}

// flowsValue returns what a threshold on the flows in question, as one, is compared with.
func flowsValue(flows []Flow, t *metric.Threshold) (value float64, note string) {
	sum, found := asOne(flows, func(f *Flow) bool {
		return tagged(t, "flow", f.Name) && tagged(t, "flowSchema", f.FlowSchema) && tagged(t, "priorityLevel", f.PriorityLevel)
	})
	switch {
	case !found:
		return 0, noSuchFlow
	case t.Metric == "starvation":
		return float64(sum.StarvationNs), ""
	case t.Metric == "service":
		return sum.ServiceSeatSeconds, ""
	case t.Metric == "demand":
		return sum.DemandSeatSeconds, ""
	case t.Stat == "seatSeconds":
		return sum.FairShareSeatSeconds, ""
	case sum.Ratio == nil:
		return 0, noSamples
	}
	return *sum.Ratio, ""
}

// stallValue returns what a threshold on the stalls of a workload is compared with.
func stallValue(s *Summary, t *metric.Threshold) (value float64, note string) {
	of := groupNamed(s.Workloads, t.Tag("workload"))
	switch {
	case of == nil || of.Stall == nil || of.Arrived == 0:
		return 0, noSamples
	case t.Stat == "max":
		return float64(of.Stall.MaxNs), ""
	case t.Stat == "count":
		return float64(of.Stall.Count), ""
	}
	return of.Stall.Share, ""
}

func groupNamed(groups []Group, name string) *Group {
	for i := range groups {
		if groups[i].Name == name {
			return &groups[i]
		}
	}
	return nil
}

// virtualValue returns what a threshold on the probes of a workload is compared with.
func (c *Collector) virtualValue(t *metric.Threshold) (value float64, note string) {
	for i := range c.scenario.Spec.Workload {
		if c.scenario.Spec.Workload[i].Name != t.Tag("workload") {
			continue
		}
		v := c.virtual.result(i)
		switch {
		case v == nil:
			return 0, noSamples
		case t.Metric == "virtualRejected":
			return v.rejectedRate(), ""
		}
		return durationValue(&c.virtual.workloads[i].waits, v.Probes, t)
	}
	return 0, noSamples
}
