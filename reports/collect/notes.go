package collect

import (
	"cmp"
	"slices"

	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/workload"
)

// notes counts the events of the clients of one workload, or of all, in the order of their first appearance.
type notes []*metricCount

// metricCount is what a metric has counted.
type metricCount struct {
	metric     *metric.Metric
	count, sum int64
	times      measure.Histogram
	reasons    []int64 // by the reasons of the metric

	// Of the interval of result.BusiestNs that the last one was in, and of the one that had most.
	latest, most result.Busiest
}

func (all *notes) add(nowNs int64, n *workload.Note) {
	for _, m := range metric.CountedBy(n.Event) {
		all.noted(m).add(nowNs, n)
	}
}

// noted returns the count of a metric so far.
func (all *notes) noted(m *metric.Metric) *metricCount {
	for _, one := range *all {
		if one.metric == m {
			return one
		}
	}
	one := &metricCount{metric: m, times: measure.Histogram{Precision: measure.FinePrecision}, reasons: make([]int64, len(m.Reasons))}
	*all = append(*all, one)
	return one
}

func (one *metricCount) add(nowNs int64, n *workload.Note) {
	one.sum += n.N
	if one.metric.Reasons != nil && !one.addReason(n.Reason) {
		return
	}
	one.count++
	if one.metric.Timed {
		one.times.Record(n.Ns)
	}
	if fromNs := nowNs - nowNs%result.BusiestNs; one.latest.FromNs != fromNs {
		one.latest = result.Busiest{FromNs: fromNs}
	}
	if one.latest.Count++; one.latest.Count > one.most.Count {
		one.most = one.latest
	}
}

// addReason counts the reason of an event; there may be none.
func (one *metricCount) addReason(name string) bool {
	i := one.metric.ReasonIndex(name)
	if i >= 0 {
		one.reasons[i]++
	}
	return i >= 0
}

// result describes the notes, by the names of the metrics.
func (all notes) result() *result.Clients {
	c := &result.Clients{Notes: []result.Noted{}}
	for _, n := range all {
		if n.count == 0 {
			continue
		}
		r := result.Noted{Metric: n.metric.Name, Count: n.count, Sum: n.sum, Time: result.NewDistribution(&n.times)}
		if !n.metric.Timed {
			r.Most = &n.most
		}
		for i, count := range n.reasons {
			if count > 0 {
				r.Reasons = append(r.Reasons, result.ReasonCount{Reason: n.metric.Reasons[i].Name, Count: count})
			}
		}
		c.Notes = append(c.Notes, r)
	}
	slices.SortFunc(c.Notes, func(a, b result.Noted) int { return cmp.Compare(a.Metric, b.Metric) })
	return c
}

// Note counts an event of a client of a workload.
func (c *Collector) Note(nowNs int64, workload int, n *workload.Note) {
	c.noteSeries.add(n)
	if nowNs < c.fromNs {
		return
	}
	if n.Event == metric.Limited {
		c.wishes[workload].add(nowNs - n.Ns)
	}
	c.notes[len(c.notes)-1].add(nowNs, n)
	c.notes[workload].add(nowNs, n)
}

// addNotes adds the events of clients to the result, if the scenario has clients that behave or limit their rate.
func (c *Collector) addNotes(s *result.Summary) {
	behaves := false
	for i := range s.Workloads {
		if w := &c.scenario.Spec.Workload[i]; w.Behaviour != nil || w.RateLimit != nil {
			s.Workloads[i].Clients, behaves = c.notes[i].result(), true
		}
	}
	for i := range c.queues {
		s.Workloads[c.queues[i].workload].Clients.Queue = c.queues[i].result()
	}
	if behaves {
		s.Total.Clients = c.notes[len(c.notes)-1].result()
	}
}
