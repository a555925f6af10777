package tune

import (
	"slices"

	"apfsim/core/config"
	"apfsim/reports/result"
)

// mostPairs bounds how many pairs are tried: the cheapest.
const mostPairs = 50

// pairs combines two remedies of different kinds, after all that are tried alone: one that changes who queues where with one
// that gives more seats. Each has one coarse value, which is chosen before anything is run.
func (p *problem) pairs() {
	var queueing, seats []*Candidate
	for _, f := range p.families {
		c := p.coarse(f)
		if c == nil {
			continue
		}
		switch c.Remedy {
		case result.MergeFlows, result.Move, result.MoreQueueLength, result.ChangeHandSize, result.MoreQueues:
			queueing = append(queueing, c)
		case result.MoreShares, result.BorrowMore, result.OwnLevel, result.ListLevel, result.RaiseInFlightLimit:
			seats = append(seats, c)
		}
	}
	var all []*Candidate
	for _, a := range queueing {
		for _, b := range seats {
			if c := p.combine(a, b); c != nil {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *Candidate) int { return a.Cost.Compare(b.Cost) })
	for _, c := range all[:min(len(all), mostPairs)] {
		c.family = &family{name: c.ID, all: []*Candidate{c}}
		p.families = append(p.families, c.family)
	}
}

// coarse returns the candidate of a family that pairs have: the only one, or that of the value that is farthest from the
// present one but not beyond twice of it, halfway to all percent, or twice the seats that a workload needs, and at most half of its level. It is nil for a part
// of a workload, whose whole is in another family.
func (p *problem) coarse(f *family) *Candidate {
	first, wanted := f.all[0], 0
	switch first.Remedy {
	case result.Move:
		if first.Cost.Moved < p.workload(first.moves).Clients {
			return nil
		}
		return first
	case result.MoreShares:
		wanted = 2 * int(p.Objects.PriorityLevel(first.objects.PriorityLevels[0].Name).Spec.Shares())
	case result.BorrowMore:
		wanted = (first.value + 100) / 2
	case result.MoreQueueLength:
		wanted = 2 * int(p.queuing(first).QueueLengthLimit)
	case result.ChangeHandSize:
		wanted = 2 * int(p.queuing(first).HandSize)
		if !slices.ContainsFunc(f.all, func(c *Candidate) bool { return c.value > wanted/2 }) {
			wanted /= 4 // flows have larger hands already than is good
		}
	case result.MoreQueues:
		wanted = 2 * int(p.queuing(first).Queues)
	case result.OwnLevel, result.ListLevel:
		at := slices.IndexFunc(p.routes, func(r route) bool { return r.workload == first.moves && slices.Contains(p.levels, r.level) })
		r := &p.routes[at]
		wanted = min(int(2*p.needed(r)), seatsOf(p.seats, r.level).Nominal/2) // many small requests need less than their number says
	case result.RaiseInFlightLimit:
		wanted = 2 * p.Spec.Servers.MaxRequestsInflight
	}
	best := first
	for _, c := range f.all {
		if c.value <= wanted && (c.value > best.value || best.value > wanted) {
			best = c
		}
	}
	return best
}

// queuing returns how the level of a candidate queues now.
func (p *problem) queuing(c *Candidate) *config.Queuing {
	return p.Objects.PriorityLevel(c.objects.PriorityLevels[0].Name).Spec.Queuing()
}

// combine returns the candidate that makes both changes; nil if they are about the same FlowSchema or workload, or if both
// together are not safe.
func (p *problem) combine(a, b *Candidate) *Candidate {
	if a.moves != "" && a.moves == b.moves {
		return nil
	}
	for _, s := range a.objects.FlowSchemas {
		to := s.Spec.PriorityLevelConfiguration.Name
		if b.objects.FlowSchema(s.Name) != nil || b.Remedy == result.BorrowMore && a.Remedy == result.Move && b.objects.PriorityLevel(to) != nil {
			return nil // a level to which requests are moved lends nothing more
		}
	}
	c := &Candidate{ID: a.ID + " + " + b.ID, Remedy: a.Remedy, Sentence: a.Sentence + " " + b.Sentence, requests: b.requests,
		objects: config.Objects{FlowSchemas: slices.Concat(a.objects.FlowSchemas, b.objects.FlowSchemas)},
		Cost:    Cost{Class: max(a.Class, b.Class), Moved: a.Cost.Moved + b.Cost.Moved, Steps: a.Cost.Steps + b.Cost.Steps, Pair: true}}
	c.from = slices.Concat(a.from, b.from)
	c.objects.PriorityLevels = slices.Clone(a.objects.PriorityLevels)
	for _, l := range b.objects.PriorityLevels {
		at := slices.IndexFunc(c.objects.PriorityLevels, func(other *config.PriorityLevel) bool { return other.Name == l.Name })
		if at < 0 {
			c.objects.PriorityLevels = append(c.objects.PriorityLevels, l)
			continue
		}
		c.objects.PriorityLevels[at] = p.bothChanges(c.objects.PriorityLevels[at], l)
	}
	if after := p.describe(c); !p.isSafe(c, after) {
		return nil
	}
	return c
}

// bothChanges returns a level that has the fields in which one or the other of two differs from the present one. The first
// one changes its queues at most, the second one does not.
func (p *problem) bothChanges(queues, seats *config.PriorityLevel) *config.PriorityLevel {
	return edited(seats, func(s *config.LimitedSpec) { s.LimitResponse = queues.Spec.Limited.LimitResponse })
}
