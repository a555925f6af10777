package threshold

import (
	"apfsim/core/queueset"
	"apfsim/reports/histogram"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
)

// NewVerdict returns the verdict on a threshold that has not been evaluated, and so does
// not hold.
func NewVerdict(t *metric.Threshold) result.Verdict {
	v := result.Verdict{Metric: t.Key, Expression: t.Text, Limit: t.Limit}
	if t.Over > 0 {
		v.Expression += " over " + t.Over.String()
	}
	if t.Unit == metric.Nanoseconds {
		v.Unit = "ns"
	}
	return v
}

// Tagged says whether the threshold's tag, if it has it, has the value.
func Tagged(t *metric.Threshold, name, value string) bool {
	want := t.Tag(name)
	return want == "" || want == value
}

func RequestsValue[C histogram.Count](m *measure.Measures[C], t *metric.Threshold, seconds float64) (value float64, note string) {
	if of, timed := measure.TimingOf(t.Metric); timed {
		return DurationValue(&m.Timed[of], m.Arrived, t)
	}
	if t.Metric == "arrived" {
		if t.Stat == "perSecond" {
			return float64(m.Arrived) / seconds, ""
		}
		return float64(m.Arrived), ""
	}
	if m.Arrived == 0 {
		return 0, result.NoSamples
	}
	n := float64(number(&m.Tally, t))
	if t.Stat == "rate" {
		n /= float64(m.Arrived)
	}
	return n, ""
}

// number returns the count that a threshold is about.
func number(t *measure.Tally, of *metric.Threshold) int64 {
	switch of.Metric {
	case "executed":
		return t.Executed
	case "rejected":
		reason := of.Tag("reason")
		if reason == "" {
			return t.RejectedTotal()
		}
		for r := queueset.Rejection(0); r < queueset.Rejections; r++ {
			if r.String() == reason {
				return t.Rejected[r]
			}
		}
	case "timedOut":
		return t.Rejected[queueset.TimedOut]
	case "retries":
		return t.Retries
	case "waiting":
		return t.Waiting()
	case "executing":
		return t.Executing()
	}
	panic("reports: no count for the threshold on " + of.Key)
}

// DurationValue evaluates a statistic of durations. How many there are has an answer
// whenever there were requests that might have had one.
func DurationValue[C histogram.Count](h *histogram.Histogram[C], arrived int64, t *metric.Threshold) (value float64, note string) {
	if t.Stat == "count" && arrived > 0 {
		return float64(h.N), ""
	}
	if h.N == 0 {
		return 0, result.NoSamples
	}
	switch t.Stat {
	case "mean":
		return h.MeanNs(), ""
	case "min":
		return float64(h.LeastNs), ""
	case "med":
		return float64(h.PercentileNs(50)), ""
	case "max":
		return float64(h.MostNs), ""
	case "p":
		return float64(h.PercentileNs(t.Percentile)), ""
	}
	panic("reports: no statistic for the threshold " + t.Text)
}

func LevelValue(l *result.Level, t *metric.Threshold) (value float64, note string) {
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
		return 0, result.NoSamples
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

// FlowsValue returns what a threshold on the flows in question, as one, is compared with.
func FlowsValue(flows []result.Flow, t *metric.Threshold) (value float64, note string) {
	sum, found := result.AsOne(flows, func(f *result.Flow) bool {
		return Tagged(t, "flow", f.Name) && Tagged(t, "flowSchema", f.FlowSchema) && Tagged(t, "priorityLevel", f.PriorityLevel)
	})
	switch {
	case !found:
		return 0, result.NoSuchFlow
	case t.Metric == "starvation":
		return float64(sum.StarvationNs), ""
	case t.Metric == "service":
		return sum.ServiceSeatSeconds, ""
	case t.Metric == "demand":
		return sum.DemandSeatSeconds, ""
	case t.Stat == "seatSeconds":
		return sum.FairShareSeatSeconds, ""
	case sum.Ratio == nil:
		return 0, result.NoSamples
	}
	return *sum.Ratio, ""
}

// StallValue returns what a threshold on the stalls of a workload is compared with.
func StallValue(s *result.Summary, t *metric.Threshold) (value float64, note string) {
	of := groupNamed(s.Workloads, t.Tag("workload"))
	switch {
	case of == nil || of.Stall == nil || of.Arrived == 0:
		return 0, result.NoSamples
	case t.Stat == "max":
		return float64(of.Stall.MaxNs), ""
	case t.Stat == "count":
		return float64(of.Stall.Count), ""
	}
	return of.Stall.Share, ""
}

func groupNamed(groups []result.Group, name string) *result.Group {
	for i := range groups {
		if groups[i].Name == name {
			return &groups[i]
		}
	}
	return nil
}
