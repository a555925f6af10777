package seats

import "math"

// Demand integrates over time how many seats are asked for
// (k8s.io/apiserver, util/flowcontrol/fairqueuing/integrator.go).
type Demand struct {
	lastNs               int64
	seats                float64
	elapsed, sum, square float64 // integrals over seconds of 1, seats and seats²
	most                 float64
}

// NewDemand returns a demand of 0 seats from now on.
func NewDemand(nowNs int64) Demand { return Demand{lastNs: nowNs} }

// Set says that from now on so many seats are asked for.
func (d *Demand) Set(nowNs int64, seats int) {
	d.advance(nowNs)
	d.seats = float64(seats)
	d.most = max(d.most, d.seats)
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

// seconds converts as time.Duration does: whole seconds and the rest each by itself.
func seconds(ns int64) float64 {
	const second = 1_000_000_000
	return float64(ns/second) + float64(ns%second)/second
}

// DemandStatistics describes the demand of one period.
type DemandStatistics struct {
	Seconds   float64 // length of the period
	Average   float64 // time-weighted; 0 for an empty period
	Deviation float64 // standard deviation, population and time-weighted; 0 for an empty period
	Max       float64
}

// Take returns the statistics of the demand since the last call and begins the next period.
func (d *Demand) Take(nowNs int64) DemandStatistics {
	d.advance(nowNs)
	stats := DemandStatistics{Seconds: d.elapsed, Max: d.most}
	if d.elapsed > 0 {
		stats.Average = d.sum / d.elapsed
		// Rounding can make the variance of a constant slightly negative.
		stats.Deviation = math.Sqrt(max(0, d.square/d.elapsed-stats.Average*stats.Average))
	}
	*d = Demand{lastNs: nowNs, seats: d.seats, most: d.seats}
	return stats
}
