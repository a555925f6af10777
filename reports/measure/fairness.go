package measure

// Divider divides service. It reuses its memory.
type Divider struct {
	shares []float64
	unmet  []int32 // the demands that may get less than they ask for, by index
}

// FairShares divides a service among demands by max-min fairness: no demand gets more than it
// asks for, and a demand that gets less gets at least as much as every other one
// (water-filling; Bertsekas and Gallager, Data Networks, section 6.5.2; Demers, Keshav and
// Shenker 1989). The shares are valid until the next call.
func (d *Divider) FairShares(service float64, demands []float64) []float64 {
	d.shares, d.unmet = append(d.shares[:0], demands...), d.unmet[:0]
	for i := range demands {
		d.unmet = append(d.unmet, int32(i))
	}
	// An equal part of what is left meets the smaller demands, and what they leave raises the part of the others. A few
	// rounds do, where sorting thousands of demands would take most of the time of a run.
	for left := service; len(d.unmet) > 0; {
		part, more := max(0, left/float64(len(d.unmet))), d.unmet[:0]
		before := len(d.unmet)
		for _, i := range d.unmet {
			if demands[i] > part {
				more = append(more, i)
			} else {
				left -= demands[i]
			}
		}
		if len(more) == before {
			for _, i := range more {
				d.shares[i] = part
			}
			break
		}
		d.unmet = more
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
