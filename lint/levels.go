package lint

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"apfsim/core/classify"
	"apfsim/core/config"
	"apfsim/core/dealer"
	"apfsim/core/estimate"
	"apfsim/core/rules"
	"apfsim/core/seats"
	"apfsim/lint/space"
)

// Assumptions and limits of the rules about priority levels.
const (
	waitLimitSeconds  = 15   // a quarter of the default deadline of a request, 60 s
	assumedExecution  = 0.1  // execution time in seconds if there is no run; longer than that of most requests
	mostCollisions    = 0.01 // highest acceptable probability that one elephant has all queues of a mouse
	leastKeptFraction = 0.05 // lowest acceptable fraction of its nominal seats that a level does not lend
)

// priorityLevel adds the findings about a level.
func (l *linter) priorityLevel(p *config.PriorityLevel) {
	l.version("PriorityLevelConfiguration", p.Name, p.Origin)
	l.undone("PriorityLevelConfiguration", p.Name, p.Origin, l.sameSpec(suggestedLevel, p.Name, p.Spec))
	load := l.load(p.Name)
	if mandatory(p.Name) || p.Spec.Limited == nil {
		return
	}
	level := l.levels[p.Name]
	var users []*schema
	for _, s := range l.ordered {
		if s.level() == p.Name {
			users = append(users, s)
		}
	}
	if len(users) == 0 && !l.in.Incomplete {
		l.aboutLevel("unreferenced-level", p, "metadata.name", "no FlowSchema refers to it: it has %d of %d seats, of which requests can use only those that it lends; refer to it, or remove it", level.Nominal, l.in.ServerLimit)
	}
	l.ownSeats(level)
	l.lending(level, load)
	q := p.Spec.Queuing()
	if q == nil {
		return
	}
	flows := 0
	for _, s := range users {
		flows += s.flows(q)
	}
	if chance := dealer.CollisionProbabilityFloat(int(q.Queues), int(q.HandSize), 1); chance > mostCollisions && flows > 1 {
		l.aboutLevel("colliding-hands", p, "spec.limited.limitResponse.queuing.handSize",
			"with hands of %d out of %d queues, one flow that fills its queues blocks another flow with a probability of %.3g %% (more than 1 %%); use more queues%s",
			q.HandSize, q.Queues, 100*chance, smallerHand(q))
	}
	l.longQueues(level, q, load)
	if len(users) > 0 {
		l.lists(level, q, users)
	}
}

// load returns the load of a level, or the zero value if it is unknown.
func (l *linter) load(level string) LevelLoad {
	if l.in.Load == nil {
		return LevelLoad{}
	}
	return l.in.Load.Levels[level]
}

// catchAll adds a finding if requests arrived at the level catch-all, even if it is not one of the
// checked objects.
func (l *linter) catchAll() {
	if load := l.load(config.CatchAll); load.Arrived > 0 {
		l.aboutLevel("catch-all-used", l.levels[config.CatchAll].PriorityLevel, "metadata.name",
			"%d requests of scenario %s arrived at it, because no other FlowSchema matches them; add a FlowSchema for them", load.Arrived, l.in.Load.Scenario)
	}
}

// flows returns the number of flows of a FlowSchema at a level with queues, where 2 means two or more.
func (s *schema) flows(q *config.Queuing) int {
	if s.Spec.DistinguisherMethod == nil || q.Queues == 1 {
		return 1
	}
	distinguishers := map[string]bool{}
	for i := range s.parts {
		part := &s.parts[i]
		switch {
		case s.Spec.DistinguisherMethod.Type == config.ByUser:
			user, _ := space.ExampleUser(&part.Subject)
			distinguishers[user] = true
			if part.Subject.Kind == config.SubjectGroup || part.Subject.Kind == config.SubjectServiceAccount && part.Subject.ServiceAccount.Name == config.Wildcard {
				return 2
			}
		case !part.Resource:
			distinguishers[""] = true
		case part.Box[space.Namespaces].Infinite():
			return 2
		default:
			for _, namespace := range part.Box[space.Namespaces].Items() {
				distinguishers[namespace] = true
			}
		}
	}
	return min(len(distinguishers), 2)
}

// smallerHand returns text that suggests a smaller hand size, or "" if a smaller hand is not enough.
func smallerHand(q *config.Queuing) string {
	for hand := q.HandSize - 1; hand > 1; hand-- {
		if dealer.CollisionProbabilityFloat(int(q.Queues), int(hand), 1) <= mostCollisions {
			return fmt.Sprintf(", or hands of %d", hand)
		}
	}
	return ""
}

// ownSeats adds a finding about a level with fewer than two nominal seats.
func (l *linter) ownSeats(p level) {
	const shares = "spec.limited.nominalConcurrencyShares"
	switch {
	case p.Nominal == 0 && p.Max == 0 && p.Spec.Queuing() != nil:
		l.aboutLevel("never-served", p.PriorityLevel, shares, "has no seats and may not borrow any: all its requests wait until they time out; give it shares")
	case p.Nominal == 0 && p.Max == 0:
		// A request wider than the limit is executed if no other request of its level is, even if the limit is 0.
		l.aboutLevel("few-seats", p.PriorityLevel, shares, "has no seats and may not borrow any: it executes one request at a time and rejects the others; give it shares, or deny access by authorization")
	case p.Nominal == 0:
		l.aboutLevel("few-seats", p.PriorityLevel, shares, "%d shares are 0 of %d seats: its requests are executed only on seats that it borrows from other levels; give it more shares", p.Spec.Shares(), l.in.ServerLimit)
	case p.Nominal == 1:
		l.aboutLevel("few-seats", p.PriorityLevel, shares, "%d shares are 1 of %d seats: when the server is busy, its requests are executed one at a time; give it more shares", p.Spec.Shares(), l.in.ServerLimit)
	}
}

// lending adds a finding about a level that may have lent the seats which it needs. It gets them back
// only at the next adjustment, because limits change every 10 s.
func (l *linter) lending(p level, load LevelLoad) {
	if !l.in.Rules.Lending || p.Spec.LendablePercent() == 0 || p.Nominal == 0 {
		return
	}
	const field = "spec.limited.lendablePercent"
	switch {
	case load.Demand > float64(p.Min):
		l.aboutLevel("lends-too-much", p.PriorityLevel, field,
			"keeps %d of %d seats when it has lent all it may, but scenario %s needs %.3g on average: after an idle time its requests wait up to 10 s for the next adjustment; use a lendablePercent of at most %d",
			p.Min, p.Nominal, l.in.Load.Scenario, load.Demand, max(0, int(math.Floor(100*(1-load.Demand/float64(p.Nominal))))))
	case l.in.Load == nil && float64(p.Min) < leastKeptFraction*float64(p.Nominal):
		l.note("lends-too-much", p.PriorityLevel, field,
			"keeps %d of %d seats when it has lent all it may: after an idle time a burst of its requests waits up to 10 s for the next adjustment; use a lendablePercent that leaves the seats for its usual demand",
			p.Min, p.Nominal)
	}
}

// note adds a finding with the severity Note, because it rests on assumptions.
func (l *linter) note(rule string, p *config.PriorityLevel, path, format string, args ...any) {
	before := len(l.findings)
	l.aboutLevel(rule, p, path, format, args...)
	for i := range l.findings[before:] {
		l.findings[before+i].Severity = Note
	}
}

// longQueues adds a finding about queues that, when full, hold more requests than the level can serve
// before they time out.
func (l *linter) longQueues(p level, q *config.Queuing, load LevelLoad) {
	execution, report := load.ExecutionSeconds, l.aboutLevel
	source := "in the scenario"
	if execution <= 0 {
		execution, report, source = assumedExecution, l.note, "assumed"
	}
	held, served := int64(q.Queues)*int64(q.QueueLengthLimit), float64(p.Nominal)*waitLimitSeconds/execution
	if p.Nominal == 0 || float64(held) <= served {
		return
	}
	report("long-queues", p.PriorityLevel, "spec.limited.limitResponse.queuing.queueLengthLimit",
		"its %d queues hold %d requests, but its %d seats serve %.0f within the wait limit of %d s at %.3g ms each (%s): when the queues are full, the other requests time out in the queue; use shorter queues",
		q.Queues, held, p.Nominal, math.Floor(served), waitLimitSeconds, 1000*execution, source)
}

// lists adds findings about lists that need more seats than a request of the level may occupy.
func (l *linter) lists(p level, q *config.Queuing, users []*schema) {
	if !l.in.Rules.CapByLevel {
		return
	}
	most := seats.Cap(l.in.Rules.LevelShare, p.Nominal, int(q.HandSize))
	for _, s := range users {
		if most == 1 && slices.ContainsFunc(s.parts, func(p space.Part) bool { return p.Resource && lists(p.Box) }) {
			l.aboutLevel("seat-cap", p.PriorityLevel, "spec.limited.limitResponse.queuing.handSize",
				"even a large list occupies only 1 seat, because a request may occupy at most max(1, min(15 %% of %d seats, %d seats / handSize %d)) = 1: %d large lists are executed at the same time; use more shares or a smaller handSize",
				p.Nominal, p.Nominal, q.HandSize, p.Nominal)
			break
		}
	}
	if l.in.Rules.ListSeats != rules.ByBytes {
		return
	}
	for _, s := range users {
		l.wideLists(p, most, s)
	}
}

// wideLists adds a finding about the list of stored objects with the most seats that a FlowSchema
// matches.
func (l *linter) wideLists(p level, most int, s *schema) {
	if !s.given {
		return
	}
	stored := slices.SortedFunc(func(yield func(estimate.Resource) bool) {
		for r := range l.in.Stored {
			if !yield(r) {
				return
			}
		}
	}, func(a, b estimate.Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	widest, what, by := 1, estimate.Resource{}, ""
	for _, r := range stored {
		for i := range s.parts {
			part := &s.parts[i]
			if !part.Resource || !part.Box[space.Verbs].Has("list") || !part.Box[space.APIGroups].Has(r.Group) || !part.Box[space.Resources].Has(r.Name) {
				continue
			}
			a := &classify.Attributes{Verb: "list", APIGroup: r.Group, Resource: r.Name, Namespace: part.Box[space.Namespaces].Example("")}
			a.User, a.Groups = space.ExampleUser(&part.Subject)
			if a.Namespace != "" || l.schemaOf(a) != s {
				continue // the number of objects in a namespace is unknown
			}
			request, err := estimate.NewEstimator(l.in.Rules, l.in.Stored).NewRequest(a, "")
			if err != nil {
				continue
			}
			if seats := request.Estimate(0).MaxSeats(); seats > widest {
				widest, what, by = seats, r, a.User
			}
		}
	}
	if taken := min(widest, most); widest > 1 && 2*taken > p.Min || widest > most {
		l.aboutSchema("wide-lists", s.FlowSchema, "spec.priorityLevelConfiguration.name",
			"a list of all %s (%d objects, for example by %s) is estimated at %d seats and occupies %d: priority level %s has %d seats, %d when it has lent all it may, and a request may occupy at most %d",
			resourceName(what), l.in.Stored[what].Objects, by, widest, taken, p.Name, p.Nominal, p.Min, most)
	}
}

// resourceName returns a resource as resource.group.
func resourceName(r estimate.Resource) string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Group
}
