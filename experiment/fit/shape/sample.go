// Package shape finds the shapes of observations: which distribution durations have, and which arrival process
// requests have. A shape is one that a scenario can have, and is returned as the YAML of a scenario.
package shape

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Sample is a uniform sample of bounded size of numbers, of which all are counted (Vitter's algorithm R). Its
// choice depends only on the number of values, so that the same requests give the same sample.
type Sample struct {
	Values        []float64 // those that are kept, in no order
	N             int64     // of all values
	sum, sum2     float64
	least, most   float64
	sumLog, sumL2 float64 // of the logarithms of the positive values
	positive      int64
	random        *rand.Rand
}

// sampleSize is the most values that a sample keeps.
const sampleSize = 8192

// Add adds a value.
func (s *Sample) Add(x float64) {
	if s.N == 0 || x < s.least {
		s.least = x
	}
	s.most = max(s.most, x)
	s.N++
	s.sum += x
	s.sum2 += x * x
	if x > 0 {
		l := math.Log(x)
		s.positive++
		s.sumLog += l
		s.sumL2 += l * l
	}
	if len(s.Values) < sampleSize {
		s.Values = append(s.Values, x)
		return
	}
	if s.random == nil {
		s.random = rand.New(rand.NewPCG(1, 2))
	}
	if i := s.random.Int64N(s.N); i < sampleSize {
		s.Values[i] = x
	}
}

// Mean returns the mean of all values, 0 without any.
func (s *Sample) Mean() float64 {
	if s.N == 0 {
		return 0
	}
	return s.sum / float64(s.N)
}

// variation2 returns the squared coefficient of variation.
func (s *Sample) variation2() float64 {
	m := s.Mean()
	if m == 0 {
		return 0
	}
	return max(0, s.sum2/float64(s.N)/(m*m)-1)
}

// variance returns the variance.
func (s *Sample) variance() float64 { return s.variation2() * s.Mean() * s.Mean() }

// sorted returns the kept values in order.
func (s *Sample) sorted() []float64 {
	values := slices.Clone(s.Values)
	slices.Sort(values)
	return values
}
