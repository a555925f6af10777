package tune

import (
	"slices"

	"apfsim/core/config"
	"apfsim/core/dealer"
	"apfsim/reports/result"
	"apfsim/sim/workload"
)

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
		return r.level == level && slices.ContainsFunc(p.requestsOf(r.workload), func(q *workload.Request) bool { return q.Verb == "list" })
	})
}
