// Package seats divides a server's seats among its priority levels. It computes the nominal
// limits from the shares, the bounds within which levels lend and borrow seats, and the current
// limits, which are adjusted periodically to the demand (KEP-1040, "Dispatching";
// k8s.io/apiserver, util/flowcontrol/apf_controller.go and conc_alloc.go).
package seats

import (
	"math"
	"sort"

	"apfsim/core/rules"
)

// Limits are a priority level's fixed concurrency limits, in seats.
type Limits struct {
	Nominal int // the level's share of the server's seats, rounded up
	Min     int // Nominal minus all seats that the level may lend
	Max     int // Nominal plus all seats that the level may borrow
}

// NewLimits returns the limits of a level with shares out of allShares, the sum over all levels,
// on a server with serverLimit seats. If bounded is true, the level may borrow borrowingPercent
// of its nominal limit; otherwise it may borrow up to serverLimit seats.
func NewLimits(serverLimit int, shares int32, allShares float64, lendablePercent, borrowingPercent int32, bounded bool) Limits {
	nominal := math.Ceil(float64(serverLimit) * float64(shares) / allShares)
	if allShares == 0 {
		nominal = 0
	}
	lendable := math.Round(nominal * float64(lendablePercent) / 100)
	borrowing := float64(serverLimit)
	if bounded {
		borrowing = math.Round(nominal * float64(borrowingPercent) / 100)
	}
	return Limits{
		Nominal: int(nominal),
		Min:     int(nominal) - int(lendable),
		Max:     int(nominal) + int(borrowing),
	}
}

// Cap returns the largest number of seats that the estimate of a request may have at a level
// with queues:
//
//	max(1, min(⌈share·nominal⌉, ⌊nominal/handSize⌋))
//
// where share is rules.SeatConstants.LevelShare, 0.15. The second bound lets the widest requests at the heads of all queues of one hand execute at
// the same time.
func Cap(share float64, nominal, handSize int) int {
	return max(1, min(int(math.Ceil(float64(nominal)*share)), nominal/handSize))
}

// smoothing is the weight of the previous value in the smoothed demand. With an adjustment
// every 10 s, the influence of a demand is halved after five minutes.
const smoothing = 0.977

// Level is the state of a priority level between adjustments: their input and their result. The
// averages are NaN where rules.Rules.DemandNaN says so.
type Level struct {
	Limits
	Exempt bool    // the level is exempt, and gets what it uses before the others divide the rest (rules.ExemptFirst)
	Weight float64 // in the division of the seats, more than 0; used with rules.WhatIf.BorrowingWeights only

	High               int     // highest demand in the last period, in seats
	Average, Deviation float64 // of the demand in the last period longer than 0, in seats
	Smoothed           float64 // demand that follows a rise at once and a fall slowly, in seats

	Current int // the concurrency limit now, in seats
	// FairFraction is the factor by which the last adjustment multiplied the targets of all
	// levels, before it applied each level's bounds. It is 0 if the adjustment did not divide
	// the seats in proportion to targets.
	FairFraction float64
}

// Observe records the demand of the period that ends with an adjustment. With
// rules.Rules.DemandNaN, a statistic that is NaN makes the smoothed demand NaN, and it stays NaN.
func (l *Level) Observe(r *rules.Rules, d DemandStatistics) {
	l.High = int(math.Round(d.Max))
	if !r.DemandNaN {
		if d.Seconds <= 0 {
			return
		}
		if math.IsNaN(d.Deviation) {
			d.Deviation = 0 // the variance was just below 0
		}
	}
	l.Average, l.Deviation = d.Average, d.Deviation
	envelope := d.Average + d.Deviation
	l.Smoothed = max(envelope, smoothing*l.Smoothed+(1-smoothing)*envelope)
}

// low returns the lower bound of the current limit, unless there are too few seats for the
// lower bounds of all levels: the part of its nominal limit that the level has used, and at
// least Min. An exempt level may use more than its nominal limit.
func (l *Level) low() int {
	if l.Exempt {
		return max(l.Min, l.High)
	}
	return max(l.Min, min(l.Nominal, l.High))
}

// Target returns the current limit, in seats, at which the adjustment aims for a level that is
// not Exempt.
func (l *Level) Target() float64 { return max(float64(l.low()), l.Smoothed) }

// Adjust sets the current limit of every level from its limits and its demand. The seats of all
// levels are divided in proportion to the targets, within each level's bounds. If that is not
// possible, the limits do not change. With rules.ExemptFirst, an exempt level gets the seats that
// it has used, and the other levels divide the remaining seats:
//
//   - if the remaining seats are not enough for Min of each level, each gets Min;
//   - otherwise, if they are not enough for the lower bound of each level, each gets Min and the
//     same fraction of the difference to its lower bound;
//   - otherwise they are divided in proportion to the targets, as above.
//
// With rules.WhatIf.BorrowingWeights, levels of a greater weight are preferred, see [adjustByWeight].
func Adjust(r *rules.Rules, levels []*Level) {
	var nominal, exempt, least, low int // sums over the levels
	for _, l := range levels {
		nominal += l.Nominal
		if l.Exempt {
			exempt += l.low()
			continue
		}
		least += l.Min
		low += l.low()
	}
	remaining, exemptFirst := nominal-exempt, r.Exempt == rules.ExemptFirst

	var divided []*Level
	for _, l := range levels {
		l.FairFraction = 0
		switch {
		case l.Exempt:
			l.Current = l.low()
		case exemptFirst && remaining <= least:
			l.Current = l.Min
		case exemptFirst && remaining <= low && r.WhatIf.BorrowingWeights == nil:
			part := float64(remaining-least) / float64(low-least)
			l.Current = l.Min + int(math.Round(float64(l.low()-l.Min)*part))
		default:
			divided = append(divided, l)
		}
	}
	if r.WhatIf.BorrowingWeights != nil && adjustByWeight(divided, exemptFirst && remaining <= low, remaining, nominal) {
		return
	}
	demands := make([]demand, len(divided))
	for i, l := range divided {
		demands[i] = demand{
			low:    float64(l.low()),
			high:   float64(l.Max),
			target: l.Target(),
		}
	}
	// The KEP divides the seats that remain after the exempt levels. Upstream divides the sum of
	// all nominal limits, and so does this code.
	division, p, ok := divide(float64(nominal), demands)
	if !ok {
		return
	}
	for i, l := range divided {
		l.Current = int(math.Round(division[i]))
	}
	for _, l := range levels {
		l.FairFraction = p
	}
}

// adjustByWeight sets the current limits of levels whose weights count. The levels get their lower bounds, and share the
// seats above these in proportion to weight and deficit, which is what a level lacks of its target or, if that is less,
// of Max; none gets more than its deficit. If seats are short, which is if they are not enough for the lower bounds, the
// levels get Min, and the deficit is what they lack of their lower bounds. It returns false, and changes nothing, if there
// are more seats than all deficits: then weights do not matter, and the seats are divided as without them.
//
// The revision of KEP-1040 for kubernetes/kubernetes#128087 (kubernetes/enhancements#4733) shares seats that are short
// "proportionally to each level's deficit and weight". That the seats above the lower bounds are shared alike is how this
// package reads it.
func adjustByWeight(levels []*Level, short bool, remaining, nominal int) bool {
	whole := float64(nominal)
	if short {
		whole = float64(remaining)
	}
	base := make([]float64, len(levels))
	demands := make([]demand, len(levels))
	for i, l := range levels {
		aim := min(l.Target(), float64(l.Max))
		base[i] = float64(l.low())
		if short {
			base[i], aim = float64(l.Min), float64(l.low())
		}
		whole -= base[i]
		demands[i] = demand{high: aim - base[i], target: l.Weight * (aim - base[i])}
	}
	parts, _, ok := divide(whole, demands)
	if !ok {
		return false
	}
	for i, l := range levels {
		l.Current = int(math.Round(base[i] + parts[i]))
	}
	return true
}

// Reachable returns the greatest limit that adjustments can give the level with index of, which is not
// Exempt. Max can be far above it: where nothing bounds what a level may borrow, that is as many seats as
// the server has, but all levels together cannot lend as many. Reachable lets the smoothed demand
// of the level grow without bound while the other levels have no demand. That is the most that the level
// gets of the others; as much as Nominal it gets with a high demand, too.
func Reachable(r *rules.Rules, levels []*Level, of int) int {
	trial := make([]*Level, len(levels))
	for i, l := range levels {
		trial[i] = &Level{Limits: l.Limits, Exempt: l.Exempt, Weight: l.Weight, Current: l.Nominal}
	}
	trial[of].Smoothed = math.MaxInt32
	Adjust(r, trial)
	return max(trial[of].Nominal, trial[of].Current)
}

// demand is the input of divide for one level: the bounds of its part, and its target.
type demand struct{ low, high, target float64 }

const (
	leastTarget = 0.001 // lower targets are raised to this, so that a part can grow with p
	tolerance   = 1e-7  // of the comparisons of whole with the sums of the bounds
)

// divide finds the proportion p for which
//
//	Σ parts = whole,  where part = clamp(p·target, low, high)
//
// and returns the parts and p; ok is false if there is no such p. If all parts are at their
// lower bound, or all at their upper bound, many values of p are solutions; divide then returns
// the one at which the first part would leave its bound. A target that is NaN makes p NaN; then
// there is a solution only where the bounds alone determine the parts.
func divide(whole float64, demands []demand) (parts []float64, p float64, ok bool) {
	parts = make([]float64, len(demands))
	// bound is a value of p at which a part reaches its lower or its upper bound. Beyond it, the
	// slope of the sum of the parts, as a function of p, is greater by target, which is negative
	// at an upper bound.
	type bound struct{ p, target float64 }
	bounds := make([]bound, 0, 2*len(demands))
	var low, high, target float64 // sums over the demands
	first, last, free := math.Inf(1), 0.0, true
	for i := range demands {
		d := &demands[i]
		d.target = max(d.target, leastTarget)
		low += d.low
		high += d.high
		target += d.target
		bounds = append(bounds, bound{d.low / d.target, d.target}, bound{d.high / d.target, -d.target})
		first, last = min(first, d.low/d.target), max(last, d.high/d.target)
	}
	if low-whole > tolerance || whole-high > tolerance {
		return nil, 0, false
	}
	if whole == 0 {
		return parts, 0, true
	}
	for i, d := range demands {
		switch {
		case low-whole > -tolerance:
			p, parts[i] = first, d.low
		case whole-high > -tolerance:
			p, parts[i] = last, d.high
		default:
			p = whole / target
			parts[i] = d.target * p
			free = free && d.low/d.target <= p && p <= d.high/d.target
		}
	}
	if low-whole > -tolerance || whole-high > -tolerance || free {
		return parts, p, true
	}
	if math.IsNaN(p) {
		return nil, 0, false
	}

	// Raise p from bound to bound, starting at the lowest. Between two bounds the sum is a linear
	// function of p, so that the solution between them follows from the slope.
	sort.SliceStable(bounds, func(i, j int) bool { return bounds[i].p < bounds[j].p })
	p = first
	sum, slope, growing := low, 0.0, 0
	for _, b := range bounds {
		if growing > 0 {
			if next := p + (whole-sum)/slope; next <= b.p {
				p = next
				break
			}
			sum += (b.p - p) * slope
		}
		p = b.p
		slope += b.target
		if b.target > 0 {
			growing++
		} else {
			growing--
		}
		if sum >= whole {
			break
		}
	}
	for i, d := range demands {
		parts[i] = max(d.low, min(d.high, p*d.target))
	}
	return parts, p, true
}
