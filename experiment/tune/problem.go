package tune

import (
	"slices"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/reports/advice"
	"apfsim/reports/judge"
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
	causes  []*result.Cause
	levels  []string // limited levels that the harmed workloads use, or that causes or goals name
	allowed []string // kinds

	allowedLevels []string                       // to which requests may be moved though the rules forbid it
	requests      map[string][]*workload.Request // of workloads, once they are known
	leaves        map[*config.FlowSchema]bool    // those of candidates that take nothing of the components of a cluster
	withGoals     []string                       // workloads that a goal is about
	beyond        *result.Cause                  // a cause for which no division of the seats is a remedy
	found         map[findingKey]bool            // by package lint, in the present configuration

	families []*family
}

// route is where requests of a workload went.
type route struct{ workload, schema, level string }

// newProblem collects what is known from a run of the present configuration in which a goal did not hold.
func newProblem(sc *scenario.Scenario, s *result.Summary, parts []measure.Part, o *Options) (*problem, error) {
	r, err := sc.Spec.Servers.Rules()
	if err != nil {
		return nil, err
	}
	p := &problem{Scenario: sc, rules: r, summary: s, allowed: o.Kinds, allowedLevels: o.Levels, found: map[findingKey]bool{}, requests: map[string][]*workload.Request{}, leaves: map[*config.FlowSchema]bool{}}
	p.builtIn = config.Merge(config.Suggested(r), config.Mandatory(r))
	p.seats = divide(p, sc)
	for _, f := range p.lint(sc.Objects, config.Objects{}) {
		p.found[findingKey{f.Rule, f.Kind, f.Name}] = true
	}
	for i := range parts {
		if r := (route{parts[i].Workload, parts[i].Schema, parts[i].Level}); !slices.Contains(p.routes, r) {
			p.routes = append(p.routes, r)
		}
	}
	for i := range sc.Spec.Thresholds {
		w := sc.Spec.Thresholds[i].Tag(metric.TagWorkload)
		addName(&p.withGoals, w)
	}
	everyone := false // a goal that did not hold is about no workload, level or FlowSchema
	for i := range s.Thresholds {
		if v := &s.Thresholds[i]; !v.Passed && v.Kind != metric.Expect {
			p.addSubjectsOf(&v.ID)
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
		if p.beyond == nil && judge.BeyondFlowControl(c) {
			p.beyond = c
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

// addSubjectsOf adds what a goal is about that did not hold.
func (p *problem) addSubjectsOf(n *metric.Name) {
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
	p.clientLimits()
	if p.onlyByClients() {
		return p.cheapestFirst()
	}
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
	return p.cheapestFirst()
}

// cheapestFirst returns the candidates of all families in the order of their costs.
func (p *problem) cheapestFirst() []*Candidate {
	var all []*Candidate
	for _, f := range p.families {
		all = append(all, f.all...)
	}
	slices.SortStableFunc(all, func(a, b *Candidate) int { return a.Cost.Compare(b.Cost) })
	return all
}

// add adds a family of candidates, without those whose kind is not allowed, those that are not safe, and, where the time is lost
// elsewhere, all that divide the seats in another way.
func (p *problem) add(name string, monotone bool, all []*Candidate) {
	f := &family{name: name, monotone: monotone && len(all) > 1}
	if !monotone {
		all = thinned(all)
	}
	for _, c := range all {
		c.kind = kindOf[c.Cost.Class]
		for _, l := range c.objects.PriorityLevels {
			if p.Objects.PriorityLevel(l.Name) == nil || p.builtIn.PriorityLevel(l.Name) == nil {
				continue
			}
			switch c.Cost.Class {
			case Shares, Suggested:
				c.Cost.Class = Suggested
			default:
				c.Cost.Class = SuggestedField
			}
		}
		if !slices.Contains(p.allowed, c.kind) || !slices.Contains(p.allowed, kindOf[c.Cost.Class]) {
			continue
		}
		if p.beyond != nil && c.Cost.Class != ServerLimits && c.Cost.Class != ClientLimits {
			continue
		}
		if after := p.describe(c); !p.isSafe(c, after) {
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

func (p *problem) hasFamily(name string) bool {
	return slices.ContainsFunc(p.families, func(f *family) bool { return f.name == name })
}

func (p *problem) workload(name string) *workload.Workload {
	at := slices.IndexFunc(p.Spec.Workload, func(w workload.Workload) bool { return w.Name == name })
	return &p.Spec.Workload[at]
}

// without returns the names of all that are not in others.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(others, name) })
}

// ofClients are the remedies that change clients. But for their rate limits, they are not searched: another team has to make them,
// and a scenario says how its clients are.
var ofClients = []result.RemedyID{result.LimitClient, result.RaiseClientLimit, result.MoreWorkers, result.ListInPages, result.WatchInstead}

// clientNotes returns what the clients can do against the causes, which the documentation of Kubernetes names first.
func (p *problem) clientNotes() (notes []string) { return p.sentences(ofClients...) }

// sentences returns those of remedies against the causes.
func (p *problem) sentences(of ...result.RemedyID) (notes []string) {
	if p.summary.Verdict == nil {
		return nil
	}
	for _, r := range p.summary.Verdict.Try {
		ours := slices.ContainsFunc(p.causes, func(c *result.Cause) bool { return slices.Contains(r.Causes, c.ID) })
		if ours && slices.Contains(of, r.Remedy) {
			addName(&notes, r.Sentence)
		}
	}
	return notes
}
