package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/lint"
	"apfsim/lint/identity"
)

// overload draws a configuration and a load that fills one of its levels: the suggested levels or levels of somebody's own, with
// other shares, lending and clients in each.
func overload(number int) string {
	r := rand.New(rand.NewPCG(uint64(number), 53))
	b := builder{servers: fmt.Sprintf("maxRequestsInflight: %d, maxMutatingRequestsInflight: %d", between(r, 20, 200), between(r, 10, 100)),
		duration: "20s", warmup: "2s", resources: "\n  resources: [{resource: pods, objects: 20000, averageBytes: 2000}]"}
	queuing := func() string {
		return fmt.Sprintf("queues: %d, handSize: %d, queueLengthLimit: %d", 16<<r.IntN(3), between(r, 2, 6), between(r, 5, 50))
	}
	lent := func() string { return fmt.Sprintf("lendablePercent: %d", 10*between(r, 0, 9)) }
	b.level("full", between(r, 10, 60), queuing(), lent())
	b.level("busy", between(r, 10, 60), queuing(), lent())
	b.level("idle", between(r, 10, 60), queuing(), lent())
	b.level("hooks", between(r, 5, 30), "", lent())
	if r.IntN(2) == 0 {
		b.addRequest("flood", "full", "app-{i}", between(r, 1, 8), `verb: list, resource: pods, query: "resourceVersion=0"`, "exponential: {mean: 2s}", fmt.Sprintf("closed: {concurrency: %d}", between(r, 20, 60)))
	} else {
		b.add("flood", "full", "app-{i}", between(r, 1, 8), "exponential: {mean: 1s}", fmt.Sprintf("closed: {concurrency: %d}", between(r, 40, 150)))
	}
	b.add("mice", "full", "app-{i}", between(r, 1, 30), "exponential: {mean: 5ms}", "poisson: {rate: 2/s}")
	b.add("others", "busy", "app-{i}", between(r, 1, 10), "exponential: {mean: 50ms}", fmt.Sprintf("poisson: {rate: %d/s}", between(r, 1, 40)))
	b.add("hooks", "hooks", "app", 1, "constant: 5ms", "poisson: {rate: 2/s}")
	b.goal("wait{workload:mice}", "p99 < 20ms")
	b.goal("rejected{workload:mice}", "rate == 0")
	base := "base: " + []string{"Mandatory", "Suggested"}[r.IntN(2)]
	return strings.Replace(b.text(), "base: Mandatory", base, 1)
}

// limitsOf are the nominal and the lower limits of levels, by the formulas of the documentation of Kubernetes.
func limitsOf(o config.Objects, seats int) map[string][2]int {
	sum := 0.0
	for _, l := range o.PriorityLevels {
		if l.Spec.Limited != nil {
			sum += float64(*l.Spec.Limited.NominalConcurrencyShares)
		} else if s := l.Spec.Exempt; s != nil && s.NominalConcurrencyShares != nil {
			sum += float64(*s.NominalConcurrencyShares)
		}
	}
	all := map[string][2]int{}
	for _, l := range o.PriorityLevels {
		if s := l.Spec.Limited; s != nil {
			nominal := math.Ceil(float64(seats) * float64(*s.NominalConcurrencyShares) / sum)
			lendable := 0.0
			if s.LendablePercent != nil {
				lendable = math.Round(nominal * float64(*s.LendablePercent) / 100)
			}
			all[l.Name] = [2]int{int(nominal), int(nominal - lendable)}
		}
	}
	return all
}

// unsafe says what is wrong with a candidate, by a reading of its objects that shares nothing with the generator.
func unsafe(p *problem, c *Candidate) string {
	s := &p.Spec.Servers
	seats := s.MaxRequestsInflight + s.MaxMutatingRequestsInflight
	after := c.scenarioOf(p.Scenario).Objects
	before, now := limitsOf(p.Objects, seats), limitsOf(after, seats)
	suggested := config.Merge(config.Suggested(p.rules), config.Mandatory(p.rules))
	for name, had := range before {
		if c.objects.PriorityLevel(name) != nil && suggested.PriorityLevel(name) == nil {
			continue
		}
		for i, limit := range []string{"nominal", "lower"} {
			if c.requests == 0 && float64(now[name][i]) < 0.9*float64(had[i]) {
				return fmt.Sprintf("the %s limit of %s falls from %d to %d", limit, name, had[i], now[name][i])
			}
		}
	}
	for _, schema := range c.objects.FlowSchemas {
		to := schema.Spec.PriorityLevelConfiguration.Name
		level := p.Objects.PriorityLevel(to)
		old := p.Objects.FlowSchema(schema.Name)
		if level != nil && to != "full" && (suggested.PriorityLevel(to) != nil || level.Spec.Limited.LimitResponse.Type == config.ResponseReject || to == "idle") {
			return "moves requests to " + to
		}
		for _, rule := range schema.Spec.Rules {
			if old != nil {
				continue
			}
			for _, subject := range rule.Subjects {
				if subject.User == nil || !strings.HasPrefix(subject.User.Name, accountPrefix) {
					return fmt.Sprintf("is for %+v", subject)
				}
			}
			for _, r := range rule.ResourceRules {
				if slices.Contains(r.Verbs, "*") || slices.Contains(r.Resources, "*") || slices.Contains(r.APIGroups, "*") || slices.Contains(r.Namespaces, "*") {
					return fmt.Sprintf("matches %+v", r)
				}
			}
		}
	}
	for _, ch := range identity.Changes(p.rules, p.Objects, after) {
		if ch.Identity.ControlPlane {
			return fmt.Sprintf("moves %s of %s from %s to %s", ch.Verb, ch.Identity.Name, ch.Before.Level, ch.After.Level)
		}
	}
	known := map[string]bool{}
	for _, f := range lint.Check(lint.Input{Objects: p.Objects, ServerLimit: seats, Rules: p.rules}) {
		known[f.Rule+f.Name] = true
	}
	for _, f := range lint.Check(lint.Input{Objects: after, ServerLimit: seats, Rules: p.rules}) {
		if f.Severity > lint.Note && f.Rule != "edit-undone" && !known[f.Rule+f.Name] {
			return "package lint finds: " + f.Message
		}
	}
	return ""
}

// safeOverloads is how many random overloads are looked at.
const safeOverloads = 8

// Whatever the configuration and the overload, no candidate takes from others, moves requests to where others must not wait, or matches
// more than is meant.
func TestCandidatesAreSafe(t *testing.T) {
	candidates, moves := 0, 0
	for number := range safeOverloads {
		a := readers(t, overload(number), append([]string{"server"}, Usual...))
		for i, c := range a.search.all {
			if c.Cost.Pair && i%10 != 0 {
				continue
			}
			candidates++
			if len(c.objects.FlowSchemas) > 0 {
				moves++
			}
			if wrong := unsafe(a.search.problem, c); wrong != "" {
				t.Errorf("overload %d: %s %s", number, c.ID, wrong)
			}
		}
	}
	if candidates < 20*safeOverloads || moves < 3*safeOverloads {
		t.Errorf("%d candidates, %d with FlowSchemas; want more", candidates, moves)
	}
}
