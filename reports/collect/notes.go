package collect

import (
	"cmp"
	"slices"

	"apfsim/reports/histogram"
	"apfsim/reports/result"
	"apfsim/sim/workload"
)

// noteMetrics are the metrics by which statistics call what happens to clients. The times of those with
// timed are measured.
var noteMetrics = map[workload.NoteKind]struct {
	metric string
	timed  bool
}{
	workload.Listed:          {"listTime", true},
	workload.Expired:         {"expired", false},
	workload.WatchEnded:      {"watchEnds", false},
	workload.WatchFailed:     {"watchFailures", false},
	workload.EventLate:       {"eventDelay", true},
	workload.Conflicted:      {"conflicts", false},
	workload.WriteDone:       {"writeTime", true},
	workload.WriteLost:       {"lostWrites", false},
	workload.LeaderLost:      {"leaderLost", false},
	workload.LeaderGained:    {"leaderless", true},
	workload.NodeNotReady:    {"nodesNotReady", false},
	workload.NodeReady:       {"notReady", true},
	workload.PodSeen:         {"podSeen", true},
	workload.EventDropped:    {"droppedEvents", false},
	workload.Reconciled:      {"reconcileTime", true},
	workload.ReconcileFailed: {"reconcileFailures", false},
	workload.Overwritten:     {"overwritten", false},
}

// relistReasons are the values of the tag reason of relists.
var relistReasons = map[workload.Cause]string{
	workload.AfterExpired:  "expired",
	workload.AfterTooLarge: "too-large",
	workload.AfterFailure:  "failure",
}

// notes is what has happened to the clients of a workload, or to all.
type notes map[workload.NoteKind]*noted

// noted is one kind of it.
type noted struct {
	count, sum int64
	times      histogram.Histogram
	causes     [workload.AfterFailure + 1]int64

	// Of the interval of result.BusiestNs that the last one was in, and of the one that had most.
	latest, most result.Busiest
}

func (all notes) add(nowNs int64, n *workload.Note) {
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
	if n.Kind == workload.Listed && n.Cause == workload.FirstList {
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
		if kind == workload.Listed {
			relists := result.Noted{Metric: "relists", Count: n.count - n.causes[workload.FirstList], Sum: n.sum, Most: &n.most}
			for cause := workload.AfterExpired; cause <= workload.AfterFailure; cause++ {
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
func (c *Collector) Note(nowNs int64, workload int, n *workload.Note) {
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
