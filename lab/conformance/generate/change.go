package generate

import (
	"fmt"
	"slices"

	"apfsim/core/config"
	"apfsim/lab/conformance/trial"
)

// changes draws the times of up to five changes of the configuration. If levels may lose queues,
// the trial has no watches and so no additional latency, because upstream's queue sets fail on
// this combination (docs/background/fidelity.md).
func (g *generator) changes() {
	o := g.trial.Objects.Objects
	fewer := g.chance(0.5)
	g.noWatches = fewer
	g.queues = map[string]int32{}
	for _, l := range o.PriorityLevels {
		g.queues[l.Name] = queues(l)
	}
	var at []int64
	for range 1 + g.IntN(5) {
		at = append(at, 2+g.Int64N(g.endNs))
	}
	slices.Sort(at)
	for _, ns := range slices.Compact(at) {
		for range 1 + g.IntN(2) {
			o = g.change(o, fewer)
		}
		g.trial.Changes = append(g.trial.Changes, trial.Change{AtNs: ns, Objects: trial.Objects{Objects: o}})
	}
}

// change returns a configuration with one random change of o. If fewer is false, no level loses
// queues.
func (g *generator) change(o config.Objects, fewer bool) config.Objects {
	levels := slices.DeleteFunc(slices.Clone(o.PriorityLevels), func(l *config.PriorityLevel) bool {
		return l.Name == config.Exempt || l.Name == config.CatchAll
	})
	k := g.IntN(g.classes + 1)
	gone := o.PriorityLevel(fmt.Sprintf("level-%d", k)) == nil
	if len(levels) == 0 || gone && g.chance(0.7) || g.chance(0.1) { // add a level, or add it again
		added := config.Objects{PriorityLevels: []*config.PriorityLevel{g.level(k)}, FlowSchemas: []*config.FlowSchema{g.schema(k, fmt.Sprintf("schema-%d", k))}}
		if !g.allows(added.PriorityLevels[0], fewer) {
			return o
		}
		return config.Merge(o, added)
	}
	old := levels[g.IntN(len(levels))]
	if g.chance(0.3) { // remove a level, and either remove its FlowSchemas or leave them dangling
		o = config.Objects{FlowSchemas: slices.Clone(o.FlowSchemas), PriorityLevels: slices.Clone(o.PriorityLevels)}
		o.PriorityLevels = slices.DeleteFunc(o.PriorityLevels, func(l *config.PriorityLevel) bool { return l == old })
		if g.chance(0.5) {
			o.FlowSchemas = slices.DeleteFunc(o.FlowSchemas, func(s *config.FlowSchema) bool {
				return s.Spec.PriorityLevelConfiguration.Name == old.Name
			})
		}
		return o
	}
	limited := *old.Spec.Limited
	changed := &config.PriorityLevel{Name: old.Name, Spec: config.PriorityLevelSpec{Type: old.Spec.Type, Limited: &limited}}
	switch g.IntN(3) {
	case 0:
		limited.NominalConcurrencyShares = ptr(int32(g.between(1, 200)) - 1)
	case 1:
		limited.LendablePercent, limited.BorrowingLimitPercent = ptr(g.percent()), ptr(g.percent())
	default:
		limited.LimitResponse = config.LimitResponse{Type: config.ResponseQueue, Queuing: g.queuing()}
		if g.chance(0.2) {
			limited.LimitResponse = config.LimitResponse{Type: config.ResponseReject}
		}
		if !g.allows(changed, fewer) {
			return o
		}
	}
	return config.Merge(o, config.Objects{PriorityLevels: []*config.PriorityLevel{changed}})
}

// allows reports whether a level may be added or changed as given, and records its number of
// queues. If fewer is false, it must not have fewer queues than before, even if the level was
// removed in between.
func (g *generator) allows(l *config.PriorityLevel, fewer bool) bool {
	if !fewer && queues(l) < g.queues[l.Name] {
		return false
	}
	g.queues[l.Name] = queues(l)
	return true
}

func queues(l *config.PriorityLevel) int32 {
	if q := l.Spec.Queuing(); q != nil {
		return q.Queues
	}
	return 0
}
