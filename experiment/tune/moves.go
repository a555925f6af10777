package tune

import (
	"fmt"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/reports/result"
)

// mergeFlows makes the flows of a workload one flow: it then has one hand and one fair share, and no more places in the
// queues than these have. Where users are told apart and have fewer namespaces than they are, a flow for each namespace is
// another candidate.
func (p *problem) mergeFlows() {
	for _, w := range p.taking {
		for _, r := range p.routes {
			old := p.Objects.FlowSchema(r.schema)
			if r.workload != w || old == nil || old.Spec.DistinguisherMethod == nil || !slices.Contains(p.levels, r.level) || p.workload(w).Clients < 2 {
				continue
			}
			p.mergeTo(w, &r, old, "one-flow", nil, "merge-flows "+w, fmt.Sprintf("Make all requests of %s one flow of %s.", w, r.level))
			if old.Spec.DistinguisherMethod.Type == config.ByUser && p.namespaces(w) < p.workload(w).Clients {
				p.mergeTo(w, &r, old, "flow-by-namespace", &config.DistinguisherMethod{Type: config.ByNamespace}, "merge-flows "+w+" by namespace",
					fmt.Sprintf("Make the requests of %s in each namespace one flow of %s.", w, r.level))
			}
		}
	}
}

// mergeTo adds the candidate that gives the requests of a workload another distinguisher.
func (p *problem) mergeTo(w string, r *route, old *config.FlowSchema, purpose string, method *config.DistinguisherMethod, id, sentence string) {
	s := p.schemaOf(w, old, purpose)
	if s == nil {
		return
	}
	s.Spec.DistinguisherMethod = method
	p.add(id, false, []*Candidate{{
		ID: id, Remedy: result.MergeFlows, Cost: Cost{Class: SameLevel}, moves: w, Sentence: sentence,
		objects: config.Objects{FlowSchemas: []*config.FlowSchema{s}},
	}})
}

// namespaces returns how many namespaces the requests of a workload are in, as many as there are clients if that is not known.
func (p *problem) namespaces(name string) int {
	w := p.workload(name)
	if len(w.Requests) == 0 {
		return w.Clients
	}
	var all []string
	for i := range w.Requests {
		namespace := w.Requests[i].Namespace
		if strings.Contains(namespace, "{i}") {
			return w.Clients
		}
		if !slices.Contains(all, namespace) {
			all = append(all, namespace)
		}
	}
	return len(all)
}

// moves moves a workload to another level that has room for it.
func (p *problem) moves() {
	for _, w := range slices.Concat(p.taking, without(p.harmed, p.taking)) {
		for _, r := range p.routes {
			old := p.Objects.FlowSchema(r.schema)
			if r.workload != w || old == nil || !slices.Contains(p.levels, r.level) {
				continue
			}
			for _, to := range p.destinations(&r, 1) {
				s := p.schemaOf(w, old, "to-"+to)
				if s == nil {
					continue
				}
				s.Spec.PriorityLevelConfiguration.Name = to
				p.add("move "+w+" to "+to, false, []*Candidate{{
					ID: "move " + w + " to " + to, Remedy: result.Move, Cost: Cost{Class: OtherLevel, Moved: p.workload(w).Clients}, moves: w, from: []string{r.level},
					Sentence: fmt.Sprintf("Move %s from %s to %s.", w, r.level, to),
					objects:  config.Objects{FlowSchemas: []*config.FlowSchema{s}},
				}})
			}
		}
	}
}

// accountMoves moves all requests of users who send those of several workloads: one FlowSchema.
func (p *problem) accountMoves() {
	for _, w := range slices.Concat(p.taking, without(p.harmed, p.taking)) {
		together := p.ofSameUsers(w)
		if len(together) < 2 {
			continue
		}
		moved := 0
		for _, name := range together {
			moved += p.workload(name).Clients
		}
		who := strings.Join(together, " and ")
		for _, r := range p.routes {
			old := p.Objects.FlowSchema(r.schema)
			if r.workload != w || old == nil || !slices.Contains(p.levels, r.level) {
				continue
			}
			for _, to := range p.destinations(&r, 1) {
				id := "move " + who + " to " + to
				s := p.newSchema(old, nameOf(strings.Join(together, "-"))+"-to-"+to, p.subjectsOf(p.workload(w)), together...)
				if s == nil || p.hasFamily(id) {
					continue
				}
				s.Spec.PriorityLevelConfiguration.Name = to
				p.add(id, false, []*Candidate{{
					ID: id, Remedy: result.Move, Cost: Cost{Class: OtherLevel, Moved: moved}, moves: w, from: []string{r.level},
					Sentence: fmt.Sprintf("Move %s, which are of the same users, from %s to %s.", who, r.level, to),
					objects:  config.Objects{FlowSchemas: []*config.FlowSchema{s}},
				}})
			}
		}
	}
}

// ofSameUsers returns the workloads of the users of a workload, which is one of them.
func (p *problem) ofSameUsers(name string) (all []string) {
	w := p.workload(name)
	subjects := p.subjectsOf(w)
	for i := range p.Spec.Workload {
		if other := &p.Spec.Workload[i]; other.Name == name || !other.Added && sameUsers(subjects, w, other) {
			all = append(all, other.Name)
		}
	}
	return all
}

// movedParts are the parts of a workload that are moved alone, as numbers that divide its clients.
var movedParts = []int{2, 4}

// partMoves moves a part of the clients of a workload that takes seats, the first ones, which a FlowSchema names. That one
// part is not enough says nothing of a smaller one: it may be too much for the level to which it is moved.
func (p *problem) partMoves() {
	for _, w := range p.taking {
		clients := p.workload(w).Clients
		if !named(p.workload(w)) {
			continue
		}
		for _, r := range p.routes {
			old := p.Objects.FlowSchema(r.schema)
			if r.workload != w || old == nil || !slices.Contains(p.levels, r.level) {
				continue
			}
			for _, part := range movedParts {
				users := p.users(p.workload(w), clients/part)
				if len(users) == 0 {
					continue
				}
				for _, to := range p.destinations(&r, float64(len(users))/float64(clients)) {
					s := p.newSchema(old, fmt.Sprintf("%s-1-of-%d-to-%s", nameOf(w), part, to), namedUsers(users), w)
					if s == nil {
						continue
					}
					s.Spec.PriorityLevelConfiguration.Name = to
					id := fmt.Sprintf("move 1/%d of %s to %s", part, w, to)
					p.add(id, false, []*Candidate{{
						ID: id, Remedy: result.Move, Cost: Cost{Class: OtherLevel, Moved: len(users)}, moves: w, from: []string{r.level},
						Sentence: fmt.Sprintf("Move %d of the %d clients of %s from %s to %s.", len(users), clients, w, r.level, to),
						objects:  config.Objects{FlowSchemas: []*config.FlowSchema{s}},
					}})
				}
			}
		}
	}
}

// destinations returns the levels to which a part of the requests of a route can be moved: those that have room for it. To catch-all
// they are moved, where that is allowed, to be rejected there.
func (p *problem) destinations(r *route, part float64) (names []string) {
	for _, to := range p.Objects.PriorityLevels {
		switch {
		case to.Name == r.level || !p.mayReceive(to):
		case to.Name == config.CatchAll && slices.Contains(p.harmed, r.workload):
		case to.Spec.Limited == nil || to.Name == config.CatchAll || p.hasRoom(to.Name, r, part):
			names = append(names, to.Name)
		}
	}
	return names
}

// hasRoom says whether a level has, on average, as many free seats as a part of the requests of a route occupies at the level
// where they are.
func (p *problem) hasRoom(to string, r *route, part float64) bool {
	used, _ := p.used(to)
	return float64(seatsOf(p.seats, to).Nominal)-used >= part*p.needed(r)
}

// used returns the seats of one server that the requests of a level occupied on average, and how many arrived.
func (p *problem) used(level string) (seats float64, arrived int64) {
	seconds := float64(p.summary.DurationNs-p.summary.WarmupNs) / 1e9 * float64(p.Spec.Servers.Replicas)
	if l := p.measured(level); l != nil {
		return l.ServiceSeatSeconds / seconds, l.Arrived
	}
	return 0, 0
}

// needed returns the seats of one server that the requests of a route occupied on average. What one of several workloads of
// a level occupies is not known alone: its part of the requests is taken.
func (p *problem) needed(r *route) float64 {
	seats, all := p.used(r.level)
	for i := range p.summary.Workloads {
		if w := &p.summary.Workloads[i]; w.Name == r.workload && all > 0 {
			seats *= float64(w.Arrived) / float64(all)
		}
	}
	return seats
}
