package randomscenario

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/judge"
	"apfsim/reports/report"
	"apfsim/reports/result"
	"apfsim/sim/scenario"
)

// standing is what the log says of a flow: whether requests of it were rejected in the window, and whether some waited
// that were not.
type standing struct {
	rejected, waited bool
	half             bool // at least half of those that were dispatched waited
}

func (c *check) standing(f *result.Flow) (s standing) {
	n, waited := 0, 0
	for i := range c.lines {
		l := &c.lines[i]
		if l.ArrivalNs < c.fromNs || l.Flow != f.Name || l.PriorityLevel != f.PriorityLevel {
			continue
		}
		s.rejected = s.rejected || l.Outcome == "rejected"
		s.waited = s.waited || l.Outcome == "waiting"
		if l.DispatchNs != nil {
			n++
			if *l.DispatchNs > l.ArrivalNs {
				waited++
			}
		}
	}
	s.waited, s.half = s.waited || waited > 0, 2*waited > n // the median is one that waited
	return s
}

// overDemands says whether a flow demands more than its fair share, which fairness checks.
func overDemands(f *result.Flow) bool { return f.DemandSeatSeconds > 1.01*f.FairShareSeatSeconds }

func underserved(f *result.Flow, s standing) bool {
	little := f.Ratio != nil && *f.Ratio < 0.95 || f.Ratio == nil && f.DemandSeatSeconds > 0
	return f.StarvationNs >= 5e9 || s.rejected && !overDemands(f) || (s.rejected || s.waited) && little
}

// underserved checks which flows are said to be underserved or over-demanding, by their demands, services and fair shares,
// which are those of the log, and the causes that are stated.
func (c *check) underserved(all *claims) {
	s := c.ran.Result.Summary
	bad, listed := 0, 0
	for i := range c.ran.Flows {
		f := &c.ran.Flows[i]
		over, is := overDemands(f), underserved(f, c.standing(f))
		if is {
			bad++
		}
		if judge.Underserved(f) != is || judge.OverDemanding(f) != over {
			c.fail("flow %s: underserved %v, want %v; over-demanding %v, want %v: %+v", f.Name, judge.Underserved(f), is, judge.OverDemanding(f), over, *f)
		}
	}
	const group = "Underserved flows"
	for i, finding := range all.all {
		if finding.Group != group || strings.HasPrefix(finding.Subject, "other underserved flows (") {
			continue
		}
		at := slices.IndexFunc(s.Flows, func(f result.Flow) bool {
			return f.Name == finding.Subject && (f.Ratio == nil || strings.Contains(finding.Text, " of its fair share of "+f.PriorityLevel))
		})
		if at < 0 || !underserved(&s.Flows[at], c.standing(&s.Flows[at])) {
			continue // nobody claims it
		}
		all.claimed[i] = true
		listed++
		c.cause(&s.Flows[at], finding)
	}
	if listed > 8 {
		c.fail("%d findings about underserved flows, want at most 8", listed)
	}
	if len(s.OtherFlows) == 0 && listed != min(bad, 8) {
		c.fail("%d findings about %d underserved flows", listed, bad)
	}
	if more := bad - listed; more > 0 {
		all.expect(true, group, fmt.Sprintf("other underserved flows (%d)", more), "")
	}
}

// cause checks that a finding names the hands of other flows as the cause if and only if they cover that of the flow.
func (c *check) cause(f *result.Flow, finding report.Finding) {
	// Where a level gets fewer queues, those that are left have other numbers.
	changed := slices.ContainsFunc(c.ran.Scenario.Spec.Events, func(e scenario.Event) bool { return e.Apply != nil })
	for i := range c.lines {
		l := &c.lines[i]
		if !changed && l.Flow == f.Name && l.PriorityLevel == f.PriorityLevel && l.Queue >= 0 && len(f.Hand) > 0 && !slices.Contains(f.Hand, l.Queue) {
			c.fail("flow %s: request %d is in queue %d, which is not in its hand %v", f.Name, l.ID, l.Queue, f.Hand)
		}
	}
	intervals := c.queuedIn(f)
	var served, demanding []int // the queues of flows that were served more than their fair share, and of over-demanding ones
	if standing := c.standing(f); standing.rejected || standing.half {
		for i := range c.ran.Result.Summary.Flows {
			g := &c.ran.Result.Summary.Flows[i]
			if g.PriorityLevel != f.PriorityLevel || g.Name == f.Name || !overDemands(g) {
				continue
			}
			n := 0
			for at := range c.queuedIn(g) {
				if intervals[at] {
					n++
				}
			}
			if len(intervals) == 0 || 2*n < len(intervals) {
				continue
			}
			demanding = append(demanding, g.Hand...)
			if g.ServiceSeatSeconds > 1.01*g.FairShareSeatSeconds {
				served = append(served, g.Hand...)
			}
		}
	}
	covers := func(queues []int) bool {
		return len(f.Hand) > 0 && !slices.ContainsFunc(f.Hand, func(q int) bool { return !slices.Contains(queues, q) })
	}
	isCause := covers(served)
	for part, want := range map[string]bool{
		"cause: every queue of its hand is shared with flows that were served more than their fair share": isCause,
		"every queue of its hand is shared with over-demanding flows":                                     !isCause && covers(demanding),
	} {
		if strings.Contains(finding.Text, part) != want {
			c.fail("flow %s: %q in %q, want %v", f.Name, part, finding.Text, want)
		}
	}
}

// queuedIn returns the intervals of the series in which requests of a flow were in queues or rejected, by the log, without
// those of the warm-up.
func (c *check) queuedIn(f *result.Flow) map[int64]bool {
	eachNs, all := result.Interval(c.toNs), map[int64]bool{}
	for i := range c.lines {
		l := &c.lines[i]
		if l.Flow != f.Name || l.PriorityLevel != f.PriorityLevel {
			continue
		}
		toNs := c.waitedUntilNs(l)
		if toNs == l.ArrivalNs && l.Outcome != "rejected" && !(l.Outcome == "lost" && l.DispatchNs == nil) {
			continue
		}
		for at := l.ArrivalNs / eachNs; at <= min(toNs, c.toNs-1)/eachNs; at++ {
			if (at+1)*eachNs > c.fromNs {
				all[at] = true
			}
		}
	}
	return all
}

// overDemanding checks of which levels it is said that flows demanded too much and were served.
func (c *check) overDemanding(all *claims) {
	s := c.ran.Result.Summary
	for i := range s.PriorityLevels {
		level := s.PriorityLevels[i].Name
		n := 0
		for j := range s.Flows {
			f := &s.Flows[j]
			if standing := c.standing(f); f.PriorityLevel == level && overDemands(f) && (standing.rejected || standing.waited) && !underserved(f, standing) {
				n++
			}
		}
		all.expect(n > 0, "Over-demanding flows that are not underserved", level, fmt.Sprintf("flows (%d): ", n))
	}
}
