package randomscenario

import (
	"slices"

	"apfsim/reports/judge"
	"apfsim/reports/result"
)

// overall compares the verdict on the run with the log: the status by what was not served, and who was harmed by the sums
// of each workload; and checks that causes, rows and changes fit together.
func (c *check) overall() {
	s := c.ran.Result.Summary
	v := s.Verdict
	arrived, notServed, anyUnsure := int64(0), int64(0), false
	unsure := map[string]bool{} // workloads with requests of which the log does not tell
	sent, failed := map[string]int64{}, map[string]int64{}
	for i := range c.lines {
		l := &c.lines[i]
		if l.ArrivalNs < c.fromNs {
			continue
		}
		arrived++
		sent[l.Workload]++
		bad := false
		switch {
		case l.Outcome == "rejected", l.Outcome == "refused", l.Outcome == "lost":
			bad = true
		case l.open():
			may := false
			if bad, may = c.unfinished(l); may {
				unsure[l.Workload], anyUnsure = true, true
			}
		default:
			bad = l.Status == 504 || l.Status == 0 || l.Status == 429 || l.Status >= 500
		}
		if bad {
			notServed++
			failed[l.Workload]++
		}
	}
	switch {
	case s.Replay.Disagrees():
	case notServed > 0 && arrived >= judge.LeastRequests && v.Status != result.Harm && v.Status != result.Warning:
		c.fail("%d requests were not served, and the status is %s", notServed, v.Status)
	case notServed == 0 && !anyUnsure && v.Status == result.Harm && v.Decided.Figure != "wait p99" && !c.waitsForItself("") && !c.stalled() && len(s.Thresholds) == 0:
		c.fail("all requests were served, none stalled, and the status is %s: %s", v.Status, v.Sentence)
	case notServed == 0 && arrived < judge.LeastRequests && v.Status != result.Unknown && v.Status != result.Harm:
		c.fail("%d requests arrived, and the status is %s", arrived, v.Status)
	}
	if v.Sentence == "" {
		c.fail("the verdict has no sentence")
	}
	if v.Status != result.Harm && v.Status != result.Warning {
		if len(v.Harmed)+len(v.Causes)+len(v.Try) > 0 {
			c.fail("the status is %s, and somebody was harmed: %+v", v.Status, v)
		}
		return
	}
	ids := map[string]bool{}
	for i := range v.Causes {
		cause := &v.Causes[i]
		if ids[cause.ID] || cause.Sentence == "" || cause.FromNs < 0 || cause.FromNs > cause.ToNs || cause.ToNs > c.toNs || len(cause.Figures) == 0 {
			c.fail("the cause %s is impossible: %+v", cause.ID, cause)
		}
		ids[cause.ID] = true
	}
	rows, sums := map[string]int64{}, map[string]int64{}
	for i := range v.Harmed {
		h := &v.Harmed[i]
		if h.Sent != h.Served+h.NotServed.Total()+h.Open || h.FromNs < c.fromNs || h.FromNs > h.ToNs || h.ToNs > c.toNs ||
			slices.ContainsFunc(h.Causes, func(id string) bool { return !ids[id] }) {
			c.fail("the row of %s is impossible: %+v", h.Name, h)
		}
		rows[h.Workload] += h.Sent
		sums[h.Workload] += h.NotServed.Total()
	}
	for workload, n := range failed {
		if sums[workload] != n && !unsure[workload] {
			c.fail("%d requests of %s were not served, of its rows %d", n, workload, sums[workload])
		}
	}
	for workload, n := range rows {
		if n > sent[workload] {
			c.fail("%d requests of %s were sent, of its rows %d", sent[workload], workload, n)
		}
	}
	if notServed > 0 && len(v.Causes) == 0 {
		c.fail("%d requests were not served, and there is no cause: %s", notServed, v.Sentence)
	}
	for i := range v.Try {
		if slices.ContainsFunc(v.Try[i].Causes, func(id string) bool { return !ids[id] }) || v.Try[i].Proved {
			c.fail("the change is impossible: %+v", v.Try[i])
		}
	}
}

// stalled says whether the result has a stall, a freeze or a starvation that is harm. Others checks compare them with what
// was seen of the run.
func (c *check) stalled() bool {
	s := c.ran.Result.Summary
	for i := range s.Workloads {
		g := &s.Workloads[i]
		if g.Stall != nil && g.Stall.MaxNs >= judge.HarmStallNs || g.Freeze != nil && g.Freeze.MaxNs >= judge.HarmStallNs {
			return true
		}
	}
	for i := range s.PriorityLevels {
		l := &s.PriorityLevels[i]
		if l.Freeze != nil && l.Freeze.MaxNs >= judge.HarmStallNs || l.Starvation != nil && l.Starvation.MaxNs >= judge.HarmStallNs {
			return true
		}
	}
	return false
}

// waitsForItself says whether clients of a workload, "" for any, waited for their own rate limit or lost leases, which the log of requests
// does not have.
func (c *check) waitsForItself(workload string) bool {
	return slices.ContainsFunc(c.ran.Result.Summary.Verdict.Judged, func(j result.Judged) bool {
		return (workload == "" || j.Of == result.OfWorkload && j.Name == workload) && (j.OwnLimitNs > 0 || j.NeverSent > 0 || j.LeadersLost > 0)
	})
}
