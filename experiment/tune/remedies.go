package tune

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"apfsim/core/config"
	"apfsim/core/dealer"
	"apfsim/core/rules"
	"apfsim/reports/advice"
	"apfsim/reports/measure"
	"apfsim/reports/result"
	"apfsim/sim/metric"
	"apfsim/sim/scenario"
	"apfsim/sim/server"
	"apfsim/sim/workload"
)

// problem is what is known of the present configuration when candidates are listed.
type problem struct {
	*scenario.Scenario
	rules   *rules.Rules
	seats   *advice.SeatDivision
	builtIn config.Objects // that servers create and maintain

	summary *result.Summary // of the run that is explained
	routes  []route
	harmed  []string // workloads whose goals did not hold; of goals about all of them, those that were harmed
	taking  []string // workloads that cause it
	causes  []*result.Cause
	levels  []string // limited levels that the harmed workloads use, or that causes or goals name
	allowed []string // kinds

	families []*family
}

// route is where requests of a workload went.
type route struct{ workload, schema, level string }

// critical are levels that keep a cluster alive. Nothing is moved to them, and they lend nothing more: the requests there
// are the heartbeats of nodes, the elections of leaders and the components of the control plane.
var critical = []string{"leader-election", "node-high", "system"}

// newProblem collects what is known from a run of the present configuration in which a goal did not hold.
func newProblem(sc *scenario.Scenario, s *result.Summary, parts []measure.Part, allowed []string) (*problem, error) {
	r, err := sc.Spec.Servers.Rules()
	if err != nil {
		return nil, err
	}
	p := &problem{Scenario: sc, rules: r, summary: s, allowed: allowed}
	p.builtIn = config.Merge(config.Suggested(r), config.Mandatory(r))
	p.seats = divide(p, sc)
	for i := range parts {
		if r := (route{parts[i].Workload, parts[i].Schema, parts[i].Level}); !slices.Contains(p.routes, r) {
			p.routes = append(p.routes, r)
		}
	}
	everyone := false // a goal that did not hold is about no workload, level or FlowSchema
	for i := range s.Thresholds {
		if v := &s.Thresholds[i]; !v.Passed && v.Kind != metric.Expect {
			p.blame(&v.ID)
			everyone = everyone || len(v.ID.Tags) == 0
		}
	}
	v := s.Verdict
	if v == nil {
		return p, nil
	}
	var causes []string
	for i := range v.Harmed {
		h := &v.Harmed[i]
		if everyone {
			addName(&p.harmed, h.Workload)
		}
		if slices.Contains(p.harmed, h.Workload) {
			causes = append(causes, h.Causes...)
		}
	}
	if everyone && len(p.harmed) == 0 { // nobody is harmed by itself: anybody may be meant
		for _, r := range p.routes {
			addName(&p.harmed, r.workload)
		}
	}
	p.addLevelsOf(p.harmed)
	for i := range v.Causes {
		c := &v.Causes[i]
		if !slices.Contains(causes, c.ID) && !slices.Contains(p.levels, c.Level) {
			continue
		}
		p.causes = append(p.causes, c)
		p.addLevel(c.Level)
		for _, w := range c.Workloads {
			addName(&p.taking, w)
		}
	}
	return p, nil
}

// addLevelsOf adds the levels that workloads use.
func (p *problem) addLevelsOf(workloads []string) {
	for _, r := range p.routes {
		if slices.Contains(workloads, r.workload) {
			p.addLevel(r.level)
		}
	}
}

// blame adds what a goal is about that did not hold.
func (p *problem) blame(n *metric.Name) {
	addName(&p.harmed, n.Tag(metric.TagWorkload))
	p.addLevel(n.Tag(metric.TagPriorityLevel))
	for _, r := range p.routes {
		if s := n.Tag(metric.TagFlowSchema); s != "" && r.schema == s {
			p.addLevel(r.level)
		}
	}
}

func addName(all *[]string, name string) {
	if name != "" && !slices.Contains(*all, name) {
		*all = append(*all, name)
	}
}

// addLevel adds a level whose fields can be changed: not one that is mandatory.
func (p *problem) addLevel(name string) {
	if l := p.Objects.PriorityLevel(name); l != nil && p.changeable(l) {
		addName(&p.levels, name)
	}
}

// changeable says whether the fields of a level can be changed.
func (p *problem) changeable(l *config.PriorityLevel) bool {
	return l.Spec.Limited != nil && l.Name != config.Exempt && l.Name != config.CatchAll
}

// Candidates lists all candidates, the cheapest first.
func (p *problem) candidates() []*Candidate {
	p.mergeFlows()
	p.moves()
	p.accountMoves()
	p.partMoves()
	for _, name := range p.levels {
		level := p.Objects.PriorityLevel(name)
		p.lending(level)
		p.queueLength(level)
		p.shares(level)
		p.transfers(level)
		p.hands(level)
	}
	p.newLevels()
	p.listLevels()
	p.serverLimits()
	p.replicas()
	p.pairs()
	var all []*Candidate
	for _, f := range p.families {
		all = append(all, f.all...)
	}
	slices.SortStableFunc(all, func(a, b *Candidate) int { return a.Cost.Compare(b.Cost) })
	return all
}

// add adds a family of candidates, without those whose kind is not allowed and those that take seats from a critical level
// that it needs.
func (p *problem) add(name string, monotone bool, all []*Candidate) {
	f := &family{name: name, monotone: monotone && len(all) > 1}
	if !monotone {
		all = thinned(all)
	}
	for _, c := range all {
		c.kind = kindOf[c.Cost.Class]
		for _, l := range c.objects.PriorityLevels {
			if p.Objects.PriorityLevel(l.Name) != nil && p.builtIn.PriorityLevel(l.Name) != nil {
				c.Cost.Class = Suggested
			}
		}
		if !slices.Contains(p.allowed, c.kind) || !slices.Contains(p.allowed, kindOf[c.Cost.Class]) {
			continue
		}
		if after := p.describe(c); p.starvesCritical(after) {
			continue
		}
		c.family, c.step = f, len(f.all)
		f.all = append(f.all, c)
	}
	if len(f.all) > 0 {
		p.families = append(p.families, f)
	}
}

// mostUnordered is how many values a family has at most of which none says anything about another.
const mostUnordered = 12

// thinned returns those of too many candidates that are 1, 2, 4, … steps from the present value, and the last.
func thinned(all []*Candidate) (kept []*Candidate) {
	if len(all) <= mostUnordered {
		return all
	}
	for at := 1; at < len(all); at *= 2 {
		kept = append(kept, all[at-1])
	}
	return append(kept, all[len(all)-1])
}

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

// moves moves a workload to another level: one that has room for it, or catch-all, where it may be rejected.
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
					ID: "move " + w + " to " + to, Remedy: result.Move, Cost: Cost{Class: OtherLevel, Moved: p.workload(w).Clients}, moves: w,
					Sentence: fmt.Sprintf("Move %s from %s to %s.", w, r.level, to),
					objects:  config.Objects{FlowSchemas: []*config.FlowSchema{s}},
				}})
			}
		}
	}
}

// accountMoves moves all requests of users who send those of several workloads: one FlowSchema without rules about requests.
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
				s := p.newSchema(old, nameOf(strings.Join(together, "-"))+"-to-"+to, p.subjectsOf(p.workload(w)))
				if s == nil || to == config.CatchAll || to == leaderElection || p.hasFamily(id) {
					continue
				}
				s.Spec.PriorityLevelConfiguration.Name = to
				p.add(id, false, []*Candidate{{
					ID: id, Remedy: result.Move, Cost: Cost{Class: OtherLevel, Moved: moved}, moves: w,
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
		if other := &p.Spec.Workload[i]; other.Name == name || !other.Callback && sameUsers(subjects, w, other) {
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
					s := p.newSchema(old, fmt.Sprintf("%s-1-of-%d-to-%s", nameOf(w), part, to), namedUsers(users))
					if s == nil {
						continue
					}
					s.Spec.PriorityLevelConfiguration.Name = to
					id := fmt.Sprintf("move 1/%d of %s to %s", part, w, to)
					p.add(id, false, []*Candidate{{
						ID: id, Remedy: result.Move, Cost: Cost{Class: OtherLevel, Moved: len(users)}, moves: w,
						Sentence: fmt.Sprintf("Move %d of the %d clients of %s from %s to %s.", len(users), clients, w, r.level, to),
						objects:  config.Objects{FlowSchemas: []*config.FlowSchema{s}},
					}})
				}
			}
		}
	}
}

// destinations returns the levels to which a part of the requests of a route can be moved: those that have room for it, and
// last catch-all, where it may be rejected, unless the workload is one that a goal is about. A workload that only renews
// leases may be moved to the level of elections.
func (p *problem) destinations(r *route, part float64) (names []string) {
	rejectable := false
	for _, to := range p.Objects.PriorityLevels {
		switch {
		case to.Name == r.level || to.Spec.Limited == nil:
		case to.Name == config.CatchAll:
			rejectable = !slices.Contains(p.harmed, r.workload)
		case slices.Contains(critical, to.Name) && !(to.Name == leaderElection && leasesOnly(p.workload(r.workload))):
		case p.hasRoom(to.Name, r, part):
			names = append(names, to.Name)
		}
	}
	if rejectable {
		names = append(names, config.CatchAll)
	}
	return names
}

// leaderElection is the suggested level of those who renew leases.
const leaderElection = "leader-election"

// leasesOnly says whether all requests of a workload are about leases.
func leasesOnly(w *workload.Workload) bool {
	all := requestsOf(w)
	return len(all) > 0 && !slices.ContainsFunc(all, func(r *workload.Request) bool {
		return r.Resource != leases || r.Group != leaseGroup || r.Verb == "list" || r.Verb == "watch"
	})
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

// measured returns what was measured of a level in the run that is explained, nil of a level that is not in it.
func (p *problem) measured(level string) *result.Level {
	at := slices.IndexFunc(p.summary.PriorityLevels, func(l result.Level) bool { return l.Name == level })
	if at < 0 {
		return nil
	}
	return &p.summary.PriorityLevels[at]
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

// peak returns the most seats of one server that a level had in use at one time, in the run that is explained.
func (p *problem) peak(level string) (most int) {
	for i := range p.summary.Servers {
		for _, l := range p.summary.Servers[i].Levels {
			if l.Name == level {
				most = max(most, l.PeakSeats)
			}
		}
	}
	if l := p.measured(level); l != nil && len(p.summary.Servers) == 0 {
		return l.PeakSeats
	}
	return most
}

// starvesCritical says whether a critical level would have fewer seats than now, and fewer than it had in use.
func (p *problem) starvesCritical(after *advice.SeatDivision) bool {
	return slices.ContainsFunc(critical, func(name string) bool {
		before, now := seatsOf(p.seats, name), seatsOf(after, name)
		return before != nil && now != nil && now.Nominal < before.Nominal && now.Nominal < p.peak(name)
	})
}

// edited returns a copy of a level with another spec.
func edited(l *config.PriorityLevel, change func(*config.LimitedSpec)) *config.PriorityLevel {
	own := *l
	limited := *l.Spec.Limited
	if q := limited.LimitResponse.Queuing; q != nil {
		queuing := *q
		limited.LimitResponse.Queuing = &queuing
	}
	change(&limited)
	own.Spec.Limited = &limited
	return &own
}

// field adds the candidates that set one field of a level to each of some values.
func (p *problem) field(l *config.PriorityLevel, class Class, remedy result.RemedyID, name string, from any, monotone bool, firstStep int, values []int32, set func(*config.LimitedSpec, int32)) {
	var all []*Candidate
	for i, v := range values {
		own := edited(l, func(s *config.LimitedSpec) { set(s, v) })
		sentence := fmt.Sprintf("Set %s of %s to %d instead of %v", name, l.Name, v, from)
		if class == Shares {
			nominal := seatsOf(divide(p, (&Candidate{objects: config.Objects{PriorityLevels: []*config.PriorityLevel{own}}}).scenarioOf(p.Scenario)), l.Name).Nominal
			sentence += fmt.Sprintf(": %d seats instead of %d", nominal, seatsOf(p.seats, l.Name).Nominal)
		}
		all = append(all, &Candidate{
			ID: fmt.Sprintf("%s of %s %d", name, l.Name, v), Remedy: remedy, Cost: Cost{Class: class, Steps: firstStep + i}, Sentence: sentence + ".", value: int(v),
			objects: config.Objects{PriorityLevels: []*config.PriorityLevel{own}},
		})
	}
	p.add(name+" of "+l.Name, monotone, all)
}

// percents returns the multiples of 10 beyond a value, up to 100 or down to 0.
func percents(from int32, up bool) (all []int32) {
	for v := int32(0); v <= 100; v += 10 {
		if up && v > from || !up && v < from {
			all = append(all, v)
		}
	}
	if !up {
		slices.Reverse(all)
	}
	return all
}

// lending changes what a level may borrow and lends, and what others lend.
func (p *problem) lending(l *config.PriorityLevel) {
	if !p.rules.Lending {
		return
	}
	lent := slices.ContainsFunc(p.Objects.PriorityLevels, func(other *config.PriorityLevel) bool {
		return other.Name != l.Name && other.Spec.LendablePercent() > 0
	})
	percent, bounded := l.Spec.BorrowingLimitPercent()
	if bounded && lent {
		p.field(l, Lending, result.BorrowMore, "borrowingLimitPercent", percent, true, 1, percents(percent, true), func(s *config.LimitedSpec, v int32) { s.BorrowingLimitPercent = &v })
	}
	lendable := func(l *config.PriorityLevel, remedy result.RemedyID, up bool) {
		percent := l.Spec.LendablePercent()
		p.field(l, Lending, remedy, "lendablePercent", percent, true, 1, percents(percent, up), func(s *config.LimitedSpec, v int32) { s.LendablePercent = &v })
	}
	if !slices.Contains(critical, l.Name) {
		lendable(l, result.LendLess, false)
	}
	if bounded && percent == 0 {
		return // what others lend is of no use
	}
	for _, other := range p.Objects.PriorityLevels {
		if other.Name != l.Name && p.changeable(other) && !slices.Contains(critical, other.Name) && !p.hasFamily("lendablePercent of "+other.Name) {
			lendable(other, result.BorrowMore, true)
		}
	}
}

func (p *problem) hasFamily(name string) bool {
	return slices.ContainsFunc(p.families, func(f *family) bool { return f.name == name })
}

// mostLengths is up to how many times as long the queues are made.
const mostLengths = 16

// longestQueue returns how many requests a queue can hold that are dispatched before they time out, after a quarter of the
// request timeout, if the queues of one hand are full: more places turn a full queue into time-outs.
func (p *problem) longestQueue(l *result.Level) int32 {
	waitNs := float64(p.Spec.Servers.RequestTimeout) / 4
	if l.Execution == nil || l.Execution.MeanNs == 0 || l.HandSize == 0 {
		return math.MaxInt32
	}
	places := float64(l.Limits.Nominal) * waitNs / float64(l.Execution.MeanNs) / float64(l.HandSize)
	return int32(min(math.MaxInt32, math.Ceil(places)))
}

// queueLength makes queues longer, if requests were rejected because they were full.
func (p *problem) queueLength(l *config.PriorityLevel) {
	q := l.Spec.Queuing()
	measured := p.measured(l.Name)
	if q == nil || measured == nil || measured.QueueFull == 0 {
		return
	}
	var values []int32
	most := min(q.QueueLengthLimit*mostLengths, p.longestQueue(measured))
	for v := q.QueueLengthLimit + 1; v <= most; v++ {
		values = append(values, v)
	}
	p.field(l, QueueLength, result.MoreQueueLength, "queueLengthLimit", q.QueueLengthLimit, true, 1, values, func(s *config.LimitedSpec, v int32) { s.LimitResponse.Queuing.QueueLengthLimit = v })
}

// mostShares bounds the shares of a level. Beyond it, all others together have hardly a seat.
const mostShares = 10_000

// leastShares yields the shares of a level beyond its present ones, 0 of a new level: of all that give the same nominal seats
// the least, and the seats.
func (p *problem) leastShares(present int32) iter.Seq2[int32, float64] {
	s, others := &p.Spec.Servers, -float64(present)
	for _, l := range p.Objects.PriorityLevels {
		others += float64(l.Spec.Shares())
	}
	nominal := func(shares int32) float64 {
		return math.Ceil(float64(s.MaxRequestsInflight+s.MaxMutatingRequestsInflight) * float64(shares) / (others + float64(shares)))
	}
	return func(yield func(int32, float64) bool) {
		last := 0.0
		if present > 0 {
			last = nominal(present)
		}
		for v := present + 1; v <= mostShares; v++ {
			if n := nominal(v); n != last {
				last = n
				if !yield(v, n) {
					return
				}
			}
		}
	}
}

// shares raises the shares of a level: of all values that give the same seats, the least.
func (p *problem) shares(l *config.PriorityLevel) {
	present := l.Spec.Shares()
	var values []int32
	for v := range p.leastShares(present) {
		values = append(values, v)
	}
	p.field(l, Shares, result.MoreShares, "nominalConcurrencyShares", present, p.Spec.Servers.Capacity == nil, 1, values, func(s *config.LimitedSpec, v int32) { s.NominalConcurrencyShares = &v })
}

// transfers gives a level shares of another one, so that those of all others stay. The other is no critical level, none that is
// to be helped, and none that was full at any time, whose demand is not known; and it keeps the seats that it had in use.
func (p *problem) transfers(l *config.PriorityLevel) {
	sum, present := int32(0), l.Spec.Shares()
	for _, other := range p.Objects.PriorityLevels {
		sum += other.Spec.Shares()
	}
	s := &p.Spec.Servers
	nominal := func(shares int32) int {
		return int(math.Ceil(float64(s.MaxRequestsInflight+s.MaxMutatingRequestsInflight) * float64(shares) / float64(sum)))
	}
	for _, from := range p.Objects.PriorityLevels {
		measured := p.measured(from.Name)
		if from.Name == l.Name || !p.changeable(from) || slices.Contains(critical, from.Name) || slices.Contains(p.levels, from.Name) ||
			measured != nil && measured.Utilisation != nil && measured.Utilisation.Saturated > 0 {
			continue
		}
		var all []*Candidate
		last, had := nominal(present), from.Spec.Shares()
		for d := int32(1); d < had && nominal(had-d) >= p.peak(from.Name); d++ {
			seats, more, less := nominal(present+d), present+d, had-d
			if seats == last {
				continue
			}
			last = seats
			all = append(all, &Candidate{
				ID: fmt.Sprintf("shares of %s from %s %d", l.Name, from.Name, d), Remedy: result.Transfer, Cost: Cost{Class: Shares, Steps: len(all) + 1}, value: int(more),
				Sentence: fmt.Sprintf("Give %s %d of the %d shares of %s: %d seats instead of %d.", l.Name, d, had, from.Name, seats, nominal(present)),
				objects: config.Objects{PriorityLevels: []*config.PriorityLevel{
					edited(l, func(s *config.LimitedSpec) { s.NominalConcurrencyShares = &more }),
					edited(from, func(s *config.LimitedSpec) { s.NominalConcurrencyShares = &less }),
				}},
			})
		}
		p.add("shares of "+l.Name+" from "+from.Name, p.Spec.Servers.Capacity == nil, all)
	}
}

// mostQueues is the greatest number of queues that a level is given.
const mostQueues = 512

// handSteps is how far a hand is changed to both sides. Beyond them, it is halved and doubled.
const handSteps = 4

// hands changes handSize, then queues. All flows are dealt new hands.
func (p *problem) hands(l *config.PriorityLevel) {
	q := l.Spec.Queuing()
	if q == nil {
		return
	}
	fits := func(queues, hand int32) bool {
		return hand >= 1 && hand <= queues && dealer.EntropyBits(int(queues), int(hand)) <= dealer.MaxEntropyBits
	}
	var hands []int32
	addHand := func(h int32) {
		if h != q.HandSize && fits(q.Queues, h) && !slices.Contains(hands, h) && (p.helpsLists(l, h) || p.collideLess(l, q.Queues, h)) {
			hands = append(hands, h)
		}
	}
	for d := int32(1); d <= handSteps; d++ {
		addHand(q.HandSize + d)
		addHand(q.HandSize - d)
	}
	addHand(q.HandSize * 2)
	addHand(q.HandSize / 2)
	for h := q.HandSize + handSteps + 1; fits(q.Queues, h); h++ { // a list takes fewer seats with each of them
		if p.helpsLists(l, h) {
			addHand(h)
		}
	}
	p.field(l, Queues, result.ChangeHandSize, "handSize", q.HandSize, false, 1, hands, func(s *config.LimitedSpec, v int32) { s.LimitResponse.Queuing.HandSize = v })
	var queues []int32
	for v := q.Queues; v <= mostQueues; v *= 2 {
		for _, next := range []int32{v + v/2, v * 2} {
			if next > q.Queues && next <= mostQueues && fits(next, q.HandSize) && !slices.Contains(queues, next) && p.collideLess(l, next, q.HandSize) {
				queues = append(queues, next)
			}
		}
	}
	p.field(l, Queues, result.MoreQueues, "queues", q.Queues, false, 1+len(hands), queues, func(s *config.LimitedSpec, v int32) { s.LimitResponse.Queuing.Queues = v })
}

// collideLess says whether other queues or another hand of a level make it less probable that the flows of those that fill it
// have all queues of another flow.
func (p *problem) collideLess(l *config.PriorityLevel, queues, hand int32) bool {
	q, elephants := l.Spec.Queuing(), p.elephants(l.Name)
	return dealer.CollisionProbabilityFloat(int(queues), int(hand), elephants) < dealer.CollisionProbabilityFloat(int(q.Queues), int(q.HandSize), elephants)
}

// mostElephants bounds the flows for which the probability of a collision is computed. With more it is nearly 1 for all hands
// that servers have.
const mostElephants = 64

// elephants returns how many flows of a level ask for more than their fair share, at least 1.
func (p *problem) elephants(level string) int {
	most := 1
	for _, c := range p.causes {
		if c.Level != level {
			continue
		}
		for _, f := range c.Figures {
			if f.Name == "overDemandingFlows" {
				most = max(most, int(f.Value))
			}
		}
		over := 0
		for _, f := range c.Flows {
			if f.OfFairShare > 1 {
				over++
			}
		}
		most = max(most, over)
	}
	return min(most, mostElephants)
}

// helpsLists says whether requests can be wide at a level, and with another hand take fewer seats there at most.
func (p *problem) helpsLists(l *config.PriorityLevel, hand int32) bool {
	nominal := seatsOf(p.seats, l.Name).Nominal
	return p.isWide(l.Name) && nominal/int(hand) < nominal/int(l.Spec.Queuing().HandSize)
}

// isWide says whether wide lists are a cause of harm at a level, or lists arrive there of objects whose number is known.
func (p *problem) isWide(level string) bool {
	if slices.ContainsFunc(p.causes, func(c *result.Cause) bool { return c.Kind == result.ByWideLists && c.Level == level }) {
		return true
	}
	return (len(p.Spec.Resources) > 0 || p.Spec.Store != nil) && slices.ContainsFunc(p.routes, func(r route) bool {
		return r.level == level && slices.ContainsFunc(requestsOf(p.workload(r.workload)), func(q *workload.Request) bool { return q.Verb == "list" })
	})
}

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
	p.add(id, p.Spec.Servers.Capacity == nil, all)
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

// mostLimit is how many times as many seats a server is given at most.
const mostLimit = 4

// serverLimits raises max-requests-inflight. With a capacity, more seats can make a server slower, so that a limit says
// nothing of a lower one.
func (p *problem) serverLimits() {
	s := &p.Spec.Servers
	present, step := s.MaxRequestsInflight, 1
	if s.Capacity != nil {
		step = max(1, present/10)
	}
	var all []*Candidate
	for v := present + step; v <= present*mostLimit; v += step {
		all = append(all, &Candidate{
			ID: fmt.Sprintf("max-requests-inflight %d", v), Remedy: result.RaiseInFlightLimit, Cost: Cost{Class: ServerLimits, Steps: len(all) + 1},
			Sentence: fmt.Sprintf("Start the servers with --max-requests-inflight=%d instead of %d.", v, present), requests: v, value: v,
		})
	}
	p.add("max-requests-inflight", s.Capacity == nil, all)
}

// replicas adds servers, each with as many seats as the others. They come after all limits, as a server more costs more than
// another value of a flag.
//
// There is no candidate for max-mutating-requests-inflight: with API Priority and Fairness only the sum of both limits
// counts, and max-requests-inflight raises it. One for the other flag would be the same servers again.
func (p *problem) replicas() {
	s := &p.Spec.Servers
	if len(s.MaintenancePhases) > 0 || len(s.KubernetesVersion) > 1 {
		return // the scenario says something of each server, and nothing of more
	}
	var all []*Candidate
	for v := s.Replicas + 1; v <= min(s.Replicas*mostLimit, server.MostReplicas); v++ {
		all = append(all, &Candidate{
			ID: fmt.Sprintf("replicas %d", v), Remedy: result.MoreReplicas, Cost: Cost{Class: ServerLimits, Steps: len(all) + 1},
			Sentence: fmt.Sprintf("Run %d servers instead of %d.", v, s.Replicas), servers: v, value: v,
		})
	}
	// With a store, the watch caches of more servers read more from etcd.
	p.add("replicas", p.Spec.Store == nil, all)
}

func (p *problem) workload(name string) *workload.Workload {
	at := slices.IndexFunc(p.Spec.Workload, func(w workload.Workload) bool { return w.Name == name })
	return &p.Spec.Workload[at]
}

// without returns the names of all that are not in others.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(others, name) })
}

// mostSubjects is how many users a FlowSchema names one by one.
const mostSubjects = 100

// schemaOf returns a FlowSchema for the requests of a workload that match old now: old itself, changed, if it is for no
// other workload and servers do not maintain it, otherwise a new one just before it. It is nil if no FlowSchema can tell
// the workload from others.
func (p *problem) schemaOf(w string, old *config.FlowSchema, purpose string) *config.FlowSchema {
	shared := slices.ContainsFunc(p.routes, func(r route) bool { return r.schema == old.Name && r.workload != w })
	if !shared && p.builtIn.FlowSchema(old.Name) == nil {
		if slices.ContainsFunc(old.Spec.Rules, func(r config.PolicyRulesWithSubjects) bool { return slices.ContainsFunc(r.Subjects, isMasters) }) {
			return nil
		}
		own := *old
		return &own
	}
	s := p.newSchema(old, nameOf(w)+"-"+purpose, p.subjectsOf(p.workload(w)))
	if s == nil || !p.narrow(s, p.workload(w)) {
		return nil
	}
	return s
}

// narrow restricts a FlowSchema for the users of a workload to its requests if other workloads are of the same users: it would
// catch theirs, too. It returns false if the requests cannot be told apart.
func (p *problem) narrow(s *config.FlowSchema, w *workload.Workload) bool {
	rule := &s.Spec.Rules[0]
	narrowed := false
	for i := range p.Spec.Workload {
		other := &p.Spec.Workload[i]
		if other.Name == w.Name || other.Callback || !sameUsers(rule.Subjects, w, other) {
			continue
		}
		own, others := requestsOf(w), requestsOf(other)
		if len(own) == 0 || len(others) == 0 || slices.ContainsFunc(others, func(o *workload.Request) bool {
			return slices.ContainsFunc(own, func(r *workload.Request) bool { return alike(r, o) })
		}) {
			return false
		}
		narrowed = true
	}
	if narrowed {
		rule.ResourceRules, rule.NonResourceRules = rulesOf(w)
	}
	return true
}

// sameUsers says whether the subjects for the clients of a workload match clients of another one.
func sameUsers(subjects []config.Subject, w, other *workload.Workload) bool {
	if w.As.User == other.As.User && w.As.ServiceAccount == other.As.ServiceAccount && w.As.Node == other.As.Node {
		return true
	}
	user, groups := other.As.For(0)
	return slices.ContainsFunc(subjects, func(s config.Subject) bool {
		name := nameOfSubject(&s)
		return name == user || slices.Contains(groups, name)
	})
}

// requestsOf returns what a workload asks for; none if that is not known.
func requestsOf(w *workload.Workload) (all []*workload.Request) {
	if w.Behaviour != nil && w.Behaviour.LeaderElection != nil {
		for _, verb := range []string{"get", "create", "update"} {
			all = append(all, &workload.Request{Verb: verb, Group: leaseGroup, Resource: leases})
		}
	}
	for i := range w.Requests {
		all = append(all, &w.Requests[i].Request)
	}
	return all
}

// Leases, by which candidates elect a leader.
const (
	leaseGroup = "coordination.k8s.io"
	leases     = "leases"
)

// alike says whether a rule for one request matches another one.
func alike(a, b *workload.Request) bool {
	return a.Verb == b.Verb && a.Group == b.Group && a.Resource == b.Resource && a.Subresource == b.Subresource && a.Path == b.Path
}

// rulesOf returns the rules of a FlowSchema that match the requests of a workload.
func rulesOf(w *workload.Workload) (resources []config.ResourceRule, others []config.NonResourceRule) {
	var seen []*workload.Request
	for _, r := range requestsOf(w) {
		if slices.ContainsFunc(seen, func(other *workload.Request) bool { return alike(r, other) }) {
			continue
		}
		seen = append(seen, r)
		if r.Resource == "" {
			others = append(others, config.NonResourceRule{Verbs: []string{r.Verb}, NonResourceURLs: []string{r.Path}})
			continue
		}
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		resources = append(resources, config.ResourceRule{Verbs: []string{r.Verb}, APIGroups: []string{r.Group}, Resources: []string{resource},
			ClusterScope: true, Namespaces: []string{config.Wildcard}})
	}
	return resources, others
}

// newSchema returns a FlowSchema just before old that matches all requests of some subjects. It is nil without subjects, if
// there is no room before old, and for those who are exempt.
func (p *problem) newSchema(old *config.FlowSchema, name string, subjects []config.Subject) *config.FlowSchema {
	if len(subjects) == 0 || old.Spec.MatchingPrecedence < 2 || old.Name == config.Exempt || slices.ContainsFunc(subjects, isMasters) {
		return nil
	}
	for p.Objects.FlowSchema(name) != nil {
		name += "-1"
	}
	all := []string{config.Wildcard}
	return &config.FlowSchema{Name: name, Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: old.Spec.PriorityLevelConfiguration, MatchingPrecedence: old.Spec.MatchingPrecedence - 1,
		DistinguisherMethod: old.Spec.DistinguisherMethod,
		Rules: []config.PolicyRulesWithSubjects{{
			Subjects:         subjects,
			ResourceRules:    []config.ResourceRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
			NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
		}},
	}}
}

// isMasters says whether a subject is the group of those for whom there is no flow control.
func isMasters(s config.Subject) bool {
	return s.Group != nil && s.Group.Name == "system:masters"
}

// subjectsOf returns subjects that match the clients of a workload and no others; nil if there are none.
func (p *problem) subjectsOf(w *workload.Workload) []config.Subject {
	if w.As.Anonymous || slices.Contains(w.As.Groups, "system:masters") {
		return nil
	}
	if namespace, name, ok := strings.Cut(w.As.ServiceAccount, "/"); ok && strings.Contains(name, "{i}") && !strings.Contains(namespace, "{i}") {
		// The namespace has more than the scenario's clients in a real cluster: the components of its control plane.
		alone := namespace != "kube-system" && !slices.ContainsFunc(p.Spec.Workload, func(other workload.Workload) bool {
			return other.Name != w.Name && strings.HasPrefix(other.As.ServiceAccount, namespace+"/")
		})
		if alone {
			return []config.Subject{{Kind: config.SubjectServiceAccount, ServiceAccount: &config.ServiceAccountSubject{Namespace: namespace, Name: config.Wildcard}}}
		}
	}
	return namedUsers(p.users(w, w.Clients))
}

// users returns the names of the first clients of a workload; nil if one has none, or if they are too many.
func (p *problem) users(w *workload.Workload, clients int) (users []string) {
	if w.As.Anonymous || slices.Contains(w.As.Groups, "system:masters") {
		return nil
	}
	if !named(w) {
		clients = min(clients, 1)
	}
	if clients > mostSubjects {
		return nil
	}
	for i := range clients {
		user, _ := w.As.For(i)
		if user == "" {
			return nil
		}
		addName(&users, user)
	}
	return users
}

// named says whether each client of a workload has a name of its own.
func named(w *workload.Workload) bool {
	return strings.Contains(w.As.User+w.As.ServiceAccount+w.As.Node, "{i}")
}

// namedUsers returns a subject for each user.
func namedUsers(users []string) (all []config.Subject) {
	for _, user := range users {
		all = append(all, config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: user}})
	}
	return all
}

// ofClients are the remedies that change clients. They are not searched: another team has to make them, and a scenario says how
// its clients are.
var ofClients = []result.RemedyID{result.LimitClient, result.ListInPages, result.WatchInstead}

// clientNotes returns what the clients can do against the causes, which the documentation of Kubernetes names first.
func (p *problem) clientNotes() (notes []string) {
	if p.summary.Verdict == nil {
		return nil
	}
	for _, r := range p.summary.Verdict.Try {
		ours := slices.ContainsFunc(p.causes, func(c *result.Cause) bool { return slices.Contains(r.Causes, c.ID) })
		if ours && slices.Contains(ofClients, r.Remedy) {
			addName(&notes, r.Sentence)
		}
	}
	return notes
}
