package report

import (
	"fmt"
	"slices"

	"apfsim/reports/compare"
	"apfsim/reports/judge"
	"apfsim/sim/metric"
)

// SideNames are the names of the two sides of a comparison.
var SideNames = [2]string{"base", "head"}

// ComparisonFindings returns the findings of a comparison: workloads, priority levels, and the flows whose
// waits or rejections changed. With --only there are none, as the statistics that they state may not
// have been tested.
func ComparisonFindings(c *compare.Comparison) []Finding {
	if len(c.Only) > 0 {
		return nil
	}
	both := sidesOf(c)
	var all []Finding
	for i := range estimateTables {
		g := &estimateTables[i]
		names := c.BaseRuns.Names(g.Tag)
		for _, name := range c.HeadRuns.Names(g.Tag) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		for _, name := range names {
			if f, found := both.finding(g.Tag, name); found {
				f.Group = g.Title
				all = append(all, f)
			}
		}
	}
	return append(all, flowChanges(c)...)
}

// sides are the statistics of both sides and their changes, by name.
type sides struct {
	changes    map[string]*compare.Change
	base, head map[string]*compare.Estimate
	byClient   bool // a client of a server has measured one of them
}

func sidesOf(c *compare.Comparison) *sides {
	both := &sides{changes: map[string]*compare.Change{}, base: c.BaseRuns.ByName(), head: c.HeadRuns.ByName(),
		byClient: c.Base.MeasuredBy != "" || c.Head.MeasuredBy != ""}
	for i := range c.Changes {
		both.changes[c.Changes[i].Name] = &c.Changes[i]
	}
	return both
}

// latencyP99 is what findings state where a client has measured.
var latencyP99 = metric.Name{Metric: "latency", Stat: "p", Percentile: 99}

// finding returns the finding of a workload or a priority level, if requests arrived on a side. It is
// bad if one of the changes that it states is a regression, and good if one is an improvement
// and none a regression.
func (s *sides) finding(tag, name string) (f Finding, found bool) {
	var p parts
	f.Subject = name
	// state adds the change of a statistic that has samples on both sides.
	state := func(label string, c *compare.Change) {
		p.add("%s", changeText(label, c))
		if mark := c.Judgement.Mark(); mark == judge.Bad || mark == judge.Good && f.Judgement != judge.Bad {
			f.Judgement = mark
		}
	}
	change := func(statistic metric.Name) *compare.Change { return s.changes[statistic.With(tag, name).String()] }
	// has says on which sides a statistic has samples.
	has := func(statistic metric.Name) (inBase, inHead bool) {
		text := statistic.With(tag, name).String()
		return s.base[text] != nil, s.head[text] != nil
	}
	inBase, inHead := has(judge.Rejected) // has samples if requests arrived
	if !inBase && !inHead {
		return f, false
	}
	if use := change(utilisationMean); use != nil {
		state("seats in use", use)
	}
	if inBase != inHead {
		p.add("requests only in the %s", sideWith(inBase))
	} else {
		switch inBase, inHead := has(judge.WaitP99); {
		case s.byClient: // a client does not know the waits
			if latency := change(latencyP99); latency != nil {
				state("latency p99", latency)
			}
		case !inBase && !inHead:
			p.add("0 dispatched on both sides")
		case inBase != inHead:
			p.add("0 dispatched in the %s", sideWith(!inBase))
		default:
			state("wait p99", change(judge.WaitP99))
		}
		state("rejected", change(judge.Rejected))
	}
	f.Text = p.text()
	return f, true
}

// sideWith returns the name of a side.
func sideWith(isBase bool) string {
	if isBase {
		return SideNames[0]
	}
	return SideNames[1]
}

// changeText states a change: "wait p99 3 ms → 9 ms (+200 ±83 %)".
func changeText(label string, c *compare.Change) string {
	text := fmt.Sprintf("%s %s → %s", label, compare.ChangeValue(c, c.Base), compare.ChangeValue(c, c.Head))
	switch {
	case c.Outcome == compare.Exact:
		return text + " (equal)"
	case c.Outcome == compare.Same:
		return text + " (no significant change)"
	case c.Outcome == compare.Untested:
		return text + " (significance unknown)"
	}
	figure, margin, interval := compare.ChangeText(c)
	if interval != "" {
		return fmt.Sprintf("%s (%s, from %s)", text, figure, interval)
	}
	return fmt.Sprintf("%s (%s)", text, compare.WithInterval(figure, margin, ""))
}

// flowChanges returns a finding for each direction in which the waits or rejections of flows changed.
func flowChanges(c *compare.Comparison) []Finding {
	var all []Finding
	for _, direction := range []struct {
		subject   string
		statistic metric.Name
		judgement compare.Judgement
	}{
		{"rejected, higher", judge.Rejected, compare.Regression}, {"wait p99, higher", judge.WaitP99, compare.Regression},
		{"rejected, lower", judge.Rejected, compare.Improvement}, {"wait p99, lower", judge.WaitP99, compare.Improvement},
	} {
		var flows []string
		for i := range c.Changes {
			ch := &c.Changes[i]
			if ch.PriorityLevel == "" || ch.Judgement != direction.judgement {
				continue
			}
			id, want := &ch.ID, direction.statistic
			if id.Metric == want.Metric && id.Stat == want.Stat && id.Percentile == want.Percentile && id.Tag("reason") == "" {
				flows = append(flows, id.Tag("flow"))
			}
		}
		if len(flows) > 0 {
			all = append(all, Finding{Group: "Flows, greatest change first", Judgement: direction.judgement.Mark(), Subject: direction.subject,
				Text: "flows " + listed(flows, mostListed)})
		}
	}
	return all
}
