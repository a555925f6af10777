package tune

import (
	"fmt"
	"slices"

	"apfsim/core/config"
	"apfsim/reports/result"
	"apfsim/sim/workload"
)

// newLevels gives a workload a level of its own: one that was harmed, or one that causes harm.
func (p *problem) newLevels() {
	for _, w := range slices.Concat(p.harmed, without(p.taking, p.harmed)) {
		for _, r := range p.routes {
			old := p.Objects.FlowSchema(r.schema)
			if r.workload != w || old == nil || !slices.Contains(p.levels, r.level) {
				continue
			}
			if schema := p.schemaOf(w, old, "own-level"); schema != nil {
				p.newLevel(&r, nameOf(w), "Give "+w+" a priority level of its own", result.OwnLevel, schema)
				break
			}
		}
	}
}

// newLevel adds the candidates that direct a FlowSchema to a new level, which differ in its seats. Those who are harmed get as few as
// suffice. Those who harm others get as many as others can spare, and no borrowed ones: with fewer, they would only lose more.
func (p *problem) newLevel(r *route, name, sentence string, remedy result.RemedyID, schema *config.FlowSchema) {
	for p.Objects.PriorityLevel(name) != nil {
		name += "-own"
	}
	own := *schema
	own.Spec.PriorityLevelConfiguration.Name = name
	w, taking := r.workload, !slices.Contains(p.harmed, r.workload)
	family := func(id string, givers []*config.PriorityLevel, giverShares int32) {
		var all []*Candidate
		for v, nominal := range p.leastShares(0, giverShares) {
			shares, none, hand := v, int32(0), int32(6)
			if p.lists(w) { // a list of a level takes no more seats than a hand leaves it
				hand = max(1, min(hand, int32(nominal)/2))
			}
			level := &config.PriorityLevel{Name: name, Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: &config.LimitedSpec{
				NominalConcurrencyShares: &shares, LendablePercent: &none,
				LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 64, HandSize: hand, QueueLengthLimit: 50}},
			}}}
			if taking {
				level.Spec.Limited.BorrowingLimitPercent = &none
			}
			c := &Candidate{
				ID: fmt.Sprintf("%s %d", id, v), Remedy: remedy, Cost: Cost{Class: NewLevel, Moved: p.workload(w).Clients, Steps: len(all) + 1}, moves: w, from: []string{r.level}, value: int(nominal),
				Sentence: fmt.Sprintf("%s with %d shares: %.0f seats.", sentence, v, nominal),
				objects:  config.Objects{FlowSchemas: []*config.FlowSchema{&own}, PriorityLevels: []*config.PriorityLevel{level}},
			}
			for _, giver := range givers {
				left := giver.Spec.Shares() - v
				c.Sentence = fmt.Sprintf("%s with %d of the %d shares of %s: %.0f seats.", sentence, v, giver.Spec.Shares(), giver.Name, nominal)
				c.objects.PriorityLevels = append(c.objects.PriorityLevels, edited(giver, func(s *config.LimitedSpec) { s.NominalConcurrencyShares = &left }))
			}
			all = append(all, c)
		}
		if taking {
			all = p.mostSpared(all)
		}
		p.add(id, !taking && !p.Spec.Servers.Capacity.IsSet(), all)
	}
	id := string(remedy) + " " + w
	family(id, nil, 0)
	if from := p.Objects.PriorityLevel(r.level); p.changeable(from) && p.builtIn.PriorityLevel(r.level) == nil {
		family(id+" from "+from.Name, []*config.PriorityLevel{from}, from.Spec.Shares())
	}
}

// mostSpared returns the candidate of a new level for those who harm others that gives them most seats of those that are safe, and
// those with a half and a quarter of these seats. They cost as much as the first one, so that they follow it.
func (p *problem) mostSpared(all []*Candidate) (kept []*Candidate) {
	most := 0
	for i := len(all) - 1; i >= 0 && len(kept) < 3; i-- {
		if c := all[i]; len(kept) == 0 && p.isSafe(c, p.describe(c)) {
			kept, most = append(kept, c), c.value
		} else if len(kept) > 0 && c.value <= most>>len(kept) {
			kept = append(kept, c)
		}
	}
	for i, c := range kept {
		c.Cost.Steps = i + 1
		p.describe(c)
		c.seatsAtMost = kept[0].Cost.Seats
	}
	return kept
}

// lists says whether a workload lists, as far as that is known.
func (p *problem) lists(w string) bool {
	all := p.requestsOf(w)
	return len(all) == 0 || slices.ContainsFunc(all, func(r *workload.Request) bool { return r.Verb == "list" })
}

// listLevels gives the lists that hold others up a level of their own: those of the workloads that send them.
func (p *problem) listLevels() {
	for _, c := range p.causes {
		if c.Kind != result.ByWideLists {
			continue
		}
		for _, w := range c.Workloads {
			at := slices.IndexFunc(p.routes, func(r route) bool { return r.workload == w && r.level == c.Level })
			all := p.requestsOf(w)
			lists := slices.DeleteFunc(slices.Clone(all), func(r *workload.Request) bool { return r.Verb != "list" || r.Resource == "" })
			if at < 0 || len(lists) == 0 || len(lists) == len(all) || p.hasFamily(string(result.ListLevel)+" "+w) {
				continue // without other requests, a level of its own for the workload is the same
			}
			old := p.Objects.FlowSchema(p.routes[at].schema)
			if old == nil {
				continue
			}
			if schema := p.newSchema(old, nameOf(w)+"-lists", p.subjectsOf(p.workload(w)), w); schema != nil {
				schema.Spec.Rules[0].ResourceRules, schema.Spec.Rules[0].NonResourceRules = rulesFor(lists, p.workload(w))
				p.newLevel(&p.routes[at], nameOf(w)+"-lists", "Give the lists of "+w+" a priority level of their own", result.ListLevel, schema)
			}
		}
	}
}
