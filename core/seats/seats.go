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

// Level is what the adjustment knows of a priority level and its result.
type Level struct {
	Limits
	Exempt bool

	High               int     // the last period's highest demand, in seats
	Average, Deviation float64 // of the demand, in the last period that was not empty
	Smoothed           float64 // the demand, slow to fall

	Current      int     // the concurrency limit in force
	FairFraction float64 // of its target that every level got, but for its bounds; 0 when they were not divided by targets
}

// Observe takes in the demand of the period that ends with an adjustment.
func (l *Level) Observe(d DemandStatistics) {
	l.High = int(math.Round(d.Max))
	if d.Seconds <= 0 {
		return
	}
	l.Average, l.Deviation = d.Average, d.Deviation
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

// Target returns how many seats the adjustment aims at for a level that is not exempt.
func (l *Level) Target() float64 { return max(float64(l.low()), l.Smoothed) }

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
		l.FairFraction = 0
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
			target: l.Target(),
		}
	}
	// The server divides the sum of all nominal limits here, not what the exempt levels
	// have left of it (the KEP says the latter).
	division, p, ok := divide(float64(nominal), demands)
	if !ok {
		return
	}
	for i, l := range limited {
		l.Current = int(math.Round(division[i]))
	}
	for _, l := range levels {
		l.FairFraction = p
	}
}

// demand asks for a part of a whole: as near to target as can be, from low to high.
type demand struct{ low, high, target float64 }

const (
	leastTarget = 0.001
	tolerance   = 1e-7
)

// divide finds the p for which clamp(p·target, low, high) adds up to whole, and returns
// those parts and p; ok is false when no p does. Of several p, all parts being at a bound,
// it is the one nearest to where they leave it.
func divide(whole float64, demands []demand) (parts []float64, p float64, ok bool) {
	parts = make([]float64, len(demands))
	if whole == 0 {
		return parts, 0, true
	}
	type bound struct{ p, target float64 } // from p on, the sum grows by target per unit of p more (or less)
	bounds := make([]bound, 0, 2*len(demands))
	var low, high, target float64 // sums
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

	// Raise p from the least bound on; between two bounds the sum grows linearly.
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
