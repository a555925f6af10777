// Package seats divides a server's seats among its priority levels: nominal limits by
// shares, the bounds within which a level lends and borrows, and the periodic adjustment
// of the current limits to the demand (KEP-1040, "Dispatching"; k8s.io/apiserver,
// util/flowcontrol/apf_controller.go and conc_alloc.go).
package seats

import (
	"math"
	"sort"
)

// Limits are a priority level's fixed concurrency limits, in seats.
type Limits struct {
	Nominal int // its share of the server's seats, rounded up
	Min     int // what remains when it has lent all it may
	Max     int // what it has when it has borrowed all it may
}

// NewLimits returns the limits of a level with so many of all levels' shares, on a server
// with serverLimit seats. borrowingPercent applies when bounded; otherwise the level may
// borrow up to serverLimit.
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

// Cap returns the most seats that a request at a level with queues is estimated to take:
// max(1, min(⌈0.15·nominal⌉, ⌊nominal/handSize⌋)).
func Cap(nominal, handSize int) int {
	return max(1, min(int(math.Ceil(float64(nominal)*0.15)), nominal/handSize))
}

// smoothing is the weight of the past in the smoothed demand: a demand that ceases has
// lost half its weight after five minutes of 10 s adjustments.
const smoothing = 0.977

// Level is what the adjustment knows of a priority level and, in Current, its result.
type Level struct {
	Limits
	Exempt bool

	High     int     // the last period's highest demand, in seats
	Smoothed float64 // the demand, slow to fall
	Current  int     // the concurrency limit in force
}

// Observe takes in the demand of the period that ends with an adjustment.
func (l *Level) Observe(d DemandStatistics) {
	l.High = int(math.Round(d.Max))
	if d.Seconds <= 0 {
		return
	}
	envelope := d.Average + d.Deviation
	l.Smoothed = max(envelope, smoothing*l.Smoothed+(1-smoothing)*envelope)
}

// low is the least that a level gets unless seats are short: what it can use of its
// nominal limit.
func (l *Level) low() int {
	if l.Exempt {
		return max(l.Min, l.High)
	}
	return max(l.Min, min(l.Nominal, l.High))
}

// Adjust sets every level's current limit from its limits and demand. An exempt level
// gets what it asks for. The others share the rest: their least when not even that is
// there, else all of it in proportion to their targets, each within its bounds.
func Adjust(levels []*Level) {
	var nominal, exempt, least, low int // sums
	for _, l := range levels {
		nominal += l.Nominal
		if l.Exempt {
			exempt += l.low()
			continue
		}
		least += l.Min
		low += l.low()
	}
	remaining := nominal - exempt

	var limited []*Level
	for _, l := range levels {
		switch {
		case l.Exempt:
			l.Current = l.low()
		case remaining <= least:
			l.Current = l.Min
		case remaining <= low:
			part := float64(remaining-least) / float64(low-least)
			l.Current = l.Min + int(math.Round(float64(l.low()-l.Min)*part))
		default:
			limited = append(limited, l)
		}
	}
	if len(limited) == 0 {
		return
	}
	demands := make([]demand, len(limited))
	for i, l := range limited {
		demands[i] = demand{
			low:    float64(l.low()),
			high:   float64(l.Max),
			target: max(float64(l.low()), l.Smoothed),
		}
	}
	// The server divides the sum of all nominal limits here, not what the exempt levels
	// have left of it (the KEP says the latter).
	if division, ok := divide(float64(nominal), demands); ok {
		for i, l := range limited {
			l.Current = int(math.Round(division[i]))
		}
	}
}

// demand asks for a part of a whole: as near to target as can be, from low to high.
type demand struct{ low, high, target float64 }

const (
	leastTarget = 0.001
	tolerance   = 1e-7
)

// divide finds the p for which clamp(p·target, low, high) adds up to whole, and returns
// those parts; ok is false when no p does.
func divide(whole float64, demands []demand) (parts []float64, ok bool) {
	parts = make([]float64, len(demands))
	if whole == 0 {
		return parts, true
	}
	type bound struct{ p, target float64 } // from p on, the sum grows by target per unit of p more (or less)
	bounds := make([]bound, 0, 2*len(demands))
	var low, high, target float64 // sums
	first, free := math.Inf(1), true
	for i := range demands {
		d := &demands[i]
		d.target = max(d.target, leastTarget)
		low += d.low
		high += d.high
		target += d.target
		bounds = append(bounds, bound{d.low / d.target, d.target}, bound{d.high / d.target, -d.target})
		first = min(first, d.low/d.target)
	}
	if low-whole > tolerance || whole-high > tolerance {
		return nil, false
	}
	for i, d := range demands {
		switch {
		case low-whole > -tolerance:
			parts[i] = d.low
		case whole-high > -tolerance:
			parts[i] = d.high
		default:
			parts[i] = d.target * (whole / target)
			free = free && d.low/d.target <= whole/target && whole/target <= d.high/d.target
		}
	}
	if low-whole > -tolerance || whole-high > -tolerance || free {
		return parts, true
	}

	// Raise p from the least bound on; between two bounds the sum grows linearly.
	sort.SliceStable(bounds, func(i, j int) bool { return bounds[i].p < bounds[j].p })
	p, sum, slope, growing := first, low, 0.0, 0
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
	return parts, true
}
