package collect

import (
	"cmp"
	"slices"

	"apfsim/reports/histogram"
	"apfsim/reports/result"
	"apfsim/sim/behaviour"
)

// noteMetrics are the metrics by which statistics call what happens to clients. The times of those with
// timed are measured.
var noteMetrics = map[behaviour.Kind]struct {
	metric string
	timed  bool
}{
	behaviour.Listed:          {"listTime", true},
	behaviour.Expired:         {"expired", false},
	behaviour.WatchEnded:      {"watchEnds", false},
	behaviour.WatchFailed:     {"watchFailures", false},
	behaviour.EventLate:       {"eventDelay", true},
	behaviour.Conflicted:      {"conflicts", false},
	behaviour.WriteDone:       {"writeTime", true},
	behaviour.WriteLost:       {"lostWrites", false},
	behaviour.LeaderLost:      {"leaderLost", false},
	behaviour.LeaderGained:    {"leaderless", true},
	behaviour.NodeNotReady:    {"nodesNotReady", false},
	behaviour.NodeReady:       {"notReady", true},
	behaviour.PodSeen:         {"podSeen", true},
	behaviour.EventDropped:    {"droppedEvents", false},
	behaviour.Reconciled:      {"reconcileTime", true},
	behaviour.ReconcileFailed: {"reconcileFailures", false},
	behaviour.Overwritten:     {"overwritten", false},
}

// relistReasons are the values of the tag reason of relists.
var relistReasons = map[behaviour.Cause]string{
	behaviour.AfterExpired:  "expired",
	behaviour.AfterTooLarge: "too-large",
	behaviour.AfterFailure:  "failure",
}

// notes is what has happened to the clients of a workload, or to all.
type notes map[behaviour.Kind]*noted

// noted is one kind of it.
type noted struct {
	count, sum int64
	times      histogram.Histogram
	causes     [behaviour.AfterFailure + 1]int64

	// Of the interval of result.BusiestNs that the last one was in, and of the one that had most.
	latest, most result.Busiest
}

func (all notes) add(nowNs int64, n *behaviour.Note) {
	one := all[n.Kind]
	if one == nil {
		one = &noted{times: histogram.Histogram{Precision: histogram.FinePrecision}}
		all[n.Kind] = one
	}
	one.count++
	one.sum += n.N
	if noteMetrics[n.Kind].timed {
		one.times.Record(n.Ns)
	}
	one.causes[n.Cause]++
	if n.Kind == behaviour.Listed && n.Cause == behaviour.FirstList {
		return
	}
	if fromNs := nowNs - nowNs%result.BusiestNs; one.latest.FromNs != fromNs {
		one.latest = result.Busiest{FromNs: fromNs}
	}
	if one.latest.Count++; one.latest.Count > one.most.Count {
		one.most = one.latest
	}
}

// result describes the notes, by metric.
func (all notes) result() *result.Clients {
	c := &result.Clients{Notes: []result.Noted{}}
	for kind, n := range all {
		r := result.Noted{Metric: noteMetrics[kind].metric, Count: n.count, Sum: n.sum, Time: result.NewDistribution(&n.times)}
		if !noteMetrics[kind].timed {
			r.Most = &n.most
		}
		c.Notes = append(c.Notes, r)
		if kind == behaviour.Listed {
			relists := result.Noted{Metric: "relists", Count: n.count - n.causes[behaviour.FirstList], Sum: n.sum, Most: &n.most}
			for cause := behaviour.AfterExpired; cause <= behaviour.AfterFailure; cause++ {
				if count := n.causes[cause]; count > 0 {
					relists.Reasons = append(relists.Reasons, result.ReasonCount{Reason: relistReasons[cause], Count: count})
				}
			}
			if relists.Count > 0 {
				c.Notes = append(c.Notes, relists)
			}
		}
	}
	slices.SortFunc(c.Notes, func(a, b result.Noted) int { return cmp.Compare(a.Metric, b.Metric) })
	return c
}

// Note counts what happens to a client of a workload.
func (c *Collector) Note(nowNs int64, workload int, n *behaviour.Note) {
	c.noteSeries.add(n)
	if nowNs < c.fromNs {
		return
	}
	c.notes[len(c.notes)-1].add(nowNs, n)
	c.notes[workload].add(nowNs, n)
}

// addNotes adds what has happened to clients, where the scenario has some that behave.
func (c *Collector) addNotes(s *result.Summary) {
	behaves := false
	for i := range s.Workloads {
		if c.scenario.Spec.Workload[i].Behaviour != nil {
			s.Workloads[i].Clients, behaves = c.notes[i].result(), true
		}
	}
	if behaves {
		s.Total.Clients = c.notes[len(c.notes)-1].result()
	}
}
