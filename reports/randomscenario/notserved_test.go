package randomscenario

import (
	"strconv"

	"apfsim/reports/result"
)

// open says whether a request was neither over nor answered when the run ended.
func (l *Line) open() bool {
	return l.Outcome == "waiting" || l.Outcome == "executing" && l.AnsweredNs == 0
}

// unfinished says whether a request that is open at the end of the run was not served: it has been queued for a second. One that
// executes may be, if it has for 5 s longer than it takes by itself, of which the log has no more than a part.
func (c *check) unfinished(l *Line) (is, may bool) {
	if l.DispatchNs == nil {
		return l.open() && c.toNs-l.ArrivalNs >= 1e9, false
	}
	return false, l.open() && !l.longRunning() && c.toNs-*l.DispatchNs-l.ExecutionNs >= 5e9
}

// notServed compares what was not served with the log, for each group of requests.
func (c *check) notServed() {
	s := c.ran.Result.Summary
	c.notServedOf("all", &s.Total, func(*Line) bool { return true })
	for i := range s.Workloads {
		g := &s.Workloads[i]
		c.notServedOf("workload "+g.Name, g, func(l *Line) bool { return l.Workload == g.Name })
	}
	for i := range s.FlowSchemas {
		g := &s.FlowSchemas[i]
		c.notServedOf("FlowSchema "+g.Name, g, func(l *Line) bool { return l.FlowSchema == g.Name })
	}
	for i := range s.PriorityLevels {
		g := &s.PriorityLevels[i].Group
		c.notServedOf("level "+g.Name, g, func(l *Line) bool { return l.PriorityLevel == g.Name })
	}
	for i := range c.ran.Flows {
		f := &c.ran.Flows[i]
		c.notServedOf("flow "+flowKey(f.PriorityLevel, f.Name), &f.Group, func(l *Line) bool { return l.Flow == f.Name && l.PriorityLevel == f.PriorityLevel })
	}
	for i := range s.Servers {
		c.notServedOf("server "+strconv.Itoa(i), &s.Servers[i].Group, func(l *Line) bool { return l.Server == i })
	}
}

func (c *check) notServedOf(what string, g *result.Group, has func(*Line) bool) {
	var n result.NotServed
	open, mayBe, longestNs := int64(0), int64(0), int64(0)
	for i := range c.lines {
		l := &c.lines[i]
		if l.ArrivalNs < c.fromNs || !has(l) {
			continue
		}
		if l.Outcome == "waiting" {
			longestNs = max(longestNs, c.toNs-l.ArrivalNs)
		}
		unfinished, may := c.unfinished(l)
		switch {
		case l.Outcome == "rejected":
			n.Rejected++
		case l.Outcome == "refused":
			n.Refused++
		case l.Outcome == "lost":
			n.Lost++
		case unfinished:
			n.Unfinished++
		case l.open():
			open++
			if may {
				mayBe++
			}
		case l.Status == 504 || l.Status == 0:
			n.Deadline++
		case l.Status == 429 || l.Status >= 500:
			n.Error++
		}
	}
	var got result.NotServed
	if g.NotServed != nil {
		got = *g.NotServed
	}
	if executing := got.Unfinished - n.Unfinished; executing > 0 && executing <= mayBe {
		n.Unfinished, open = n.Unfinished+executing, open-executing
	}
	if got != n || g.Open != open || (g.NotServed != nil) != (n.Total() > 0) {
		c.fail("%s: not served %+v and %d open, of the log %+v and %d", what, got, g.Open, n, open)
	}
	if q := g.StillQueued; (q != nil) != (g.Waiting > 0) || q != nil && (q.MaxNs != longestNs || q.WaitP99Ns > longestNs+longestNs/32 && (g.Wait == nil || q.WaitP99Ns > g.Wait.MaxNs+g.Wait.MaxNs/32)) {
		c.fail("%s: still queued %+v, of the log for %d ns at most", what, q, longestNs)
	}
}
