package tune

import (
	"slices"

	"apfsim/core/config"
	"apfsim/lint"
	"apfsim/lint/identity"
	"apfsim/reports/advice"
)

// What a candidate must not do, whatever it is good for. The generator emits no candidate that breaks one of these rules: see
// add and combine.

// mayReceive says whether requests may be moved to a level. Those that servers create are for the components of a cluster, and for
// clients that no scenario has all of; one that rejects instead of queueing is no place for requests; and one at which nothing
// arrived is not known to be free, because its clients may only be missing in the scenario or in the log.
func (p *problem) mayReceive(l *config.PriorityLevel) bool {
	if slices.Contains(p.allowedLevels, l.Name) {
		return true
	}
	return l.Spec.Queuing() != nil && p.builtIn.PriorityLevel(l.Name) == nil && p.isKnown(l.Name)
}

// isKnown says whether requests arrived at a level, so that its demand is known.
func (p *problem) isKnown(level string) bool {
	_, arrived := p.used(level)
	return arrived > 0
}

// leastKept is the part of its seats that a level keeps that a change does not name.
const leastKept = 0.9

// sparesOthers says whether no level pays for a candidate: see sparesLevel.
func (p *problem) sparesOthers(c *Candidate, after *advice.SeatDivision) bool {
	for i := range p.seats.Levels {
		if l := &p.seats.Levels[i]; l.Response != config.TypeExempt && !p.sparesLevel(l, seatsOf(after, l.Name), c) {
			return false
		}
	}
	return true
}

// sparesLevel says whether a level keeps what it is due with a candidate: nine tenths of its nominal and of its lower limit, and the
// seats that it needs. A level that the candidate names, and that servers do not maintain, is changed on purpose.
func (p *problem) sparesLevel(before, after *advice.LevelSeats, c *Candidate) bool {
	if after == nil || c.objects.PriorityLevel(before.Name) != nil && p.builtIn.PriorityLevel(before.Name) == nil {
		return after != nil
	}
	if after.Nominal < before.Nominal && after.Nominal < p.needs(before) && !slices.Contains(c.from, before.Name) {
		return false
	}
	keeps := func(now, then int) bool { return float64(now) >= leastKept*float64(then) }
	return keeps(after.Nominal, before.Nominal) && keeps(after.Lower, before.Lower)
}

// needs returns how many of its seats a level needs: the most that it had in use at one time, or, where nothing arrived, all of
// them. A suggested level at which nothing arrived, and one whose clients have goals of their own, which say what they need, keep
// the part of sparesLevel.
func (p *problem) needs(l *advice.LevelSeats) int {
	switch {
	case p.hasGoals(l.Name):
		return 0
	case p.isKnown(l.Name):
		return min(l.Nominal, p.peak(l.Name))
	case p.builtIn.PriorityLevel(l.Name) != nil:
		return 0
	}
	return l.Nominal
}

// hasGoals says whether each workload of a level has a goal of its own.
func (p *problem) hasGoals(level string) bool {
	any := false
	for _, r := range p.routes {
		if r.level == level {
			any = true
			if !slices.Contains(p.withGoals, r.workload) {
				return false
			}
		}
	}
	return any
}

// lintsAlike says whether package lint finds nothing in the configuration with a candidate that it does not find now.
func (p *problem) lintsAlike(c *Candidate) bool {
	for _, f := range p.lint(c.scenarioOf(p.Scenario).Objects, p.annotated(c.objects)) {
		if f.Rule == "catch-all-used" && slices.Contains(p.allowedLevels, config.CatchAll) {
			continue // that is what was allowed
		}
		if f.Severity > lint.Note && !p.found[findingKey{f.Rule, f.Kind, f.Name}] {
			return false
		}
	}
	return true
}

// findingKey says what a finding is about.
type findingKey struct{ rule, kind, name string }

// lint returns the findings in a configuration. Changed are objects of it as the change has them.
func (p *problem) lint(all, changed config.Objects) []lint.Finding {
	s := &p.Spec.Servers
	return lint.Check(lint.Input{Objects: config.Merge(all, changed), ServerLimit: s.MaxRequestsInflight + s.MaxMutatingRequestsInflight, Rules: p.rules})
}

// annotated returns objects with the annotation that a change gives to those that servers maintain.
func (p *problem) annotated(o config.Objects) (all config.Objects) {
	for _, l := range o.PriorityLevels {
		own := *l
		own.Origin = &config.Origin{APIVersion: config.ServedVersions(p.rules)[0]}
		if p.builtIn.PriorityLevel(l.Name) != nil {
			own.Origin.Annotations = map[string]string{config.AutoupdateAnnotation: "false"}
		}
		all.PriorityLevels = append(all.PriorityLevels, &own)
	}
	return all
}

// leavesControlPlane says whether the FlowSchemas of a candidate leave all requests of the components of a cluster at their levels.
func (p *problem) leavesControlPlane(c *Candidate) bool {
	for _, s := range c.objects.FlowSchemas {
		leaves, known := p.leaves[s]
		if !known {
			after := config.Merge(p.Objects, config.Objects{FlowSchemas: []*config.FlowSchema{s}, PriorityLevels: c.objects.PriorityLevels})
			leaves = !slices.ContainsFunc(identity.Changes(p.rules, p.Objects, after), func(ch identity.Change) bool { return ch.Identity.ControlPlane })
			p.leaves[s] = leaves
		}
		if !leaves {
			return false
		}
	}
	return true
}

// isSafe says whether a candidate keeps all rules. After is how it divides the seats.
func (p *problem) isSafe(c *Candidate, after *advice.SeatDivision) bool {
	return p.sparesOthers(c, after) && p.leavesControlPlane(c) && p.lintsAlike(c)
}
