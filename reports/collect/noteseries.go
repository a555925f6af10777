package collect

import (
	"slices"
	"strings"

	"apfsim/reports/result"
	"apfsim/sim/workload"
)

// noteSeries is what happens to all clients that behave, over time.
type noteSeries struct {
	ends     []int64      // of the intervals
	kinds    []noteValues // by kind, as long as what has happened needs
	relisted noteValues
}

// noteValues are the values of one kind of notes.
type noteValues struct {
	now   result.ClientPoint   // of the present interval, with the sum of the times for their mean
	began int                  // the index of the interval of the first point
	past  []result.ClientPoint // nil if nothing has happened
}

func (s *noteSeries) add(n *workload.Note) {
	for len(s.kinds) <= int(n.Kind) {
		s.kinds = append(s.kinds, noteValues{})
	}
	s.kinds[n.Kind].add(n)
	if n.Kind == workload.Listed && n.Cause != workload.FirstList {
		s.relisted.add(n)
	}
}

func (v *noteValues) add(n *workload.Note) {
	v.now.Count++
	v.now.MeanNs += n.Ns
	v.now.MaxNs = max(v.now.MaxNs, n.Ns)
}

// closeInterval ends the present interval.
func (s *noteSeries) closeInterval(fromNs, toNs int64) {
	for i := range s.kinds {
		s.kinds[i].closeInterval(len(s.ends), fromNs, toNs)
	}
	s.relisted.closeInterval(len(s.ends), fromNs, toNs)
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
	add := func(metric string, timed bool, v *noteValues) {
		if v.past == nil {
			return
		}
		points := make([]result.ClientPoint, len(s.ends))
		startNs := int64(0)
		for i, endNs := range s.ends {
			points[i] = result.ClientPoint{StartNs: startNs, EndNs: endNs}
			startNs = endNs
		}
		copy(points[v.began:], v.past)
		all = append(all, &result.ClientSeries{Metric: metric, Timed: timed, Points: points})
	}
	for kind := range s.kinds {
		m := noteMetrics[workload.NoteKind(kind)]
		add(m.metric, m.timed, &s.kinds[kind])
	}
	add("relists", false, &s.relisted)
	slices.SortFunc(all, func(a, b *result.ClientSeries) int { return strings.Compare(a.Metric, b.Metric) })
	return all
}
