package measure

import (
	"slices"
)

// Divider divides service. It reuses its memory.
type Divider struct {
	claims []claim
	shares []float64
}

type claim struct {
	demand float64
	index  int
}

// FairShares divides a service among demands by max-min fairness: no demand gets more than it
// asks for, and a demand that gets less gets at least as much as every other one
// (water-filling; Bertsekas and Gallager, Data Networks, section 6.5.2; Demers, Keshav and
// Shenker 1989). The shares are valid until the next call.
func (d *Divider) FairShares(service float64, demands []float64) []float64 {
	claims := slices.Grow(d.claims[:0], len(demands))
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
		return a.index - b.index
	})
	d.shares = slices.Grow(d.shares[:0], len(demands))[:len(demands)]
	left := service
	for n, c := range claims {
		d.shares[c.index] = min(c.demand, left/float64(len(claims)-n))
		left -= d.shares[c.index]
	}
	return d.shares
}

// Jain returns Jain's index of fairness over the ratios φ of service to fair share,
//
//	(Σφ)² / (n·Σφ²)
//
// from 1/n, if one of n gets all the service, to 1 (Jain, Chiu and Hawe 1984). It is not ok if no share
// is greater than 0 or there was no service.
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

// Abs returns the absolute value.
func Abs(x float64) float64 { return max(x, -x) }
