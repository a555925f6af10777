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
	p.addLevelsOf(p.harmed)
	for i := range v.Causes {
		c := &v.Causes[i]
		if !slices.Contains(causes, c.ID) && !slices.Contains(p.levels, c.Level) {
			continue
		}
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
	for _, name := range p.levels {
		level := p.Objects.PriorityLevel(name)
		p.lending(level)
		p.queueLength(level)
		p.shares(level)
		p.hands(level)
	}
	p.newLevels()
	p.serverLimits()
	var all []*Candidate
	for _, f := range p.families {
		all = append(all, f.all...)
	}
	slices.SortStableFunc(all, func(a, b *Candidate) int { return a.Cost.Compare(b.Cost) })
	return all
}

// add adds a family of candidates, unless their kind is not allowed.
func (p *problem) add(name string, monotone bool, all []*Candidate) {
	f := &family{name: name, monotone: monotone && len(all) > 1}
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
		p.describe(c)
		c.family, c.step = f, len(f.all)
		f.all = append(f.all, c)
	}
	if len(f.all) > 0 {
		p.families = append(p.families, f)
	}
}

// mergeFlows makes the flows of a workload one flow: it then has one hand and one fair share, and no more places in the
// queues than these have.
func (p *problem) mergeFlows() {
	for _, w := range p.taking {
		for _, r := range p.routes {
			old := p.Objects.FlowSchema(r.schema)
			if r.workload != w || old == nil || old.Spec.DistinguisherMethod == nil || !slices.Contains(p.levels, r.level) || p.workload(w).Clients < 2 {
				continue
			}
			s := p.schemaOf(w, old, "one-flow")
			if s == nil {
				continue
			}
			s.Spec.DistinguisherMethod = nil
			p.add("merge-flows "+w, false, []*Candidate{{
				ID: "merge-flows " + w, Remedy: result.MergeFlows, Cost: Cost{Class: SameLevel}, moves: w,
				Sentence: fmt.Sprintf("Make all requests of %s one flow of %s.", w, r.level),
				objects:  config.Objects{FlowSchemas: []*config.FlowSchema{s}},
			}})
		}
	}
}

// moves moves a workload to another level: one that has room for it, or catch-all, where it may be rejected.
func (p *problem) moves() {
	for _, w := range slices.Concat(p.taking, without(p.harmed, p.taking)) {
		for _, r := range p.routes {
			old := p.Objects.FlowSchema(r.schema)
			if r.workload != w || old == nil || !slices.Contains(p.levels, r.level) {
				continue
			}
			for _, to := range p.Objects.PriorityLevels {
				if to.Name == r.level || to.Spec.Limited == nil || slices.Contains(critical, to.Name) || to.Name != config.CatchAll && !p.hasRoom(to.Name, r) {
					continue
				}
				s := p.schemaOf(w, old, "to-"+to.Name)
				if s == nil {
					continue
				}
				s.Spec.PriorityLevelConfiguration.Name = to.Name
				p.add("move "+w+" to "+to.Name, false, []*Candidate{{
					ID: "move " + w + " to " + to.Name, Remedy: result.Move, Cost: Cost{Class: OtherLevel, Moved: p.workload(w).Clients}, moves: w,
					Sentence: fmt.Sprintf("Move %s from %s to %s.", w, r.level, to.Name),
					objects:  config.Objects{FlowSchemas: []*config.FlowSchema{s}},
				}})
			}
		}
	}
}

// hasRoom says whether a level has, on average, as many free seats as the requests of a route occupy at the level where
// they are. What the workload of a level with several of them occupies is not known alone: its part of the requests is taken.
func (p *problem) hasRoom(to string, r route) bool {
	seconds := float64(p.summary.DurationNs-p.summary.WarmupNs) / 1e9 * float64(p.Spec.Servers.Replicas)
	use := func(level string) (seats float64, arrived int64) {
		for i := range p.summary.PriorityLevels {
			if l := &p.summary.PriorityLevels[i]; l.Name == level {
				return l.ServiceSeatSeconds / seconds, l.Arrived
			}
		}
		return 0, 0
	}
	used, _ := use(to)
	needed, all := use(r.level)
	for i := range p.summary.Workloads {
		if w := &p.summary.Workloads[i]; w.Name == r.workload && all > 0 {
			needed *= float64(w.Arrived) / float64(all)
		}
	}
	return float64(seatsOf(p.seats, to).Nominal)-used >= needed
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
			ID: fmt.Sprintf("%s of %s %d", name, l.Name, v), Remedy: remedy, Cost: Cost{Class: class, Steps: firstStep + i}, Sentence: sentence + ".",
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
	at := slices.IndexFunc(p.summary.PriorityLevels, func(s result.Level) bool { return s.Name == l.Name })
	if q == nil || at < 0 || p.summary.PriorityLevels[at].QueueFull == 0 {
		return
	}
	var values []int32
	most := min(q.QueueLengthLimit*mostLengths, p.longestQueue(&p.summary.PriorityLevels[at]))
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
		if h != q.HandSize && fits(q.Queues, h) && !slices.Contains(hands, h) {
			hands = append(hands, h)
		}
	}
	for d := int32(1); d <= handSteps; d++ {
		addHand(q.HandSize + d)
		addHand(q.HandSize - d)
	}
	addHand(q.HandSize * 2)
	addHand(q.HandSize / 2)
	p.field(l, Queues, result.ChangeHandSize, "handSize", q.HandSize, false, 1, hands, func(s *config.LimitedSpec, v int32) { s.LimitResponse.Queuing.HandSize = v })
	var queues []int32
	for v := q.Queues; v <= mostQueues; v *= 2 {
		for _, next := range []int32{v + v/2, v * 2} {
			if next > q.Queues && next <= mostQueues && fits(next, q.HandSize) && !slices.Contains(queues, next) {
				queues = append(queues, next)
			}
		}
	}
	p.field(l, Queues, result.MoreQueues, "queues", q.Queues, false, 1+len(hands), queues, func(s *config.LimitedSpec, v int32) { s.LimitResponse.Queuing.Queues = v })
}

// newLevels gives a workload a level of its own: one that was harmed, or one that causes harm.
func (p *problem) newLevels() {
	for _, w := range slices.Concat(p.harmed, without(p.taking, p.harmed)) {
		for _, r := range p.routes {
			old := p.Objects.FlowSchema(r.schema)
			if r.workload != w || old == nil || !slices.Contains(p.levels, r.level) {
				continue
			}
			name := nameOf(w)
			for p.Objects.PriorityLevel(name) != nil {
				name += "-own"
			}
			schema := p.schemaOf(w, old, "own-level")
			if schema == nil {
				continue
			}
			schema.Spec.PriorityLevelConfiguration.Name = name
			var all []*Candidate
			for v, nominal := range p.leastShares(0) {
				shares, none := v, int32(0)
				level := &config.PriorityLevel{Name: name, Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: &config.LimitedSpec{
					NominalConcurrencyShares: &shares, LendablePercent: &none,
					LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 64, HandSize: 6, QueueLengthLimit: 50}},
				}}}
				all = append(all, &Candidate{
					ID: fmt.Sprintf("own-level %s %d", w, v), Remedy: result.OwnLevel, Cost: Cost{Class: NewLevel, Moved: p.workload(w).Clients, Steps: len(all) + 1}, moves: w,
					Sentence: fmt.Sprintf("Give %s a priority level of its own with %d shares: %.0f seats.", w, v, nominal),
					objects:  config.Objects{FlowSchemas: []*config.FlowSchema{schema}, PriorityLevels: []*config.PriorityLevel{level}},
				})
			}
			p.add("own-level "+w, p.Spec.Servers.Capacity == nil, all)
			break
		}
	}
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
			Sentence: fmt.Sprintf("Start the servers with --max-requests-inflight=%d instead of %d.", v, present), requests: v,
		})
	}
	p.add("max-requests-inflight", s.Capacity == nil, all)
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
		own := *old
		return &own
	}
	subjects := p.subjectsOf(p.workload(w))
	name := nameOf(w) + "-" + purpose
	if subjects == nil || old.Spec.MatchingPrecedence < 2 || old.Name == config.Exempt {
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

// subjectsOf returns subjects that match the clients of a workload and no others; nil if there are none.
func (p *problem) subjectsOf(w *workload.Workload) (all []config.Subject) {
	if w.As.Anonymous {
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
	if w.Clients > mostSubjects && (strings.Contains(w.As.User+w.As.ServiceAccount+w.As.Node, "{i}")) {
		return nil
	}
	var users []string
	for i := range w.Clients {
		user, _ := w.As.For(i)
		if user == "" {
			return nil
		}
		addName(&users, user)
		if !strings.Contains(w.As.User+w.As.ServiceAccount+w.As.Node, "{i}") {
			break
		}
	}
	for _, user := range users {
		all = append(all, config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: user}})
	}
	return all
}
