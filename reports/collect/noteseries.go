package collect

import (
	"slices"
	"strings"

	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/workload"
)

// noteSeries counts the events of all scripted clients over time.
type noteSeries struct {
	ends   []int64       // of the intervals
	values []*noteValues // by metric, in the order of their first events
}

// noteValues are what a metric counts.
type noteValues struct {
	metric *metric.Metric
	now    result.ClientPoint   // of the present interval, with the sum of the times for their mean
	began  int                  // the index of the interval of the first point
	past   []result.ClientPoint // nil if nothing has happened
}

func (s *noteSeries) add(n *workload.Note) {
	for _, m := range metric.CountedBy(n.Event) {
		if m.Reasons == nil || m.ReasonIndex(n.Reason) >= 0 {
			s.valuesOf(m).add(n)
		}
	}
}

func (s *noteSeries) valuesOf(m *metric.Metric) *noteValues {
	for _, v := range s.values {
		if v.metric == m {
			return v
		}
	}
	v := &noteValues{metric: m}
	s.values = append(s.values, v)
	return v
}

func (v *noteValues) add(n *workload.Note) {
	v.now.Count++
	v.now.MeanNs += n.Ns
	v.now.MaxNs = max(v.now.MaxNs, n.Ns)
}

// closeInterval ends the present interval.
func (s *noteSeries) closeInterval(fromNs, toNs int64) {
	for _, v := range s.values {
		v.closeInterval(len(s.ends), fromNs, toNs)
	}
	s.ends = append(s.ends, toNs)
}

func (v *noteValues) closeInterval(index int, fromNs, toNs int64) {
	if v.now.Count == 0 && v.past == nil {
		return
	}
	if v.past == nil {
		v.began = index
	}
	if v.now.Count > 0 {
		v.now.MeanNs /= v.now.Count
	}
	v.now.StartNs, v.now.EndNs = fromNs, toNs
	v.past = append(v.past, v.now)
	v.now = result.ClientPoint{}
}

// series returns the series of what has happened, by metric.
func (s *noteSeries) series() (all []*result.ClientSeries) {
	for _, v := range s.values {
		if v.past == nil {
			continue
		}
		points := make([]result.ClientPoint, len(s.ends))
		startNs := int64(0)
		for i, endNs := range s.ends {
			points[i] = result.ClientPoint{StartNs: startNs, EndNs: endNs}
			startNs = endNs
		}
		copy(points[v.began:], v.past)
		all = append(all, &result.ClientSeries{Metric: v.metric.Name, Timed: v.metric.Timed, Points: points})
	}
	slices.SortFunc(all, func(a, b *result.ClientSeries) int { return strings.Compare(a.Metric, b.Metric) })
	return all
}
