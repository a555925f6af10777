// Package fairness divides a service max-min fairly among demands, and computes Jain's index.
package fairness

import (
	"slices"
)

// Divider divides service. It keeps the memory for it.
type Divider struct {
	claims []claim
	shares []float64
}

type claim struct {
	demand float64
	of     int
}

// FairShares divides a service among demands so that the least satisfied get as much as
// they can: nobody gets more than it demands, and whoever gets less than it demands gets
// as much as anybody (max-min fairness, by water-filling; Bertsekas and Gallager, Data
// Networks, section 6.5.2; Demers, Keshav and Shenker 1989). The shares are valid until
// the next call.
func (d *Divider) FairShares(service float64, demands []float64) []float64 {
	claims := d.claims[:0]
	for i, demand := range demands {
		claims = append(claims, claim{demand, i})
	}
	d.claims = claims
	slices.SortFunc(claims, func(a, b claim) int {
		switch {
		case a.demand < b.demand:
			return -1
		case a.demand > b.demand:
			return 1
		}
		return a.of - b.of
	})
	d.shares = slices.Grow(d.shares[:0], len(demands))[:len(demands)]
	left := service
	for n, c := range claims {
		d.shares[c.of] = min(c.demand, left/float64(len(claims)-n))
		left -= d.shares[c.of]
	}
	return d.shares
}

// Jain returns Jain's index of fairness over the ratios φ of service to fair share,
//
//	(Σφ)² / (n·Σφ²)
//
// from 1/n, when one has everything, to 1 (Jain, Chiu and Hawe 1984). It has no value
// when there is no share above 0 or nothing was served.
func Jain(service, shares []float64) (index float64, ok bool) {
	n, sum, squares := 0, 0.0, 0.0
	for i, share := range shares {
		if share <= 0 {
			continue
		}
		ratio := service[i] / share
		n++
		sum += ratio
		squares += ratio * ratio
	}
	if squares == 0 {
		return 0, false
	}
	return min(1, sum*sum/(float64(n)*squares)), true
}

func Abs(x float64) float64 { return max(x, -x) }
