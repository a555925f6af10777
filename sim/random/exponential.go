package random

import "math/rand/v2"

// Exponential is the exponential distribution, that of the time between the events of a Poisson
// process. Its distribution function is
//
//	F(x) = 1 - exp(-x/mean)
//
// (https://en.wikipedia.org/wiki/Exponential_distribution).
type Exponential struct{ mean float64 }

// NewExponential returns the exponential distribution with a positive mean in nanoseconds.
func NewExponential(meanNs float64) (Exponential, error) {
	return Exponential{meanNs}, checkMean(meanNs)
}

// Sample implements Distribution. It uses the ziggurat algorithm of math/rand (Marsaglia and
// Tsang, "The Ziggurat Method for Generating Random Variables", 2000).
func (e Exponential) Sample(r *rand.Rand) int64 { return nanoseconds(e.mean * r.ExpFloat64()) }

// MeanNs implements Distribution.
func (e Exponential) MeanNs() float64 { return e.mean }
