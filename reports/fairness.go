package reports

import "slices"

// divider divides service. It keeps the memory for it.
type divider struct {
	claims []claim
	shares []float64
}

type claim struct {
	demand float64
	of     int
}

// fairShares divides a service among demands so that the least satisfied get as much as
// they can: nobody gets more than it demands, and whoever gets less than it demands gets
// as much as anybody (max-min fairness, by water-filling; Bertsekas and Gallager, Data
// Networks, section 6.5.2; Demers, Keshav and Shenker 1989). The shares are valid until
// the next call.
func (d *divider) fairShares(service float64, demands []float64) []float64 {
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

// jain returns Jain's index of fairness over the ratios φ of service to fair share,
//
//	(Σφ)² / (n·Σφ²)
//
// from 1/n, when one has everything, to 1 (Jain, Chiu and Hawe 1984). It has no value
// when there is no share above 0 or nothing was served.
func jain(service, shares []float64) (index float64, ok bool) {
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

// divide works out the fair shares of a level's flows over the window, in
// seat-nanoseconds and in the order of its flows, and what follows from them.
func (l *level) divide() (shares []float64, fairness *Fairness) {
	demands, services := make([]float64, len(l.flows)), make([]float64, len(l.flows))
	total := 0.0
	for i, f := range l.flows {
		demands[i], services[i] = f.demand, f.service
		total += services[i]
	}
	shares = l.divider.fairShares(total, demands)
	index, ok := jain(services, shares)
	if !ok {
		return shares, nil
	}
	fairness = &Fairness{Jain: index}
	for i, f := range l.flows {
		if shares[i] <= 0 {
			continue
		}
		ratio := services[i] / shares[i]
		fairness.MaxMinError = max(fairness.MaxMinError, abs(services[i]-shares[i])/shares[i])
		if fairness.Flows == 0 || ratio < fairness.LeastRatio {
			fairness.LeastRatio, fairness.LeastRatioFlow = ratio, f.name
		}
		fairness.Flows++
	}
	return shares, fairness
}

func abs(x float64) float64 { return max(x, -x) }
