package tune

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"apfsim/core/config"
	"apfsim/core/rules"
	"apfsim/reports/result"
)

// measured returns what was measured of a level in the run that is explained, nil of a level that is not in it.
func (p *problem) measured(level string) *result.Level {
	at := slices.IndexFunc(p.summary.PriorityLevels, func(l result.Level) bool { return l.Name == level })
	if at < 0 {
		return nil
	}
	return &p.summary.PriorityLevels[at]
}

// peak returns the most seats of one server that a level had in use at one time, in the run that is explained.
func (p *problem) peak(level string) (most int) {
	for i := range p.summary.Servers {
		for _, l := range p.summary.Servers[i].Levels {
			if l.Name == level {
				most = max(most, l.PeakSeats)
			}
		}
	}
	if l := p.measured(level); l != nil && len(p.summary.Servers) == 0 {
		return l.PeakSeats
	}
	return most
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
			ID: fmt.Sprintf("%s of %s %d", name, l.Name, v), Remedy: remedy, Cost: Cost{Class: class, Steps: firstStep + i}, Sentence: sentence + ".", value: int(v),
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
	lendable(l, result.LendLess, false)
	if bounded && percent == 0 {
		return // what others lend is of no use
	}
	for _, other := range p.Objects.PriorityLevels {
		if other.Name != l.Name && p.changeable(other) && p.builtIn.PriorityLevel(other.Name) == nil && !p.hasFamily("lendablePercent of "+other.Name) {
			lendable(other, result.BorrowMore, true)
		}
	}
}

// mostLengths is up to how many times as long the queues are made.
const mostLengths = 16

// longestQueue returns how many requests a queue can hold that are dispatched before they time out, after a share of the
// request timeout, if the queues of one hand are full: more places turn a full queue into time-outs.
func (p *problem) longestQueue(l *result.Level) int32 {
	waitNs := float64(p.Spec.Servers.RequestTimeout) * cmp.Or(p.rules.WhatIf.QueueWaitShare, rules.ReleasedWaitShare)
	if l.Execution == nil || l.Execution.MeanNs == 0 || l.HandSize == 0 {
		return math.MaxInt32
	}
	places := float64(l.Limits.Nominal) * waitNs / float64(l.Execution.MeanNs) / float64(l.HandSize)
	return int32(min(math.MaxInt32, math.Ceil(places)))
}

// queueLength makes queues longer, if requests were rejected because they were full.
func (p *problem) queueLength(l *config.PriorityLevel) {
	q := l.Spec.Queuing()
	measured := p.measured(l.Name)
	if q == nil || measured == nil || measured.QueueFull == 0 {
		return
	}
	var values []int32
	most := min(q.QueueLengthLimit*mostLengths, p.longestQueue(measured))
	for v := q.QueueLengthLimit + 1; v <= most; v++ {
		values = append(values, v)
	}
	p.field(l, QueueLength, result.MoreQueueLength, "queueLengthLimit", q.QueueLengthLimit, true, 1, values, func(s *config.LimitedSpec, v int32) { s.LimitResponse.Queuing.QueueLengthLimit = v })
}

// mostShares bounds the shares of a level. Beyond it, all others together have hardly a seat.
const mostShares = 10_000

// leastShares yields the shares of a level beyond its present ones, 0 of a new level: of all that give the same nominal seats
// the least, and the seats. They are new ones, or, if a level gives some of its own, fewer than these.
func (p *problem) leastShares(present, giver int32) iter.Seq2[int32, float64] {
	s, others := &p.Spec.Servers, -float64(present)
	for _, l := range p.Objects.PriorityLevels {
		others += float64(l.Spec.Shares())
	}
	nominal := func(shares int32) float64 {
		all := others + float64(shares)
		if giver > 0 {
			all = others
		}
		return math.Ceil(float64(s.MaxRequestsInflight+s.MaxMutatingRequestsInflight) * float64(shares) / all)
	}
	most := int32(mostShares)
	if giver > 0 {
		most = giver - 1
	}
	return func(yield func(int32, float64) bool) {
		last := 0.0
		if present > 0 {
			last = nominal(present)
		}
		for v := present + 1; v <= most; v++ {
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
	for v := range p.leastShares(present, 0) {
		values = append(values, v)
	}
	p.field(l, Shares, result.MoreShares, "nominalConcurrencyShares", present, !p.Spec.Servers.Capacity.IsSet(), 1, values, func(s *config.LimitedSpec, v int32) { s.NominalConcurrencyShares = &v })
}

// transfers gives a level shares of another one, so that those of all others stay. The other is none that servers maintain, none
// that is to be helped, and none whose demand is not known, because nothing arrived or because it was full at some time; and it
// keeps the seats that it had in use.
func (p *problem) transfers(l *config.PriorityLevel) {
	sum, present := int32(0), l.Spec.Shares()
	for _, other := range p.Objects.PriorityLevels {
		sum += other.Spec.Shares()
	}
	s := &p.Spec.Servers
	nominal := func(shares int32) int {
		return int(math.Ceil(float64(s.MaxRequestsInflight+s.MaxMutatingRequestsInflight) * float64(shares) / float64(sum)))
	}
	for _, from := range p.Objects.PriorityLevels {
		measured := p.measured(from.Name)
		if from.Name == l.Name || !p.changeable(from) || p.builtIn.PriorityLevel(from.Name) != nil || !p.isKnown(from.Name) || slices.Contains(p.levels, from.Name) ||
			measured != nil && measured.Utilisation != nil && measured.Utilisation.Saturated > 0 {
			continue
		}
		var all []*Candidate
		last, had := nominal(present), from.Spec.Shares()
		for d := int32(1); d < had && nominal(had-d) >= p.peak(from.Name); d++ {
			seats, more, less := nominal(present+d), present+d, had-d
			if seats == last {
				continue
			}
			last = seats
			all = append(all, &Candidate{
				ID: fmt.Sprintf("shares of %s from %s %d", l.Name, from.Name, d), Remedy: result.Transfer, Cost: Cost{Class: Shares, Steps: len(all) + 1}, value: int(more),
				Sentence: fmt.Sprintf("Give %s %d of the %d shares of %s: %d seats instead of %d.", l.Name, d, had, from.Name, seats, nominal(present)),
				objects: config.Objects{PriorityLevels: []*config.PriorityLevel{
					edited(l, func(s *config.LimitedSpec) { s.NominalConcurrencyShares = &more }),
					edited(from, func(s *config.LimitedSpec) { s.NominalConcurrencyShares = &less }),
				}},
			})
		}
		p.add("shares of "+l.Name+" from "+from.Name, !p.Spec.Servers.Capacity.IsSet(), all)
	}
}
