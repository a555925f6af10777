package random

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Empirical is the discrete distribution over a list of values:
//
//	P(values[i]) = weights[i] / Σ weights
//
// It does not interpolate between values. Samples are drawn by the alias method (Walker 1977),
// from a table with a column for each value: a random column yields its own value with the
// probability keep, and otherwise the value of the column alias.
type Empirical struct {
	mean   float64
	values []int64
	keep   []float64
	alias  []int
}

// NewEmpirical returns the distribution over values in nanoseconds, each from 0 to LongestNs,
// with the given positive weights, or with equal weights if weights is empty.
func NewEmpirical(valuesNs []int64, weights []float64) (*Empirical, error) {
	n := len(valuesNs)
	if n == 0 {
		return nil, fmt.Errorf("the list of values is empty; want at least one")
	}
	if len(weights) > 0 && len(weights) != n {
		return nil, fmt.Errorf("%d values have %d weights; want one weight for each value, or none", n, len(weights))
	}
	e := &Empirical{values: append([]int64(nil), valuesNs...), keep: make([]float64, n), alias: make([]int, n)}
	sum := 0.0
	for i := range valuesNs {
		if v := valuesNs[i]; v < 0 || v > LongestNs {
			return nil, fmt.Errorf("value %v: want 0 or more", show(float64(v)))
		}
		e.keep[i] = 1
		if len(weights) > 0 {
			if err := checkParameter("weight", weights[i], 0, 1e12); err != nil {
				return nil, err
			}
			e.keep[i] = weights[i]
		}
		sum += e.keep[i]
	}
	for i, v := range e.values {
		e.keep[i] *= float64(n) / sum
		e.mean += float64(v) * e.keep[i] / float64(n)
	}
	e.fill()
	return e, nil
}

// fill computes the table. It fills each column of less than the mean weight from a column of
// more, until all columns have the mean weight (Vose, "A Linear Algorithm for Generating Random
// Numbers with a Given Distribution", 1991).
func (e *Empirical) fill() {
	var small, large []int
	for i, k := range e.keep {
		e.alias[i] = i
		if k < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, l := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		e.alias[s] = l
		e.keep[l] -= 1 - e.keep[s]
		if e.keep[l] < 1 {
			large = large[:len(large)-1]
			small = append(small, l)
		}
	}
}

// Sample implements Distribution. Its time does not depend on the number of values.
func (e *Empirical) Sample(r *rand.Rand) int64 {
	column, within := math.Modf(r.Float64() * float64(len(e.values)))
	i := int(column)
	if within >= e.keep[i] {
		i = e.alias[i]
	}
	return e.values[i]
}

// MeanNs implements Distribution.
func (e *Empirical) MeanNs() float64 { return e.mean }
