package generate

import (
	"math/rand/v2"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/lab/conformance/trial"
	"apfsim/sim/trace"
)

// steady replaces the load of a trial. The level steady has one seat, which is in use during the whole
// trial, and two requests that wait. When another one comes, the first of them has reached its wait
// limit and the second has not, so that the demand of the level is constant where the wait limit is
// lazy. Rounding then makes its variance negative in some periods. (It would not if the demand were a
// power of two.) After a minute the level borrower needs more seats than its own.
func steady(t *trial.Trial, random *rand.Rand) {
	waitNs := int64(1e9) + random.Int64N(2e9)
	t.RequestTimeoutNs = 4 * waitNs
	t.MaxRequestsInflight, t.MaxMutatingRequestsInflight = 20+random.IntN(80), 0
	t.Resources, t.HangUps, t.Requests = nil, nil, nil
	o := config.Mandatory(rules.Default())
	for i, l := range []struct {
		name                        string
		shares, lendable, borrowing int32
	}{{"steady", 1, 0, 0}, {"borrower", 9, 0, 500}, {"lender", 90, 90, 0}} {
		o.PriorityLevels = append(o.PriorityLevels, &config.PriorityLevel{Name: l.name, Spec: config.PriorityLevelSpec{
			Type: config.TypeLimited, Limited: &config.LimitedSpec{
				NominalConcurrencyShares: ptr(l.shares), LendablePercent: ptr(l.lendable), BorrowingLimitPercent: ptr(l.borrowing),
				LimitResponse: config.LimitResponse{Type: config.ResponseQueue, Queuing: &config.Queuing{Queues: 1, HandSize: 1, QueueLengthLimit: 50}},
			}}})
		all := []string{config.Wildcard}
		o.FlowSchemas = append(o.FlowSchemas, &config.FlowSchema{Name: l.name, Spec: config.FlowSchemaSpec{
			PriorityLevelConfiguration: config.PriorityLevelReference{Name: l.name}, MatchingPrecedence: int32(100 + i),
			Rules: []config.PolicyRulesWithSubjects{{
				Subjects:         []config.Subject{{Kind: config.SubjectUser, User: &config.UserSubject{Name: l.name}}},
				NonResourceRules: []config.NonResourceRule{{Verbs: all, NonResourceURLs: all}},
			}}}})
	}
	t.Objects = trial.Objects{Objects: o}
	send := func(ns int64, user string, executionNs int64) {
		t.Requests = append(t.Requests, trace.Record{ID: int64(len(t.Requests) + 1), ArrivalNs: ns, User: user,
			Groups: []string{"system:authenticated"}, Verb: "get", Path: "/version", ExecutionNs: executionNs})
	}
	ns := int64(1)
	send(ns, "steady", 1e11)
	for ns < 6e10 {
		ns += waitNs*6/10 + random.Int64N(waitNs*3/10)
		send(ns, "steady", 1+random.Int64N(1e9))
	}
	for range 40 {
		ns += 1 + random.Int64N(1e9)
		send(ns, "borrower", 1+random.Int64N(2e10))
	}
}
