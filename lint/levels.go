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

// What the rules about priority levels take for granted.
const (
	waitLimitSeconds   = 15   // a quarter of a request's default deadline of 60 s
	assumedExecution   = 0.1  // seconds, where no run says otherwise: a slow mix; most requests take less
	mostCollisions     = 0.01 // the probability that one elephant has all queues of a mouse
	leastKeptFraction  = 0.05 // of a level's nominal seats that lending leaves it
	firstWithSeatCaps  = 25   // Kubernetes 1.25 caps the seats of a request by level
	firstWithLending   = 26
	firstWithListBytes = 34 // from 1.34 the seats of a list go by its bytes
)

// priorityLevel notes what is wrong with a level.
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
		l.aboutLevel("unreferenced-level", p, "metadata.name", "no FlowSchema refers to it: of %d of %d seats, only those that it lends serve anybody; refer to it, or remove it", level.Nominal, l.in.ServerLimit)
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

// load returns the load of a level, zero when there is none.
func (l *linter) load(level string) LevelLoad {
	if l.in.Load == nil {
		return LevelLoad{}
	}
	return l.in.Load.Levels[level]
}

// catchAll notes requests that came to the last level, whether the files have it or not.
func (l *linter) catchAll() {
	if load := l.load(config.CatchAll); load.Arrived > 0 {
		l.aboutLevel("catch-all-used", l.levels[config.CatchAll].PriorityLevel, "metadata.name",
			"%d requests of scenario %s arrived at it: no other FlowSchema matches them; add one that does", load.Arrived, l.in.Load.Scenario)
	}
}

// flows returns how many flows a FlowSchema has at a level with queues, 2 standing for more than one.
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

// smallerHand proposes another hand when hands are too wide rather than queues too few.
func smallerHand(q *config.Queuing) string {
	for hand := q.HandSize - 1; hand > 1; hand-- {
		if dealer.CollisionProbabilityFloat(int(q.Queues), int(hand), 1) <= mostCollisions {
			return fmt.Sprintf(", or hands of %d", hand)
		}
	}
	return ""
}

// ownSeats notes a level that has next to no seats.
func (l *linter) ownSeats(p level) {
	const shares = "spec.limited.nominalConcurrencyShares"
	switch {
	case p.Nominal == 0 && p.Max == 0 && p.Spec.Queuing() != nil:
		l.aboutLevel("never-served", p.PriorityLevel, shares, "has no seats and may borrow none: all its requests wait until they time out; give it shares")
	case p.Nominal == 0 && p.Max == 0:
		// A request wider than the limit runs when nothing else of its level does, also at a limit of 0.
		l.aboutLevel("few-seats", p.PriorityLevel, shares, "has no seats and may borrow none, yet rejects only what comes while another of its requests is executed; give it shares, or refuse access by other means")
	case p.Nominal == 0:
		l.aboutLevel("few-seats", p.PriorityLevel, shares, "%d shares make 0 of %d seats: its requests run only on borrowed seats, when other levels leave some; give it more shares", p.Spec.Shares(), l.in.ServerLimit)
	case p.Nominal == 1:
		l.aboutLevel("few-seats", p.PriorityLevel, shares, "%d shares make 1 of %d seats: when the server is busy its requests run one after another; give it more shares", p.Spec.Shares(), l.in.ServerLimit)
	}
}

// lending notes a level that has lent its seats when it needs them: limits change every 10 s only.
func (l *linter) lending(p level, load LevelLoad) {
	if l.in.Minor < firstWithLending || p.Spec.LendablePercent() == 0 || p.Nominal == 0 {
		return
	}
	const field = "spec.limited.lendablePercent"
	switch {
	case load.Demand > float64(p.Min):
		l.aboutLevel("lends-too-much", p.PriorityLevel, field,
			"keeps %d of %d seats when it has lent all it may, and scenario %s needs %.3g on average: after an idle time its requests wait up to 10 s for the next adjustment; use a lendablePercent of at most %d",
			p.Min, p.Nominal, l.in.Load.Scenario, load.Demand, max(0, int(math.Floor(100*(1-load.Demand/float64(p.Nominal))))))
	case l.in.Load == nil && float64(p.Min) < leastKeptFraction*float64(p.Nominal):
		l.note("lends-too-much", p.PriorityLevel, field,
			"keeps %d of %d seats when it has lent all it may: after an idle time a burst of its requests waits up to 10 s for the next adjustment; keep what its usual demand needs",
			p.Min, p.Nominal)
	}
}

// note is aboutLevel for a finding that is less certain than its rule.
func (l *linter) note(rule string, p *config.PriorityLevel, path, format string, args ...any) {
	before := len(l.findings)
	l.aboutLevel(rule, p, path, format, args...)
	for i := range l.findings[before:] {
		l.findings[before+i].Severity = Note
	}
}

// longQueues notes queues in which requests time out before there is a seat for them.
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
		"its %d queues hold %d requests, and %d seats serve %.0f within the wait limit of %d s at %.3g ms each (%s): when they are full, the others time out in the queue; use shorter queues",
		q.Queues, held, p.Nominal, math.Floor(served), waitLimitSeconds, 1000*execution, source)
}

// lists notes what the level's cap on the seats of one request makes of lists.
func (l *linter) lists(p level, q *config.Queuing, users []*schema) {
	if l.in.Minor < firstWithSeatCaps {
		return
	}
	most := seats.Cap(p.Nominal, int(q.HandSize))
	for _, s := range users {
		if most == 1 && slices.ContainsFunc(s.parts, func(p space.Part) bool { return p.Resource && lists(p.Box) }) {
			l.aboutLevel("seat-cap", p.PriorityLevel, "spec.limited.limitResponse.queuing.handSize",
				"every list counts as 1 seat, however large, because a request takes at most max(1, min(15 %% of %d seats, %d seats / handSize %d)) = 1: %d large lists run at once; use more shares or a smaller handSize",
				p.Nominal, p.Nominal, q.HandSize, p.Nominal)
			break
		}
	}
	if l.in.Minor < firstWithListBytes {
		return
	}
	for _, s := range users {
		l.wideLists(p, most, s)
	}
}

// wideLists notes the widest list of stored objects that a FlowSchema matches.
func (l *linter) wideLists(p level, most int, s *schema) {
	if !s.given {
		return
	}
	resourcesOf := slices.SortedFunc(func(yield func(estimate.Resource) bool) {
		for r := range l.in.Stored {
			if !yield(r) {
				return
			}
		}
	}, func(a, b estimate.Resource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name))
	})
	widest, what, by := 1, estimate.Resource{}, ""
	for _, r := range resourcesOf {
		for i := range s.parts {
			part := &s.parts[i]
			if !part.Resource || !part.Box[space.Verbs].Has("list") || !part.Box[space.APIGroups].Has(r.Group) || !part.Box[space.Resources].Has(r.Name) {
				continue
			}
			a := &classify.Attributes{Verb: "list", APIGroup: r.Group, Resource: r.Name, Namespace: part.Box[space.Namespaces].Example("")}
			a.User, a.Groups = space.ExampleUser(&part.Subject)
			if a.Namespace != "" || l.schemaOf(a) != s {
				continue // the objects of one namespace are not known
			}
			request, err := estimate.NewEstimator(rules.Latest(), l.in.Stored).NewRequest(a, "")
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
			"a list of all %s (%d objects, for example by %s) is estimated at %d seats and takes %d: priority level %s has %d seats, %d when it has lent all it may, and a request takes at most %d",
			resourceName(what), l.in.Stored[what].Objects, by, widest, taken, p.Name, p.Nominal, p.Min, most)
	}
}

func resourceName(r estimate.Resource) string {
	if r.Group == "" {
		return r.Name
	}
	return r.Name + "." + r.Group
}
