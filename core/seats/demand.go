package seats

import "math"

// Demand integrates a level's seat demand over time. The demand is the number of seats that its
// waiting and executing requests need (k8s.io/apiserver, util/flowcontrol/fairqueuing/integrator.go).
type Demand struct {
	lastNs               int64   // time up to which the integrals are valid
	seats                float64 // demand since then
	elapsed, sum, square float64 // integrals of 1, seats and seats² over the period so far, in seconds
	highest              float64 // highest demand in the period so far
}

// NewDemand returns a demand of 0 seats that begins at nowNs.
func NewDemand(nowNs int64) Demand { return Demand{lastNs: nowNs} }

// Set changes the demand from nowNs on.
func (d *Demand) Set(nowNs int64, seats int) {
	d.advance(nowNs)
	d.seats = float64(seats)
	if d.seats > d.highest { // max of floating point would also care for NaN
		d.highest = d.seats
	}
}

func (d *Demand) advance(nowNs int64) {
	if nowNs == d.lastNs {
		return
	}
	dt := seconds(nowNs - d.lastNs)
	d.lastNs = nowNs
	d.elapsed += dt
	d.sum += d.seats * dt
	d.square += d.seats * d.seats * dt
}

// seconds converts nanoseconds as time.Duration.Seconds does, with the whole seconds and the
// remainder converted separately. Another conversion would round differently from upstream.
func seconds(ns int64) float64 {
	const second = 1_000_000_000
	if uint64(ns) < second { // the same, as the whole seconds are 0
		return float64(ns) / second
	}
	return float64(ns/second) + float64(ns%second)/second
}

// DemandStatistics summarizes the demand during a period, in seats. Average and Deviation are NaN
// for a period of length 0. Deviation is also NaN if rounding makes the variance negative, which
// happens with a demand that is constant or nearly so.
type DemandStatistics struct {
	Seconds   float64 // length of the period
	Average   float64 // time-weighted
	Deviation float64 // time-weighted standard deviation of the population
	Max       float64
}

// Take returns the statistics of the demand since the previous call, and begins the next period.
func (d *Demand) Take(nowNs int64) DemandStatistics {
	d.advance(nowNs)
	average := d.sum / d.elapsed // 0/0 is NaN
	stats := DemandStatistics{Seconds: d.elapsed, Average: average, Deviation: math.Sqrt(d.square/d.elapsed - average*average), Max: d.highest}
	*d = Demand{lastNs: nowNs, seats: d.seats, highest: d.seats}
	return stats
}
