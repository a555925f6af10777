package generate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"apfsim/core/config"
	"apfsim/core/dealer"
	"apfsim/core/rules"
	"apfsim/lab/conformance/trial"
)

// configuration draws the objects of the trial: the suggested objects or random ones.
func (g *generator) configuration() {
	if g.chance(0.25) {
		g.classes = 1 + g.IntN(3)
		g.trial.Objects = trial.Objects{Objects: config.Suggested(rules.Default())}
		return
	}
	o := g.objects()
	for i := range g.IntN(4) {
		o.FlowSchemas = append(o.FlowSchemas, g.narrowSchema(fmt.Sprintf("narrow-%d", i)))
	}
	g.trial.Objects = trial.Objects{Objects: o}
}

// Levels returns the mandatory objects and random levels level-0, level-1 and so on, each with a
// FlowSchema for group-0, group-1 and so on. It also returns a random number of seats for the
// server.
func Levels(seed uint64) (o config.Objects, seats int) {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	return g.objects(), int(g.between(1, 1000))
}

func (g *generator) objects() config.Objects {
	g.classes = 1 + g.IntN(6)
	o := config.Mandatory(rules.Default())
	for k := range g.classes {
		o.PriorityLevels = append(o.PriorityLevels, g.level(k))
		o.FlowSchemas = append(o.FlowSchemas, g.schema(k, fmt.Sprintf("schema-%d", k)))
	}
	if g.chance(0.3) {
		exempt := *o.PriorityLevel(config.Exempt)
		exempt.Spec.Exempt = &config.ExemptSpec{NominalConcurrencyShares: ptr(int32(g.between(1, 60))), LendablePercent: ptr(g.percent())}
		o = config.Merge(o, config.Objects{PriorityLevels: []*config.PriorityLevel{&exempt}})
	}
	return o
}

func ptr[T any](v T) *T { return &v }

func (g *generator) percent() int32 {
	return pick(g, 0, 0, 100, int32(g.IntN(101)), int32(g.IntN(101)))
}

func (g *generator) level(k int) *config.PriorityLevel {
	limited := &config.LimitedSpec{
		NominalConcurrencyShares: ptr(int32(g.between(1, 100))),
		LendablePercent:          ptr(g.percent()),
		LimitResponse:            config.LimitResponse{Type: config.ResponseReject},
	}
	if g.chance(0.1) {
		limited.NominalConcurrencyShares = ptr(int32(0))
	}
	if g.chance(0.5) {
		limited.BorrowingLimitPercent = ptr(pick(g, int32(0), int32(g.IntN(100)), int32(g.IntN(400))))
	}
	if g.chance(0.75) {
		limited.LimitResponse = config.LimitResponse{Type: config.ResponseQueue, Queuing: g.queuing()}
	}
	return &config.PriorityLevel{Name: fmt.Sprintf("level-%d", k), Spec: config.PriorityLevelSpec{Type: config.TypeLimited, Limited: limited}}
}

func (g *generator) queuing() *config.Queuing {
	queues := int(math.Round(g.between(1, 256)))
	hand := 1 + g.IntN(min(8, queues))
	for dealer.EntropyBits(queues, hand) > 60 {
		hand--
	}
	return &config.Queuing{Queues: int32(queues), HandSize: int32(hand), QueueLengthLimit: int32(math.Round(g.between(1, 200)))}
}

// schema returns a FlowSchema that assigns all requests of the group of class k to its level.
func (g *generator) schema(k int, name string) *config.FlowSchema {
	s := &config.FlowSchema{Name: name, Spec: config.FlowSchemaSpec{
		PriorityLevelConfiguration: config.PriorityLevelReference{Name: fmt.Sprintf("level-%d", k)},
		MatchingPrecedence:         g.precedence(),
		DistinguisherMethod:        g.distinguisher(),
		Rules: []config.PolicyRulesWithSubjects{{
			Subjects:         []config.Subject{{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: fmt.Sprintf("group-%d", k)}}},
			ResourceRules:    []config.ResourceRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
			NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
		}},
	}}
	return s
}

var all = []string{config.Wildcard}

func (g *generator) precedence() int32 {
	return pick(g, 2, 100, 100, 1000, 10000, int32(2+g.IntN(9999)))
}

func (g *generator) distinguisher() *config.DistinguisherMethod {
	switch g.IntN(3) {
	case 0:
		return nil
	case 1:
		return &config.DistinguisherMethod{Type: config.ByNamespace}
	}
	return &config.DistinguisherMethod{Type: config.ByUser}
}

// narrowSchema returns a FlowSchema with random rules, which may refer to a level that does not
// exist.
func (g *generator) narrowSchema(name string) *config.FlowSchema {
	s := g.schema(g.IntN(g.classes+1), name)
	s.Spec.Rules = nil
	for range 1 + g.IntN(2) {
		rule := config.PolicyRulesWithSubjects{}
		for range 1 + g.IntN(2) {
			rule.Subjects = append(rule.Subjects, g.subject())
		}
		for range g.IntN(3) {
			rule.ResourceRules = append(rule.ResourceRules, config.ResourceRule{
				Verbs:        g.some("get", "list", "watch", "create", "update", "patch", "delete"),
				APIGroups:    g.some("", "coordination.k8s.io", "example.com"),
				Resources:    g.some("pods", "configmaps", "leases", "widgets", "pods/status"),
				ClusterScope: g.chance(0.5),
				Namespaces:   g.some("ns-0", "ns-1", "ns-2"),
			})
		}
		if g.chance(0.4) || rule.ResourceRules == nil {
			rule.NonResourceRules = append(rule.NonResourceRules, config.NonResourceRule{
				Verbs:           g.some("get", "create"),
				NonResourceURLs: g.some("/healthz", "/healthz/*", "/version", "/openapi/*"),
			})
		}
		s.Spec.Rules = append(s.Spec.Rules, rule)
	}
	return s
}

// some returns a random subset of the items, which is not empty, or the wildcard.
func (g *generator) some(items ...string) []string {
	if g.chance(0.4) {
		return all
	}
	chosen := slices.DeleteFunc(slices.Clone(items), func(string) bool { return g.chance(0.5) })
	if len(chosen) == 0 {
		return items[:1]
	}
	return chosen
}

func (g *generator) subject() config.Subject {
	switch g.IntN(5) {
	case 0:
		return config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: fmt.Sprintf("user-%d-0", g.IntN(g.classes))}}
	case 1:
		return config.Subject{Kind: config.SubjectUser, User: &config.UserSubject{Name: config.Wildcard}}
	case 2:
		return config.Subject{Kind: config.SubjectServiceAccount, ServiceAccount: &config.ServiceAccountSubject{
			Namespace: namespace(g), Name: pick(g, config.Wildcard, "sa-0", "sa-1")}}
	case 3:
		return config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: pick(g, config.Wildcard, "system:nodes", "system:serviceaccounts")}}
	}
	return config.Subject{Kind: config.SubjectGroup, Group: &config.GroupSubject{Name: fmt.Sprintf("group-%d", g.IntN(g.classes))}}
}
