package tune

import (
	"fmt"
	"slices"
	"strings"

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
				p.newLevel(w, nameOf(w), "Give "+w+" a priority level of its own", result.OwnLevel, schema)
				break
			}
		}
	}
}

// newLevel adds the candidates that direct a FlowSchema to a new level, which differ in its seats.
func (p *problem) newLevel(w, name, sentence string, remedy result.RemedyID, schema *config.FlowSchema) {
	for p.Objects.PriorityLevel(name) != nil {
		name += "-own"
	}
	schema.Spec.PriorityLevelConfiguration.Name = name
	id := string(remedy) + " " + w
	var all []*Candidate
	for v, nominal := range p.leastShares(0) {
		shares, none := v, int32(0)
		level := &config.PriorityLevel{Name: name, Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: &config.LimitedSpec{
			NominalConcurrencyShares: &shares, LendablePercent: &none,
			LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 64, HandSize: 6, QueueLengthLimit: 50}},
		}}}
		all = append(all, &Candidate{
			ID: fmt.Sprintf("%s %d", id, v), Remedy: remedy, Cost: Cost{Class: NewLevel, Moved: p.workload(w).Clients, Steps: len(all) + 1}, moves: w, value: int(nominal),
			Sentence: fmt.Sprintf("%s with %d shares: %.0f seats.", sentence, v, nominal),
			objects:  config.Objects{FlowSchemas: []*config.FlowSchema{schema}, PriorityLevels: []*config.PriorityLevel{level}},
		})
	}
	p.add(id, !p.Spec.Servers.Capacity.Given(), all)
}

// listLevels gives the lists that hold others up a level of their own: those of the workloads that send them, or, if their
// users cannot be named, all lists of the same resources that their FlowSchema matches now.
func (p *problem) listLevels() {
	for _, c := range p.causes {
		if c.Kind != result.ByWideLists {
			continue
		}
		for _, w := range c.Workloads {
			at := slices.IndexFunc(p.routes, func(r route) bool { return r.workload == w && r.level == c.Level })
			rules, only := listRules(p.workload(w))
			if at < 0 || len(rules) == 0 || p.hasFamily(string(result.ListLevel)+" "+w) {
				continue
			}
			old := p.Objects.FlowSchema(p.routes[at].schema)
			subjects := p.subjectsOf(p.workload(w))
			if old == nil || subjects != nil && only {
				continue // a level of its own for the workload is the same
			}
			if subjects == nil {
				for i := range old.Spec.Rules {
					subjects = append(subjects, old.Spec.Rules[i].Subjects...)
				}
			}
			if schema := p.newSchema(old, nameOf(w)+"-lists", subjects); schema != nil {
				schema.Spec.Rules[0].ResourceRules, schema.Spec.Rules[0].NonResourceRules = rules, nil
				p.newLevel(w, nameOf(w)+"-lists", "Give the lists of "+w+" a priority level of their own", result.ListLevel, schema)
			}
		}
	}
}

// listRules returns rules that match the lists of a workload and no other requests of it, and whether it sends only lists.
func listRules(w *workload.Workload) (rules []config.ResourceRule, only bool) {
	only = w.Behaviour == nil || w.Behaviour.Lister != nil
	add := func(group, resource string) {
		at := slices.IndexFunc(rules, func(r config.ResourceRule) bool { return r.APIGroups[0] == group })
		if at < 0 {
			at = len(rules)
			rules = append(rules, config.ResourceRule{Verbs: []string{"list"}, APIGroups: []string{group}, ClusterScope: true, Namespaces: []string{config.Wildcard}})
		}
		addName(&rules[at].Resources, resource)
	}
	for i := range w.Requests {
		if r := &w.Requests[i]; r.Verb == "list" && r.Resource != "" {
			add(r.Group, strings.TrimSuffix(r.Resource+"/"+r.Subresource, "/"))
		} else {
			only = false
		}
	}
	if b := w.Behaviour; b != nil && b.Lister != nil {
		add(b.Lister.Group, b.Lister.Resource)
	} else if b != nil && b.Informer != nil {
		add(b.Informer.Group, b.Informer.Resource)
	}
	return rules, only
}
