package randomscenario

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/reports/format"
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

func (c *check) standing(f *flowOfLog) (s standing) {
	n, waited := 0, 0
	for _, i := range f.lines {
		l := &c.lines[i]
		if l.ArrivalNs < c.fromNs {
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

// overDemands says whether a flow demands more than its fair share.
func (f *flowOfLog) overDemands() bool { return f.demand > 1.01*f.share }

// served returns which part of its fair share a flow was served: 0 if nobody was served, 1 if it demanded nothing.
func (f *flowOfLog) served() float64 {
	switch ratio, ok := f.ratio(); {
	case ok:
		return ratio
	case f.demand > 0:
		return 0
	}
	return 1
}

func (f *flowOfLog) underserved(s standing, starvedNs int64) bool {
	return starvedNs >= 5e9 || s.rejected && !f.overDemands() || (s.rejected || s.waited) && f.served() < 0.95
}

// logOf returns a flow as it is by the log, which fairness has found there.
func (c *check) logOf(f *result.Flow) *flowOfLog {
	if of := c.flows[flowKey(f.PriorityLevel, f.Name)]; of != nil {
		return of
	}
	return &flowOfLog{level: f.PriorityLevel, name: f.Name}
}

// isUnderserved says whether a flow is underserved by the log; stalls checks for how long it starved.
func (c *check) isUnderserved(f *result.Flow) bool {
	of := c.logOf(f)
	return of.underserved(c.standing(of), f.StarvationNs)
}

// underserved checks which flows are said to be underserved or over-demanding, by their demands, services and fair shares
// of the log, and the figures and causes that are stated.
func (c *check) underserved(all *claims) {
	s := c.ran.Result.Summary
	bad, listed := 0, 0
	for i := range c.ran.Flows {
		f := &c.ran.Flows[i]
		over, is := c.logOf(f).overDemands(), c.isUnderserved(f)
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
			return f.ShortName() == finding.Subject && (f.Ratio == nil || strings.Contains(finding.Text, " of its fair share of "+f.PriorityLevel))
		})
		if at < 0 || !c.isUnderserved(&s.Flows[at]) {
			continue // nobody claims it
		}
		f := c.logOf(&s.Flows[at])
		if ratio, ok := f.ratio(); ok {
			text := fmt.Sprintf("service %s of its fair share of %s", judge.RatioText(ratio), f.level)
			if f.overDemands() {
				text += fmt.Sprintf(" (demand %s times the fair share)", format.Digits(f.demand/f.share))
			}
			if !strings.HasPrefix(finding.Text, text) {
				c.fail("flow %s: %q, want %q", f.name, finding.Text, text)
			}
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
	if standing := c.standing(c.logOf(f)); standing.rejected || standing.half {
		for i := range c.ran.Result.Summary.Flows {
			g := &c.ran.Result.Summary.Flows[i]
			of := c.logOf(g)
			if g.PriorityLevel != f.PriorityLevel || g.Name == f.Name || !of.overDemands() {
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
			if of.service > 1.01*of.share {
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

// overDemanding checks of which levels it is said that flows demanded too much and were served, and how much that was.
func (c *check) overDemanding(all *claims) {
	s := c.ran.Result.Summary
	for i := range s.PriorityLevels {
		level := s.PriorityLevels[i].Name
		n := 0
		var demands, served []float64
		for j := range s.Flows {
			of := c.logOf(&s.Flows[j])
			if standing := c.standing(of); of.level == level && of.overDemands() && (standing.rejected || standing.waited) && !c.isUnderserved(&s.Flows[j]) {
				n++
				demands, served = append(demands, of.demand/of.share), append(served, of.served())
			}
		}
		f := all.expect(n > 0, "Over-demanding flows that are not underserved", level, fmt.Sprintf("flows (%d): ", n))
		if f == nil {
			continue
		}
		between := func(values []float64, text func(float64) string) string {
			if least, most := text(slices.Min(values)), text(slices.Max(values)); least != most {
				return least + " to " + most
			}
			return text(values[0])
		}
		if text := fmt.Sprintf("; demand %s times the fair share; service %s of the fair share; ", between(demands, format.Number), between(served, judge.RatioText)); !strings.Contains(f.Text, text) {
			c.fail("level %s: %q, want %q", level, f.Text, text)
		}
	}
}
