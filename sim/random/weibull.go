package random

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Weibull is the Weibull distribution. It varies more than the exponential distribution if its
// shape is below 1, and less if its shape is above 1. Its distribution function and its mean are
//
//	F(x) = 1 - exp(-(x/scale)^shape)
//	mean = scale·Γ(1 + 1/shape)
//
// (https://en.wikipedia.org/wiki/Weibull_distribution).
type Weibull struct{ mean, scale, inverse float64 } // inverse is 1/shape

// NewWeibull returns the Weibull distribution with a mean in nanoseconds and a shape,
// 0.1 <= shape <= 1e6. With a shape below 0.1, the mean consists of values so rare that no run
// would sample them.
func NewWeibull(meanNs, shape float64) (Weibull, error) {
	if err := checkMean(meanNs); err != nil {
		return Weibull{}, err
	}
	if !(shape >= 0.1 && shape <= 1e6) { // true for NaN
		return Weibull{}, fmt.Errorf("shape %v: want 0.1 to 1e+06", shape)
	}
	return Weibull{meanNs, meanNs / math.Gamma(1+1/shape), 1 / shape}, nil
}

// Sample implements Distribution.
func (w Weibull) Sample(r *rand.Rand) int64 {
	return nanoseconds(w.scale * math.Pow(r.ExpFloat64(), w.inverse))
}

// MeanNs implements Distribution.
func (w Weibull) MeanNs() float64 { return w.mean }
