package tune

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"apfsim/core/config"
	"apfsim/experiment"
	"apfsim/lint"
	"apfsim/lint/identity"
	"apfsim/sim/scenario"
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

// knownFindings are what package lint finds without a candidate.
func knownFindings(p *problem) map[string]bool {
	s := &p.Spec.Servers
	known := map[string]bool{}
	for _, f := range lint.Check(lint.Input{Objects: p.Objects, ServerLimit: s.MaxRequestsInflight + s.MaxMutatingRequestsInflight, Rules: p.rules}) {
		known[f.Rule+f.Name] = true
	}
	return known
}

// unsafe says what is wrong with a candidate, by a reading of its objects that shares nothing with the generator. Known are the
// findings without it.
func unsafe(p *problem, known map[string]bool, c *Candidate) string {
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
	for _, f := range lint.Check(lint.Input{Objects: after, ServerLimit: seats, Rules: p.rules}) {
		if f.Severity > lint.Note && f.Rule != "edit-undone" && !known[f.Rule+f.Name] {
			return "package lint finds: " + f.Message
		}
	}
	return ""
}

// safeOverloads is how many random overloads are looked at.
const safeOverloads = 1

// Whatever the configuration and the overload, no candidate takes from others, moves requests to where others must not wait, or matches
// more than is meant.
func TestCandidatesAreSafe(t *testing.T) {
	candidates, moves := 0, 0
	for number := range safeOverloads {
		a := readers(t, overload(number), append([]string{"server"}, Usual...))
		known := knownFindings(a.search.problem)
		for i, c := range a.search.all {
			if c.Cost.Pair && i%10 != 0 {
				continue
			}
			candidates++
			if len(c.objects.FlowSchemas) > 0 {
				moves++
			}
			if wrong := unsafe(a.search.problem, known, c); wrong != "" {
				t.Errorf("overload %d: %s %s", number, c.ID, wrong)
			}
		}
	}
	if candidates < 20*safeOverloads || moves < 3*safeOverloads {
		t.Errorf("%d candidates, %d with FlowSchemas; want more", candidates, moves)
	}
}

var overloads = flag.Int("overloads", 1, "run candidates for so many random overloads beside a control plane that they do not know")

// controlPlane is what nobody told the search about: the control plane of a small cluster.
const controlPlane = `  - {name: cp-leases, clients: 10, as: {node: "node-{i}"}, request: {verb: update, group: coordination.k8s.io, resource: leases, namespace: kube-node-lease, name: "node-{i}"}, execution: 5ms, arrivals: {poisson: {rate: 0.5/s}}}
  - {name: cp-nodes, clients: 10, as: {node: "node-{i}"}, request: {verb: get, resource: secrets, namespace: a, name: "s-{i}"}, execution: {exponential: {mean: 10ms}}, arrivals: {poisson: {rate: 2/s}}}
  - {name: cp-scheduler, as: {user: "system:kube-scheduler"}, request: {verb: create, resource: pods, subresource: binding, namespace: a, name: p}, execution: {exponential: {mean: 10ms}}, arrivals: {poisson: {rate: 20/s}}}
  - {name: cp-controllers, as: {user: "system:kube-controller-manager"}, request: {verb: update, resource: endpoints, namespace: a, name: e}, execution: {exponential: {mean: 10ms}}, arrivals: {poisson: {rate: 20/s}}}
  - {name: cp-kube-system, clients: 5, as: {serviceAccount: "kube-system/controller-{i}"}, request: {verb: list, group: apps, resource: replicasets}, execution: {exponential: {mean: 20ms}}, arrivals: {poisson: {rate: 2/s}}}
  - {name: cp-elections, clients: 2, as: {user: "system:kube-controller-manager"}, request: {verb: update, group: coordination.k8s.io, resource: leases, namespace: kube-system, name: kcm}, execution: 5ms, arrivals: {constant: {rate: 0.5/s}}}
`

// waitsOfControlPlane runs a scenario and returns the longest wait p99 of the control plane; a request that was not served is a minute.
func waitsOfControlPlane(t *testing.T, sc *scenario.Scenario) (ns int64) {
	t.Helper()
	run := experiment.BeginTrials(t.Context(), experiment.Plan{N: 1, Run: func(int) *scenario.Scenario { return sc }})
	defer run.Stop()
	trial, err := run.Next()
	if err != nil {
		t.Fatal(err)
	}
	for i := range trial.Summary.Workloads {
		g := &trial.Summary.Workloads[i]
		if !strings.HasPrefix(g.Name, "cp-") {
			continue
		}
		if p99, _, ok := g.WaitP99Ns(); ok {
			ns = max(ns, p99)
		}
		if g.NotServedTotal() > 0 {
			ns = max(ns, 60e9)
		}
	}
	return ns
}

// A change that a search without the control plane in its scenario lists makes nobody of the control plane wait for more than 100 ms longer.
func TestCandidatesSpareAControlPlaneThatIsNotInTheScenario(t *testing.T) {
	const longerNs, each = 100_000_000, 6
	ran := 0
	for number := range *overloads {
		text := strings.Replace(overload(number), "base: Mandatory", "base: Suggested", 1)
		listed := readers(t, text, append([]string{"server"}, Usual...)).search.all
		whole := loadText(t, strings.Replace(text, "  workload:\n", "  workload:\n"+controlPlane, 1))
		before := waitsOfControlPlane(t, whole)
		for i, c := range listed {
			if i%max(1, len(listed)/each) != 0 {
				continue
			}
			ran++
			if after := waitsOfControlPlane(t, c.scenarioOf(whole)); after > before+longerNs {
				t.Errorf("overload %d: with %s (%s), the control plane waits %d ms instead of %d ms", number, c.ID, c.Sentence, after/1e6, before/1e6)
			}
		}
	}
	if ran < *overloads {
		t.Errorf("%d candidates were run; want more", ran)
	}
	t.Logf("%d candidates of %d overloads", ran, *overloads)
}
