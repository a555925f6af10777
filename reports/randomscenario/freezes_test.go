package randomscenario

import (
	"slices"

	"apfsim/reports/result"
)

// freezes recomputes the freezes of all workloads and levels, by their definition in docs/reference/statistics.md, from
// what happened to the requests, and compares them and what is said of them.
func (c *check) freezes(all *claims) {
	s := c.ran.Result.Summary
	for i := range s.Workloads {
		g := &s.Workloads[i]
		c.freezesOf("workload", g, func(l *Line) bool { return l.Workload == g.Name })
		all.expect(g.Freeze != nil && g.Freeze.Count > 0, "Stalls", g.Name, "no request was served for ")
	}
	for i := range s.PriorityLevels {
		g := &s.PriorityLevels[i].Group
		c.freezesOf("level", g, func(l *Line) bool { return l.PriorityLevel == g.Name && l.Flow != "" })
		all.expect(g.Freeze != nil && g.Freeze.Count > 0, "Stalls", g.Name, "no request was served for ")
	}
}

// kindAt is requests of a kind at a level.
type kindAt struct {
	level string
	kind
}

func (c *check) freezesOf(what string, g *result.Group, counted func(*Line) bool) {
	if given(&c.ran.Scenario.Spec) {
		if g.Freeze != nil {
			c.fail("%s %s: a freeze %+v although executions are given", what, g.Name, *g.Freeze)
		}
		return
	}
	type open struct{ arrivalNs, ownNs int64 }
	var (
		want    result.Freeze
		sinceNs int64 // since when requests are open and none was served
		lost    = map[int64]bool{}
		opened  = map[int64]open{}
		served  = map[int64]int64{} // the latencies of those that have been executed and count, by line
		sums    = map[kindAt]mean{}
	)
	lateNs := func(line int64, stored bool) int64 {
		l := &c.lines[line]
		m := sums[kindAt{l.PriorityLevel, l.kind()}]
		if ns, counts := served[line]; counts {
			m.sum, m.n = m.sum-float64(ns), m.n-1
		}
		if m.n < 10 {
			return c.toNs
		}
		ns := int64(10 * m.sum / m.n)
		if !stored {
			ns = max(ns, opened[line].ownNs)
		}
		return l.ArrivalNs + ns
	}
	freeze := func(toNs, lateNs int64) {
		fromNs := max(sinceNs, lateNs, c.fromNs)
		if ns := toNs - fromNs; ns >= 1e9 {
			want.Count++
			if ns > want.MaxNs {
				want.MaxNs, want.FromNs = ns, fromNs
			}
		}
	}
	for _, e := range c.ran.Seen.Requests {
		l := &c.lines[e.Line]
		if e.What == Executed || e.What == Initialised {
			if l.ArrivalNs >= c.fromNs {
				served[e.Line] = e.AtNs - l.ArrivalNs
				key := kindAt{l.PriorityLevel, l.kind()}
				m := sums[key]
				m.add(float64(e.AtNs - l.ArrivalNs))
				sums[key] = m
			}
		}
		if !counted(l) || l.longRunning() {
			continue
		}
		_, isOpen := opened[e.Line]
		switch {
		case e.What == Arrived:
			if len(opened) == 0 {
				sinceNs = e.AtNs
			}
			opened[e.Line] = open{l.ArrivalNs, l.ExecutionNs + e.DelayNs}
		case e.What == Lost:
			lost[e.Line] = true
		case isOpen && (e.What == Initialised || e.What == Answered && e.Status != 0 && e.Status < 500 && e.Status != 429 && !lost[e.Line]):
			freeze(e.AtNs, lateNs(e.Line, e.Stored))
			delete(opened, e.Line)
			sinceNs = e.AtNs
		case e.What == Answered:
			delete(opened, e.Line)
		}
	}
	if len(opened) > 0 {
		var late []int64
		for line := range opened {
			late = append(late, lateNs(line, false))
		}
		freeze(c.toNs, slices.Min(late))
	}
	if g.Freeze == nil || *g.Freeze != want {
		c.fail("%s %s: freeze %+v, by what happened %+v", what, g.Name, g.Freeze, want)
	}
}
