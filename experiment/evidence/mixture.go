package evidence

import (
	"cmp"
	"math"
	"slices"
)

// atom is a value and its weight.
type atom struct{ value, weight float64 }

func meanOf(atoms []atom) float64 {
	sum, n := 0.0, 0.0
	for _, a := range atoms {
		sum, n = sum+a.value*a.weight, n+a.weight
	}
	return sum / n
}

const (
	perBucket = 4  // values by which a bucket is represented
	lastBound = 60 // seconds: what the last bucket, which has no bound, ends at: the default of --request-timeout
)

// durations returns values with the counts of the buckets and their mean. Within a bucket from low to high they are at
//
//	low + (high − low)·uᵃ, u = 1/8, 3/8, 5/8, 7/8
//
// with the same a for all buckets.
func (b *buckets) durations() (atoms []atom) {
	made := func(a float64) []atom {
		var atoms []atom
		for _, k := range b.list {
			high := k.high
			if math.IsInf(high, 1) {
				high = max(2*k.low, lastBound)
			}
			if high <= k.low {
				atoms = append(atoms, atom{high, k.n})
				continue
			}
			for i := range perBucket {
				u := (float64(i) + 0.5) / perBucket
				atoms = append(atoms, atom{k.low + (high-k.low)*math.Pow(u, a), k.n / perBucket})
			}
		}
		return atoms
	}
	low, high := -8.0, 8.0 // of log2 a: the mean falls with a
	for range 60 {
		middle := (low + high) / 2
		if meanOf(made(math.Exp2(middle))) > b.mean() {
			low = middle
		} else {
			high = middle
		}
	}
	return made(math.Exp2((low + high) / 2))
}

// seats returns whole numbers with the counts of the buckets and, as far as these permit, their mean. Without buckets, all are 1.
func (b *buckets) seats() (atoms []atom) {
	if b.n <= 0 {
		return []atom{{1, 1}}
	}
	least, more := 0.0, 0.0
	for _, k := range b.list {
		least += k.n * (k.low + 1)
		if !math.IsInf(k.high, 1) {
			more += k.n * (k.high - k.low - 1)
		}
	}
	part := 0.0 // of the requests of a bucket that have its most seats, and not its least
	if more > 0 {
		part = min(1, max(0, (b.sum-least)/more))
	}
	for _, k := range b.list {
		if k.high <= k.low+1 || math.IsInf(k.high, 1) {
			atoms = append(atoms, atom{k.low + 1, k.n})
			continue
		}
		atoms = append(atoms, atom{k.low + 1, k.n * (1 - part)}, atom{k.high, k.n * part})
	}
	slices.SortFunc(atoms, func(a, b atom) int { return cmp.Compare(a.value, b.value) })
	return slices.DeleteFunc(atoms, func(a atom) bool { return a.weight <= 1e-9*b.n })
}

// kind is the requests of a FlowSchema that have the same number of seats.
type kind struct {
	seats, part float64
	executions  []atom
}

// kinds returns the requests by their seats. The executions of each are a mixture of those of all, and, with
// the weight |mix|, of those of its place in the order of executions: the widest requests have the longest ones if mix is positive,
// and the shortest ones if it is negative.
func (s *schemaLoad) kinds() (all []kind) {
	durations, widths := s.executions.durations(), s.widths.seats()
	if s.mix < 0 {
		slices.Reverse(durations)
	}
	sum := 0.0
	for _, w := range widths {
		sum += w.weight
	}
	from, most := 0.0, widths[len(widths)-1].value
	for _, w := range widths {
		k := kind{seats: w.value, part: w.weight / sum}
		own := slice(durations, from, from+k.part)
		from += k.part
		for i, d := range durations {
			weight := (1-math.Abs(s.mix))*d.weight/s.executions.n + math.Abs(s.mix)*own[i]
			if weight > 1e-12 {
				if w.value > 1 || most == 1 {
					d.value += s.held
				}
				k.executions = append(k.executions, atom{d.value, weight})
			}
		}
		all = append(all, k)
	}
	return all
}

// widest returns the requests of more than one seat, or all if there are none.
func (s *schemaLoad) widest() []kind {
	all := s.kinds()
	if wide := slices.DeleteFunc(slices.Clone(all), func(k kind) bool { return k.seats == 1 }); len(wide) > 0 {
		return wide
	}
	return all
}

// slice returns the weights, of sum 1, of the atoms between two parts of all.
func slice(atoms []atom, from, to float64) []float64 {
	sum, at := 0.0, 0.0
	for _, a := range atoms {
		sum += a.weight
	}
	weights := make([]float64, len(atoms))
	for i, a := range atoms {
		next := at + a.weight/sum
		weights[i] = max(0, min(to, next)-max(from, at)) / (to - from)
		at = next
	}
	return weights
}

// seatSeconds returns what a request occupies on average.
func (s *schemaLoad) seatSeconds() (x float64) {
	for _, k := range s.kinds() {
		x += k.part * k.seats * meanOf(k.executions)
	}
	return x
}
