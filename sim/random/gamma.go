package random

import (
	"math"
	"math/rand/v2"
)

// Gamma is the gamma distribution. With an integer shape k, it is the distribution of the sum of
// k exponential times. Its density is proportional to
//
//	x^(shape-1)·exp(-x·shape/mean)
//
// (https://en.wikipedia.org/wiki/Gamma_distribution).
type Gamma struct{ mean, shape float64 }

// NewGamma returns the gamma distribution with a mean in nanoseconds and a shape,
// 0 < shape <= 1e6. Its coefficient of variation is 1/sqrt(shape).
func NewGamma(meanNs, shape float64) (Gamma, error) {
	if err := checkMean(meanNs); err != nil {
		return Gamma{}, err
	}
	return Gamma{meanNs, shape}, checkParameter("shape", shape, 0, 1e6)
}

// Sample implements Distribution. It uses the rejection method of Marsaglia and Tsang ("A Simple
// Method for Generating Gamma Variables", 2000). For a shape below 1 it draws from shape+1 and
// multiplies the sample by U^(1/shape), as they propose.
func (g Gamma) Sample(r *rand.Rand) int64 {
	shape, scale := g.shape, g.mean/g.shape
	if shape < 1 {
		scale *= math.Exp(-r.ExpFloat64() / shape) // U^(1/shape), with -ln U exponential
		shape++
	}
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if r.ExpFloat64() > -x*x/2-d+d*v-d*math.Log(v) {
			return nanoseconds(scale * d * v)
		}
	}
}

// MeanNs implements Distribution.
func (g Gamma) MeanNs() float64 { return g.mean }
